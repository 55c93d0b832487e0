"""Loss and LLC of in-context regression (arXiv 2402.02364, Fig. 1b), and what its LLC measures."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.against_loss import against_loss
from rllc.analysis.distance import free_distance
from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import at_end, fitting, largest, over_seeds
from rllc.figures.findings import by_seed as of_every_seed
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, curve, level, sheet
from rllc.figures.regression.inputs import (
    PUBLISHED,
    called,
    law,
    of_stages,
    staged,
    zero_loss,
)
from rllc.figures.stage_bands import (
    BASE,
    CHAINS_LOSS,
    Cells,
    above_chance,
    bands,
    boundary_findings,
    curves_of,
    llc_findings,
    of_loss,
)
from rllc.figures.stage_bands import keys as stage_keys
from rllc.quality import QUALITY_DTYPE

LOSS, OFF = {"color": "#333333", "marker": "o"}, {"color": "#777777", "linestyle": "--", "marker": "."}
SETTINGS = ("#117733", "#4477AA", "#999933", "#885522")  # colours of settings, the base setting first
ZERO, BAYES = {"color": "#CC6677", "linestyle": ":"}, {"color": "#332288", "linestyle": ":"}
UNIT = "squared error"


@style.styled
def stage_fig1b_lr(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Test loss, and the LLC at every sampler setting with its control. Columns: seeds.

    datasets  ``metrics``, ``llc``, and where there are others ``llc.<setting>``;
              ``regression_predictions`` for the losses of the zero predictor and of
              the Bayes predictor; ``stages`` (without it no boundaries)
    setting   whose boundaries the panels of the loss have; those of an LLC have its own
    """
    settings = of_settings(datasets)
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss"), seeds)
    name = inputs.one_distribution(metrics, distribution)
    data = together(metrics[["loss"]], settings, name, ("llc", "llc_se", "llc_prior_only"))
    lines = reference(datasets)
    losses, rows, cells = [], [], {}
    for seed, suffix, one in by_seed(data):
        frame = {"over": all_of(*(level(v, **k) for _, v, k in lines)), **staged(datasets, seed, setting)}
        losses.append(Panel(f"held-out loss{suffix}", [Curve(one["loss"], LOSS)], **frame))
    keys = [style.key(label, **look) for label, _, look in lines]
    rows.append(Row("mean squared error", losses, [style.key("model", **LOSS), *keys]))
    for each, color in zip(settings, SETTINGS, strict=False):
        look, end, source = {"color": color, "marker": "o"}, _end(each), settings[each]
        panels, faults = [], inputs.ring_reasons((source, "llc"))
        cells[each] = curves_of(datasets, data["seed"], None, BASE if each == PUBLISHED else each)
        within = _limits(data, end)
        for seed, suffix, one in by_seed(data):
            stages = cells[each][seed]
            measured = one.sel(step=source["step"].values)
            off = Curve(measured[f"llc{end}_prior_only"], OFF)
            drawn = Curve(measured[f"llc{end}"], look, measured.get(f"llc{end}_se"), _faulty(measured, end))
            frame = {"under": bands(stages, said=True), "steps": source["step"].values, "over": within}
            panels.append(Panel(f"LLC, {each}{suffix}", [off, drawn, *of_loss(stages)], **frame))
        keys = [style.key("LLC", **look), style.key("control: no loss gradient", **OFF)]
        keys += stage_keys(*cells[each].values())
        rows.append(Row("LLC", panels, [*keys, *style.ring_keys(faults)]))
    figure, _ = sheet(rows, panel=(3.6, 1.8), sharex=True, sharey="row")
    measured = {
        each: source.sel(distribution=[name], seed=source["seed"].isin(data["seed"]))
        for each, source in settings.items()
    }
    shown = cells.get(called(setting), {})
    any_stages = any(one is not None for one in shown.values())
    title = f"Held-out loss and full-model LLC on {inputs.one_label(metrics, name)}, over training."
    told = [
        *conditions.of_settings(settings, measured, "llc"),
        *([f"Stages of the loss: setting {called(setting)}."] if len(settings) > 1 and any_stages else []),
        *above_chance(shown),
    ]
    return Drawing(figure, data, title, fitting(_findings(data, cells, shown), title, told), told)


