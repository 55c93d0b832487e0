"""Find the tokens whose loss falls in each stage of development (arXiv 2402.02364, Fig. 5)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.vocabulary import NATS, describe

DRAWN, GREATEST, REPEATS = EXCERPTS = ("drawn", "greatest", "repeats")
TOKENS = ("all", "second", "repeated", "other")
FEWEST = 5  # least repeated and least other tokens of a ``repeats`` excerpt
OFTEN = 5  # least occurrences of a listed pair of tokens
LISTED = 10  # pairs listed per stage
SCALE = 0.99  # quantile of |gain| at the end of the colour scale
TEXT = ("text", "joined", "second", "repeated")  # variables of a token in ``token_losses``
VARIABLES = {
    "gain": ("loss of the next token at the start of the stage less at its end", NATS),
    "logit_gain": ("logit of the next token at the end of the stage less at its start", "1"),
    "stage_start": ("first checkpoint of the stage", "steps"),
    "stage_end": ("last checkpoint of the stage", "steps"),
    "end_determined": ("whether the boundary at its end is determined: 1 yes, 0 possible", "1"),
    "scale": (f"{SCALE:.0%} quantile of |gain|, where colours end", NATS),
    "mean_gain": ("mean gain of tokens of a kind", NATS),
    "mean_gain_se": ("standard error over contexts of mean_gain", NATS),
    "counted": ("number of tokens of the kind", "1"),
    "excerpt_context": ("context of the excerpt", "1"),
    "excerpt_start": ("position at which the excerpt begins", "1"),
    "excerpt_score": (
        "mean gain of the excerpt's tokens; of repeats: of tokens that came before minus the rest",
        NATS,
    ),
    "pair": ("a token and the one before it", "1"),
    "pair_gain": (f"mean gain of the pair, of those that are there {OFTEN} times or more", NATS),
    "pair_count": ("number of times that the pair occurs", "1"),
}


def highlights(
    datasets: Mapping[str, xr.Dataset],
    *,
    distribution: str,
    setting: str,
    length: int,
    random_seed: int = 0,
) -> xr.Dataset:
    """Return the gain of every next token in every stage, with excerpts.

    gain = loss at the start of the stage - loss at its end. Stages lie between the boundaries of one LLC
    curve, possible and determined, and the first and last checkpoint. Without boundaries, training is one
    stage.

    datasets      ``token_losses`` (seed, step, context, position), ``stages``
    distribution, setting  of the LLC curve
    length        tokens of an excerpt, at most the context length

    Excerpts: ``drawn`` at random, the same in all stages; ``greatest``: with the greatest mean gain;
    ``repeats``: with the greatest difference in mean gain between tokens whose pair occurred before in the
    context and the other tokens, among excerpts with ``FEWEST`` of both; missing if there is none.

    Returns ``VARIABLES`` along seed and stage (from 1), NaN and "" beyond a seed's last stage, and the texts
    of the tokens.

    Raises ValueError where ``stages`` has no such curve.
    """
    losses = datasets["token_losses"].transpose("seed", "step", "context", "position")
    table = datasets["stages"]
    length = min(length, losses.sizes["position"])
    random = np.random.default_rng(random_seed)
    spare = losses.sizes["position"] - length + 1
    drawn = (int(random.integers(losses.sizes["context"])), int(random.integers(spare)))
    text = losses[list(TEXT)].reset_coords()
    cells = []
    for seed in losses["seed"].values.tolist():
        one = losses[["loss", "logit"]].sel(seed=seed).drop_vars(TEXT)
        edges = _edges(one["step"].values, table, distribution, setting, seed)
        parts = [_stage(one, text, *edge, drawn=drawn, length=length) for edge in edges]
        cells.append(xr.concat(parts, "stage").assign_coords(stage=np.arange(1, len(parts) + 1)))
    made = xr.concat(cells, "seed", join="outer").assign_coords(seed=losses["seed"].values)
    made["pair"] = made["pair"].fillna("").astype(object)
    order = ("seed", "stage", "context", "position", "tokens", "excerpt", "rank")
    made = made.transpose(*order).assign_coords({name: text[name].variable for name in TEXT})
    made = made.assign_coords({dim: np.arange(made.sizes[dim]) for dim in ("context", "position")})
    return describe(made.assign_attrs(length=length, text_of=_label(table, distribution)), VARIABLES)


def _label(table: xr.Dataset, distribution: str) -> str:
    """Return the label of a distribution in figures."""
    if "distribution_label" not in table.coords:
        return distribution
    return str(table["distribution_label"].sel(distribution=distribution).item())


def _edges(
    steps: np.ndarray, table: xr.Dataset, distribution: str, setting: str, seed: int
) -> list[tuple[int, int, float]]:
    """Return start and end of every stage of a seed, and whether the end is determined (NaN for the last)."""
    asked = {"setting": setting, "distribution": distribution, "seed": seed}
    absent = [f"{dim} {label!r}" for dim, label in asked.items() if label not in table[dim].values]
    if absent:
        raise ValueError(f"stages.nc has no {', '.join(absent)}: stages are read off that LLC curve")
    one = table.sel(asked)
    counts = one["boundary_step"].values < steps[-1]
    sure = dict(
        zip(
            one["boundary_step"].values[counts].astype(int).tolist(),
            one["boundary_determined"].values[counts].tolist(),
            strict=True,
        )
    )
    inner = sorted(sure)
    ends = [*inner, int(steps[-1])]
    return [(a, b, sure.get(b, np.nan)) for a, b in zip([int(steps[0]), *inner], ends, strict=True)]


def _stage(
    one: xr.Dataset,
    text: xr.Dataset,
    start: int,
    end: int,
    determined: float,
    *,
    drawn: tuple[int, int],
    length: int,
) -> xr.Dataset:
    """Return all variables of one stage of one seed."""
    before, after = one.sel(step=start, drop=True), one.sel(step=end, drop=True)
    gain = (before["loss"] - after["loss"]).transpose("context", "position")
    second, repeated = (text[name].values == 1 for name in ("second", "repeated"))
    every = np.ones_like(second)
    groups = dict(zip(TOKENS, (every, second, repeated, ~second & ~repeated), strict=True))
    means = [_mean(gain.values, of) for of in groups.values()]
    excerpts = {
        DRAWN: (*drawn, float(_windows(gain.values, length)[drawn])),
        GREATEST: _best(_windows(gain.values, length)),
        REPEATS: _best(_contrast(gain.values, repeated, length)),
    }
    chosen = np.asarray([excerpts[name] for name in EXCERPTS], dtype=float)
    pairs = _pairs(gain.values, text["text"].values, text["joined"].values)
    return xr.Dataset(
        {
            "gain": gain,
            "logit_gain": after["logit"] - before["logit"],
            "stage_start": float(start),
            "stage_end": float(end),
            "end_determined": determined,
            "scale": float(np.quantile(np.abs(gain.values), SCALE)),
            "mean_gain": ("tokens", [mean for mean, *_ in means]),
            "mean_gain_se": ("tokens", [error for _, error, _ in means]),
            "counted": ("tokens", [float(count) for *_, count in means]),
            "excerpt_context": ("excerpt", chosen[:, 0]),
            "excerpt_start": ("excerpt", chosen[:, 1]),
            "excerpt_score": ("excerpt", chosen[:, 2]),
            "pair": ("rank", np.asarray([name for name, *_ in pairs], dtype=object)),
            "pair_gain": ("rank", [mean for _, mean, _ in pairs]),
            "pair_count": ("rank", [count for *_, count in pairs]),
        },
        coords={
            "tokens": np.asarray(TOKENS, dtype=object),
            "excerpt": np.asarray(EXCERPTS, dtype=object),
            "rank": np.arange(LISTED),
        },
    )


def _mean(gain: np.ndarray, of: np.ndarray) -> tuple[float, float, int]:
    """Return the mean over the tokens ``of`` [context, position], its standard error, and their number.

    Contexts are independent, their tokens are not. With r the sum of gain - mean over each of C contexts and
    n tokens in total, the error is sqrt(C / (C - 1) sum r^2) / n.
    """
    count = int(of.sum())
    if not count:
        return np.nan, np.nan, 0
    mean = float(gain[of].mean(dtype=float))
    rest = np.where(of, gain - mean, 0.0).sum(1)
    contexts = len(gain)
    error = np.sqrt(contexts / (contexts - 1) * (rest**2).sum()) / count if contexts > 1 else np.nan
    return mean, float(error), count


def _windows(values: np.ndarray, length: int, of: np.ndarray | None = None) -> np.ndarray:
    """Return means over windows of ``length`` positions, of tokens ``of``: [context, start]; NaN if none."""
    of = np.ones(values.shape, dtype=bool) if of is None else of
    total, count = (_sums(each, length) for each in (np.where(of, values, 0.0), of))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _sums(values: np.ndarray, length: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(values.astype(float), length, axis=1).sum(-1)


def _contrast(gain: np.ndarray, repeated: np.ndarray, length: int) -> np.ndarray:
    """Return mean gain of repeated minus other tokens; NaN where a window has too few of either."""
    contrast = _windows(gain, length, repeated) - _windows(gain, length, ~repeated)
    enough = (_sums(repeated, length) >= FEWEST) & (_sums(~repeated, length) >= FEWEST)
    return np.where(enough, contrast, np.nan)


def _best(scores: np.ndarray) -> tuple[float, float, float]:
    """Return context and start of the largest score (first of equals), and the score; NaN if none."""
    if not np.isfinite(scores).any():
        return np.nan, np.nan, np.nan
    context, start = np.unravel_index(np.nanargmax(scores), scores.shape)
    return float(context), float(start), float(scores[context, start])


def _pairs(gain: np.ndarray, text: np.ndarray, joined: np.ndarray) -> list[tuple[str, float, float]]:
    """Return the pairs of tokens, "te|ll", of greatest mean gain, with gain and count; "" as padding.

    Tokens that are parts of a character are left out.
    """
    whole = joined == np.arange(joined.shape[1])
    whole[:, :-1] &= whole[:, 1:]  # a token joined to the next is not a whole character either
    there = whole[:, 1:] & whole[:, :-1]
    names = np.asarray([f"{a}|{b}" for a, b in zip(text[:, :-1][there], text[:, 1:][there], strict=True)])
    unique, of = np.unique(names, return_inverse=True)
    count = np.bincount(of, minlength=len(unique))
    mean = np.bincount(of, weights=gain[:, 1:][there], minlength=len(unique)) / np.maximum(count, 1)
    often = np.flatnonzero(count >= OFTEN)
    best = often[np.argsort(-mean[often], kind="stable")][:LISTED]
    found = [(str(unique[n]), float(mean[n]), float(count[n])) for n in best]
    return found + [("", np.nan, np.nan)] * (LISTED - len(found))
