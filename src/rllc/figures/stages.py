"""Loss, LLC and head scores over training (arXiv 2402.02364, Figs. 1a and 4b)."""

from collections.abc import Mapping, Sequence

import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import (
    distribution_labels,
    distribution_names,
    faulty,
    need,
    of_seeds,
    ring_reasons,
    types_of,
    verdicts,
)

LOSS_COLOR, LLC_COLOR = "#333333", "#117733"


@style.styled
def stage_fig1a_lm(
    datasets: Mapping[str, xr.Dataset],
    *,
    distribution: str | None = None,
    seeds: Sequence[int] | None = None,
    boundaries: Sequence[float] = (),
) -> Drawing:
    """Test loss and LLC of the full model against training step, a column per seed.

    datasets      ``metrics`` with ``loss``; ``llc`` (without it the loss alone)
    distribution  default "mixture", or the dataset's first
    boundaries    ascending steps between which every second stage is shaded
    """
    metrics = of_seeds(need(datasets, "metrics", "loss"), seeds)
    llc = datasets.get("llc")
    shared = metrics if llc is None else llc
    name = distribution_names(shared, None if distribution is None else [distribution], ("mixture",))[0]
    taken = metrics[["loss"]].sel(distribution=[name])
    label = distribution_labels(taken)[name]
    if llc is not None:
        kept = [variable for variable in ("llc", "llc_se", "status", "verdict") if variable in llc]
        source = llc[kept].sel(distribution=[name]).reindex(seed=taken["seed"])
        taken = xr.merge([taken, source], join="outer", compat="override", combine_attrs="drop")
        if "verdict" in taken:
            taken["verdict"] = verdicts(taken, "llc")
    rings = [] if llc is None else style.ring_keys(ring_reasons((taken, "llc")))
    names = taken["seed"].values.tolist()
    rows = 1 if llc is None else 2
    figure, axes = style.grid(
        rows, len(names), panel=(3.6, 1.9), margin=1.6 if rings else 0.1, sharex=True, sharey="row"
    )
    for column, seed in zip(axes.T, names, strict=True):
        one = taken.sel(seed=seed, distribution=name)
        seed_text = f", seed {seed}" if len(names) > 1 else ""
        steps = one["step"].values
        style.curve(column[0], one["loss"].sel(step=metrics["step"].values), color=LOSS_COLOR, marker="o")
        column[0].set_title(f"held-out loss on {style.short(label)}{seed_text}", loc="left")
        if llc is not None:
            measured = one.sel(step=llc["step"].values)
            style.curve(
                column[1],
                measured["llc"],
                measured.get("llc_se"),
                faulty=faulty(measured, "llc"),
                color=LLC_COLOR,
                marker="o",
            )
            column[1].set_title(f"full-model LLC on {style.short(label)}{seed_text}", loc="left")
        for ax in column:
            style.stage_bands(ax, boundaries)
            style.step_axis(ax, steps)
    axes[0, 0].set_ylabel("loss (nats/token)")
    if llc is not None:
        axes[1, 0].set_ylabel("LLC")
    if rings:
        style.beside(axes[1, -1], rings)
    said = [_range(taken.sel(seed=seed, distribution=name)) for seed in names]
    caption = captions.joined(
        f"Held-out loss{'' if llc is None else ' and LLC of the full model'} on {label} against "
        "training step.",
        captions.contexts(metrics, "metrics", count="batches").replace("Measured", "The loss is"),
        *said,
        "llc.nc was not given, so only the loss is drawn." if llc is None else captions.BANDS,
        "" if llc is None else captions.setting(llc),
        "" if llc is None else "The level of an LLC is its setting's: compare it with no other's.",
        captions.seeds(taken),
        "" if llc is None else captions.failures(taken.sel(step=llc["step"].values), "llc", "loss"),
        "" if llc is None else captions.trust(taken, "llc"),
    )
    return Drawing(figure, taken, caption)