def _findings(data: xr.Dataset, cells: Mapping[str, Cells], shown: Cells) -> list[Finding]:
    """Return every LLC's correlation with the loss, the largest LLC at the base setting, and boundaries."""
    made = at_end("held-out loss", data["loss"], unit=UNIT) if len(cells) == 1 else []
    for each in cells:
        made += llc_findings(cells[each], f"LLC ({each})")[:1]
    peak = largest(f"LLC ({PUBLISHED})", data["llc"], data.get("llc_se"))
    if len(cells) > 1:
        peak = peak[:1]
    return [*made, *peak, *boundary_findings(shown, each=len(cells) < 2)]


@style.styled
def regression_sampled_loss(
    datasets: Datasets,
    *,
    distribution: Name = None,
    seeds: Seeds = None,
    setting: str = "sampling",
) -> Drawing:
    """Mean loss of the chains and loss at the checkpoint; distance of the chains from it.

    datasets  ``metrics``, ``llc``, and where there are others ``llc.<setting>``; ``structure`` for the number
              of weights, which the distance of free chains grows with the root of;
              ``regression_predictions`` for the losses of the zero predictor and of
              the Bayes predictor; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    settings = of_settings(datasets)
    counts = inputs.need(datasets, "structure", "weight_count")["weight_count"]
    weights = int(counts.isel(seed=0, step=0).sum())
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss", "weight_norm"), seeds)
    name = inputs.one_distribution(metrics, distribution)
    base = metrics[["loss", "weight_norm"]].sel(distribution=name)
    data = together(metrics[["loss"]], settings, name, ("llc", "llc_se", "llc_prior_only", "init_loss"))
    data["weight_norm"] = _any_distribution(base["weight_norm"])
    for each, source in settings.items():
        end, values = _end(each), recorded(source, "sampling")
        at_center = data[f"init_loss{end}"]
        data[f"sampled_loss{end}"] = at_center + data[f"llc{end}"] / values["n_beta"]
        data[f"sampled_loss{end}_se"] = data[f"llc{end}_se"] / values["n_beta"]
        free = free_distance(
            weights, **{n: values[n] for n in ("step_size", "localization", "draws", "burn_in", "thinning")}
        )
        data[f"relative_distance{end}"] = free / data["weight_norm"]
        data[f"relative_distance{end}"].attrs["free_distance"] = free
    lines = reference(datasets)
    looks = {s: {"color": c, "marker": "o"} for s, c in zip(settings, SETTINGS, strict=False)}
    losses, distances = [], []
    for seed, suffix, one in by_seed(data):
        over, frame = all_of(*(level(v, **k) for _, v, k in lines)), staged(datasets, seed, setting)
        curves = [Curve(one["loss"], LOSS)]
        for each, look in looks.items():
            measured = one.sel(step=settings[each]["step"].values)
            curves.append(
                curve(measured.drop_vars("quality", errors="ignore"), f"sampled_loss{_end(each)}", look)
            )
        losses.append(Panel(f"loss of the chains{suffix}", curves, over=over, **frame))
        far = [Curve(one[f"relative_distance{_end(s)}"], look) for s, look in looks.items()]
        title = f"distance of free chains / weight norm{suffix}"
        distances.append(Panel(title, far, over=level(1.0), **frame))
    keys = [style.key("checkpoint", **LOSS), *(style.key(f"chains, {s}", **k) for s, k in looks.items())]
    keys += [style.key(label, **look) for label, _, look in lines]
    rows = [Row("mean squared error", losses, keys), Row("distance / norm", distances)]
    figure, _ = sheet(rows, panel=(3.9, 2.1), margin=1.7, sharex=True, sharey="row")
    title = (
        "Mean loss of the sampler's chains beside the checkpoint's, and their distance without a gradient."
    )
    told = [
        "Mean loss of the chains: loss at the checkpoint plus LLC / n_beta.",
        conditions.BANDS,
        *([f"Findings are of setting {PUBLISHED}."] if len(settings) > 1 else []),
        *conditions.setting(settings[PUBLISHED]),
        *of_stages(datasets, data["seed"], setting),
        *conditions.seeds(data),
    ]
    measured = data.sel(step=settings[PUBLISHED]["step"].values)
    return Drawing(figure, data, title, fitting(_of_chains(measured), title, told), told)


def _of_chains(data: xr.Dataset) -> list[Finding]:
    """Return range of the chains' loss at the base setting, its correlation with the loss, and distances."""
    sampled = data["sampled_loss"].dropna("step", how="all")
    return [
        *over_seeds(f"correlation of LLC and {CHAINS_LOSS}", of_every_seed(data, _correlation)),
        *over_seeds("lowest mean loss of the chains", sampled.min("step"), unit=UNIT),
        *over_seeds("highest mean loss of the chains", sampled.max("step"), unit=UNIT),
        *at_end("distance of free chains over weight norm", data["relative_distance"]),
    ]


