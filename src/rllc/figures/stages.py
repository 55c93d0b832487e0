"""Loss, LLC and head scores over training (arXiv 2402.02364, Figs. 1a and 4b)."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import at_end, fitting, known, last, near_end
from rllc.figures.panels import Curve, Panel, Row, by_seed, column_width, curve, of_heads, sheet
from rllc.figures.stage_bands import (
    BASE,
    OFF_OF,
    Cells,
    above_chance,
    bands,
    boundary_findings,
    curves_of,
    llc_curves,
    llc_findings,
    llc_keys,
    of_stages,
    within,
)
from rllc.units import NATS

LOSS = {"color": "#333333", "marker": "o"}
SCORES = {"previous_token": "previous-token score", "prefix_matching": "prefix-matching score"}


@style.styled
def stage_fig1a_lm(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Test loss and LLC of the full model against training step. Rows: sampler settings. Columns: seeds.

    datasets  ``metrics`` with ``loss``; ``llc``, ``llc.<setting>`` (without any the loss alone); ``stages``
              (without it no boundaries)
    setting   whose boundaries the panels of the loss have; those of an LLC have its own
    """
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss"), seeds)
    every = {_setting(name): data for name, data in datasets.items() if name.partition(".")[0] == "llc"}
    name = inputs.one_distribution(next(iter(every.values()), metrics), distribution)
    every = {each: llc for each, llc in every.items() if name in llc["distribution"].values}
    data = metrics[["loss"]].sel(distribution=[name])
    label = inputs.one_label(data, name)
    levels = {each: _levels(llc, data, name) for each, llc in every.items()}
    shown = {each: curves_of(datasets, data["seed"], name, each) for each in dict.fromkeys((*every, setting))}
    steps = np.unique(
        np.concatenate([data["step"].values, *(each["step"].values for each in levels.values())])
    )
    losses = []
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        under = bands(shown[setting][seed])
        losses.append(Panel(f"held-out loss{suffix}", [Curve(one["loss"], LOSS)], under=under, steps=steps))
    rows = [Row("loss (nats/token)", losses)]
    for each, level in levels.items():
        panels, cells = [], shown[each]
        at = "" if len(levels) == 1 else f", {each}"
        for seed, suffix, one in by_seed(level):
            drawn = llc_curves(one, cells[seed])
            under, over = bands(cells[seed], said=True), within(level)
            panels.append(Panel(f"full-model LLC{at}{suffix}", drawn, under=under, over=over, steps=steps))
        rows.append(Row("LLC", panels, llc_keys(level, *cells.values())))
    beside = any(row.keys for row in rows)
    figure, _ = sheet(
        rows, panel=(column_width(data), 1.9), margin=1.6 if beside else 0.1, sharex=True, sharey="row"
    )
    data = xr.merge(
        [data, *_recorded(levels, name), *_stages(datasets, name, data)],
        join="outer",
        compat="override",
        combine_attrs="drop",
    )
    drawn = "Held-out loss and full-model LLC" if every else "Held-out loss"
    title = f"{drawn} on {label}, over training."
    told = [
        *(_of_llc(every, levels, name, label) if every else conditions.contexts(metrics, "metrics")),
        *([] if every else conditions.seeds(data)),
        *(of_stages(shown[setting], setting) if len(every) > 1 else []),
        *above_chance(shown[setting]),
    ]
    error = metrics["loss_se"].sel(distribution=name) if "loss_se" in metrics else None
    found = _findings(data.sel(distribution=name), error, levels, shown, setting)
    return Drawing(figure, data, title, fitting(found, title, told), told)


def _findings(
    one: xr.Dataset,
    error: xr.DataArray | None,
    levels: Mapping[str, xr.Dataset],
    shown: Mapping[str, Cells],
    setting: str,
) -> list[Finding]:
    """Return the last LLCs, their correlation with the loss, the boundaries drawn, and the last loss.

    error  of the loss
    """
    made, ratios = [], []
    for each in sorted(levels, key=lambda each: each != setting):
        called, level = "LLC" if len(levels) == 1 else f"LLC ({each})", levels[each]
        made += llc_findings(shown[each], called)[:1]
        made += at_end(called, level["llc"], level.get("llc_se"))
        if OFF_OF in level:
            ratios += at_end(f"{called} over its prior-only control", level["llc"] / level[OFF_OF])
    drawn = boundary_findings(shown[setting], each=len(levels) < 2)
    # Of several settings the caption has no room for the words of a mean.
    loss = near_end if len(levels) < 2 else at_end
    return [*made, *drawn, *ratios, *loss("held-out loss", one["loss"], error, NATS)]


def _of_llc(
    every: Mapping[str, xr.Dataset], levels: Mapping[str, xr.Dataset], name: str, label: str
) -> list[str]:
    """Return the conditions of the LLCs, by setting."""
    measured = {}
    for each, level in levels.items():
        sampled = level.sel(seed=level["seed"].isin(every[each]["seed"])).expand_dims(distribution=[name])
        measured[each] = sampled.assign_coords(distribution_label=("distribution", [label]))
    return conditions.of_settings(every, measured, "llc")


