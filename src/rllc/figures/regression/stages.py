"""Loss and LLC of in-context regression (arXiv 2402.02364, Fig. 1b), and what its LLC measures."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.distance import free_distance
from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, curve, level, sheet
from rllc.figures.regression.inputs import PUBLISHED, at, boundaries, cell, law, most, staged, zero_loss
from rllc.figures.stage_bands import BASE, OF_STAGES, bands, is_it_the_loss, of_loss, words
from rllc.figures.stage_bands import keys as stage_keys

LOSS, OFF = {"color": "#333333", "marker": "o"}, {"color": "#777777", "linestyle": "--", "marker": "."}
SETTINGS = ("#117733", "#4477AA", "#999933", "#885522")  # of the sampler, the base setting first
ZERO, BAYES = {"color": "#CC6677", "linestyle": ":"}, {"color": "#332288", "linestyle": ":"}
NO_LEVEL = "The level of an LLC is its setting's: compare it with no other's."


@style.styled
def stage_fig1b_lr(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Test loss, and the LLC under every setting with its control, a column per seed.

    datasets  ``metrics``, ``llc``, and where there are others ``llc.<setting>``; ``in_context`` for the
              losses of the zero predictor and of the Bayes predictor; ``stages`` (without it no boundaries)
    setting   whose boundaries the panels of the loss have; those of an LLC have its own
    """
    settings = of_settings(datasets)
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss"), seeds)
    name = inputs.one_distribution(metrics, distribution)
    data = together(metrics[["loss"]], settings, name, ("llc", "llc_se", "llc_gradient_off"))
    lines, known = reference(datasets)
    losses, rows, findings = [], [], []
    for seed, suffix, one in by_seed(data):
        frame = {"over": all_of(*(level(v, **k) for _, v, k in lines)), **staged(datasets, seed, setting)}
        losses.append(Panel(f"held-out loss{suffix}", [Curve(one["loss"], LOSS)], **frame))
        loss = one["loss"].dropna("step")
        said = f"seed {seed}: the loss goes from {at(loss[0])} to {at(loss[-1])}"
        for each in settings:
            estimate = one[f"llc{_end(each)}"].dropna("step")
            if estimate.size:
                peak = at(most(estimate), ".1f")
                said += f", the LLC ({each}) peaks at {peak} and ends at {float(estimate[-1]):.1f}"
        findings.append(captions.sentence(said))
    keys = [style.key(label, **look) for label, _, look in lines]
    rows.append(Row("mean squared error", losses, [style.key("model", **LOSS), *keys]))
    parted, alike, seen = [], [], []
    for each, color in zip(settings, SETTINGS, strict=False):
        look, end, source = {"color": color, "marker": "o"}, _end(each), settings[each]
        panels, faults, cells = [], inputs.ring_reasons((source, "llc")), []
        within = _limits(data, end)
        for seed, suffix, one in by_seed(data):
            stages = cell(datasets, seed, BASE if each == PUBLISHED else each)
            cells.append(stages)
            if stages is not None:
                parted.append(captions.sentence(f"LLC, {each}{suffix}: {words(stages)}"))
                said = is_it_the_loss(stages)
                alike.append(captions.when(said, captions.sentence(f"LLC, {each}{suffix}: {said}")))
            measured = one.sel(step=source["step"].values)
            off = Curve(measured[f"llc{end}_gradient_off"], OFF)
            drawn = Curve(measured[f"llc{end}"], look, measured.get(f"llc{end}_se"), _faulty(measured, end))
            frame = {"under": bands(stages, said=True), "steps": source["step"].values, "over": within}
            panels.append(Panel(f"LLC, {each}{suffix}", [off, drawn, *of_loss(stages)], **frame))
        keys = [style.key("LLC", **look), style.key("control: no loss gradient", **OFF), *stage_keys(*cells)]
        rows.append(Row("LLC", panels, [*keys, *style.ring_keys(faults)]))
        seen += [one for one in cells if one is not None]
    conditions, details = captions.of_estimates(
        settings["published"], _plain(settings["published"], name), "llc"
    )
    figure, _ = sheet(rows, panel=(3.6, 1.8), sharex=True, sharey="row")
    return captions.drawing(
        figure,
        data,
        *findings[:1],
        *parted,
        *findings[1:],
        f"Dotted: {' and '.join(f'{label} {value:.3f}' for label, value, _ in lines)}." if lines else "",
        NO_LEVEL,
        captions.when(
            known,
            "Stages lie at other steps than the paper's, whose rates are others: compare the sum of rates.",
        ),
        conditions=conditions,
        details=[
            *details,
            captions.joined(*alike),
            captions.when(seen, OF_STAGES),
            *(f"Setting {s}: {captions.chains(d)}." for s, d in settings.items()),
        ],
    )


