"""LLC, circuits' simplicity and accuracy of a sorting transformer over training (the list-sorting post)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.panels import Row, seed_suffix, sheet
from rllc.figures.sorting.inputs import given, has_peak, llc_peak, one_seed
from rllc.figures.sorting.panels import ESTIMATES, FROM, Statistic, entries, limits, of_seed, statistics

SHAPE = "The chains are not in equilibrium: read the curve's shape (rise, peak, fall), not its level."
NOT_IN_EQUILIBRIUM = (
    "The chains are not in equilibrium: a checkpoint on its way, and the more so one trained with L2, is no "
    "minimum of the loss itself; the level of the LLC is the setting's."
)
ROW = 1.25  # inches
LEVEL = 5e-4  # a fall by less is 0.0 %


@style.styled
def sort_curves(
    datasets: Mapping[str, xr.Dataset],
    *,
    title: str = "",
    distribution: str | None = None,
    seeds: Sequence[int] | None = None,
    accurate: float = 0.99,
) -> Drawing:
    """Every curve of one experiment, one below the other on the same steps, a column per seed.

    datasets      ``metrics`` with ``accuracy`` and ``loss``; ``llc``, ``rllc``, ``circuits`` and any
                  ``llc.<setting>`` as a control, each where it was given
    title         what the experiment is called
    distribution  default the datasets' first
    accurate      the caption says from which checkpoint on the token accuracy is at least this
    """
    datasets = given(datasets, distribution=distribution, seeds=seeds)
    shown, runs = statistics(datasets), datasets["metrics"]["seed"].values.tolist()
    ones = {seed: one_seed(datasets, seed) for seed in runs}
    steps = {
        s: np.unique(np.concatenate([data["step"].values for data in one.values()]))
        for s, one in ones.items()
    }
    rows = [
        Row(
            each.label,
            [
                of_seed(each, one, within, steps=steps[seed], title=f"{each.title}{seed_suffix(runs, seed)}")
                for seed, one in ones.items()
            ],
            entries(each, datasets),
        )
        for each in shown
        for within in [limits(each, datasets)]
    ]
    figure, axes = sheet(rows, panel=(3.5, ROW), margin=1.75, title=title, sharex=True, sharey="row")
    figure.align_ylabels(axes[:, 0])
    return Drawing(figure, _data(datasets, shown), *_caption(datasets, ones, shown, title, accurate))


def _data(datasets: Mapping[str, xr.Dataset], shown: Sequence[Statistic]) -> xr.Dataset:
    """The variables drawn; those of other settings and verdicts of heads under names of their own."""
    parts = []
    for source in dict.fromkeys(curve.source for each in shown for curve in each.curves):
        dataset = datasets[source]
        drawn = {c.variable for each in shown for c in each.curves if c.source == source}
        also = {f"{name}_se" for name in drawn} | {"verdict", "status"}
        cut = dataset[[name for name in dataset.data_vars if name in drawn | also]]
        apart = source.replace(".", "_")
        own = [name for name in cut.data_vars if source not in ("metrics", "circuits", "llc")]
        renamed = {name: name.replace(source.partition(".")[0], apart) for name in own}
        renamed |= {name: f"{apart}_{name}" for name in own if name in ("verdict", "status")}
        parts.append(cut.rename(renamed))
    return xr.merge(parts, join="outer", compat="override", combine_attrs="drop")


def _caption(
    datasets: Mapping[str, xr.Dataset],
    ones: Mapping[int, Mapping[str, xr.Dataset]],
    shown: Sequence[Statistic],
    title: str,
    accurate: float,
) -> tuple[str, str]:
    metrics, llc = datasets["metrics"], datasets.get("llc")
    named = {name: data for name, data in (("LLC", llc), ("Heads", datasets.get("rllc"))) if data is not None}
    variable = {"LLC": "llc", "Heads": "rllc"}
    cells = {
        name: [
            f"{name}: {text}"
            for text in (captions.failures(data, variable[name]), captions.trust(data, variable[name]))
            if text
        ]
        for name, data in named.items()
    }
    controls = [
        f"{name.removeprefix('llc.')}: {captions.chains(data)}"
        for name, data in datasets.items()
        if name.startswith("llc.")
    ]
    return captions.compose(
        *(_outcome(seed, one, accurate) for seed, one in ones.items()),
        *(_circuits(seed, one) for seed, one in ones.items()),
        conditions=[
            "llc.nc was not given, so no estimate is drawn." if llc is None else SHAPE,
            captions.BANDS if named else "",
            captions.setting(llc) if llc is not None else "",
            captions.seeds(metrics),
            *cells.get("LLC", []),
        ],
        details=[
            f"Drawn against training step: {', '.join(each.title for each in shown)}.",
            *cells.get("Heads", []),
            *(
                f"{name}: {text}"
                for name, data in named.items()
                if (text := captions.cautions(data, variable[name]))
            ),
            f"LLC sampled with {captions.chains(llc)}. {NOT_IN_EQUILIBRIUM} {captions.ERROR}"
            if llc is not None
            else "",
            f"Controls, each over its maximum, without error bands: {'; '.join(controls)}."
            if controls
            else "",
            "The dotted vertical line is where the LLC is largest."
            if llc is not None and has_peak(llc)
            else "",
            f"Triangles at an edge: estimates beyond it; panels are scaled by those from step {FROM} on."
            if any(each.name in ESTIMATES for each in shown)
            else "",
            _of_circuits(datasets),
            *captions.labels(metrics),
        ],
        title=title,
    )


def _of_circuits(datasets: Mapping[str, xr.Dataset]) -> str:
    if "circuits" not in datasets:
        return "circuits.nc was not given, so nothing of the circuits is drawn."
    tolerance = (
        datasets["circuits"]["rank"].attrs.get("relative_tolerance")
        if "rank" in datasets["circuits"]
        else None
    )
    relative = "" if tolerance is None else f" (singular values above {tolerance:.1e} of the largest)"
    return (
        f"Ranks{relative}, translational symmetry and overlap are of the full QK and OV circuits; the matrix "
        "rank counts what rounding leaves, the effective rank is the exponential of the spectrum's entropy. "
        "The anti-state score of a head: correlation of its OV circuit with minus the sum of the others'."
    )


def _outcome(seed: int, one: Mapping[str, xr.Dataset], accurate: float) -> str:
    """When a seed sorts, and where its LLC is largest."""
    peak = llc_peak(one["llc"]) if "llc" in one else None
    parts = [*([] if peak is None else [_peak(one["llc"], peak)]), _reached(one["metrics"], accurate)]
    return f"Seed {seed}: {'; '.join(parts)}."


def _circuits(seed: int, one: Mapping[str, xr.Dataset]) -> str:
    """What the statistics of a seed's circuits begin and end at."""
    if "circuits" not in one:
        return ""
    circuits, parts = one["circuits"], []
    peak = llc_peak(one["llc"]) if "llc" in one else None
    for variable, words, form in (
        ("rank_sum", "the rank sum", ".0f"),
        ("translational_symmetry", "the symmetry", ".2f"),
        ("head_overlap", "the overlap", ".2f"),
        ("regions", "the number of regions", ".0f"),
    ):
        known = circuits[variable].dropna("step")
        if known.size and (circuits.sizes["head"] > 1 or variable not in ("regions", "head_overlap")):
            parts.append(f"{words} goes from {_ends(known, form)}{_at(known, peak, form)}")
    return f"Seed {seed}: {'; '.join(parts)}." if parts else ""


