"""Which heads predict n-grams over training, and which attend to lone spaces (arXiv 2410.02984, B.6).

Both are read from the tokens in context of each head, so they are about the tokens that need it most.
"""

from itertools import product

import numpy as np
import xarray as xr

NGRAM, SPACE = "ngram", " "
NAN = float("nan")
ENDS = ("", "_se")


def migration(tokens: xr.Dataset) -> xr.Dataset:
    """Return where n-grams are predicted, and the attention to lone spaces, at each step of the tokens.

    tokens  ``rise``, ``pattern_index``, ``context``, ``position`` (seed, step, head, rank), ``attention`` and
            ``shown_token`` (.., shown, place), ``shown_rank``; coordinates ``layer``, ``pattern``, ``text``

    ``ngram_effect`` (seed, step, head) is a head's share of the total rise of the loss, over all heads,
    at the tokens that n-grams explain. ``ngram_effect_of_layer`` (.., of_layer) is that of all heads of a
    layer. Their ``_se`` are over contexts, which heads share. ``space_attention`` is the attention of a head
    to tokens that are one space, less their share of all tokens that it can attend to (what uniform attention
    would give), mean over its examples, with ``_se`` over these. NaN without tokens, or with fewer than two
    contexts or examples.
    """
    layer = tokens["layer"].values
    layers = np.unique(layer)
    groups = [*(np.arange(layer.size) == n for n in range(layer.size)), *(layer == each for each in layers)]
    seeds, steps = tokens["seed"].values, tokens["step"].values
    effects = np.full((2, seeds.size, steps.size, len(groups)), NAN)
    spaces = np.full((2, seeds.size, steps.size, layer.size), NAN)
    for s, t in product(range(seeds.size), range(steps.size)):
        one = tokens.isel(seed=s, step=t)
        effects[:, s, t] = _shares(one, groups)
        spaces[:, s, t] = np.transpose([_to_spaces(one.isel(head=n)) for n in range(layer.size)])
    by_head, by_layer = effects[..., : layer.size], effects[..., layer.size :]
    dims = ("seed", "step", "head")
    named = {
        "ngram_effect": (dims, by_head),
        "ngram_effect_of_layer": (("seed", "step", "of_layer"), by_layer),
        "space_attention": (dims, spaces),
    }
    pairs = {
        f"{name}{end}": (of, each[n]) for name, (of, each) in named.items() for n, end in enumerate(ENDS)
    }
    coords = {"seed": seeds, "step": steps, "head": tokens["head"].values, "of_layer": layers}
    return xr.Dataset(pairs, coords).assign_coords(layer=("head", layer))


def _shares(one: xr.Dataset, groups: list[np.ndarray]) -> np.ndarray:
    """Return the share of the n-grams' effect that each group of heads has, and its error: [2, group]."""
    number = one["pattern"].values.tolist().index(NGRAM)
    order = ("head", "rank")
    names = ("rise", "pattern_index", "context")
    rise, kind, context = (one[name].transpose(*order).values for name in names)
    there = (kind == number) & np.isfinite(rise)
    found, at = np.unique(context[there], return_inverse=True)
    heads = np.nonzero(there)[0]
    sums = np.zeros((len(groups), found.size))
    for n, group in enumerate(groups):
        of = group[heads]
        np.add.at(sums[n], at[of], rise[there][of])
    every = np.zeros(found.size)
    np.add.at(every, at, rise[there])
    if found.size < 2 or every.sum() <= 0:
        return np.full((2, len(groups)), NAN)
    share = sums.sum(1) / every.sum()
    apart = sums - share[:, None] * every
    error = np.sqrt((apart**2).sum(1) * found.size / (found.size - 1)) / every.sum()
    return np.asarray([share, error])


def _to_spaces(head: xr.Dataset) -> tuple[float, float]:
    """Return the attention of one head to lone spaces, less that of uniform attention, and its error."""
    lone = head["text"].values == SPACE
    ranks = head["shown_rank"].values
    if not lone.any():
        return NAN, NAN
    excess = []
    for attention, shown, rank in zip(
        head["attention"].transpose("shown", "place").values,
        head["shown_token"].transpose("shown", "place").values,
        ranks,
        strict=True,
    ):
        if rank >= 0:
            seen = slice(0, int(head["position"].values[int(rank)]) + 1)
            spaces = lone[shown[seen].astype(int)]
            excess.append(float(attention[seen][spaces].sum() - spaces.mean()))
    if len(excess) < 2:
        return NAN, NAN
    return float(np.mean(excess)), float(np.std(excess, ddof=1) / np.sqrt(len(excess)))
