"""Claims on the Hessian and the Fisher information (App. D)."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.curves import NotJudged, log2_ratio, measured, pearson, relative_range, roughness, spearman
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import LIKELIHOOD, LM, PAPER, Number, orders_alike, refined_llc, several_layers
from rllc.claims.run import Run

ORDER = 8  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="curvature (App. D)")


def _labels(run: Run, kind: str) -> dict[str, Any]:
    """Return the labels of the published rank of the Hessian on the training text."""
    return {"distribution": run.text, "rank_range": kind, "rank_method": "chebyshev"}


def _rank(run: Run, kind: str, name: str = "hessian_rank") -> xr.DataArray:
    """Return the published rank of the Hessian on the training text over training."""
    return run.curve(f"hessian_rank.{name}", **_labels(run, kind))


def _trace(run: Run) -> xr.DataArray:
    return run.curve("hessian.hessian_trace", distribution=run.text)


@claim(
    "The rank of the Hessian on a fixed range somewhat resembles its trace",
    source=f"{PAPER}, D.3.2",
    label="rank correlation of the published Hessian rank (fixed range) with the Hessian trace",
    at_least=0.5,
)
def rank_fixed_like_trace(run: Run) -> Number:
    return spearman(_rank(run, "fixed"), _trace(run))


MOST_OF_ZEROS = 0.5  # of the published rank: a Hessian of zeros gives most of it, as ``rank_is_offset`` says
OF_ZEROS = (
    "It is not judged where a Hessian of zeros gives more than half of a rank. Before, it passed with a "
    "Hessian of zeros, or of zeros and noise."
)


def _require_eigenvalues(run: Run, kind: str) -> None:
    """Raise NotJudged unless less than ``MOST_OF_ZEROS`` of the published rank is that of a Hessian of zeros.

    The ranks are means over checkpoints as measured, less two standard errors. All checkpoints share their
    probes, so errors are not averaged away.
    """
    rank, zeros = _rank(run.like(noise=None), kind), _rank(run, kind, "hessian_rank_offset")
    error = run.error("hessian_rank.hessian_rank", **_labels(run, kind)).fillna(0.0)
    least, zero = (float(each.mean("step")) for each in (rank - 2 * error, zeros))
    if zero > MOST_OF_ZEROS * least:
        raise NotJudged(
            f"on the {kind} range a Hessian of zeros would have the rank {zero:,.0f}, and the mean rank is "
            f"{float(rank.mean('step')):,.0f} ± {float(error.mean('step')):,.0f}"
        )


@claim(
    "The rank of the Hessian on a fixed range changes little relative to its size",
    source=f"{PAPER}, D.3.2",
    label="range of the published Hessian rank (fixed range) divided by its mean",
    at_most=0.25,
    correction=OF_ZEROS,
)
def rank_small_change(run: Run) -> Number:
    _require_eigenvalues(run, "fixed")
    return relative_range(_rank(run, "fixed"))


@claim(
    "The ranks of the Hessian on the fixed and on the adaptive range disagree",
    source=f"{PAPER}, D.3.3",
    label="rank correlation of the published Hessian rank on the fixed and on the adaptive range",
    at_most=0.5,
    correction=OF_ZEROS,
)
def rank_methods_disagree(run: Run) -> Number:
    for kind in ("fixed", "adaptive"):
        _require_eigenvalues(run, kind)
    return spearman(_rank(run, "fixed"), _rank(run, "adaptive"))


@claim(
    "On the adaptive range, a Hessian of zeros would give most of the rank",
    source="ours: a control",
    label="rank of a Hessian of zeros divided by the published rank (adaptive range), mean",
    at_least=0.5,
)
def rank_is_offset(run: Run) -> Number:
    return (_rank(run, "adaptive", "hessian_rank_offset") / _rank(run, "adaptive")).mean("step")


def _late(run: Run, curve: xr.DataArray) -> xr.DataArray:
    """Return log2 of the value at the end of the paper's training over that at the end of LM4."""
    return log2_ratio(curve, LM["LM4"], 50_000)


@claim(
    "After LM4 the Hessian trace rises while the LLC mostly stops",
    source=f"{PAPER}, D.1.2",
    label="rise of the Hessian trace less that of the LLC after LM4",
    unit="octaves",
    at_least=0.1,
    reached=50_000,
)
def trace_keeps_rising(run: Run) -> Number:
    return _late(run, _trace(run)) - _late(run, run.curve("llc.llc", distribution=run.text))


def _follows(run: Run, stages: tuple[int, ...]) -> xr.DataArray:
    """Return the mean rank correlation of the Hessian trace with the LLC within stages of the paper."""
    ends = [0, *LM.values(), None]
    found = []
    for stage in stages:
        reach = {"from_step": ends[stage - 1], "to_step": ends[stage], "distribution": run.text}
        found.append(spearman(run.curve("hessian.hessian_trace", **reach), run.curve("llc.llc", **reach)))
    return sum(found[1:], found[0]) / len(found)