def _correlation(one: xr.Dataset) -> float:
    """Return the correlation of the LLC and the loss where its chains start, as ``stages`` has it."""
    return float(against_loss(one["llc"], one["init_loss"], n_beta=1.0)["llc_loss_correlation"])


def of_settings(datasets: Datasets) -> dict[str, xr.Dataset]:
    """Return the estimates of every setting: the base one, called published, and the others by name."""
    inputs.need(datasets, "llc", "llc", "llc_prior_only")
    return {
        name.partition(".")[2] or "published": data
        for name, data in datasets.items()
        if name.partition(".")[0] == "llc"
    }


def together(
    base: xr.Dataset, settings: dict[str, xr.Dataset], name: str, variables: Sequence[str]
) -> xr.Dataset:
    """Return losses and the estimates of every setting on one distribution: ``llc``, ``llc_local``, .."""
    parts = [base.sel(distribution=name)]
    for setting, source in settings.items():
        kept = [each for each in (*variables, "quality") if each in source]
        cut = source[kept].sel(distribution=name).reindex(seed=base["seed"])
        end = _end(setting)
        parts.append(cut.rename({each: _named(each, end) for each in kept}))
    data = xr.merge(parts, join="outer", compat="override", combine_attrs="drop")
    for end in map(_end, settings):
        if f"quality{end}" in data:  # integers again: steps without an estimate made them floats
            data[f"quality{end}"] = data[f"quality{end}"].fillna(0).astype(QUALITY_DTYPE)
    return data.drop_vars(["distribution", "distribution_label"], errors="ignore")


def reference(datasets: Datasets) -> list[tuple[str, float, dict]]:
    """Return levels of the loss: label, value, look; none if they are unknown."""
    if "regression_predictions" not in datasets:
        return []
    source = datasets["regression_predictions"]
    zero, bayes = zero_loss(law(source, "regression_predictions")), float(source["ridge_mse"].mean())
    lines = [("Bayes predictor", bayes, BAYES)]
    return [("zero predictor", zero, ZERO), *lines] if zero is not None else lines


def _end(setting: str) -> str:
    return "" if setting == "published" else f"_{setting}"


def _named(variable: str, end: str) -> str:
    """Return the name of a variable at a setting, which follows the quantity: ``llc_local_se``."""
    for suffix in ("_se", "_prior_only"):
        if variable.endswith(suffix):
            return f"{variable.removesuffix(suffix)}{end}{suffix}"
    return f"{variable}{end}"


def _limits(data: xr.Dataset, end: str) -> Callable[[Axes], object]:
    """Return a function that sets the range by estimates and controls, whatever the loss would predict."""
    shown = [data[name] for name in (f"llc{end}", f"llc{end}_prior_only")]
    low, high = min(float(each.min()) for each in shown), max(float(each.max()) for each in shown)
    room = 0.08 * (high - low) or 1.0
    return partial(Axes.set_ylim, bottom=low - room, top=high + room)


def _plain(source: xr.Dataset, name: str) -> xr.Dataset:
    return source.sel(distribution=[name])


def _any_distribution(values: xr.DataArray) -> xr.DataArray:
    return values.drop_vars(["distribution", "distribution_label"], errors="ignore")


def _faulty(one: xr.Dataset, end: str) -> xr.DataArray | None:
    if f"quality{end}" not in one:
        return None
    return inputs.faulty(one.assign(quality=one[f"quality{end}"]), f"llc{end}")
