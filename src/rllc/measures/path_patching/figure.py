"""Path patching into the bracket head, over training (arXiv 2410.02984, Fig. 6)."""

import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.findings import near_end
from rllc.figures.heads.behind import Stages
from rllc.figures.panels import Curve, Panel, Row, by_seed, curve, level, sheet

# colours as in the paper: intact model blue, ablated head green, patched path orange
CONDITIONS = {
    "clean": ("model as it is", {"color": "#0072B2", "marker": "o"}),
    "ablated": ("bracket head ablated", {"color": "#009E73", "marker": "s", "linestyle": "--"}),
    "patched": ("path into it patched", {"color": "#E69F00", "marker": "D", "linestyle": "-."}),
    "without": ("layer 0's multigram\nheads ablated", {"color": "#888888", "marker": "^", "linestyle": ":"}),
}
OTHER = {"color": "#b5b5b5", "linewidth": 0.9}


@style.styled
def rllc_fig6_dyck_path_patching(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Loss on closing brackets, and its rise by path patching. Columns: unnested, nested.

    Upper row: the loss as it is, with the bracket head ablated, with the path from layer 0's multigram heads
    into it patched, and without these heads. Lower row: the loss that patching adds, for the bracket head
    and, as a control, for every other head of a later layer.
    """
    data = inputs.of_seeds(
        inputs.need(datasets, "path_patching", "loss", "rise", "rise_into", "members"), seeds
    )
    data = data.sel(closers="all", drop=True)
    rows, stages = [], Stages(datasets, data["seed"])
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
        rows.append(Row("loss (nats/closing bracket)", stages.behind(seed, losses), keys))
        named = [
            style.key(f"into {receiver or 'no head'}", **CONDITIONS["patched"][1]),
            style.key("into each other later head", **OTHER),
        ]
        label = f"path from {senders.replace('+', ', ') or 'no head'}"
        rows.append(Row("loss added (nats)", stages.behind(seed, added), named, label))
    figure, _ = sheet(rows, panel=(3.2, 2.1), margin=1.8, sharex=True, sharey="row")
    made = recorded(datasets["path_patching"], "path_patching")
    return Drawing(
        figure,
        data,
        "Loss on closing brackets over training, with the bracket head ablated or paths into it patched.",
        _findings(data),
        [
            "Patched: the bracket head alone sees the mean outputs of layer 0's multigram heads.",
            *stages.said,
            *(
                [conditions.band(data["loss_se"], f"over {made['examples']} contexts of each kind")]
                if made
                else []
            ),
            *_nothing_patched(data),
            *conditions.missing(data.sel(seed=_patched(data)), "loss"),
            *conditions.seeds(data),
        ],
    )


def _member(one: xr.Dataset, role: str) -> str:
    """Return the heads in a role, "0:0+0:1"; "" if there is none."""
    names = [str(name) for name in one["members"].sel(role=role).values if name]
    return names[-1] if names else ""


def _added(one: xr.Dataset, receiver: str) -> list[Curve]:
    """Return the curves of the loss added by patching into every later head, the bracket head last."""
    known = one["rise_into"].notnull().any("step")
    others = [head for head in one["head"].values[known.values].tolist() if head != receiver]
    drawn = [Curve(one["rise_into"].sel(head=head), OTHER) for head in others]
    patched = one.sel(condition="patched")
    return [*drawn, curve(patched, "rise", CONDITIONS["patched"][1])]


def _patched(data: xr.Dataset) -> list[int]:
    """Return the seeds that have both a bracket head and multigram heads in layer 0."""
    return [
        seed
        for seed in data["seed"].values.tolist()
        if all(_member(data.sel(seed=seed), role) for role in ("multigram0", "dyck"))
    ]


def _nothing_patched(data: xr.Dataset) -> list[str]:
    """Return sentences on the seeds that lack a bracket head, or multigram heads in layer 0."""
    seeds = data["seed"].values.tolist()
    return [
        f"Nothing is patched in seed{'s' * (len(without) > 1)} {', '.join(map(str, without))}: no {lacking}."
        for role, lacking in (("dyck", "bracket head"), ("multigram0", "multigram head in layer 0"))
        if (without := [seed for seed in seeds if not _member(data.sel(seed=seed), role)])
    ]


def _findings(data: xr.Dataset) -> list[Finding]:
    """Return by how much patching and ablating the bracket head raise the loss near the end, and other heads.

    Heads are named if one seed is drawn.
    """
    seeds = _patched(data)
    if not seeds:
        return []
    own = data.sel(seed=seeds)
    receivers = [_member(data.sel(seed=seed), "dyck") for seed in seeds]
    head = f"bracket head {receivers[0]}" if data.sizes["seed"] == 1 else "bracket head"
    *_, nested = kinds = own["brackets"].values.tolist()
    cases = [
        *(("patched", f"path into {head} patched", kind) for kind in kinds),
        ("ablated", f"{head} ablated", nested),
    ]
    found = []
    for condition, what, kind in cases:
        cell = own.sel(condition=condition, brackets=kind)
        label = f"loss added on {kind} brackets, {what}"
        found += near_end(label, cell["rise"], cell["rise_se"], "nats")
    others = own["rise_into"].where(own["head"] != xr.DataArray(receivers, own["seed"].coords, ["seed"]))
    label = f"loss added on {nested} brackets, path into another head patched, largest"
    return [*found, *near_end(label, others.sel(brackets=nested).max("head"), unit="nats")]