def _reached(metrics: xr.Dataset, accurate: float) -> str:
    known = metrics["accuracy"].dropna("step")
    if not known.size:
        return "no accuracy was measured"
    enough = known["step"].values[known.values >= accurate]
    last = f"{float(known[-1]):.4f} at the last step"
    if not enough.size:
        return f"token accuracy never reaches {accurate:g} (largest {float(known.max()):.3f}, {last})"
    return f"token accuracy is at least {accurate:g} first at step {int(enough[0]):,}, {last}"


def _peak(llc: xr.Dataset, peak: xr.DataArray) -> str:
    known = llc["llc"].dropna("step")
    plus = f" ± {float(llc['llc_se'].sel(step=peak['step'])):.1f}" if "llc_se" in llc else ""
    where = (
        f"the LLC is largest at step {int(peak['step']):,} ({float(peak):.1f}{plus}{_as_large(llc, peak)})"
    )
    if int(known["step"][-1]) == int(peak["step"]):
        return f"{where}, its last checkpoint"
    after = known.sel(step=slice(peak["step"], None))
    lowest = after[int(after.argmin("step"))]
    fall = 1 - float(lowest) / float(peak)
    if fall < LEVEL:
        return f"{where}, and stays so"
    return (
        f"{where}, then falls by {fall:.1%} until step {int(lowest['step']):,} "
        f"and is {1 - float(known[-1]) / float(peak):.1%} below its largest at the end"
    )


def _as_large(llc: xr.Dataset, peak: xr.DataArray) -> str:
    """Checkpoints whose estimates are below the largest by at most a standard error of the difference."""
    if "llc_se" not in llc:
        return ""
    error = np.hypot(llc["llc_se"], llc["llc_se"].sel(step=peak["step"]))
    near = (peak - llc["llc"] <= error) & (llc["step"] != peak["step"])
    steps = [f"{step:,}" for step in llc["step"].values[near.values].tolist()]
    return f"; within a standard error of it at step {', '.join(steps)}" if steps else ""


def _ends(known: xr.DataArray, form: str) -> str:
    return f"{float(known[0]):{form}} to {float(known[-1]):{form}}"


def _at(known: xr.DataArray, peak: xr.DataArray | None, form: str) -> str:
    """What it is where the LLC is largest; nothing where there is no such checkpoint."""
    if peak is None or int(peak["step"]) not in known["step"].values:
        return ""
    return f" ({float(known.sel(step=peak['step'])):{form}} at the peak)"
