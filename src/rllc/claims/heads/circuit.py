"""Claims on the multigram circuit (4.3).

Curves are read from step 50 on. The rLLCs of random weights are about 0, so their ratio says nothing.
"""

from functools import partial

import xarray as xr

from rllc.analysis.curves import END_WINDOW, PEAK_FROM, NotJudged, last, mean_departure
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import BEFORE_INDUCTION, PAPER, Number, before_induction, several_layers
from rllc.claims.run import Run

ORDER = 6  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="multigram circuit (4.3)")
NEAR_END = (
    "The mean of the last four checkpoints is judged, whose error holds the noise of training. Before, it "
    "was the last checkpoint alone, with the error over contexts."
)


OF_RATIOS = "Ratios are compared. Before, their logarithms were, undefined if an rLLC is not positive."


def _one_layer_ratio(run: Run, heads: list[str] | None = None) -> xr.DataArray:
    """Return the ratio (step, head) of the rLLC on a one-layer model's predictions to that on text."""
    reach = {"heads": heads, "from_step": PEAK_FROM}
    generated = run.curve("rllc.rllc", distribution="one_layer", **reach)
    return generated / run.curve("rllc.rllc", distribution=run.text, **reach)


def _gain(run: Run, heads: list[str]) -> xr.DataArray:
    """Return the ratio (head) at the end divided by its mean before induction begins."""
    ratio = _one_layer_ratio(run, heads)
    early = before_induction(run, ratio).mean("step")
    if not bool((early > 0).any()):
        raise NotJudged("an early ratio of rLLCs is not positive")
    return last(ratio) / early.where(early > 0)


@claim(
    "Early in training, refined LLCs on the one-layer model's predictions are similar to those on text",
    source=f"{PAPER}, 4.3, fig 5",
    label="mean |ratio - 1| of rLLCs on the one-layer model's predictions to those on text, over "
    "heads and early steps",
    at_most=0.25,
    correction=BEFORE_INDUCTION,
)
def l1_alike_early(run: Run) -> Number:
    return mean_departure(before_induction(run, _one_layer_ratio(run))).mean("head")


@claim(
    "Later, the ratio of refined LLCs on the one-layer model's predictions to those on text "
    "falls in all heads",
    source=f"{PAPER}, 4.3, fig 5",
    label="share of heads whose ratio of rLLCs (one-layer model's predictions to text) ends below "
    "its early mean",
    at_least=1,
    correction=f"{OF_RATIOS} {BEFORE_INDUCTION}",
)
def l1_decrease_all(run: Run) -> Number:
    ratio = _one_layer_ratio(run)
    early = before_induction(run, ratio)
    return (last(ratio) <= early.mean("step")).mean("head")


@claim(
    "The ratio of refined LLCs, one-layer model to text, falls most in previous-token, current-token "
    "and induction heads, and in multigram heads of layer 0",
    source=f"{PAPER}, 4.3",
    label="ratio of rLLCs (one-layer to text) at the end divided by its early mean: other heads less "
    "multigram heads of layer 1",
    at_most=0,
    correction=f"{OF_RATIOS} {BEFORE_INDUCTION}",
)
def l1_decrease_groups(run: Run) -> Number:
    multigram = run.heads("multigram", layer=1)
    others = [head for head in map(str, run.types["head"].values) if head not in multigram]
    if not others:
        raise NotJudged("needs a head beside the multigram heads of layer 1, has none")
    gains = [_gain(run, heads).mean("head", skipna=False) for heads in (others, multigram)]
    return gains[0] - gains[1]


@claim(
    "Ablating the bracket head raises the loss on closing brackets sharply",
    source=f"{PAPER}, fig 6",
    label="loss that ablating the bracket head adds on closing brackets, the smaller of nested and unnested",
    unit="nats/token",
    at_least=0.5,
    correction=NEAR_END,
)
def dyck_ablation(run: Run) -> Number:
    return run.near_end("patched_paths.ablated_least")