def _setting(dataset: str) -> str:
    return dataset.partition(".")[2] or BASE


def _levels(llc: xr.Dataset, like: xr.Dataset, name: str) -> xr.Dataset:
    """Return the data drawn for one setting: (seed, step)."""
    kept = [variable for variable in ("llc", "llc_se", OFF_OF, "status", "quality") if variable in llc]
    one = llc[kept].sel(distribution=name).reindex(seed=like["seed"]).reset_coords(drop=True)
    return one.assign(quality=inputs.quality_flags(one, "llc")) if "quality" in one else one


def _recorded(levels: Mapping[str, xr.Dataset], name: str) -> Iterator[xr.Dataset]:
    """Yield the data of every setting under names that include the setting."""
    for each, level in levels.items():
        ending = "" if each == BASE else f"_{each}"
        named = level.rename({variable: f"{variable}{ending}" for variable in level.data_vars})
        yield named.rename({dim: f"{dim}{ending}" for dim in level.dims if dim == "chain"}).expand_dims(
            distribution=[name]
        )


def _stages(datasets: Datasets, name: str, like: xr.Dataset) -> Iterator[xr.Dataset]:
    """Yield the data drawn for the boundaries."""
    if "stages" in datasets and name in datasets["stages"]["distribution"].values:
        drawn = ["boundary_step", "boundary_kind", "boundary_determined", "llc_of_loss"]
        yield datasets["stages"][drawn].sel(distribution=[name]).reindex(seed=like["seed"])


@style.styled
def stage_fig4b_heads(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Previous-token and prefix-matching score of each head, and the in-context learning score.

    datasets      ``attention_scores``; ``metrics`` with ``icl_score`` (without it two columns)
                  ``stages`` (without it no boundaries)
    distribution  of the ICL score, and of the LLC that has the boundaries
    setting       of that LLC
    """
    errors = [f"{name}_se" for name in SCORES]
    data = inputs.over_heads(datasets, "attention_scores", *SCORES, also=errors, seeds=seeds)
    metrics = datasets.get("metrics", xr.Dataset())
    scored = "icl_score" in metrics
    text, on = None, ""
    if scored:
        if "distribution" in metrics["icl_score"].dims:
            text = inputs.one_distribution(metrics, distribution)
            on = f" on {inputs.one_label(metrics, text)}"
        for name in ("icl_score", "icl_score_se"):
            if name in metrics:
                score = metrics[name] if text is None else metrics[name].sel(distribution=text)
                data[name] = score.drop_vars(["distribution", "distribution_label"], errors="ignore")
    rows = []
    cells = curves_of(datasets, data["seed"], distribution, setting)
    for seed, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        panels, under = [], bands(cells[seed])
        for name, title in SCORES.items():
            panels.append(Panel(f"{title}{suffix}", of_heads(one, name, looks), under=under))
        if scored:
            score = curve(one, "icl_score", {"color": "black", "marker": "o"})
            panels.append(Panel(f"in-context learning score{suffix}", [score], under=under))
        rows.append(Row("attention", panels, style.head_keys(one["head_type"], looks), "head, type"))
    figure, axes = sheet(rows, panel=(2.6, 2.1), entries=data.sizes["head"], sharex=True, sharey="col")
    for line in axes:
        for ax, unit in zip(line[1:], ("attention", "nats/token"), strict=False):
            ax.set_ylabel(unit)
    findings = [each for name, title in SCORES.items() for each in _highest(data[name], title)]
    if scored:
        findings += at_end(
            f"in-context learning score{on}", data["icl_score"], data.get("icl_score_se"), unit=NATS
        )
    return Drawing(
        figure,
        data,
        "Attention scores of every head on random sequences"
        + (f", and in-context learning score{on}, over training." if scored else ", over training."),
        known(findings),
        [
            *(conditions.contexts(metrics, "metrics") if scored else []),
            *_sequences(datasets["attention_scores"]),
            *_bands_of_scores(data),
            *of_stages(cells),
            *above_chance(cells),
            *conditions.seeds(data),
        ],
    )


def _sequences(scores: xr.Dataset) -> list[str]:
    """Return the number of sequences of the attention scores, and of those at steps measured on more."""
    made = recorded(scores, "attention_scores")
    count = made.get("sequences", 0)
    return [f"Attention: {count:,} sequences{conditions.more_at(made, count)}."] if count else []


def _bands_of_scores(data: xr.Dataset) -> list[str]:
    """Return what the bands are: of attention scores, of the in-context learning score, or of both."""
    of = {
        "over sequences (attention)": list(SCORES),
        "over contexts (in-context learning score)": ["icl_score"],
    }
    return [
        conditions.band(data[f"{names[0]}_se"], over)
        for over, names in of.items()
        if all(f"{name}_se" in data for name in names)
    ]


def _highest(score: xr.DataArray, title: str) -> list[Finding]:
    """Return the highest score of a head at the end. For one seed, it has the head's name."""
    end = last(score)
    if score.sizes["seed"] == 1 and bool(end.notnull().any()):
        title = f"{title} (head {end.isel(seed=0).fillna(-np.inf).idxmax('head').item()})"
    return at_end(f"highest {title}", score.max("head"))
