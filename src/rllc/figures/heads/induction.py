"""When the induction head leaves the other heads, in its refined LLC and in its attention score."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.contrasts import lead, onset
from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import (
    distribution_labels,
    distribution_names,
    faulty,
    heads_of_layer,
    need,
    of_seeds,
    ring_reasons,
    types_of,
)

DRAWN = ("rllc", "rllc_se", "rllc_chain", "status", "verdict")
LEAD = ("lead", "lead_se", "half_width", "degrees_of_freedom")


def induction_heads(kinds: xr.DataArray, scores: xr.DataArray) -> dict[int, str]:
    """The induction head of each seed: of those so typed, the one with the highest last score."""
    found = {}
    for seed in kinds["seed"].values.tolist():
        heads = kinds["head"].values[(kinds.sel(seed=seed) == "induction").values]
        if len(heads):
            last = scores.sel(seed=seed, head=heads).isel(step=-1)
            found[seed] = str(heads[int(np.argmax(last.values))])
    return found


def _others(one: xr.Dataset, head: str) -> list[str]:
    """Heads of the same layer that are no induction heads; all others of it where there is none."""
    layer = [h for h in heads_of_layer(one, int(one["layer"].sel(head=head))) if h != head]
    return [h for h in layer if one["head_type"].sel(head=h).item() != "induction"] or layer


def _story(one: xr.Dataset, head: str, confidence: float, margin: float) -> xr.Dataset:
    """Leads and onsets of ``head`` over the heads of its layer that are of other types, for one seed."""
    others = _others(one, head)
    ahead = lead(one["rllc"], head=head, others=others, chains=one["rllc_chain"], confidence=confidence)
    score = lead(one["prefix_matching"], head=head, others=others)["lead"]
    wrong = faulty(one, "rllc")
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


def _told(when: float) -> str:
    return f"step {style.step_text(when)}" if np.isfinite(when) else "no checkpoint"


@style.styled
def induction_onset(
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
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
    rllc = of_seeds(need(datasets, "rllc", "rllc", "rllc_se", "rllc_chain"), seeds)
    heads = of_seeds(need(datasets, "heads", "prefix_matching"), seeds)
    names = distribution_names(rllc, distributions, ("english", "code"))
    taken = xr.merge(
        [rllc[[name for name in DRAWN if name in rllc]].sel(distribution=names), heads[["prefix_matching"]]],
        join="inner",
        compat="override",
        combine_attrs="drop",
    )
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    found = induction_heads(taken["head_type"], taken["prefix_matching"])
    if not found:
        return _nothing(taken, rllc)
    labels = distribution_labels(taken)
    stories = {seed: _story(taken.sel(seed=seed), head, confidence, margin) for seed, head in found.items()}
    first = _first_step(stories, taken["step"].values) if start is None else start
    shown = taken.sel(step=taken["step"] >= first, seed=list(found))
    colors = style.distribution_styles(names)
    figure, axes = style.grid(
        len(names) + 2, len(found), panel=(3.9, 1.75), margin=1.7, sharex=True, sharey="row"
    )
    for column, (seed, head) in zip(axes.T, found.items(), strict=True):
        one, story = shown.sel(seed=seed), stories[seed]
        seed_text = f", seed {seed}" if len(found) > 1 else ""
        others = _others(one, head)
        for ax, name in zip(column, names, strict=False):
            _panel(ax, one.sel(distribution=name), head, others, style.TYPE_COLORS["induction"])
            _mark(ax, float(story["rllc_onset"].sel(distribution=name)), colors[name])
            ax.set_title(f"{head}{seed_text}: refined LLC on {style.short(labels[name])}", loc="left")
            style.step_axis(ax, one["step"].values)
        _leads(column[-2], story.sel(step=one["step"]), colors)
        column[-2].set_title(f"{head}{seed_text}: lead over the highest of another type", loc="left")
        style.step_axis(column[-2], one["step"].values)
        _panel(
            column[-1],
            one.drop_vars(["rllc_se", "verdict"], errors="ignore"),
            head,
            others,
            style.TYPE_COLORS["induction"],
            "prefix_matching",
        )
        for name in names:
            _mark(column[-1], float(story["rllc_onset"].sel(distribution=name)), colors[name])
        _mark(column[-1], float(story["score_onset"]), {"color": "#333333", "linestyle": "-"})
        column[-1].set_title(f"{head}{seed_text}: prefix-matching score", loc="left")
        style.step_axis(column[-1], one["step"].values)
    for ax in axes[:-2, 0]:
        ax.set_ylabel("refined LLC")
    axes[-2, 0].set_ylabel("lead")
    axes[-1, 0].set_ylabel("attention")
    entries = [
        style.key("induction head", color=style.TYPE_COLORS["induction"], marker="o"),
        style.key(
            "highest head of another type", color=style.TYPE_COLORS["other"], marker="s", linestyle="--"
        ),
        style.key("range of these", color="#c9c9c9", linewidth=6),
        *style.ring_keys(ring_reasons((shown, "rllc"))),
    ]
    marks = [
        style.key(
            f"rLLC on {style.short(labels[name], 16)}",
            color=colors[name]["color"],
            linestyle=colors[name]["linestyle"],
        )
        for name in names
        if any(np.isfinite(float(story["rllc_onset"].sel(distribution=name))) for story in stories.values())
    ]
    style.beside(axes[0, -1], entries, title="heads of the layer")
    leads = [style.key(f"lead on {style.short(labels[name], 16)}", **colors[name]) for name in names]
    style.beside(axes[-2, -1], leads, title=f"{confidence:.0%} interval")
    style.beside(axes[-1, -1], [*marks, style.key("score", color="#333333")], title="onset of")
    along = xr.DataArray(list(found), dims="seed", name="seed")
    kept = [*LEAD, "rllc_onset", "rllc_onset_trusted", "score_onset"]
    each = [story[kept].drop_vars("seed", errors="ignore") for story in stories.values()]
    told = xr.concat(each, dim=along)
    data = shown.drop_vars("rllc_chain").assign(told.sel(step=shown["step"]))
    caption = captions.joined(
        "Refined LLC of the strongest induction head and of the heads of its layer that are of other types, "
        "and its prefix-matching score, from before its onset on.",
        *(_sentence(seed, head, stories[seed], taken.sel(seed=seed), labels) for seed, head in found.items()),
        *(_left_out(seed, head, taken.sel(seed=seed)) for seed, head in found.items()),
        f"The rLLC has left where the whole {confidence:.0%} Student-t interval of its lead over the highest "
        f"head of another type is above 0 and stays so; the score where its lead is above {margin:g} and "
        "stays so. The two rules differ, so which of the two leaves first is partly a matter of the rules.",
        _freedom(told),
        captions.BANDS.replace("Bands", "Bars").replace("are one", "on the curves are one"),
        captions.setting(rllc),
        captions.seeds(shown),
        captions.failures(shown, "rllc"),
        captions.trust(shown, "rllc"),
    )
    return Drawing(figure, data, caption)


def _freedom(told: xr.Dataset) -> str:
    """Which error the leads have."""
    low, middle, high = told["degrees_of_freedom"].quantile([0.0, 0.5, 1.0]).values
    return (
        "The interval of a lead is from the spread over chains, given the minibatches, which heads share, "
        f"with {low:.0f} to {high:.0f} degrees of freedom (median {middle:.0f}); each head has its own "
        "noise. The other head is the highest as measured, which makes leads a little small."
    )


def _leads(ax, story: xr.Dataset, styles: Mapping[str, dict]) -> None:
    """The lead on each distribution with its interval."""
    ax.axhline(0.0, color="#333333", linewidth=0.8, zorder=1)
    for name in story["distribution"].values.tolist():
        one = story.sel(distribution=name)
        style.curve(ax, one["lead"], one["half_width"], faulty=one.get("faulty"), **styles[name])
        _mark(ax, float(one["rllc_onset"]), styles[name])


def _first_step(stories: Mapping[int, xr.Dataset], steps: np.ndarray) -> float:
    """Half the earliest onset of any seed, or the first step where there is none."""
    onsets = [
        float(story[name].min()) for story in stories.values() for name in ("rllc_onset", "score_onset")
    ]
    finite = [when for when in onsets if np.isfinite(when)]
    return min(finite) / 2 if finite else float(steps[0])


def _panel(ax, one: xr.Dataset, head: str, others: Sequence[str], color, variable: str = "rllc") -> None:
    """The head, the highest other head with its error, and the range of the others."""
    x, rest = one["step"].values, one[variable].sel(head=list(others))
    errors = one["rllc_se"] if "rllc_se" in one else xr.zeros_like(one[variable])
    ax.fill_between(
        x, rest.min("head").values, rest.max("head").values, color="#c9c9c9", alpha=0.5, linewidth=0
    )
    rival = rest.fillna(-np.inf).argmax("head")
    dim = {"capsize": 2, "elinewidth": 0.9}
    grey = {"color": style.TYPE_COLORS["other"], "linestyle": "--", "marker": "s"}
    ax.errorbar(x, rest.max("head"), errors.sel(head=list(others)).isel(head=rival).values, **grey, **dim)
    wrong = faulty(one, variable)
    if wrong is not None:
        style.ring(ax, rest.max("head"), wrong.sel(head=list(others)).isel(head=rival))
        style.ring(ax, one[variable].sel(head=head), wrong.sel(head=head))
    ax.errorbar(
        x, one[variable].sel(head=head).values, errors.sel(head=head).values, color=color, marker="o", **dim
    )


def _mark(ax, when: float, look: Mapping) -> None:
    if np.isfinite(when):
        ax.axvline(when, color=look["color"], linestyle=look["linestyle"], linewidth=1.2, zorder=1)


def _sentence(seed: int, head: str, story: xr.Dataset, one: xr.Dataset, labels: Mapping[str, str]) -> str:
    score = one["prefix_matching"].sel(head=head)
    parts = []
    for name in story["distribution"].values.tolist():
        when, trusted = (float(story[n].sel(distribution=name)) for n in ("rllc_onset", "rllc_onset_trusted"))
        at = f" (score {float(score.sel(step=when)):.2f} there)" if np.isfinite(when) else ""
        if not np.array_equal(when, trusted, equal_nan=True):
            at += f", by estimates without a ring alone from {_told(trusted)}"
        parts.append(f"on {labels[name]} from {_told(when)}{at}")
    return (
        f"Seed {seed}, head {head}: its rLLC leaves the others {', '.join(parts)}; its score leaves from "
        f"{_told(float(story['score_onset']))} and ends at {float(score.isel(step=-1)):.2f}."
    )


def _left_out(seed: int, head: str, one: xr.Dataset) -> str:
    """Which induction heads of the layer are not compared with."""
    layer = [h for h in heads_of_layer(one, int(one["layer"].sel(head=head))) if h != head]
    gone = [h for h in layer if h not in _others(one, head)]
    return f"Seed {seed}: {', '.join(gone)}, induction too, is not among the others." if gone else ""


def _nothing(taken: xr.Dataset, rllc: xr.Dataset) -> Drawing:
    figure, axes = style.grid(1, 1, panel=(4.5, 1.2), margin=0.0)
    axes[0, 0].axis("off")
    best = float(taken["prefix_matching"].isel(step=-1).max())
    text = f"no head is an induction head at the last checkpoint\n(highest prefix-matching score {best:.2f})"
    axes[0, 0].text(0.5, 0.5, text, ha="center", va="center")
    caption = captions.joined(
        captions.sentence(text.replace("\n", " ")), captions.seeds(taken), captions.setting(rllc)
    )
    return Drawing(figure, taken, caption)