@claim(
    "The Hessian trace moves with the LLC in LM1, LM2 and LM5, less in between",
    source=f"{PAPER}, C.3, D.1",
    label="rank correlation of the Hessian trace with the LLC: the mean of LM1, LM2 and LM5 less that of "
    "LM3 and LM4",
    at_least=0,
    reached=50_000,
)
def trace_follows_llc(run: Run) -> Number:
    return _follows(run, (1, 2, 5)) - _follows(run, (3, 4))


@claim(
    "The Hessian trace moves with the LLC in LM1, LM2 and LM5",
    source=f"{PAPER}, C.3, D.1",
    label="rank correlation of the Hessian trace with the LLC, mean of LM1, LM2 and LM5",
    at_least=0.5,
    reached=50_000,
)
def trace_follows_llc_outer(run: Run) -> Number:
    return _follows(run, (1, 2, 5))


def _traces_of_heads(run: Run, text: str) -> xr.DataArray:
    return run.curve("hessian.hessian_trace_head", distribution=text)


@claim(
    "Final Hessian traces order heads as refined LLCs do (at the published setting almost the same quantity)",
    source=f"{PAPER}, E.3",
    label="rank correlation over heads of the Hessian trace with the rLLC, at the end",
    at_least=0.8,
)
def trace_order(run: Run) -> Number:
    return orders_alike(_traces_of_heads(run, run.text), refined_llc(run))


@claim(
    "Final Hessian traces order heads as refined LLCs do, at the second sampler setting",
    source=f"{PAPER}, E.3; the setting is ours",
    label="rank correlation over heads of the Hessian trace with the rLLC at the second sampler "
    "setting, at the end",
    at_least=0.8,
)
def trace_order_likelihood(run: Run) -> Number:
    return orders_alike(_traces_of_heads(run, run.text), refined_llc(run, variable=LIKELIHOOD))


def _smoothness(run: Run, variable: str, text: str) -> xr.DataArray:
    """Return the roughness (head) of curves, less that of noise of the size of their errors."""
    return roughness(run.curve(variable, distribution=text), run.error(variable, distribution=text))


def _rougher(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return the median over heads of the ratio of two roughnesses."""
    for name, each in (("first", one), ("second", other)):
        if not bool((each.median("head") > 0).any()):
            raise NotJudged(f"noise of the quoted errors alone makes the {name} curves as rough as they are")
    return (one / other.where(other > 0)).median("head")


ROUGH = (
    "The roughness that noise of the stated errors causes is subtracted. Before, the noise of 4 probes alone "
    "explained the ratio."
)


@claim(
    "Hessian traces of heads are less stable over training than refined LLCs",
    source=f"{PAPER}, D.1.2",
    label="roughness of a head's Hessian trace divided by that of its rLLC, noise subtracted, "
    "median of heads",
    at_least=1,
    correction=ROUGH,
)
def trace_rougher(run: Run) -> Number:
    return _rougher(
        _smoothness(run, "hessian.hessian_trace_head", run.text), _smoothness(run, "rllc.rllc", run.text)
    )


@claim(
    "Hessian traces of heads are less stable on code than on the training text",
    source=f"{PAPER}, D.1.2",
    label="roughness of a head's Hessian trace on code divided by that on the training text, noise "
    "subtracted, median",
    at_least=1,
    correction=ROUGH,
)
def trace_code_rougher(run: Run) -> Number:
    variable = "hessian.hessian_trace_head"
    return _rougher(_smoothness(run, variable, run.code), _smoothness(run, variable, run.text))


def _fisher(run: Run) -> xr.DataArray:
    return run.curve("fisher.fim_trace", distribution=run.text)


@claim(
    "The trace of the Fisher information matrix (FIM) has the Hessian trace's shape",
    source=f"{PAPER}, D.2.2",
    label="correlation of the FIM trace with the Hessian trace over training",
    at_least=0.9,
)
def fim_like_trace(run: Run) -> Number:
    return pearson(_fisher(run), _trace(run))


@claim(
    "The FIM trace is noisier than the Hessian trace",
    source=f"{PAPER}, D.2",
    label="roughness of the FIM trace divided by that of the Hessian trace",
    at_least=1,
)
def fim_noisier(run: Run) -> Number:
    steps = np.intersect1d(measured(_fisher(run))["step"].values, measured(_trace(run))["step"].values)
    return roughness(_fisher(run).sel(step=steps)) / roughness(_trace(run).sel(step=steps))


@claim(
    "The Gauss-Newton form of the FIM trace is less noisy than the published form",
    source="ours: a control",
    label="standard error of the Gauss-Newton form of the FIM trace divided by that of the "
    "published one, mean",
    at_most=1,
)
def fim_ggn_quieter(run: Run) -> Number:
    own, other = (
        run.curve(f"fisher.{name}", distribution=run.text) for name in ("fim_trace_ggn_se", "fim_trace_se")
    )
    return (own / other).mean("step")
