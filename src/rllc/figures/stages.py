"""Loss, LLC and head scores over training (arXiv 2402.02364, Figs. 1a and 4b)."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, column_width, curve, of_heads, sheet
from rllc.figures.stage_bands import (
    AT_ONE_LOSS,
    BASE,
    OF_BANDS,
    OF_STAGES,
    OFF_OF,
    among,
    bands,
    curves_of,
    explained,
    llc_curves,
    llc_keys,
    of_llc,
    within,
)

LOSS = {"color": "#333333", "marker": "o"}
NEAR = 0.05  # share by which a control may differ from what is nearly it
READ = "The loss is on {} held-out contexts of each distribution."
NO_SCORE = "metrics.nc with icl_score was not given, so the in-context learning score is not drawn."
SCORES = {"previous_token": "previous-token score", "prefix_matching": "prefix-matching score"}


@style.styled
def stage_fig1a_lm(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Test loss and LLC of the full model against training step, a column per seed and a row per setting.

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
    losses, said = [], []
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        frame = {"under": bands(shown[setting][seed]), "steps": steps}
        losses.append(Panel(f"held-out loss{suffix}", [Curve(one["loss"], LOSS)], **frame))
    rows = [Row("loss (nats/token)", losses)]
    for each, level in levels.items():
        panels, cells = [], shown[each]
        at = "" if len(levels) == 1 else f", {each}"
        for seed, suffix, one in by_seed(level):
            drawn = llc_curves(one, cells[seed])
            frame = {"under": bands(cells[seed], said=True), "over": within(level)}
            panels.append(Panel(f"full-model LLC{at}{suffix}", drawn, **frame, steps=steps))
        said.append([*_of_control(level, "LLC" if not at else f"LLC ({each})"), *of_llc(cells, f"LLC{at}")])
        rows.append(Row("LLC", panels, llc_keys(level, *cells.values())))
    parts = [text for texts in zip_longest(*said, fillvalue="") for text in texts]
    dashed = dict.fromkeys(explained(AT_ONE_LOSS, shown[each]) for each in every)
    ranges = _ranges(data["loss"].sel(distribution=name), levels[BASE]["llc"] if BASE in levels else None)
    findings = [*parts[: len(every)], *dashed, *parts[len(every) :], ranges]
    conditions, details = ["llc.nc was not given, so only the loss is drawn."], []
    if every:
        findings.append("The level of an LLC is its setting's: compare it with no other's.")
        first = next(iter(every))
        measured = levels[first].assign(loss=data["loss"].sel(distribution=name, drop=True))
        measured = measured.sel(step=levels[first]["step"].values).expand_dims(distribution=[name])
        measured = measured.assign_coords(distribution_label=("distribution", [label]))
        conditions, details = captions.of_estimates(every[first], measured, "llc", "loss")
        for each in list(every)[1:]:
            more = (captions.setting(every[each]), captions.trust(levels[each], "llc"))
            conditions += [f"LLC, {each}: {captions.within(text)}" for text in more if text]
            details.append(f"LLC, {each}: {captions.chains(every[each])}.")
    beside = any(row.keys for row in rows)
    figure, _ = sheet(
        rows, panel=(column_width(data), 1.9), margin=1.6 if beside else 0.1, sharex=True, sharey="row"
    )
    contexts = captions.contexts(metrics, "metrics", of=READ)
    data = xr.merge(
        [data, *_recorded(levels, name), *_stages(datasets, name, data)],
        join="outer",
        compat="override",
        combine_attrs="drop",
    )
    return captions.drawing(
        figure,
        data,
        *findings,
        contexts,
        conditions=[f"Measured on {label}.", *conditions],
        details=[*details, *dict.fromkeys(explained(OF_STAGES, cells) for cells in shown.values())],
    )


def _setting(dataset: str) -> str:
    return dataset.partition(".")[2] or BASE


def _levels(llc: xr.Dataset, like: xr.Dataset, name: str) -> xr.Dataset:
    """What is drawn of one setting: seed, step."""
    kept = [variable for variable in ("llc", "llc_se", OFF_OF, "status", "verdict") if variable in llc]
    one = llc[kept].sel(distribution=name).reindex(seed=like["seed"]).reset_coords(drop=True)
    return one.assign(verdict=inputs.verdicts(one, "llc")) if "verdict" in one else one


def _of_control(level: xr.Dataset, named: str) -> Iterator[str]:
    """How much of the LLC is there without the gradient."""
    if OFF_OF in level:
        share = level["llc"] / level[OFF_OF]
        low, high = float(share.min()), float(share.max())
        near = max(abs(1 - low), abs(1 - high)) <= NEAR
        what = ": it says how curved the loss is, hardly more" if near else ""
        yield f"The {named} is {low:.2f} to {high:.2f} times its control without loss gradient{what}."


def _recorded(levels: Mapping[str, xr.Dataset], name: str) -> Iterator[xr.Dataset]:
    """The same under names that settings do not share."""
    for each, level in levels.items():
        ending = "" if each == BASE else f"_{each}"
        named = level.rename({variable: f"{variable}{ending}" for variable in level.data_vars})
        yield named.rename({dim: f"{dim}{ending}" for dim in level.dims if dim == "chain"}).expand_dims(
            distribution=[name]
        )


def _stages(datasets: Datasets, name: str, like: xr.Dataset) -> Iterator[xr.Dataset]:
    """What is drawn of the boundaries."""
    if "stages" in datasets and name in datasets["stages"]["distribution"].values:
        drawn = ["boundary_step", "boundary_kind", "boundary_determined", "llc_of_loss"]
        yield datasets["stages"][drawn].sel(distribution=[name]).reindex(seed=like["seed"])


def _ranges(loss: xr.DataArray, level: xr.DataArray | None) -> str:
    """From what to what both go over training, as ranges over seeds."""
    text = f"The loss goes from {_ends(loss, '.2f')} nats/token"
    return f"{text}, the LLC from {_ends(level, '.1f')}." if level is not None else f"{text}."


def _ends(values: xr.DataArray, form: str) -> str:
    known = values.dropna("step", how="all")
    if not known.size:
        return "nothing measured"
    return " to ".join(
        f"{captions.spread(end.values, form)} (step {style.step_text(float(end['step']))})"
        for end in (known.isel(step=0), known.isel(step=-1))
    )


@style.styled
def stage_fig4b_heads(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Previous-token and prefix-matching score of each head, and the in-context learning score.

    datasets      ``heads``; ``metrics`` with ``icl_score`` (without it two columns)
                  ``stages`` (without it no boundaries)
    distribution  of the ICL score, and of the LLC that has the boundaries
    setting       of that LLC
    """
    data = inputs.over_heads(datasets, "heads", *SCORES, seeds=seeds)
    metrics = datasets.get("metrics", {})
    scored = "icl_score" in metrics
    contexts, about = "", NO_SCORE
    if scored:
        icl, on = metrics["icl_score"], ""
        if "distribution" in icl.dims:
            name = inputs.one_distribution(metrics, distribution)
            icl, on = icl.sel(distribution=name), f" on {inputs.one_label(metrics, name)}"
        data["icl_score"] = icl.drop_vars(["distribution", "distribution_label"], errors="ignore")
        about = f"The in-context learning score{on} is the loss late in the context less that early in it."
        if "icl_score_se" in metrics:
            error = metrics["icl_score_se"].sel(distribution=name) if on else metrics["icl_score_se"]
            data["icl_score_se"] = error.drop_vars(["distribution", "distribution_label"], errors="ignore")
            about += f" Band: its standard error over contexts, at most {float(error.max()):.2g} nats/token."
        contexts = captions.contexts(metrics, "metrics")
    rows, best = [], []
    cells = curves_of(datasets, data["seed"], distribution, setting)
    for name, title in SCORES.items():
        highest = captions.spread(captions.last(data[name].max("head")), ".2f")
        best.append(f"the highest {title} is {highest}")
    if scored:
        score = captions.spread(captions.last(data["icl_score"]), ".2f")
        best.append(f"the in-context learning score {score}")
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
    return captions.drawing(
        figure,
        data,
        *among([f"At the last step{captions.over(data)} {', '.join(best)}."], cells),
        "Mean attention of each head to the previous token, and from a repeated token to the token after its "
        "first occurrence, on random sequences.",
        about,
        conditions=[contexts, "" if "icl_score_se" in data else "No uncertainty is drawn."],
        details=[explained(OF_BANDS, cells)],
    )