@style.styled
def regression_sampled_loss(
    datasets: Datasets,
    *,
    distribution: Name = None,
    seeds: Seeds = None,
    setting: str = "sampling",
) -> Drawing:
    """What the loss is where the sampler is, beside the loss at the checkpoint; how far away it is.

    datasets  ``metrics``, ``llc``, and where there are others ``llc.<setting>``; ``structure`` for the number
              of weights, which the distance of free chains grows with the root of; ``in_context`` for the
              losses of the zero predictor and of the Bayes predictor; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    settings = of_settings(datasets)
    counts = inputs.need(datasets, "structure", "weight_count")["weight_count"]
    weights = int(counts.isel(seed=0, step=0).sum())
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss", "weight_norm"), seeds)
    name = inputs.one_distribution(metrics, distribution)
    base = metrics[["loss", "weight_norm"]].sel(distribution=name)
    data = together(metrics[["loss"]], settings, name, ("llc", "llc_se", "llc_gradient_off", "init_loss"))
    data["weight_norm"] = _any_distribution(base["weight_norm"])
    for each, source in settings.items():
        end, values = _end(each), captions.sampling(source)
        at_center = data[f"init_loss{end}"]
        data[f"sampled_loss{end}"] = at_center + data[f"llc{end}"] / values["n_beta"]
        data[f"sampled_loss{end}_se"] = data[f"llc{end}_se"] / values["n_beta"]
        free = free_distance(
            weights, **{n: values[n] for n in ("step_size", "localization", "draws", "burn_in", "thinning")}
        )
        data[f"relative_distance{end}"] = free / data["weight_norm"]
        data[f"relative_distance{end}"].attrs["free_distance"] = free
    lines, _ = reference(datasets)
    looks = {s: {"color": c, "marker": "o"} for s, c in zip(settings, SETTINGS, strict=False)}
    losses, distances, findings = [], [], []
    for seed, suffix, one in by_seed(data):
        over, frame = all_of(*(level(v, **k) for _, v, k in lines)), staged(datasets, seed, setting)
        curves = [Curve(one["loss"], LOSS)]
        for each, look in looks.items():
            measured = one.sel(step=settings[each]["step"].values)
            curves.append(
                curve(measured.drop_vars("verdict", errors="ignore"), f"sampled_loss{_end(each)}", look)
            )
        losses.append(Panel(f"loss of the chains{suffix}", curves, over=over, **frame))
        far = [Curve(one[f"relative_distance{_end(s)}"], look) for s, look in looks.items()]
        title = f"distance of free chains / weight norm{suffix}"
        distances.append(Panel(title, far, over=level(1.0), **frame))
        sampled = one["sampled_loss"].dropna("step")
        both = one.sel(step=sampled["step"])
        rise = both.sel(step=slice(None, int(most(both["llc"])["step"])))
        r, early = (
            float(np.corrcoef(d["llc"], d["loss"])[0, 1]) if d.sizes["step"] > 2 else np.nan
            for d in (both, rise)
        )
        low, high = float(both["loss"].min()), float(both["loss"].max())
        findings.append(
            f"Seed {seed}, setting published: the chains' mean loss is {float(sampled.min()):.2f} to "
            f"{float(sampled.max()):.2f} where the checkpoint's falls from {high:.2f} to {low:.2f}; LLC and "
            f"loss correlate by {r:.3f}, up to the LLC's peak by {early:.3f}."
        )
    keys = [style.key("checkpoint", **LOSS), *(style.key(f"chains, {s}", **k) for s, k in looks.items())]
    keys += [style.key(label, **look) for label, _, look in lines]
    rows = [Row("mean squared error", losses, keys), Row("distance / norm", distances)]
    figure, _ = sheet(rows, panel=(3.9, 2.1), margin=1.7, sharex=True, sharey="row")
    frees = ", ".join(
        f"{float(data[f'relative_distance{_end(s)}'].attrs['free_distance']):.1f} ({s})" for s in settings
    )
    return captions.drawing(
        figure,
        data,
        *findings,
        "Were the chains' loss a constant c, the LLC would be n_beta (c - loss): the loss, not geometry.",
        f"Chains that feel the localization alone are {frees} from the checkpoint, of {weights:,} weights.",
        conditions=[
            boundaries(datasets, data["seed"], setting),
            captions.BANDS,
            captions.setting(settings["published"]),
        ],
        details=[
            "The chains' mean loss is the loss at the checkpoint (init_loss) plus LLC / n_beta.",
            *(f"Setting {s}: {captions.chains(d)}." for s, d in settings.items()),
        ],
    )


def of_settings(datasets: Datasets) -> dict[str, xr.Dataset]:
    """The estimates of every setting: the base one, called published, and the others by their names."""
    inputs.need(datasets, "llc", "llc", "llc_gradient_off")
    return {
        name.partition(".")[2] or "published": data
        for name, data in datasets.items()
        if name.partition(".")[0] == "llc"
    }


def together(
    base: xr.Dataset, settings: dict[str, xr.Dataset], name: str, variables: Sequence[str]
) -> xr.Dataset:
    """Losses and the estimates of every setting, on one distribution: ``llc``, ``llc_local``, .."""
    parts = [base.sel(distribution=name)]
    for setting, source in settings.items():
        kept = [each for each in (*variables, "verdict") if each in source]
        cut = source[kept].sel(distribution=name).reindex(seed=base["seed"])
        end = _end(setting)
        parts.append(cut.rename({each: _named(each, end) for each in kept}))
    data = xr.merge(parts, join="outer", compat="override", combine_attrs="drop")
    for end in map(_end, settings):
        if f"verdict{end}" in data:  # whole numbers again, where a step has no estimate too
            data[f"verdict{end}"] = data[f"verdict{end}"].fillna(0).astype(np.int16)
    return data.drop_vars(["distribution", "distribution_label"], errors="ignore")


def reference(datasets: Datasets) -> tuple[list[tuple[str, float, dict]], bool]:
    """Levels of the loss: label, value, look; and whether they are known."""
    if "in_context" not in datasets:
        return [], False
    source = datasets["in_context"]
    zero, bayes = zero_loss(law(source, "in_context")), float(source["ridge_mse"].mean())
    lines = [("Bayes predictor", bayes, BAYES)]
    return ([("zero predictor", zero, ZERO), *lines] if zero is not None else lines), True


def _end(setting: str) -> str:
    return "" if setting == "published" else f"_{setting}"


def _named(variable: str, end: str) -> str:
    """``llc_local_se``: the setting stands after the name of the quantity."""
    for suffix in ("_se", "_gradient_off"):
        if variable.endswith(suffix):
            return f"{variable.removesuffix(suffix)}{end}{suffix}"
    return f"{variable}{end}"


def _limits(data: xr.Dataset, end: str) -> Callable[[Axes], object]:
    """The range of the estimates and their controls: what the loss would make of them may be far off."""
    shown = [data[name] for name in (f"llc{end}", f"llc{end}_gradient_off")]
    low, high = min(float(each.min()) for each in shown), max(float(each.max()) for each in shown)
    room = 0.08 * (high - low) or 1.0
    return partial(Axes.set_ylim, bottom=low - room, top=high + room)


def _plain(source: xr.Dataset, name: str) -> xr.Dataset:
    return source.sel(distribution=[name])


def _any_distribution(values: xr.DataArray) -> xr.DataArray:
    return values.drop_vars(["distribution", "distribution_label"], errors="ignore")


def _faulty(one: xr.Dataset, end: str) -> xr.DataArray | None:
    if f"verdict{end}" not in one:
        return None
    return inputs.faulty(one.assign(verdict=one[f"verdict{end}"]), f"llc{end}")
