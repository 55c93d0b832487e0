"""What the model predicts as it learns, and its positions (arXiv 2402.02364, Figs. 4a, B3 to B6)."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seed, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, curve, level, sheet
from rllc.figures.stage_bands import bands, of_curve, words

BOUND = {"color": "#882255", "linewidth": 1.1, "linestyle": (0, (4, 2))}
SCORE, KEPT, ZEROED = ({"color": color, "marker": "o"} for color in ("#332288", "#333333", "#CC6677"))
MEAN = {"color": "#CC3311", "linewidth": 1.8, "zorder": 5}
LLC = {"color": "#117733", "marker": "o"}
WHAT = (
    "Bigram score: cross-entropy of the predictions after a token against the bigrams of the training text, "
    "at least their entropy. n-gram score: loss of text over loss of the last token of common n-grams, at "
    "the same position."
)
SEVERAL = 6  # checkpoints of W_pos side by side
COMPONENTS = 3


@style.styled
def stage_fig4a_behaviour(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Bigram score and its bound, loss with and without W_pos, n-gram scores; a column per seed.

    datasets  ``ngrams``, ``positions``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    rows, data, findings, contexts = _behaviour(datasets, distribution, seeds, setting)
    figure, _ = sheet(rows, panel=(3.6, 1.8), sharex=True, sharey="row")
    return captions.drawing(figure, data, *findings, WHAT, conditions=[contexts, "No uncertainty is drawn."])


@style.styled
def stage_figB6(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss and LLC over the rows of ``stage_fig4a_behaviour``, which the paper shows for one layer.

    datasets  ``metrics``, ``llc`` or ``llc.<setting>``, ``ngrams``, ``positions``; ``stages``
    """
    rows, data, findings, contexts = _behaviour(datasets, distribution, seeds, setting)
    name, steps = data["distribution"].item(), data["step"].values
    llc = inputs.need(datasets, "llc" if setting == "sampling" else f"llc.{setting}", "llc")
    parts = [inputs.need(datasets, "metrics", "loss")[["loss"]].rename(loss="test_loss")]
    parts.append(llc[[each for each in ("llc", "llc_se", "verdict") if each in llc]])
    drawn = [inputs.of_seeds(part, seeds).sel(distribution=[name]) for part in parts]
    data = xr.merge([data, *drawn], join="outer", compat="override", combine_attrs="drop")
    if "verdict" in data:
        data["verdict"] = inputs.verdicts(data, "llc")
    losses, levels = [], []
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        frame = {"under": bands(of_curve(datasets, seed, name, setting)), "steps": steps}
        losses.append(Panel(f"held-out loss{suffix}", [_curve(one["test_loss"], KEPT)], **frame))
        measured = one.sel(step=llc["step"].values)
        levels.append(Panel(f"full-model LLC{suffix}", [curve(measured, "llc", LLC)], **frame))
    rings = style.ring_keys(inputs.ring_reasons((data, "llc")))
    rows = [Row("nats/token", losses), Row("LLC", levels, rings), *rows]
    figure, _ = sheet(rows, panel=(3.6, 1.6), sharex=True, sharey="row")
    shown = data.sel(step=llc["step"].values)
    conditions, details = captions.of_estimates(llc, shown, "llc", "test_loss")
    return captions.drawing(
        figure, data, *findings, WHAT, conditions=[contexts, *conditions], details=details
    )


def _behaviour(
    datasets: Datasets, distribution: Name, seeds: Seeds, setting: str
) -> tuple[list[Row], xr.Dataset, list[str], str]:
    """Rows, what they draw, findings, and how many contexts they are of."""
    grams = inputs.of_seeds(inputs.need(datasets, "ngrams", "bigram_score", "ngram_score"), seeds)
    name = inputs.one_distribution(grams, distribution)
    where = inputs.of_seeds(inputs.need(datasets, "positions", "loss", "ablated_loss"), seeds)
    drawn = [
        grams.drop_vars(["ngram_loss", "ngram_baseline"], errors="ignore"),
        where[["loss", "ablated_loss"]],
    ]
    data = xr.merge([each.sel(distribution=[name]) for each in drawn], join="outer", combine_attrs="drop")
    label = inputs.one_label(data, name)
    looks = {n: style.numbered(i, color) for i, (n, color) in enumerate(
        zip(data["n"].values.tolist(), style.shades(data.sizes["n"]), strict=True))}  # fmt: skip
    bigram, loss, order, findings = [], [], [], []
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        cell = of_curve(datasets, seed, name, setting)
        frame = {"under": bands(cell), "steps": data["step"].values}
        entropy = float(one["bigram_entropy"].mean())
        title = f"{style.short(label)}{suffix}"
        bigram.append(Panel(f"bigram score, {title}", [_curve(one["bigram_score"], SCORE)], **frame,
                            over=level(entropy, **BOUND)))  # fmt: skip
        with_and_without = [_curve(one["loss"], KEPT), _curve(one["ablated_loss"], ZEROED)]
        loss.append(Panel(f"loss, {title}", with_and_without, **frame))
        scores = [_curve(one["ngram_score"].sel(n=n), look) for n, look in looks.items()]
        order.append(Panel(f"n-gram scores, {title}", scores, **frame, over=level(1.0)))
        findings.append(_found(seed, one, entropy))
        findings.append(captions.when(cell is not None, captions.sentence(f"LLC: {words(cell)}")))
    rows = [
        Row(
            "nats/token",
            bigram,
            [style.key("bigram score", **SCORE), style.key("entropy of bigrams", **BOUND)],
        ),
        Row("nats/token", loss, [style.key("W_pos", **KEPT), style.key("zeros for W_pos", **ZEROED)]),
        Row("ratio of losses", order, [style.key(f"{n}-grams", **look) for n, look in looks.items()]),
    ]
    return rows, data, findings, captions.contexts(grams, "ngrams")


