"""Path patching into the bracket head, over training (arXiv 2410.02984, Fig. 6)."""

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, curve, level, sheet

# colours as in the paper: the model as it is blue, the ablated head green, the patched path orange
CONDITIONS = {
    "clean": ("model as it is", {"color": "#0072B2", "marker": "o"}),
    "ablated": ("bracket head ablated", {"color": "#009E73", "marker": "s", "linestyle": "--"}),
    "patched": ("path into it patched", {"color": "#E69F00", "marker": "D", "linestyle": "-."}),
    "without": ("layer 0's multigram\nheads ablated", {"color": "#888888", "marker": "^", "linestyle": ":"}),
}
OTHER = {"color": "#b5b5b5", "linewidth": 0.9}
ERRORS = 2  # standard errors by which a rise is clear


@style.styled
def rllc_fig6_dyck_path_patching(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Loss on closing brackets over training, and what patching adds; columns unnested and nested.

    Upper row: the loss as it is, with the bracket head ablated, with the path from layer 0's multigram heads
    into it patched, and without these heads. Lower row: the loss that patching adds, for the bracket head
    and, as a control, for every other head of a later layer.
    """
    data = inputs.of_seeds(inputs.need(datasets, "brackets", "loss", "rise", "rise_into", "members"), seeds)
    data = data.sel(closers="all", drop=True)
    rows, findings = [], []
    for seed, suffix, one in by_seed(data):
        senders, receiver = (_member(one, role) for role in ("multigram0", "dyck"))
        kinds = one["brackets"].values.tolist()
        losses = [
            Panel(
                f"{kind} brackets{suffix}",
                [
                    curve(one.sel(brackets=kind, condition=name), "loss", look)
                    for name, (_, look) in CONDITIONS.items()
                ],
            )
            for kind in kinds
        ]
        added = [
            Panel(f"{kind} brackets, patched{suffix}", _added(one.sel(brackets=kind), receiver), over=level())
            for kind in kinds
        ]
        keys = [style.key(text, **look) for text, look in CONDITIONS.values()]
        rows.append(Row("loss (nats/closing bracket)", losses, keys))
        named = [
            style.key(f"into {receiver or 'no head'}", **CONDITIONS["patched"][1]),
            style.key("into each other later head", **OTHER),
        ]
        rows.append(
            Row("loss added (nats)", added, named, f"path from {senders.replace('+', ', ') or 'no head'}")
        )
        findings.append(_finding(one, seed, senders, receiver))
    figure, _ = sheet(rows, panel=(3.2, 2.1), margin=1.8, sharex=True, sharey="row")
    made = captions.recorded(datasets["brackets"], "brackets")
    together, each = captions.of_seeds(_over_seeds(data), findings)
    return captions.drawing(
        figure,
        data,
        *together,
        "Grey: these heads have their means for all that follows.",
        conditions=[
            "Patched: the bracket head alone sees the mean outputs of layer 0's multigram heads; ablated: it "
            "has its own mean output.",
            f"Bands: one standard error over {made['examples']} contexts of each kind."
            if "examples" in made
            else "",
            captions.failures(data, "loss"),
        ],
        details=[
            "Sentences are ours, made of common words; the paper does not give its own.",
            "The bracket head is the one after layer 0 with most brackets among its tokens in context.",
            *each,
        ],
    )


def _member(one: xr.Dataset, role: str) -> str:
    """The heads in a role, "0:0+0:1"; "" where there is none."""
    names = [str(name) for name in one["members"].sel(role=role).values if name]
    return names[-1] if names else ""


def _added(one: xr.Dataset, receiver: str) -> list[Curve]:
    """Into every later head, the bracket head last."""
    known = one["rise_into"].notnull().any("step")
    others = [head for head in one["head"].values[known.values].tolist() if head != receiver]
    drawn = [Curve(one["rise_into"].sel(head=head), OTHER) for head in others]
    patched = one.sel(condition="patched")
    return [*drawn, curve(patched, "rise", CONDITIONS["patched"][1])]


def _needs(one: xr.Dataset) -> bool:
    """Whether patching raises the loss of a seed clearly at the last step, on brackets of both kinds."""
    patched = one.isel(step=-1).sel(condition="patched")
    return bool((patched["rise"] > ERRORS * patched["rise_se"]).all())


def _over_seeds(data: xr.Dataset) -> str:
    """In how many seeds the bracket head needs the multigram heads, and by how much losses rise."""
    seeds = {seed: data.sel(seed=seed) for seed in data["seed"].values.tolist()}
    both = [s for s, one in seeds.items() if _member(one, "multigram0") and _member(one, "dyck")]
    if not both:
        return "In no seed there are both a bracket head and a multigram head in layer 0: nothing is patched."
    last = data.sel(seed=both).isel(step=-1)

    def added(condition: str) -> str:
        rise = last["rise"].sel(condition=condition)
        kinds = rise["brackets"].values.tolist()
        return " and ".join(f"{captions.spread(rise.sel(brackets=k).values, '.2f')} ({k})" for k in kinds)

    return (
        f"At step {style.step_text(float(last['step']))} the bracket head clearly needs layer 0's multigram "
        f"heads in {sum(_needs(seeds[seed]) for seed in both)} of {len(both)} seeds that have both: with the "
        f"path from them patched the loss on closing brackets rises by {added('patched')} nats, with the "
        f"bracket head ablated by {added('ablated')}."
    )


def _finding(one: xr.Dataset, seed: int, senders: str, receiver: str) -> str:
    if not (senders and receiver):
        lacking = "no head is a bracket head" if not receiver else "layer 0 has no multigram head"
        return f"Seed {seed}: {lacking}, so nothing is patched."
    last = one.isel(step=-1)
    kinds = last["brackets"].values.tolist()

    def added(condition: str) -> str:
        values = last.sel(condition=condition)
        return " and ".join(
            f"{float(v['rise']):.2f} ± {float(v['rise_se']):.2f} ({kind})"
            for kind, v in ((kind, values.sel(brackets=kind)) for kind in kinds)
        )

    into = last["rise_into"].sel(brackets="nested")
    others = into.where(into["head"] != receiver).dropna("head")
    most = (
        f"; patched into another head by at most {float(np.max(others)):.2f} "
        f"({captions.highest(others)}, nested)"
        if others.size
        else ""
    )
    return (
        f"At step {style.step_text(float(one['step'][-1]))} (seed {seed}) the bracket head {receiver} "
        f"{'needs' if _needs(one) else 'does not clearly need'} layer 0's multigram heads "
        f"{senders.replace('+', ', ')}: with the path from them patched the loss on closing brackets rises "
        f"by {added('patched')} nats, with {receiver} ablated by {added('ablated')}{most}."
    )