def _range(one: xr.Dataset) -> str:
    text = f"Seed {one['seed'].item()}: the loss goes from {_ends(one['loss'], '.2f')} nats/token"
    return f"{text}, the LLC from {_ends(one['llc'], '.1f')}." if "llc" in one else f"{text}."


def _ends(values: xr.DataArray, form: str) -> str:
    known = values.dropna("step")
    if not known.size:
        return "nothing measured"
    first, last = known[0], known[-1]
    return (
        f"{float(first):{form}} (step {style.step_text(float(first['step']))}) to "
        f"{float(last):{form}} (step {style.step_text(float(last['step']))})"
    )


@style.styled
def stage_fig4b_heads(
    datasets: Mapping[str, xr.Dataset],
    *,
    distribution: str | None = None,
    seeds: Sequence[int] | None = None,
    boundaries: Sequence[float] = (),
) -> Drawing:
    """Previous-token and prefix-matching score of each head, and the in-context learning score.

    datasets      ``heads``; ``metrics`` with ``icl_score`` (without it two columns)
    distribution  of the ICL score; default "mixture", or the dataset's first
    boundaries    ascending steps between which every second stage is shaded
    """
    heads = of_seeds(need(datasets, "heads", "previous_token", "prefix_matching"), seeds)
    taken = heads[["previous_token", "prefix_matching"]].copy()
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    metrics = datasets.get("metrics")
    scored = metrics is not None and "icl_score" in metrics
    icl, told = (
        None,
        "metrics.nc with icl_score was not given, so the in-context learning score is not drawn.",
    )
    if scored:
        icl, label = metrics["icl_score"], ""
        if "distribution" in icl.dims:
            name = distribution_names(
                metrics, None if distribution is None else [distribution], ("mixture",)
            )[0]
            icl, label = icl.sel(distribution=name), f" on {distribution_labels(metrics)[name]}"
        taken["icl_score"] = icl.drop_vars(["distribution", "distribution_label"], errors="ignore")
        told = captions.joined(
            f"The in-context learning score{label} is the loss late in the context less that early in it.",
            captions.contexts(metrics, "metrics", count="batches"),
        )
    columns = ["previous_token", "prefix_matching", *(["icl_score"] if scored else [])]
    titles = {"previous_token": "previous-token score", "prefix_matching": "prefix-matching score"}
    names = taken["seed"].values.tolist()
    figure, axes = style.grid(
        len(names), len(columns), panel=(2.6, 2.1), entries=taken.sizes["head"], sharex=True, sharey="col"
    )
    for line, seed in zip(axes, names, strict=True):
        one = taken.sel(seed=seed)
        styles = style.head_styles(one["head_type"])
        seed_text = f", seed {seed}" if len(names) > 1 else ""
        for ax, variable in zip(line, columns, strict=True):
            if variable == "icl_score":
                style.curve(ax, one[variable], color="black", marker="o")
                ax.set_ylabel("nats/token")
            else:
                for head in styles:
                    style.curve(ax, one[variable].sel(head=head), **styles[head])
                ax.set_ylabel("attention")
            ax.set_title(f"{titles.get(variable, 'in-context learning score')}{seed_text}", loc="left")
            style.stage_bands(ax, boundaries)
            style.step_axis(ax, one["step"].values)
        style.beside(line[-1], style.head_keys(one["head_type"], styles), title="head, type")
    said = []
    for seed in names:
        last = taken.sel(seed=seed).isel(step=-1)
        for variable in ("previous_token", "prefix_matching"):
            best = last[variable].fillna(float("-inf")).argmax("head")
            head, value = last["head"].values[int(best)], float(last[variable][int(best)])
            said.append(f"highest {titles[variable]} {head} {value:.2f} (seed {seed})")
    caption = captions.joined(
        "Mean attention of each head to the previous token, and from a repeated token to the token after its "
        f"first occurrence, on random sequences, against training step. At the last step: {', '.join(said)}.",
        told,
        "No uncertainty is drawn.",
        captions.types(taken["head_type"]),
        captions.seeds(taken),
    )
    return Drawing(figure, taken, caption)
