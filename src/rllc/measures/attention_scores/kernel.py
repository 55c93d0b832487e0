"""What attention heads attend to on random tokens, and what a repeated sequence gains.

All sequences are random tokens after a first BOS (without one, where models saw none), so that nothing but
position and repetition tells the tokens apart (arXiv 2402.02364, App. B.4; the authors' code where it says
more than the text). One number, ``length``, sets every size; 128 gives the authors' own.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures.architecture import architecture_of, has_circuits, with_heads
from rllc.measures.composition import composition_scores
from rllc.measures.data import Data, Measurement
from rllc.measures.errors import block_means, error_of_mean
from rllc.measures.precise import count_at
from rllc.models.model import Model, ModelWithHeads
from rllc.models.weights import Weights
from rllc.seeds import generator
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_coords

PAIRED = ("previous_token", "prefix_matching")  # scores whose checkpoints and heads claims compare


def attention_scores(
    data: Data, *, sequences: int, length: int, precise: int | None = None, precise_at: Collection[int] = ()
) -> Measurement:
    """Return a function that measures attention scores, the gap of a repeated sequence and composition.

    At the steps ``precise_at`` there are ``precise`` sequences. Composition is left out where products of
    matrices do not say what a head reads (``rllc.measures.architecture.has_circuits``).
    """

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        own, count = with_heads(model), count_at(step, sequences, precise, precise_at)
        drawn = {"bos": data.bos, "seed": data.stream, "sequences": count, "length": length}
        scores = [head_scores(weights, model=own, **drawn), repeat_gap(weights, model=own, **drawn)]
        if has_circuits(model):
            scores.append(composition_scores(weights, architecture=architecture_of(model)))
        return xr.merge(scores, join="exact", compat="no_conflicts")

    return measure


def head_scores(
    weights: Weights,
    *,
    model: ModelWithHeads,
    bos: int | None,
    sequences: int,
    length: int,
    seed: int,
    chunk: int = 16,
) -> xr.Dataset:
    """Return the attention of every head on random sequences: previous and current token, prefix matching.

    previous_token, current_token   attention of the last position to the one before and to itself, mean
        over sequences [BOS, uniform tokens] of length / 8 .. length / 2 tokens
    prefix_matching   in a sequence of ``length`` tokens, BOS first, with a random token A once in each half
        and nowhere else: attention from the second A to the token after the first A (what the authors' code
        measures and what an induction head does)
    prefix_matching_literal   the same to the first A itself (what the paper's text says)

    bos        the token that begins every context; it occurs nowhere else in a sequence. None: no such token,
               another random one is in its place
    sequences  of either kind; the authors use 10,000. With 1,000, the standard error is at most 0.016; with
               one, it is NaN
    length     tokens in a sequence, BOS included, at least 16; the authors' 128
    chunk      sequences computed at once: memory, not results

    Returns the four scores (head), each in 0 .. 1, and for each ``<score>_se`` (head), the standard error
    over sequences. The score of a group of heads that share keys and values is the largest of its heads'
    scores, with the error of this head; ``<score>_by_member`` (head, member) has all of them. Heads and
    checkpoints have the same sequences, so their errors are not independent: ``<score>_by_block`` (head,
    block) of ``PAIRED`` gives the errors of differences.

    Raises ValueError where ``length`` does not fit the model, ``bos`` is no token, the vocabulary has fewer
    than 3 tokens, or ``sequences`` is below 1.
    """
    _check(model, bos, sequences, length)
    drawn = (model.vocabulary, bos, sequences, length)
    tokens, last = _plain(generator(seed, "plain"), *drawn)
    plain = _mean_attention(weights, tokens, last, (last - 1, last), model, chunk)
    tokens, first, second = _matching(generator(seed, "matching"), *drawn)
    matching = _mean_attention(weights, tokens, second, (first + 1, first), model, chunk)
    names = ("previous_token", "current_token", "prefix_matching", "prefix_matching_literal")
    means, errors, blocks = (np.concatenate(pair) for pair in zip(plain, matching, strict=True))
    scores: dict[str, Any] = {}
    for name, *of_members in zip(names, means, errors, blocks, strict=True):
        mean, error, block = _largest(*of_members)
        scores |= {name: ("head", mean), f"{name}_se": ("head", error)}
        if name in PAIRED:
            scores[f"{name}_by_block"] = (("head", "block"), block)
        if means.shape[-1] > 1:
            scores[f"{name}_by_member"] = (("head", "member"), of_members[0])
    return xr.Dataset(scores, coords=head_coords(model.heads))


def _largest(
    means: np.ndarray, errors: np.ndarray, blocks: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of each group's member with the largest mean: [head, member, ...] -> [head, ...]."""
    best = means.argmax(1)[:, None]
    of_blocks = np.take_along_axis(blocks, best[..., None], 1)
    return (
        np.take_along_axis(means, best, 1)[:, 0],
        np.take_along_axis(errors, best, 1)[:, 0],
        of_blocks[:, 0],
    )


@torch.no_grad()
def repeat_gap(
    weights: Weights,
    *,
    model: ModelWithHeads,
    bos: int | None,
    sequences: int,
    length: int,
    seed: int,
    chunk: int = 16,
) -> xr.Dataset:
    """Return the loss on the second copy of a repeated random segment minus that on the first, nats/token.

    A sequence is BOS and twice the same (length - 1) // 2 uniform tokens; without a BOS, these are
    length // 2 tokens. A copy's loss is the mean over
    its tokens but the first, which cannot be predicted from the tokens before it. Negative where the model
    copies.

    Returns ``repeat_gap`` and ``repeat_gap_se``, the standard error over sequences (no dims). Arguments and
    exceptions are those of ``head_scores``.
    """
    _check(model, bos, sequences, length)
    opening = 0 if bos is None else 1  # tokens before the first copy
    size = (length - opening) // 2
    segment = _uniform(generator(seed, "repeat"), model.vocabulary, bos, (sequences, size))
    tokens = torch.from_numpy(np.hstack([np.full((sequences, opening), bos or 0), segment, segment]))
    tokens = tokens.to(next(iter(weights.values())).device)
    first = torch.arange(opening, opening + size - 1, device=tokens.device)
    at = torch.cat([first, first + size])
    total, gaps = 0.0, []
    for part in tokens.split(chunk):
        batch = Batch(part, at, part[:, at + 1])
        losses = model.losses(model.outputs(weights, batch), batch.targets).double()
        total += float(losses[:, size - 1 :].sum() - losses[:, : size - 1].sum())
        gaps.append(losses[:, size - 1 :].mean(1) - losses[:, : size - 1].mean(1))
    error = error_of_mean(torch.cat(gaps).cpu().numpy())
    return xr.Dataset({"repeat_gap": total / (sequences * (size - 1)), "repeat_gap_se": error})


@torch.no_grad()
def _mean_attention(
    weights: Weights,
    tokens: np.ndarray,
    queries: np.ndarray,
    keys: tuple[np.ndarray, ...],
    model: ModelWithHeads,
    chunk: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the attention from a query to several keys: mean over sequences, standard error, block means.

    tokens [sequence, context]; queries and each of keys [sequence]: positions

    Returns two arrays [key, head, member], and one [key, head, member, block].
    """
    total: Tensor | float = 0.0
    every, device = [], next(iter(weights.values())).device
    where = torch.from_numpy(np.stack([queries, *keys], axis=1)).to(device)
    for part, at in zip(torch.from_numpy(tokens).to(device).split(chunk), where.split(chunk), strict=True):
        rows = model.attention_rows(weights, part, at[:, 0])
        index = at[:, None, None, 1:].expand(-1, *rows.shape[1:3], -1)
        attended = rows.gather(-1, index)
        total = total + attended.sum(0, dtype=torch.float64).movedim(-1, 0).cpu()
        every.append(attended)
    of_sequences = torch.cat(every).double().movedim((-1, 0), (0, -1)).cpu().numpy()
    assert isinstance(total, Tensor)  # there is a sequence
    return (total / len(tokens)).numpy(), error_of_mean(of_sequences), block_means(of_sequences)


def _plain(
    random: np.random.Generator, vocabulary: int, bos: int | None, sequences: int, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return random sequences of several lengths, and the last position of each.

    Every row has length // 2 tokens. Attention is causal, so tokens after the last position do not matter.
    """
    longest = length // 2
    tokens = _uniform(random, vocabulary, bos, (sequences, longest))
    if bos is not None:
        tokens[:, 0] = bos
    return tokens, random.integers(length // 8, longest, sequences, endpoint=True) - 1


def _matching(
    random: np.random.Generator, vocabulary: int, bos: int | None, sequences: int, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random sequences with one A in each half, and the positions of the first and the second A."""
    half = length // 2
    repeated = _uniform(random, vocabulary, bos, (sequences, 1))
    if bos is None:
        tokens = _uniform(random, vocabulary, repeated, (sequences, length))
    else:
        # A rank among the tokens that are neither BOS nor A becomes a token by stepping over these two.
        rank = random.integers(0, vocabulary - 2, (sequences, length))
        low, high = np.minimum(repeated, bos), np.maximum(repeated, bos)
        tokens = rank + (rank >= low)
        tokens += tokens >= high
        tokens[:, 0] = bos
    first = random.integers(1, half, sequences)
    # from half + 1: the token after the first A is then never the second A
    second = random.integers(half + 1, length, sequences)
    every = np.arange(sequences)
    tokens[every, first] = tokens[every, second] = repeated[:, 0]
    return tokens, first, second


def _uniform(
    random: np.random.Generator, vocabulary: int, but: int | np.ndarray | None, shape: tuple[int, ...]
) -> np.ndarray:
    """Return tokens drawn uniformly from all but one (None: from all)."""
    if but is None:
        return random.integers(0, vocabulary, shape)
    rank = random.integers(0, vocabulary - 1, shape)
    return rank + (rank >= but)


def _check(model: ModelWithHeads, bos: int | None, sequences: int, length: int) -> None:
    longest = length if model.longest is None else model.longest
    if not 16 <= length <= longest:
        raise ValueError(
            f"length = {length}: expected 16 .. {longest}, the context of the model, "
            "so that short sequences still have a previous token and long ones still fit"
        )
    if not 0 <= (bos or 0) < model.vocabulary or model.vocabulary < 3:
        raise ValueError(f"bos = {bos} is not a token of a vocabulary of {model.vocabulary} (at least 3)")
    if sequences < 1:
        raise ValueError(f"sequences = {sequences}: at least one is needed")
