"""LLC, circuits' simplicity and accuracy of a sorting transformer over training (the list-sorting post)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_WINDOW, Curve, near_peak
from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.panels import Row, seed_suffix, sheet
from rllc.figures.sorting.inputs import (
    LARGEST,
    first_accurate,
    given,
    has_peak,
    llc_means,
    llc_peak,
    one_seed,
)  # fmt: skip
from rllc.figures.sorting.panels import ESTIMATES, FROM, Statistic, entries, of_seed, statistics

SHAPE = "The chains are not in equilibrium: read the curve's shape (rise, peak, fall), not its level."
LEVEL = 5e-4  # a fall by less is 0.0 %


@style.styled
def sort_curves(
    datasets: Datasets,
    *,
    title: str = "",
    distribution: str | None = None,
    seeds: Seeds = None,
    accurate: float = 0.99,
) -> Drawing:
    """Every curve of one experiment, one below the other on the same steps, a column per seed.

    datasets      ``metrics``, and each of the others where it was given; ``llc.<setting>`` is a control
    distribution  default the datasets' first
    accurate      the caption says from which checkpoint on the token accuracy is at least this
    """
    datasets = given(datasets, distribution=distribution, seeds=seeds)
    shown, runs = statistics(datasets), datasets["metrics"]["seed"].values.tolist()
    ones = {seed: one_seed(datasets, seed) for seed in runs}
    steps = np.unique(np.concatenate([data["step"].values for data in datasets.values()]))
    rows = []
    for each in shown:
        panels = [
            of_seed(each, one, steps=steps, title=f"{each.title}{seed_suffix(runs, seed)}")
            for seed, one in ones.items()
        ]
        rows.append(Row(each.label, panels, entries(each, datasets)))
    figure, axes = sheet(rows, panel=(3.5, 1.25), margin=1.75, title=title, sharex=True, sharey="row")
    figure.align_ylabels(axes[:, 0])
    llc = datasets.get("llc")
    whole, heads = (_cells(datasets, *of) for of in (("LLC", "llc"), ("Heads", "rllc")))
    controls = [
        f"{name.removeprefix('llc.')}: {captions.chains(data)}"
        for name, data in datasets.items()
        if name.startswith("llc.")
    ]
    return captions.drawing(
        figure,
        _data(datasets, shown),
        *(_outcome(seed, one, accurate) for seed, one in ones.items()),
        *(_circuits(seed, one) for seed, one in ones.items()),
        conditions=[
            "llc.nc was not given, so no estimate is drawn." if llc is None else SHAPE,
            captions.BANDS if whole or heads else "",
            captions.setting(llc) if llc is not None else "",
            *whole[:1],
        ],
        details=[
            f"Drawn against training step: {', '.join(each.title for each in shown)}.",
            *whole[1:],
            *heads,
            f"LLC sampled with {captions.chains(llc)}. {captions.error(llc)}" if llc is not None else "",
            captions.when(
                controls, f"Controls, each over its maximum, without error bands: {'; '.join(controls)}."
            ),
            captions.when(
                has_peak(datasets),
                f"The dotted vertical line is where the LLC is largest, {LARGEST}; what the caption says of "
                "peak and fall is of these means, as in the claims table.",
            ),
            captions.when(
                any(each.name in ESTIMATES for each in shown),
                f"Triangles at an edge: estimates beyond it; panels are scaled by those from step {FROM} on.",
            ),
            _of_circuits(datasets),
        ],
        title=title,
    )


def _data(datasets: Datasets, shown: Sequence[Statistic]) -> xr.Dataset:
    """The variables drawn; those of other settings and verdicts of heads under names of their own."""
    parts = []
    for source in dict.fromkeys(curve.source for each in shown for curve in each.curves):
        drawn = {c.variable for each in shown for c in each.curves if c.source == source}
        also = {f"{name}_se" for name in drawn} | {"verdict", "status"}
        cut = datasets[source][[name for name in datasets[source].data_vars if name in drawn | also]]
        if source not in ("metrics", "circuits", "llc"):
            measure, apart = source.partition(".")[0], source.replace(".", "_")
            names = {name: name.removeprefix(measure) for name in cut.data_vars}
            cut = cut.rename(
                {name: apart + (rest if rest != name else f"_{name}") for name, rest in names.items()}
            )
        parts.append(cut)
    return xr.merge(parts, join="outer", compat="override", combine_attrs="drop")


def _cells(datasets: Datasets, label: str, name: str) -> list[str]:
    """Which estimates are missing or not reliable, and then with which caution; nothing without them."""
    if name not in datasets:
        return []
    data = datasets[name]
    trust = captions.joined(captions.failures(data, name), captions.trust(data, name))
    return [f"{label}: {said}" for said in (trust, captions.cautions(data, name)) if said]


def _of_circuits(datasets: Datasets) -> str:
    if "circuits" not in datasets:
        return "circuits.nc was not given, so nothing of the circuits is drawn."
    rank = datasets["circuits"].get("rank", xr.DataArray())
    tolerance = rank.attrs.get("relative_tolerance")
    above = "" if tolerance is None else f"; ranks count singular values above {tolerance:.1e} of the largest"
    return f"What is drawn of the full QK and OV circuits is defined in docs/sorting.md{above}."


def _outcome(seed: int, one: Datasets, accurate: float) -> str:
    """Where the LLC of a seed is largest, and when the seed sorts."""
    parts = filter(None, (_peak(one), _reached(one["metrics"], accurate)))
    return f"Seed {seed}: {'; '.join(parts)}."


def _circuits(seed: int, one: Datasets) -> str:
    """What the statistics of a seed's circuits begin and end at, and are where the LLC is largest."""
    if "circuits" not in one:
        return ""
    circuits, peak, parts = one["circuits"], llc_peak(one), []
    for variable, words, form in (
        ("rank_sum", "the rank sum", ".0f"),
        ("translational_symmetry", "the symmetry", ".2f"),
        ("head_overlap", "the overlap", ".2f"),
        ("regions", "the number of regions", ".0f"),
    ):
        known = circuits[variable].dropna("step")
        if known.size and (circuits.sizes["head"] > 1 or variable not in ("regions", "head_overlap")):
            at = ""
            if peak is not None and int(peak["step"]) in known["step"].values:
                at = f" ({float(known.sel(step=peak['step'])):{form}} at the peak)"
            parts.append(f"{words} goes from {float(known[0]):{form}} to {float(known[-1]):{form}}{at}")
    return f"Seed {seed}: {'; '.join(parts)}." if parts else ""


