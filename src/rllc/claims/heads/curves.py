"""Curves and numbers that several claims on heads read."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from rllc.analysis.across_heads import separation
from rllc.analysis.curves import NotJudged, first_step_reaching, spearman
from rllc.analysis.head_types import INDUCTION_BEGINS
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run
from rllc.vocabulary import layer_of

PAPER = "arXiv 2410.02984"
LIKELIHOOD = "rllc.likelihood.rllc"  # at the setting in which the likelihood matters
LM = {"LM1": 900, "LM2": 6_500, "LM3": 8_500, "LM4": 17_000}  # last steps of the paper's stages
Number = xr.DataArray | float
RISES = 2.0  # factor of the untrained model's prefix-matching score by which induction has begun to form
BEFORE_INDUCTION = (
    "Early steps end before a head's prefix-matching score is twice that of the first checkpoint. Before, "
    "they ended where it reaches 0.05, when induction has begun."
)


def several_layers(experiment: Experiment) -> bool:
    """Return whether it is a language model of two layers or more."""
    return experiment.task == "language" and experiment.layers > 1


def refined_llc(
    run: Run, *types: str, variable: str = "rllc.rllc", layer: int | None = None, text: str = ""
) -> xr.DataArray:
    """Return the rLLC (step, head) of heads of these types on a text, by default that of training."""
    heads = run.heads(*types, layer=layer) if types or layer is not None else None
    return run.curve(variable, heads=heads, distribution=text or run.text)


def of_heads(
    function: Callable[..., np.ndarray],
    values: xr.DataArray,
    kinds: np.ndarray,
    layers: np.ndarray,
    needs: str,
) -> xr.DataArray:
    """Apply a function to values over heads, with the type and layer of each head.

    Raises NotJudged with what it needs, where it gives no number.
    """
    made = xr.apply_ufunc(
        function, values, input_core_dims=[["head"]], kwargs={"types": kinds, "layers": layers}
    )
    if bool(made.isnull().all()):
        raise NotJudged(f"needs {needs}")
    return made


def between_types(run: Run, values: xr.DataArray) -> xr.DataArray:
    """Return the share of the spread of values (head) within layers that lies between types."""
    kinds = run.types.sel(head=values["head"]).values
    layers = np.asarray([layer_of(str(head)) for head in values["head"].values])
    return of_heads(separation, values, kinds, layers, "a type with two heads in a layer that has two types")


def induction_begins(run: Run) -> float:
    """Return the first step at which a head's prefix-matching score reaches ``INDUCTION_BEGINS``.

    It is that of the scores as measured, also where other curves are redrawn.
    """
    scores = run.like(noise=None, readings=run.readings).curve("attention_scores.prefix_matching")
    step = float(first_step_reaching(scores.max("head"), INDUCTION_BEGINS))
    if not np.isfinite(step):
        raise NotJudged(f"no head's prefix-matching score reaches {INDUCTION_BEGINS}, where induction begins")
    return step


def before_induction(run: Run, curve: xr.DataArray) -> xr.DataArray:
    """Return a curve up to the last checkpoint at which no head begins to match prefixes.

    There the largest prefix-matching score is at most ``RISES`` times that of the first checkpoint. Later
    checkpoints, where it rises towards ``INDUCTION_BEGINS``, are left out.

    Raises NotJudged if no checkpoint is left.
    """
    begins = induction_begins(run)
    scores = run.like(noise=None, readings=run.readings).curve("attention_scores.prefix_matching").max("head")
    quiet = (scores <= RISES * scores.isel(step=0)) & (scores["step"] < begins)
    end = scores["step"].values[quiet.values].max(initial=-1)
    early = curve.sel(step=slice(None, end))
    if not early.sizes["step"]:
        raise NotJudged("no checkpoint is measured before induction begins")
    return early


def orders_alike(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return the rank correlation over heads at the last checkpoint that both have."""
    steps = np.intersect1d(one["step"].values, other["step"].values)
    if not steps.size:
        raise NotJudged("no checkpoint has both")
    at_last, other_at_last = (each.sel(step=steps[-1], drop=True) for each in (one, other))
    return spearman(at_last, other_at_last, "head")