@claim(
    "At the end, nested brackets need the path from layer 0's multigram heads to the bracket head "
    "(multigram-to-bracket path)",
    source=f"{PAPER}, fig 6",
    label="loss that patching this path adds on nested brackets",
    unit="nats/token",
    at_least=0.05,
    correction=NEAR_END,
)
def path_nested(run: Run) -> Number:
    return run.near_end("patched_paths.path", brackets="nested")


@claim(
    "The multigram-to-bracket path begins to affect nested brackets when heads change their roles, "
    "not before induction",
    source=f"{PAPER}, fig 6",
    label="loss that patching the path adds on nested brackets, at the onset of induction divided by the end",
    at_most=0.25,
)
def path_onset(run: Run) -> Number:
    return last(run.curve("patched_paths.path_onset"))


SMALL_SHARE = 0.2


def _path_shares_of_others(run: Run) -> xr.DataArray:
    """Return the path share (head) on unnested brackets, as measured, of the path into other later heads.

    It is the mean of the checkpoints near the end. Without ``path_patching`` there are no heads.
    """
    if "path_patching" not in run.datasets:
        return xr.DataArray([], dims="head")
    patching = run.dataset("path_patching").sel(brackets="unnested", closers="all")
    into, ablated = patching["rise_into"], patching["rise"].sel(condition="ablated")
    share = (into / ablated.where(ablated > 0)).dropna("step", how="all").isel(step=slice(-END_WINDOW, None))
    bracket_head = str(patching["members"].sel(role="dyck").isel(step=-1).item())
    return share.mean("step", skipna=False).where(into["head"] != bracket_head).dropna("head")


@claim(
    "At the end, the multigram-to-bracket path hardly affects unnested brackets",
    source=f"{PAPER}, fig 6",
    label="loss that patching the path adds on unnested brackets, divided by that of ablating the "
    "bracket head",
    at_most=SMALL_SHARE,
    correction=f"{NEAR_END} It is not judged where the path into every other later head is as small.",
)
def path_unnested_small(run: Run) -> Number:
    share = run.near_end("patched_paths.path_share", brackets="unnested")
    others = _path_shares_of_others(run)
    if others.size and bool((others <= SMALL_SHARE).all()):
        raise NotJudged(
            f"the path into every other later head is as small, at most {float(others.max()):.2g}"
        )
    return share


@claim(
    "Earlier, the multigram-to-bracket path affected unnested brackets more",
    source=f"{PAPER}, fig 6",
    label="largest loss that patching the path adds on unnested brackets, divided by that at the end",
    at_least=1.5,
)
def path_unnested_transient(run: Run) -> Number:
    return last(run.curve("patched_paths.path_transient", brackets="unnested"))


@claim(
    "K-composition of layer 0's multigram heads with those of layer 1 reverses its trend",
    source=f"{PAPER}, 4.3, fig 7",
    label="share of pairs of multigram heads of both layers whose K-composition reverses its trend",
    at_least=0.9,
)
def kcomp_turnaround(run: Run) -> Number:
    return last(run.curve("kcomposition.turnaround"))


@claim(
    "The K-compositions of a layer-0 head with the multigram heads of layer 1 move together",
    source=f"{PAPER}, fig 7",
    label="correlation of a multigram head's K-composition curves with two later multigram heads, mean",
    at_least=0.8,
)
def kcomp_coupled(run: Run) -> Number:
    return last(run.curve("kcomposition.coupled"))


@claim(
    "The current-token head's K-composition with multigram heads of layer 1 rises "
    "dramatically, then falls as much",
    source=f"{PAPER}, B.6",
    label="peak of the current-token head's K-composition divided by its early mean or its end, the smaller",
    at_least=1.5,
)
def current_kcomp_spike(run: Run) -> Number:
    run.heads("current-token", layer=0)
    return last(run.curve("kcomposition.current_spike"))
