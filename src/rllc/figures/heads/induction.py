"""The step at which the induction head separates from the other heads, by refined LLC and by score."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.contrasts import BY_CHAIN, by_chain, lead, onset
from rllc.analysis.intervals import student_half_width
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Names, Seeds
from rllc.figures.findings import MOST, known, over_seeds
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.head_findings import LISTED, at_end, at_step, labels
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, draw_curve, level, sheet

ALSO = ("rllc_se", *BY_CHAIN, "status", "quality")
RIVAL = {"color": style.TYPE_COLORS["multigram"], "marker": "s", "linestyle": "--"}
SCORE = {"color": "#333333", "linestyle": "-"}
LEAD = ("lead", "lead_se", "half_width", "degrees_of_freedom")


def induction_heads(kinds: xr.DataArray, scores: xr.DataArray) -> dict[int, str]:
    """Return the induction head of each seed: the head of that type with the highest last score."""
    last = scores.isel(step=-1).where(kinds == "induction")
    typed = last["seed"].values[(kinds == "induction").any("head").values].tolist()
    return {
        seed: str(last["head"].values[int(last.sel(seed=seed).fillna(-np.inf).argmax("head"))])
        for seed in typed
    }


def _others(one: xr.Dataset, head: str) -> list[str]:
    """Return the heads of the same layer that are not induction heads; if there are none, all others."""
    layer = [h for h in inputs.heads_of_layer(one, int(one["layer"].sel(head=head))) if h != head]
    return [h for h in layer if one["head_type"].sel(head=h).item() != "induction"] or layer


def _story(one: xr.Dataset, head: str, confidence: float, margin: float) -> xr.Dataset:
    """Return the leads and onsets of ``head`` over heads of other types in its layer, for one seed."""
    others = _others(one, head)
    ahead = lead(one["rllc"], head=head, others=others, chains=by_chain(one), confidence=confidence)
    story = ahead[[*LEAD]]
    wrong, sound = inputs.faulty(one, "rllc"), ahead["lead"]
    if wrong is not None:
        rival = one["rllc"].sel(head=others).fillna(-np.inf).argmax("head")
        of_others = wrong.sel(head=others).isel(head=rival)
        story["faulty"] = wrong.sel(head=head).reset_coords(drop=True) | of_others.reset_coords(drop=True)
        sound = sound.where(~story["faulty"])
    for name, values in (("rllc_onset", ahead["lead"]), ("rllc_onset_reliable", sound)):
        onsets = [
            onset(values.sel(distribution=n), threshold=ahead["half_width"].sel(distribution=n))
            for n in values["distribution"].values
        ]
        story[name] = ("distribution", onsets)
    score = lead(one["prefix_matching"], head=head, others=others)
    story = story.assign(score_onset=onset(score["lead"], threshold=margin))
    if "prefix_matching_se" in one:
        # Errors of the two heads are taken as independent. They are over hundreds of sequences.
        errors = one["prefix_matching_se"].reset_coords(drop=True)
        of_heads = (errors.sel(head=each).drop_vars("head") for each in (head, score["rival"]))
        half_width = student_half_width(xr.ufuncs.hypot(*of_heads), np.inf, confidence)
        story = story.assign(clear_score_onset=onset(score["lead"], threshold=half_width))
    return story.drop_vars("seed", errors="ignore")


@style.styled
def induction_onset(
    datasets: Datasets,
    *,
    distributions: Names = None,
    seeds: Seeds = None,
    start: float | None = None,
    confidence: float = 0.95,
    margin: float = 0.05,
) -> Drawing:
    """Refined LLC of the induction head and its layer, its lead over the next head, and its score.

    distributions  default "english" and "code"
    start          first step shown; default: half the earlier onset
    confidence     the rLLC separates at the first step from which its lead over the highest other head stays
                   above 0, by the Student-t interval of this confidence
    margin         the score separates at the first step from which its lead stays above this. Where scores
                   have errors, the step from which it stays above its own interval is named too

    A panel of text where no head is an induction head. One column per seed that has one.
    """
    rllc = inputs.need(datasets, "rllc", "rllc", "rllc_se", "rllc_chain")
    names = inputs.distribution_names(rllc, distributions, ("english", "code"))
    data = inputs.over_heads(datasets, "rllc", "rllc", also=ALSO, seeds=seeds).sel(distribution=names)
    scores = inputs.of_seeds(inputs.need(datasets, "attention_scores", "prefix_matching"), seeds)
    scores = scores[[name for name in ("prefix_matching", "prefix_matching_se") if name in scores]]
    data = xr.merge([data, scores], join="inner", compat="override", combine_attrs="drop")
    strongest = induction_heads(data["head_type"], data["prefix_matching"])
    if not strongest:
        return _nothing(data)
    each = [_story(data.sel(seed=seed), head, confidence, margin) for seed, head in strongest.items()]
    leads = xr.concat(each, dim=xr.DataArray(list(strongest), dims="seed", name="seed"))
    drawn = {int(data["layer"].sel(head=head)) for head in strongest.values()}
    data = data.sel(seed=list(strongest), head=data["layer"].isin(list(drawn))).assign(leads)
    first = _first_step(data) if start is None else start
    shown = data.sel(step=data["step"] >= first)
    stages = Stages(datasets, shown["seed"])
    figure, _ = sheet(
        _rows(shown, strongest, confidence, stages), panel=(2.9, 1.75), margin=1.8, sharex=True, sharey="row"
    )
    interval = f"{confidence:.0%}".replace("%", " %")
    return Drawing(
        figure,
        shown.drop_vars([*BY_CHAIN, "faulty"], errors="ignore"),
        f"Induction head against the rest of its layer: rLLC and prefix-matching score, on {labels(data)}.",
        _findings(data, strongest),
        [
            f"Separation: from there on the lead's {interval} interval excludes 0 (rLLC, clear lead of the "
            f"score), or the lead exceeds {margin:g} (score).",
            *(
                f"On {label} the rLLC has no lead that lasts to the end."
                for name, label in inputs.distribution_labels(data).items()
                if data["rllc_onset"].sel(distribution=name).isnull().all()
            ),
            "Bars: one Monte Carlo standard error.",
            *stages.said,
            *conditions.of_estimates(rllc, shown.drop_vars("rllc_se"), "rllc"),
        ],
    )


def _rows(shown: xr.Dataset, strongest: Mapping[int, str], confidence: float, stages: Stages) -> list[Row]:
    """Return rows with a column per seed: its head on each distribution, the leads, and the score."""
    labels = inputs.distribution_labels(shown)
    looks = style.distribution_styles(list(labels))
    upright = {n: {key: look[key] for key in ("color", "linestyle")} for n, look in looks.items()}
    heads = [
        style.key("induction head", color=style.TYPE_COLORS["induction"], marker="o"),
        style.key("highest head of another type", **RIVAL),
        style.key("range of these", color="#c9c9c9", linewidth=6),
        *style.ring_keys(inputs.ring_reasons((shown, "rllc"))),
    ]
    known = [n for n in labels if shown["rllc_onset"].sel(distribution=n).notnull().any()]
    onsets = [style.key(f"rLLC on {style.short(labels[n], 16)}", **upright[n]) for n in known]
    leads = [style.key(f"lead on {style.short(labels[n], 16)}", **looks[n]) for n in labels]
    curves: dict[str, list[Panel]] = {name: [] for name in labels}
    ahead, scores = [], []
    for seed, suffix, one in by_seed(shown):
        head, steps = strongest[seed], one["step"].values
        marks = {n: _mark(one["rllc_onset"].sel(distribution=n), upright[n]) for n in labels}
        for name in labels:
            compared = partial(_compare, one=one.sel(distribution=name), head=head)
            panel = Panel(f"head {head}{suffix}", under=compared, over=marks[name], steps=steps)
            curves[name] += stages.behind(seed, [panel])
        words = f"head {head}{suffix}"
        leading = partial(_leads, one=one, looks=looks, marks=marks)
        ahead += stages.behind(seed, [Panel(words, under=leading, steps=steps)])
        compared = partial(_compare, one=one, head=head, variable="prefix_matching")
        every = all_of(*marks.values(), _mark(one["score_onset"], SCORE))
        scores += stages.behind(seed, [Panel(words, under=compared, over=every, steps=steps)])
    rows = [
        Row(f"refined LLC\non {style.short(labels[name])}", panels, [], "heads of the layer")
        for name, panels in curves.items()
    ]
    return [
        rows[0]._replace(keys=heads),
        *rows[1:],
        Row("lead over the highest\nof another type", ahead, leads, f"{confidence:.0%} interval"),
        Row(
            "prefix-matching score\n(attention)",
            scores,
            [*onsets, style.key("score", color="#333333")],
            "onset of",
        ),
    ]


def _mark(when: xr.DataArray, look: Mapping) -> Callable[[Axes], object]:
    """Return a function that draws a vertical line at an onset, if there is one."""
    return partial(Axes.axvline, x=when.item(), linewidth=1.2, zorder=1, **look)


def _leads(ax: Axes, one: xr.Dataset, looks: Mapping[str, dict], marks: Mapping[str, Callable]) -> None:
    """Draw the lead on each distribution with its interval."""
    level()(ax)
    for name, look in looks.items():
        cell = one.sel(distribution=name)
        draw_curve(ax, Curve(cell["lead"], look, cell["half_width"], cell.get("faulty")))
        marks[name](ax)


def _first_step(data: xr.Dataset) -> float:
    """Return half the earliest onset of any seed, or the first step if there is none."""
    earliest = data[["rllc_onset", "score_onset"]].min().to_array().min().item()
    return earliest / 2 if np.isfinite(earliest) else float(data["step"][0])


def _compare(ax: Axes, one: xr.Dataset, head: str, variable: str = "rllc") -> None:
    """Draw the head, the highest other head, their errors, and the range of the others."""
    x, values = one["step"].values, one[variable]
    estimated = variable == "rllc"
    errors = one["rllc_se"] if estimated else xr.zeros_like(values)
    wrong = inputs.faulty(one, variable) if estimated else None
    rest = values.sel(head=_others(one, head))
    rival = {"head": rest.fillna(-np.inf).argmax("head")}
    highest = rest.max("head")
    ax.fill_between(x, rest.min("head"), highest, color="#c9c9c9", alpha=0.5, linewidth=0)
    bars = {"capsize": 2, "elinewidth": 0.9}
    ax.errorbar(x, highest, errors.sel(head=rest["head"]).isel(rival), **RIVAL, **bars)
    if wrong is not None:
        style.ring(ax, highest, wrong.sel(head=rest["head"]).isel(rival))
        style.ring(ax, values.sel(head=head), wrong.sel(head=head))
    color = style.TYPE_COLORS["induction"]
    ax.errorbar(x, values.sel(head=head), errors.sel(head=head), color=color, marker="o", **bars)


def _findings(data: xr.Dataset, strongest: Mapping[int, str]) -> list[Finding]:
    """Return the steps at which the induction head separates by rLLC and by score.

    Of one seed also the last score; of several in how many the rLLC separates first.
    """
    said, score = inputs.distribution_labels(data), data["score_onset"]
    several = len(strongest) > 1
    head = "induction head" if several else f"head {next(iter(strongest.values()))}"
    found = []
    for name in [*said][:LISTED]:
        when, reliable = (data[each].sel(distribution=name) for each in ("rllc_onset", "rllc_onset_reliable"))
        label = f"step of separation of {head} by rLLC on {said[name]}"
        found += over_seeds(label, when)
        if not np.array_equal(when, reliable, equal_nan=True):
            found += over_seeds(f"{label}, by reliable estimates alone", reliable)
        both = int((when.notnull() & score.notnull()).sum())
        if several and both:
            first = int((when < score).sum())
            found.append(Finding(f"seeds, of {both}, with rLLC on {said[name]} before score", first))
    found += over_seeds(f"step of separation of {head} by prefix-matching score", score)
    if "clear_score_onset" in data:
        label = f"step from which {head} has a clear lead in prefix-matching score"
        found += over_seeds(label, data["clear_score_onset"])
    if several:
        return found[:MOST]
    last = at_end(data, "prefix_matching")
    score = last["prefix_matching"].sel(head=next(iter(strongest.values())))
    return [*found, *over_seeds(f"prefix-matching score of {head} {at_step(last)}", score)][:MOST]


def _nothing(data: xr.Dataset) -> Drawing:
    figure, axes = style.grid(1, 1, panel=(4.5, 1.2), margin=0.0)
    axes[0, 0].axis("off")
    best = float(data["prefix_matching"].isel(step=-1).max())
    text = f"no head is an induction head at the last checkpoint\n(highest prefix-matching score {best:.2f})"
    axes[0, 0].text(0.5, 0.5, text, ha="center", va="center")
    title = "No head is an induction head at the last checkpoint."
    finding = Finding("highest prefix-matching score at the last checkpoint", best)
    return Drawing(figure, data, title, known([finding]), [*conditions.seeds(data)])
