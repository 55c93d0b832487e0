"""Loss, LLC and head scores over training (arXiv 2402.02364, Figs. 1a and 4b)."""

from collections.abc import Sequence
from functools import partial

import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, curve, of_heads, sheet, stage_bands

LOSS, LLC = {"color": "#333333", "marker": "o"}, {"color": "#117733", "marker": "o"}
READ = "The loss is on {} held-out contexts of each distribution."
NO_SCORE = "metrics.nc with icl_score was not given, so the in-context learning score is not drawn."
SCORES = {"previous_token": "previous-token score", "prefix_matching": "prefix-matching score"}


@style.styled
def stage_fig1a_lm(
    datasets: Datasets,
    *,
    distribution: Name = None,
    seeds: Seeds = None,
    setting: str = "sampling",
    boundaries: Sequence[float] = (),
) -> Drawing:
    """Test loss and LLC of the full model against training step, a column per seed.

    datasets  ``metrics`` with ``loss``; ``llc``, ``llc.<setting>`` (without it the loss alone)
    setting   whose LLC; default the base setting
    """
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss"), seeds)
    llc = datasets.get("llc") if setting == "sampling" else inputs.need(datasets, f"llc.{setting}", "llc")
    name = inputs.one_distribution(metrics if llc is None else llc, distribution)
    data = metrics[["loss"]].sel(distribution=[name])
    label = inputs.one_label(data, name)
    if llc is not None:
        kept = [variable for variable in ("llc", "llc_se", "status", "verdict") if variable in llc]
        source = llc[kept].sel(distribution=[name]).reindex(seed=data["seed"])
        data = xr.merge([data, source], join="outer", compat="override", combine_attrs="drop")
        if "verdict" in data:
            data["verdict"] = inputs.verdicts(data, "llc")
    where = {"over": partial(stage_bands, boundaries=boundaries), "steps": data["step"].values}
    losses, levels, findings = [], [], []
    for _, suffix, one in by_seed(data.sel(distribution=name)):
        on = f"on {style.short(label)}{suffix}"
        loss = Curve(one["loss"].sel(step=metrics["step"].values), LOSS)
        losses.append(Panel(f"held-out loss {on}", [loss], **where))
        if llc is not None:
            measured = one.sel(step=llc["step"].values)
            levels.append(Panel(f"full-model LLC {on}", [curve(measured, "llc", LLC)], **where))
        findings.append(_range(one))
    rows, rings = [Row("loss (nats/token)", losses)], []
    findings.append(f"Held-out loss{'' if llc is None else ' and LLC of the full model'} on {label}.")
    conditions, details = ["llc.nc was not given, so only the loss is drawn."], []
    if llc is not None:
        rings = style.ring_keys(inputs.ring_reasons((data, "llc")))
        rows.append(Row("LLC", levels, rings))
        findings.append("The level of an LLC is its setting's: compare it with no other's.")
        at_steps = data.sel(step=llc["step"].values)
        conditions, details = captions.of_estimates(llc, at_steps, "llc", "loss")
    figure, _ = sheet(rows, panel=(3.6, 1.9), margin=1.6 if rings else 0.1, sharex=True, sharey="row")
    contexts = captions.contexts(metrics, "metrics", of=READ)
    return captions.drawing(figure, data, *findings, contexts, conditions=conditions, details=details)


def _range(one: xr.Dataset) -> str:
    text = f"Seed {one['seed'].item()}: the loss goes from {_ends(one['loss'], '.2f')} nats/token"
    return f"{text}, the LLC from {_ends(one['llc'], '.1f')}." if "llc" in one else f"{text}."


def _ends(values: xr.DataArray, form: str) -> str:
    known = values.dropna("step")
    if not known.size:
        return "nothing measured"
    ends = known[[0, -1]]
    return " to ".join(f"{float(end):{form}} (step {style.step_text(float(end['step']))})" for end in ends)


@style.styled
def stage_fig4b_heads(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, boundaries: Sequence[float] = ()
) -> Drawing:
    """Previous-token and prefix-matching score of each head, and the in-context learning score.

    datasets      ``heads``; ``metrics`` with ``icl_score`` (without it two columns)
    distribution  of the ICL score
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
    rows, findings = [], []
    bands = partial(stage_bands, boundaries=boundaries)
    for seed, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        panels, best = [], []
        for name, words in SCORES.items():
            panels.append(Panel(f"{words}{suffix}", of_heads(one, name, looks), over=bands))
            last = one[name].isel(step=-1)
            best.append(f"highest {words} {captions.highest(last)} {float(last.max()):.2f}")
        if scored:
            score = curve(one, "icl_score", {"color": "black", "marker": "o"})
            panels.append(Panel(f"in-context learning score{suffix}", [score], over=bands))
        rows.append(Row("attention", panels, style.head_keys(one["head_type"], looks), "head, type"))
        findings.append(f"At the last step (seed {seed}): {', '.join(best)}.")
    figure, axes = sheet(rows, panel=(2.6, 2.1), entries=data.sizes["head"], sharex=True, sharey="col")
    for line in axes:
        for ax, unit in zip(line[1:], ("attention", "nats/token"), strict=False):
            ax.set_ylabel(unit)
    return captions.drawing(
        figure,
        data,
        *findings,
        "Mean attention of each head to the previous token, and from a repeated token to the token after its "
        "first occurrence, on random sequences.",
        about,
        conditions=[contexts, "" if "icl_score_se" in data else "No uncertainty is drawn."],
    )
