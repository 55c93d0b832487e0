"""Claims on the multigram circuit (4.3).

Curves are read from step 50 on. The rLLCs of random weights are about 0, so their ratio says nothing.
"""

from functools import partial

import xarray as xr

from rllc.analysis.curves import PEAK_FROM, NotJudged, last, log2_gain, mean_departure
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, induction_begins, several_layers
from rllc.claims.run import Run

ORDER = 6  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="multigram circuit (4.3)")


def _one_layer_ratio(run: Run, heads: list[str] | None = None, to_step: float | None = None) -> xr.DataArray:
    """Return the ratio (step, head) of the rLLC on a one-layer model's predictions to that on text."""
    reach = {"heads": heads, "from_step": PEAK_FROM, "to_step": to_step}
    generated = run.curve("rllc.rllc", distribution="one_layer", **reach)
    return generated / run.curve("rllc.rllc", distribution=run.text, **reach)


@claim(
    "Early on, refined LLCs on the one-layer model's predictions are like those on text",
    source=f"{PAPER}, 4.3, fig 5",
    label="mean |ratio - 1| of rLLCs on the one-layer model to those on text, over heads and early steps",
    at_most=0.25,
)
def l1_alike_early(run: Run) -> Number:
    return mean_departure(_one_layer_ratio(run, to_step=induction_begins(run))).mean("head")


@claim(
    "Afterwards the one-layer model's share falls in all heads",
    source=f"{PAPER}, 4.3, fig 5",
    label="share of heads whose ratio of the one-layer model to text ends below its early mean",
    at_least=1,
    correction="Ratios are compared. Before, their logarithms were, undefined if an rLLC is not positive.",
)
def l1_decrease_all(run: Run) -> Number:
    ratio = _one_layer_ratio(run)
    early = ratio.sel(step=slice(None, induction_begins(run)))
    if not early.sizes["step"]:
        raise NotJudged("no checkpoint is measured before induction begins")
    return (last(ratio) <= early.mean("step")).mean("head")


@claim(
    "It falls most in previous-token, current-token, induction heads and multigram heads of layer 0",
    source=f"{PAPER}, 4.3",
    label="gain of that ratio from its early mean to the end: all other heads less multigram heads of "
    "layer 1",
    unit="octaves",
    at_most=0,
)
def l1_decrease_groups(run: Run) -> Number:
    multigram = run.heads("multigram", layer=1)
    others = [head for head in map(str, run.types["head"].values) if head not in multigram]
    if not others:
        raise NotJudged("needs a head beside the multigram heads of layer 1, has none")
    begins = induction_begins(run)
    gains = [
        log2_gain(_one_layer_ratio(run, heads), begins).mean("head", skipna=False)
        for heads in (others, multigram)
    ]
    if any(bool(gain.isnull().all()) for gain in gains):
        raise NotJudged("a ratio of rLLCs is not positive, so its logarithm is not defined")
    return gains[0] - gains[1]


@claim(
    "Ablating the bracket head raises the loss on closing brackets sharply",
    source=f"{PAPER}, fig 6",
    label="loss that ablating the bracket head adds on closing brackets, the smaller of both kinds",
    unit="nats/token",
    at_least=0.5,
)
def dyck_ablation(run: Run) -> Number:
    return last(run.curve("patched_paths.ablated_least"))


@claim(
    "At the end nested brackets need what multigram heads of layer 0 tell the bracket head",
    source=f"{PAPER}, fig 6",
    label="loss that patching adds on nested brackets",
    unit="nats/token",
    at_least=0.05,
)
def path_nested(run: Run) -> Number:
    return last(run.curve("patched_paths.path", brackets="nested"))


@claim(
    "That begins when roles shift, not before induction",
    source=f"{PAPER}, fig 6",
    label="loss that patching adds on nested brackets at the onset of induction over that at the end",
    at_most=0.25,
)
def path_onset(run: Run) -> Number:
    return last(run.curve("patched_paths.path_onset"))


@claim(
    "Of unnested brackets little of it is left at the end",
    source=f"{PAPER}, fig 6",
    label="loss that patching adds on unnested brackets over that of ablating the bracket head",
    at_most=0.2,
)
def path_unnested_small(run: Run) -> Number:
    return last(run.curve("patched_paths.path_share", brackets="unnested"))


@claim(
    "In between there was more of it",
    source=f"{PAPER}, fig 6",
    label="largest loss that patching adds on unnested brackets over that at the end",
    at_least=1.5,
)
def path_unnested_transient(run: Run) -> Number:
    return last(run.curve("patched_paths.path_transient", brackets="unnested"))


@claim(
    "K-composition of multigram heads of layer 0 with those of layer 1 turns around",
    source=f"{PAPER}, 4.3, fig 7",
    label="share of pairs of multigram heads of both layers whose K-composition turns around",
    at_least=0.9,
)
def kcomp_turnaround(run: Run) -> Number:
    return last(run.curve("kcomposition.turnaround"))


@claim(
    "A layer-0 head's K-composition with all multigram heads of layer 1 moves together",
    source=f"{PAPER}, fig 7",
    label="correlation of a multigram head's K-composition curves with two later multigram heads, mean",
    at_least=0.8,
)
def kcomp_coupled(run: Run) -> Number:
    return last(run.curve("kcomposition.coupled"))


@claim(
    "The current-token head's K-composition with them rises dramatically, then falls as much",
    source=f"{PAPER}, B.6",
    label="peak of the current-token head's K-composition over its early mean or its end, the smaller",
    at_least=1.5,
)
def current_kcomp_spike(run: Run) -> Number:
    run.heads("current-token", layer=0)
    return last(run.curve("kcomposition.current_spike"))
