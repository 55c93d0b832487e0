"""LLC, circuits' simplicity and accuracy of a sorting transformer over training (the list-sorting post)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.sorting.inputs import given, has_peak, llc_peak, one_seed
from rllc.figures.sorting.panels import ESTIMATES, FROM, Panel, draw, entries, limits, panels

NOT_IN_EQUILIBRIUM = (
    "The chains are not in equilibrium: a checkpoint on its way, and the more so one trained with L2, is no "
    "minimum of the loss itself, so read the shape of the curve (rise, peak, fall); its level is the "
    "setting's."
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
    found = given(datasets, distribution=distribution, seeds=seeds)
    rows, names = panels(found), found["metrics"]["seed"].values.tolist()
    figure, axes = style.grid(len(rows), len(names), panel=(3.5, ROW), margin=1.75, sharex=True, sharey="row")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    within = [limits(panel, found) for panel in rows]
    for column, seed in zip(axes.T, names, strict=True):
        one = one_seed(found, seed)
        steps = np.unique(np.concatenate([dataset["step"].values for dataset in one.values()]))
        for ax, panel, edges in zip(column, rows, within, strict=True):
            draw(ax, panel, one, edges)
            ax.set_title(f"{panel.title}{f', seed {seed}' if len(names) > 1 else ''}", loc="left")
            style.step_axis(ax, steps)
    for line, panel in zip(axes, rows, strict=True):
        line[0].set_ylabel(panel.label)
        listed = entries(panel, found)
        if listed:
            style.beside(line[-1], listed)
    figure.align_ylabels(axes[:, 0])
    return Drawing(figure, _data(found, rows), _caption(found, rows, title, accurate))


def _data(found: Mapping[str, xr.Dataset], rows: Sequence[Panel]) -> xr.Dataset:
    """The variables drawn; those of other settings and verdicts of heads under names of their own."""
    parts = []
    for source in dict.fromkeys(curve.source for panel in rows for curve in panel.curves):
        dataset = found[source]
        drawn = {c.variable for panel in rows for c in panel.curves if c.source == source}
        also = {f"{name}_se" for name in drawn} | {"verdict", "status"}
        cut = dataset[[name for name in dataset.data_vars if name in drawn | also]]
        apart = source.replace(".", "_")
        own = [name for name in cut.data_vars if source not in ("metrics", "circuits", "llc")]
        renamed = {name: name.replace(source.partition(".")[0], apart) for name in own}
        renamed |= {name: f"{apart}_{name}" for name in own if name in ("verdict", "status")}
        parts.append(cut.rename(renamed))
    return xr.merge(parts, join="outer", compat="override", combine_attrs="drop")


def _caption(found: Mapping[str, xr.Dataset], rows: Sequence[Panel], title: str, accurate: float) -> str:
    metrics, llc = found["metrics"], found.get("llc")
    said = [_told(one_seed(found, seed), accurate) for seed in metrics["seed"].values.tolist()]
    settings = [
        f"{name.removeprefix('llc.')}: {captions.setting(dataset).removeprefix('Setting: ').rstrip('.')}"
        for name, dataset in found.items()
        if name.startswith("llc.")
    ]
    estimates = [name for name in ("llc", "rllc") if name in found]
    return captions.joined(
        f"{title + ': ' if title else ''}{', '.join(panel.title for panel in rows)}, against training step.",
        *said,
        "The dotted vertical line is where the LLC is largest." if llc is not None and has_peak(llc) else "",
        "llc.nc was not given, so no estimate is drawn." if llc is None else NOT_IN_EQUILIBRIUM,
        captions.BANDS if estimates else "",
        f"Triangles at an edge: estimates beyond it; panels are scaled by those from step {FROM} on."
        if any(panel.name in ESTIMATES for panel in rows)
        else "",
        captions.setting(llc) if llc is not None else "",
        f"Controls, each over its maximum, without error bands: {'; '.join(settings)}." if settings else "",
        _of_circuits(found),
        captions.seeds(metrics),
        *(f"{_named(name)}: {captions.failures(found[name], name)}" for name in estimates),
        *(f"{_named(name)}: {said}" for name in estimates if (said := captions.trust(found[name], name))),
    )


def _named(name: str) -> str:
    return {"llc": "LLC", "rllc": "Heads"}[name]


def _of_circuits(found: Mapping[str, xr.Dataset]) -> str:
    if "circuits" not in found:
        return "circuits.nc was not given, so nothing of the circuits is drawn."
    tolerance = (
        found["circuits"]["rank"].attrs.get("relative_tolerance") if "rank" in found["circuits"] else None
    )
    relative = "" if tolerance is None else f" (singular values above {tolerance:.1e} of the largest)"
    return (
        f"Ranks{relative}, translational symmetry and overlap are of the full QK and OV circuits; the matrix "
        "rank counts what rounding leaves, the effective rank is the exponential of the spectrum's entropy. "
        "The anti-state score of a head: correlation of its OV circuit with minus the sum of the others'."
    )


def _told(one: Mapping[str, xr.Dataset], accurate: float) -> str:
    """The numbers of one seed: when it sorts, where the LLC is largest, what it and the circuits end at."""
    said = [_reached(one["metrics"], accurate)]
    peak = llc_peak(one["llc"]) if "llc" in one else None
    if peak is not None:
        said.append(_peak(one["llc"], peak))
    if "circuits" in one:
        circuits = one["circuits"]
        for variable, words, form in (
            ("rank_sum", "the rank sum", ".0f"),
            ("translational_symmetry", "the symmetry", ".2f"),
            ("head_overlap", "the overlap", ".2f"),
            ("regions", "the number of regions", ".0f"),
        ):
            known = circuits[variable].dropna("step")
            if known.size and (circuits.sizes["head"] > 1 or variable not in ("regions", "head_overlap")):
                said.append(f"{words} goes from {_ends(known, form)}{_at(known, peak, form)}")
    return f"Seed {int(one['metrics']['seed'])}: {'; '.join(said)}."


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