def _curve(values: xr.DataArray, look: dict) -> Curve:
    return Curve(values.dropna("step"), look)


def _found(seed: int, one: xr.Dataset, entropy: float) -> str:
    score = one["bigram_score"].dropna("step")
    gap = (one["ablated_loss"] - one["loss"]).dropna("step")
    last = one["ngram_score"].dropna("step", how="all").isel(step=-1)
    least = score.isel(step=int(score.argmin("step")))
    scores = ", ".join(f"{float(last.sel(n=n)):.2f} (n = {n})" for n in last["n"].values)
    return (
        f"Seed {seed}: the bigram score is least at step {style.step_text(float(least['step']))}, "
        f"{float(least) - entropy:.2f} nats above the bigrams' entropy, and ends "
        f"{float(score[-1]) - entropy:.2f} above it; without W_pos the loss is {float(gap[-1]):.2f} larger "
        f"at the end; n-gram scores at the end: {scores}."
    )


@style.styled
def stage_figB3(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss by position with W_pos and with zeros in its place; a row per seed.

    datasets  ``positions``; ``stages`` (without it no boundaries)
    """
    held = inputs.of_seeds(inputs.need(datasets, "positions", "loss_at", "ablated_loss_at"), seeds)
    name = inputs.one_distribution(held, distribution)
    data = held[["loss", "ablated_loss", "loss_at", "ablated_loss_at"]].sel(distribution=[name])
    label, at = inputs.one_label(data, name), data["at"].values.tolist()
    looks = {p: {"color": color, "linewidth": 0.9} for p, color in zip(at, _by_logarithm(at), strict=True)}
    rows, findings = [], []
    keys = [style.key(f"position {p}", **look) for p, look in looks.items()] + [style.key("mean", **MEAN)]
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        under, panels = bands(of_curve(datasets, seed, name, setting)), []
        for ending, title in (("", "W_pos as it is"), ("ablated_", "zeros for W_pos")):
            curves = [Curve(one[f"{ending}loss_at"].sel(at=p), look) for p, look in looks.items()]
            curves.append(Curve(one[f"{ending}loss"], MEAN))
            panels.append(Panel(f"{title}{suffix}", curves, under=under))
        rows.append(Row("nats/token", panels, keys))
        last = one.isel(step=-1)
        gap = last["ablated_loss_at"] - last["loss_at"]
        findings.append(
            f"Seed {seed}: at the end zeros for W_pos cost {float(last['ablated_loss'] - last['loss']):.2f} "
            f"nats/token, {float(gap[0]):.2f} at position {at[0]}, {float(gap[-1]):.2f} at position {at[-1]}."
        )
    figure, _ = sheet(rows, panel=(3.2, 2.6), entries=len(keys), sharex=True, sharey=True)
    return captions.drawing(
        figure, data, *findings,
        f"Loss on {label} of the prediction made at a position; position 0 is that of BOS.",
        conditions=[captions.contexts(held, "positions"), "No uncertainty is drawn."],
    )  # fmt: skip


def _by_logarithm(at: list[int]) -> list:
    """Colours from purple to yellow by ln(1 + position)."""
    place = np.log1p(np.asarray(at, dtype=float))
    return [colormaps["viridis"](value) for value in place / (place.max() or 1.0)]


@style.styled
def stage_figB4(datasets: Datasets, *, distribution: Name = None, seed: Seed = None) -> Drawing:  # noqa: N802
    """W_pos at six checkpoints: scores on three principal components, their variance, norms of its rows."""
    held = inputs.of_seed(inputs.need(datasets, "positions", "position_score", "explained_variance"), seed)
    if "distribution" in held["position_score"].dims:  # W_pos is of no distribution
        held = held.sel(distribution=inputs.one_distribution(held, distribution))
    data = held[["position_score", "explained_variance", "position_norm"]].reset_coords(drop=True)
    data = data.isel(step=_several(data["step"].values))
    position, components = data["position"].values, data["component"].values.tolist()
    colors = dict(zip(components, style.shades(len(components)), strict=True))
    rows = [
        Row(f"score on PC{c}", [
            Panel(f"step {style.step_text(float(step))}" if c == components[0] else "", x="position",
                  over=partial(_line, x=position, y=data["position_score"].sel(step=step, component=c).values,
                               color=colors[c]))
            for step in data["step"].values])
        for c in components
    ]  # fmt: skip
    shares = [data["explained_variance"].sel(step=step).values for step in data["step"].values]
    rows.append(Row("explained variance", [
        Panel("", x="component", over=partial(_bars, x=components, y=share, colors=list(colors.values())))
        for share in shares]))  # fmt: skip
    rows.append(Row("norm of the row", [
        Panel("", x="position", over=partial(_line, x=position, y=data["position_norm"].sel(step=step).values,
                                             color="#333333"))
        for step in data["step"].values]))  # fmt: skip
    figure, axes = sheet(rows, panel=(1.75, 1.35), margin=0.1, sharey="row")
    for line in axes[:2]:
        for ax in line:
            ax.set_xlabel("")
    first, last = (float(data["explained_variance"].sel(component=1).isel(step=n)) for n in (0, -1))
    return captions.drawing(
        figure, data.expand_dims(seed=[held["seed"].item()]),
        f"The first principal component of W_pos explains {first:.0%} of its variance at step "
        f"{int(data['step'][0])} and {last:.0%} at step {int(data['step'][-1])} (of Brownian motion: 61 %).",
        "Rows are centred; the largest score is positive.",
        "Where W_pos starts sinusoidal, as in the default study, Lissajous curves are put in at step 0.",
    )  # fmt: skip


def _several(steps: np.ndarray) -> np.ndarray:
    """The first checkpoint, and others about evenly apart in the logarithm of the step, the last included."""
    wanted = np.linspace(*np.log1p(steps[[min(1, len(steps) - 1), -1]]), SEVERAL - 1)
    return np.unique([0, *(int(np.abs(np.log1p(steps) - each).argmin()) for each in wanted)])


def _line(ax: Axes, *, x: np.ndarray, y: np.ndarray, color: object) -> None:
    ax.plot(x, y, color=color, linewidth=1.1)


def _bars(ax: Axes, *, x: list[int], y: np.ndarray, colors: list) -> None:
    ax.bar(x, y, color=colors)
    ax.set_xticks(x)
    ax.set_ylim(0, 1)


@style.styled
def stage_figB5(datasets: Datasets, *, seed: Seed = None) -> Drawing:  # noqa: N802
    """K-composition of two previous-token heads and a control with two induction heads and a control.

    The heads of the first layer with the highest previous-token score at the end, and the one with the
    lowest; of the last layer likewise by prefix matching.
    """
    needed = ("k_composition", "previous_token", "prefix_matching")
    data = inputs.of_seed(inputs.over_heads(datasets, "heads", *needed, seeds=None), seed)
    layer = inputs.layers(data)
    earlier = _chosen(data["previous_token"].isel(step=-1).sel(head=inputs.heads_of_layer(data, layer[0])))
    later = _chosen(data["prefix_matching"].isel(step=-1).sel(head=inputs.heads_of_layer(data, layer[-1])))
    start = float(data["k_composition"].isel(step=0).mean())
    rows, pairs = [], []
    for head in earlier:
        panels = []
        for target in later:
            values = data["k_composition"].sel(head=head, later_head=target, drop=True)
            color = {"color": style.TYPE_COLORS[data["head_type"].sel(head=target).item()]}
            panels.append(Panel(f"{head} into {target}", [Curve(values, color | {"marker": "o"})],
                                over=level(start, linestyle=(0, (4, 2)))))  # fmt: skip
            pairs.append((float(values[-1]), f"{head} into {target}"))
        rows.append(Row("K-composition", panels))
    figure, _ = sheet(rows, panel=(2.3, 1.7), margin=0.1, sharex=True, sharey=True)
    most, pair = max(pairs)
    return captions.drawing(
        figure, data.sel(later_head=later).expand_dims("seed"),
        f"Of the pairs drawn {pair} K-composes most at the end, {most:.3f}; the mean of all pairs was "
        f"{start:.3f} at the first checkpoint (dashed).",
        f"Rows: heads with the highest previous-token score at the end, {', '.join(earlier[:-1])}, and the "
        f"lowest, {earlier[-1]}. Columns: by prefix matching likewise, {', '.join(later)}.",
    )  # fmt: skip


def _chosen(score: xr.DataArray) -> list[str]:
    """Two heads of highest score, highest first, and the one of the lowest."""
    order = score["head"].values[np.argsort(-score.values)].tolist()
    return list(dict.fromkeys([*order[:2], order[-1]]))