def _reached(metrics: xr.Dataset, accurate: float) -> str:
    known = metrics["accuracy"].dropna("step")
    if not known.size:
        return "no accuracy was measured"
    first, last = first_accurate(metrics, accurate), f"{float(known[-1]):.4f} at the last step"
    if first is None:
        return f"token accuracy never reaches {accurate:g} (largest {float(known.max()):.3f}, {last})"
    return f"token accuracy is at least {accurate:g} first at step {first:,}, {last}"


def _peak(one: Datasets) -> str:
    """How large it is, where else to within a standard error of the difference, and how far it falls."""
    means, peak = llc_means(one), llc_peak(one)
    if means is None or peak is None:
        return ""
    known, size = means["llc"], f"mean of {PEAK_WINDOW} checkpoints {float(peak):.1f}"
    if "error" in means:
        error = means["error"].sel(step=peak["step"])
        near = near_peak(Curve(means["step"].values, known.values, means["error"].values))
        near &= means["step"].values != int(peak["step"])
        steps = ", ".join(f"{step:,}" for step in means["step"].values[near].tolist())
        also = f"; within a standard error of it at step {steps}" if steps else ""
        size = f"{size} ± {float(error):.1f}{also}"
    where = f"the LLC is largest at step {int(peak['step']):,} ({size})"
    if int(known["step"][-1]) == int(peak["step"]):
        return f"{where}, the last such mean"
    after = known.sel(step=slice(peak["step"], None))
    lowest = after[int(after.argmin("step"))]
    fall = 1 - float(lowest) / float(peak)
    if fall < LEVEL:
        return f"{where}, and stays so"
    return (
        f"{where}, then falls by {fall:.1%} until step {int(lowest['step']):,} "
        f"and is {1 - float(known[-1]) / float(peak):.1%} below its largest in the last mean"
    )
