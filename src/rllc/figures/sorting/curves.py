"""LLC, circuits' simplicity and accuracy of a sorting transformer over training (the list-sorting post)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.analysis.calibration import NOT_EQUILIBRATED
from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds, headed
from rllc.figures.inputs import quality_flags
from rllc.figures.panels import Row, seed_suffix, sheet
from rllc.figures.sorting import findings
from rllc.figures.sorting.inputs import elsewhere, given, one_seed
from rllc.figures.sorting.panels import Statistic, entries, of_seed, statistics

WALKING = "Most chains are not in equilibrium: compare shapes, not levels."


@style.styled
def sort_curves(
    datasets: Datasets,
    *,
    title: str = "",
    distribution: str | None = None,
    seeds: Seeds = None,
    accurate: float = 0.99,
) -> Drawing:
    """All curves of one experiment, with a common step axis. Columns: seeds.

    datasets      ``metrics``, and each of the others where it was given; ``llc.<setting>`` is a control
    distribution  default the datasets' first
    accurate      a finding is the first checkpoint with this token accuracy
    """
    told = elsewhere(datasets, distribution)
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
    return Drawing(
        figure,
        _data(datasets, shown),
        headed(title, "LLC, accuracy and circuits over training."),
        _findings(ones, accurate),
        [*told, *_conditions(datasets, ones)],
    )


def _findings(ones: findings.Runs, accurate: float) -> list[Finding]:
    """Return peak and fall of the LLC, the step of accurate sorting, and of one seed its circuits."""
    several = any(one["circuits"].sizes["head"] > 1 for one in ones.values() if "circuits" in one)
    overlap, rank = ("head_overlap", "overlap of heads"), ("rank_sum", "rank sum of circuits")
    return [
        *findings.peak_step(ones),
        *findings.llc_fall(ones),
        *findings.accuracy(ones, accurate),
        *(findings.of_circuits(ones, *(overlap if several else rank)) if len(ones) == 1 else []),
    ]


def _conditions(datasets: Datasets, ones: findings.Runs) -> list[str]:
    estimates = [(datasets[name], name) for name in ("llc", "rllc") if name in datasets]
    llc = [each for each in estimates if each[1] == "llc"]
    return [
        *conditions.of_several(*estimates),
        *(WALKING for data, name in llc if _walking(data, name)),
        *(each for data, _ in llc for each in conditions.setting(data)),
        *findings.peak_conditions(ones),
        *conditions.seeds(datasets["metrics"]),
    ]


def _walking(data: xr.Dataset, name: str) -> bool:
    """Return whether more than half of the estimates come from chains that are not in equilibrium."""
    bits, known = quality_flags(data, name), data[name].notnull()
    return (
        bits is not None
        and int(((bits.astype(np.int64) & NOT_EQUILIBRATED) > 0).sum()) > int(known.sum()) / 2
    )


def _data(datasets: Datasets, shown: Sequence[Statistic]) -> xr.Dataset:
    """Return the variables drawn. Those of other settings, and quality flags of heads, get distinct names."""
    parts: list[xr.Dataset] = []
    for source in dict.fromkeys(curve.source for each in shown for curve in each.curves):
        drawn = {c.variable for each in shown for c in each.curves if c.source == source}
        also = {f"{name}_se" for name in drawn} | {"quality", "status"}
        cut = datasets[source][[name for name in datasets[source].data_vars if name in drawn | also]]
        if source not in ("metrics", "circuits", "llc"):
            measure, apart = source.partition(".")[0], source.replace(".", "_")
            names = {name: name.removeprefix(measure) for name in map(str, cut.data_vars)}
            cut = cut.rename(
                {name: apart + (rest if rest != name else f"_{name}") for name, rest in names.items()}
            )
        parts.append(cut)
    return xr.merge(parts, join="outer", compat="override", combine_attrs="drop")
