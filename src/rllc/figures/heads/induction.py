"""When the induction head leaves the other heads, in its refined LLC and in its attention score."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.contrasts import lead, onset
from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Names, Seeds
from rllc.figures.panels import Curve, Panel, Row, draw_curve, level, seed_suffix, sheet

ALSO = ("rllc_se", "rllc_chain", "status", "verdict")
RIVAL = {"color": style.TYPE_COLORS["other"], "marker": "s", "linestyle": "--"}
SCORE = {"color": "#333333", "linestyle": "-"}
LEAD = ("lead", "lead_se", "half_width", "degrees_of_freedom")


def induction_heads(kinds: xr.DataArray, scores: xr.DataArray) -> dict[int, str]:
    """The induction head of each seed: of those so typed, the one with the highest last score."""
    strongest = {}
    for seed in kinds["seed"].values.tolist():
        heads = kinds["head"].values[(kinds.sel(seed=seed) == "induction").values]
        if len(heads):
            last = scores.sel(seed=seed, head=heads).isel(step=-1)
            strongest[seed] = str(heads[int(np.argmax(last.values))])
    return strongest


def _others(one: xr.Dataset, head: str) -> list[str]:
    """Heads of the same layer that are no induction heads; all others of it where there is none."""
    layer = [h for h in inputs.heads_of_layer(one, int(one["layer"].sel(head=head))) if h != head]
    return [h for h in layer if one["head_type"].sel(head=h).item() != "induction"] or layer


def _story(one: xr.Dataset, head: str, confidence: float, margin: float) -> xr.Dataset:
    """Leads and onsets of ``head`` over the heads of its layer that are of other types, for one seed."""
    others = _others(one, head)
    ahead = lead(one["rllc"], head=head, others=others, chains=one["rllc_chain"], confidence=confidence)
    score = lead(one["prefix_matching"], head=head, others=others)["lead"]
    wrong = inputs.faulty(one, "rllc")
    if wrong is not None:
        rival = wrong.sel(head=others).isel(head=one["rllc"].sel(head=others).fillna(-np.inf).argmax("head"))
        beside = ("head", "layer", "head_index")
        either = wrong.sel(head=head).drop_vars(beside, errors="ignore") | rival.drop_vars(
            beside, errors="ignore"
        )
        ahead = ahead.assign(faulty=either)
    trusted = ahead["lead"].where(~ahead["faulty"]) if wrong is not None else ahead["lead"]
    return ahead.assign(
        rllc_onset=("distribution", _onsets(ahead["lead"], ahead["half_width"])),
        rllc_onset_trusted=("distribution", _onsets(trusted, ahead["half_width"])),
        score_lead=score,
        score_onset=onset(score, threshold=margin),
    )


def _onsets(ahead: xr.DataArray, half_width: xr.DataArray) -> list[float]:
    """On each distribution."""
    return [
        onset(ahead.sel(distribution=name), threshold=half_width.sel(distribution=name))
        for name in ahead["distribution"].values
    ]


def _step(when: float) -> str:
    return f"step {style.step_text(when)}" if np.isfinite(when) else "no checkpoint"


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
    """The induction head's refined LLC against the other heads of its layer, its lead, and its score.

    datasets       ``rllc`` and ``heads``
    distributions  default "english" and "code"
    start          first step shown; default: half the earlier onset
    confidence     the rLLC has left the others where the Student-t interval of this confidence of its lead
                   over the highest of them is above 0, and is so at every later step
    margin         the score has left where its lead exceeds this, from then on

    A panel of text where no head is an induction head. One column per seed that has one.
    """
    rllc = inputs.need(datasets, "rllc", "rllc", "rllc_se", "rllc_chain")
    names = inputs.distribution_names(rllc, distributions, ("english", "code"))
    data = inputs.over_heads(datasets, "rllc", "rllc", also=ALSO, seeds=seeds).sel(distribution=names)
    heads = inputs.of_seeds(inputs.need(datasets, "heads", "prefix_matching"), seeds)
    data = xr.merge([data, heads[["prefix_matching"]]], join="inner", compat="override", combine_attrs="drop")
    strongest = induction_heads(data["head_type"], data["prefix_matching"])
    if not strongest:
        return _nothing(data, rllc)
    stories = {s: _story(data.sel(seed=s), head, confidence, margin) for s, head in strongest.items()}
    first = _first_step(stories, data["step"].values) if start is None else start
    shown = data.sel(step=data["step"] >= first, seed=list(strongest))
    rows = _rows(shown, stories, strongest, confidence)
    figure, _ = sheet(rows, panel=(3.9, 1.75), margin=1.7, sharex=True, sharey="row")
    kept = [*LEAD, "rllc_onset", "rllc_onset_trusted", "score_onset"]
    each = [story[kept].drop_vars("seed", errors="ignore") for story in stories.values()]
    leads = xr.concat(each, dim=xr.DataArray(list(strongest), dims="seed", name="seed"))
    conditions, details = captions.of_estimates(rllc, shown, "rllc")
    drawn = shown.drop_vars("rllc_chain").assign(leads.sel(step=shown["step"]))
    return captions.drawing(
        figure,
        drawn,
        *(_sentence(s, head, stories[s], data.sel(seed=s)) for s, head in strongest.items()),
        f"The rLLC has left where the whole {confidence:.0%} Student-t interval of its lead is above 0 and "
        f"stays so, the score where its lead is above {margin:g} and stays so.",
        conditions=[captions.BANDS.replace("Bands", "Bars on the curves"), *conditions[1:]],
        details=[
            "The refined LLC is of the strongest induction head and of the heads of its layer that are of "
            "other types. The two rules differ, so which leaves first is partly a matter of the rules.",
            _freedom(leads),
            *(_left_out(s, head, data.sel(seed=s)) for s, head in strongest.items()),
            *details,
        ],
    )


def _rows(
    shown: xr.Dataset, stories: Mapping[int, xr.Dataset], strongest: Mapping[int, str], confidence: float
) -> list[Row]:
    """A column per seed: its head on each distribution, the lead on them, and the score."""
    names, labels = shown["distribution"].values.tolist(), inputs.distribution_labels(shown)
    looks = style.distribution_styles(names)
    heads = [
        style.key("induction head", color=style.TYPE_COLORS["induction"], marker="o"),
        style.key("highest head of another type", **RIVAL),
        style.key("range of these", color="#c9c9c9", linewidth=6),
        *style.ring_keys(inputs.ring_reasons((shown, "rllc"))),
    ]
    known = [n for n in names if any(s["rllc_onset"].sel(distribution=n).notnull() for s in stories.values())]
    onsets = [style.key(f"rLLC on {style.short(labels[n], 16)}", **_upright(looks[n])) for n in known]
    leads = [style.key(f"lead on {style.short(labels[n], 16)}", **looks[n]) for n in names]
    curves: dict[str, list[Panel]] = {name: [] for name in names}
    ahead, scores = [], []
    for seed, head in strongest.items():
        one, story, title = shown.sel(seed=seed), stories[seed], f"{head}{seed_suffix(list(strongest), seed)}"
        at = {n: (float(story["rllc_onset"].sel(distribution=n)), _upright(looks[n])) for n in names}
        steps = one["step"].values
        for name in names:
            compared = partial(_compare, one=one.sel(distribution=name), head=head, marks=[at[name]])
            words = f"{title}: refined LLC on {style.short(labels[name])}"
            curves[name].append(Panel(words, under=compared, steps=steps))
        lead_of = partial(_leads, story=story.sel(step=one["step"]), looks=looks)
        ahead.append(Panel(f"{title}: lead over the highest of another type", under=lead_of, steps=steps))
        marks = [*at.values(), (float(story["score_onset"]), SCORE)]
        compared = partial(_compare, one=one, head=head, marks=marks, variable="prefix_matching")
        scores.append(Panel(f"{title}: prefix-matching score", under=compared, steps=steps))
    return [
        *(Row("refined LLC", curves[n], heads if n == names[0] else [], "heads of the layer") for n in names),
        Row("lead", ahead, leads, f"{confidence:.0%} interval"),
        Row("attention", scores, [*onsets, style.key("score", color="#333333")], "onset of"),
    ]


def _upright(look: Mapping) -> dict:
    """The look of the upright line at an onset."""
    return {"color": look["color"], "linestyle": look["linestyle"]}


def _freedom(leads: xr.Dataset) -> str:
    """Which error the leads have."""
    low, middle, high = leads["degrees_of_freedom"].quantile([0.0, 0.5, 1.0]).values
    return (
        "The interval of a lead is from the spread over chains, given the minibatches, which heads share, "
        f"with {low:.0f} to {high:.0f} degrees of freedom (median {middle:.0f}); each head has its own "
        "noise. The other head is the highest as measured, which makes leads a little small."
    )


def _leads(ax: Axes, story: xr.Dataset, looks: Mapping[str, dict]) -> None:
    """The lead on each distribution with its interval."""
    level()(ax)
    for name in story["distribution"].values.tolist():
        one = story.sel(distribution=name)
        draw_curve(ax, Curve(one["lead"], looks[name], one["half_width"], one.get("faulty")))
        _mark(ax, float(one["rllc_onset"]), _upright(looks[name]))


def _first_step(stories: Mapping[int, xr.Dataset], steps: np.ndarray) -> float:
    """Half the earliest onset of any seed, or the first step where there is none."""
    onsets = [
        float(story[name].min()) for story in stories.values() for name in ("rllc_onset", "score_onset")
    ]
    finite = [when for when in onsets if np.isfinite(when)]
    return min(finite) / 2 if finite else float(steps[0])


def _compare(
    ax: Axes, one: xr.Dataset, head: str, marks: Sequence[tuple[float, dict]], variable: str = "rllc"
) -> None:
    """The head, the highest other head, their errors, the range of the others, and onsets."""
    x, values = one["step"].values, one[variable]
    rest = values.sel(head=_others(one, head))
    rival = rest.fillna(-np.inf).argmax("head")
    errors = one["rllc_se"] if variable == "rllc" else xr.zeros_like(values)
    wrong = inputs.faulty(one, variable) if variable == "rllc" else None
    low, high = rest.min("head").values, rest.max("head").values
    ax.fill_between(x, low, high, color="#c9c9c9", alpha=0.5, linewidth=0)
    bars = {"capsize": 2, "elinewidth": 0.9}
    ax.errorbar(x, high, errors.sel(head=rest["head"]).isel(head=rival).values, **RIVAL, **bars)
    if wrong is not None:
        style.ring(ax, rest.max("head"), wrong.sel(head=rest["head"]).isel(head=rival))
        style.ring(ax, values.sel(head=head), wrong.sel(head=head))
    color = style.TYPE_COLORS["induction"]
    mine = values.sel(head=head).values, errors.sel(head=head).values
    ax.errorbar(x, *mine, color=color, marker="o", **bars)
    for when, look in marks:
        _mark(ax, when, look)


def _mark(ax: Axes, when: float, look: Mapping) -> None:
    if np.isfinite(when):
        ax.axvline(when, linewidth=1.2, zorder=1, **look)


def _sentence(seed: int, head: str, story: xr.Dataset, one: xr.Dataset) -> str:
    score = one["prefix_matching"].sel(head=head)
    parts, labels = [], inputs.distribution_labels(one)
    for name in story["distribution"].values.tolist():
        when, trusted = (float(story[n].sel(distribution=name)) for n in ("rllc_onset", "rllc_onset_trusted"))
        at = f" (score {float(score.sel(step=when)):.2f} there)" if np.isfinite(when) else ""
        if not np.array_equal(when, trusted, equal_nan=True):
            at += f", by estimates without a ring alone from {_step(trusted)}"
        parts.append(f"on {labels[name]} from {_step(when)}{at}")
    return (
        f"Seed {seed}, head {head}: its rLLC leaves the others {', '.join(parts)}; its score leaves from "
        f"{_step(float(story['score_onset']))} and ends at {float(score.isel(step=-1)):.2f}."
    )


def _left_out(seed: int, head: str, one: xr.Dataset) -> str:
    """Which induction heads of the layer are not compared with."""
    layer = [h for h in inputs.heads_of_layer(one, int(one["layer"].sel(head=head))) if h != head]
    gone = [h for h in layer if h not in _others(one, head)]
    return f"Seed {seed}: {', '.join(gone)}, induction too, is not among the others." if gone else ""


def _nothing(data: xr.Dataset, rllc: xr.Dataset) -> Drawing:
    figure, axes = style.grid(1, 1, panel=(4.5, 1.2), margin=0.0)
    axes[0, 0].axis("off")
    best = float(data["prefix_matching"].isel(step=-1).max())
    text = f"no head is an induction head at the last checkpoint\n(highest prefix-matching score {best:.2f})"
    axes[0, 0].text(0.5, 0.5, text, ha="center", va="center")
    finding = captions.sentence(text.replace("\n", " "))
    conditions = [captions.setting(rllc)]
    return captions.drawing(figure, data, finding, conditions=conditions)
