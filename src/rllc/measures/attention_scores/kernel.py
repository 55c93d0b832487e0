"""What attention heads attend to on random tokens, and what a repeated sequence gains.

All sequences are random tokens after a first BOS, so that nothing but position and repetition tells the
tokens apart (arXiv 2402.02364, App. B.4; the authors' code where it says more than the text). One number,
``length``, sets every size; 128 gives the authors' own.
"""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures.architecture import architecture_of
from rllc.measures.composition import composition_scores
from rllc.measures.data import Data, Measurement
from rllc.measures.errors import block_means, error_of_mean
from rllc.measures.precise import count_at
from rllc.models.loss import token_losses
from rllc.models.model import Model
from rllc.models.transformer import Architecture, Weights, attention, attention_inputs, embed, forward
from rllc.seeds import generator
from rllc.vocabulary import head_coords, head_labels

PAIRED = ("previous_token", "prefix_matching")  # scores whose checkpoints and heads claims compare


def attention_scores(
    data: Data, *, sequences: int, length: int, precise: int | None = None, precise_at: Collection[int] = ()
) -> Measurement:
    """Return a function that measures attention scores, the gap of a repeated sequence and composition.

    At the steps ``precise_at`` there are ``precise`` sequences.
    """

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        architecture = architecture_of(model)
        count = count_at(step, sequences, precise, precise_at)
        drawn = {"bos": data.bos, "seed": data.stream, "sequences": count, "length": length}
        scores = [
            head_scores(weights, architecture=architecture, **drawn),
            repeat_gap(weights, architecture=architecture, **drawn),
            composition_scores(weights, architecture=architecture),
        ]
        return xr.merge(scores, join="exact", compat="no_conflicts")

    return measure


def head_scores(
    weights: Weights,
    *,
    architecture: Architecture,
    bos: int,
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

    bos        the token that begins every context; it occurs nowhere else in a sequence
    sequences  of either kind; the authors use 10,000. With 1,000, the standard error is at most 0.016; with
               one, it is NaN
    length     tokens in a sequence, BOS included, at least 16; the authors' 128
    chunk      sequences computed at once: memory, not results

    Returns the four scores (head), each in 0 .. 1, and for each ``<score>_se`` (head), the standard error
    over sequences. Heads and checkpoints have the same sequences, so their errors are not independent:
    ``<score>_by_block`` (head, block) of ``PAIRED`` gives the errors of differences. Raises ValueError where
    ``length`` does not fit the model, ``bos`` is no token, the vocabulary has fewer than 3 tokens, or
    ``sequences`` is below 1.
    """
    _check(architecture, bos, sequences, length)
    drawn = (architecture.d_vocab, bos, sequences, length)
    tokens, last = _plain(generator(seed, "plain"), *drawn)
    plain = _mean_attention(weights, tokens, last, (last - 1, last), architecture, chunk)
    tokens, first, second = _matching(generator(seed, "matching"), *drawn)
    matching = _mean_attention(weights, tokens, second, (first + 1, first), architecture, chunk)
    names = ("previous_token", "current_token", "prefix_matching", "prefix_matching_literal")
    labels = head_labels(architecture.n_layers, architecture.n_heads)
    means, errors, blocks = (np.concatenate(pair) for pair in zip(plain, matching, strict=True))
    scores: dict[str, Any] = {}
    for name, mean, error, block in zip(names, means, errors, blocks, strict=True):
        scores |= {name: ("head", mean), f"{name}_se": ("head", error)}
        if name in PAIRED:
            scores[f"{name}_by_block"] = (("head", "block"), block)
    return xr.Dataset(scores, coords=head_coords(labels))


@torch.no_grad()
def repeat_gap(
    weights: Weights,
    *,
    architecture: Architecture,
    bos: int,
    sequences: int,
    length: int,
    seed: int,
    chunk: int = 16,
) -> xr.Dataset:
    """Return the loss on the second copy of a repeated random segment minus that on the first, nats/token.

    A sequence is BOS and twice the same (length - 1) // 2 uniform tokens. A copy's loss is the mean over
    its tokens but the first, which cannot be predicted from the tokens before it. Negative where the model
    copies.

    Returns ``repeat_gap`` and ``repeat_gap_se``, the standard error over sequences (no dims). Arguments and
    exceptions are those of ``head_scores``.
    """
    _check(architecture, bos, sequences, length)
    size = (length - 1) // 2
    segment = _uniform(generator(seed, "repeat"), architecture.d_vocab, bos, (sequences, size))
    tokens = torch.from_numpy(np.hstack([np.full((sequences, 1), bos), segment, segment]))
    tokens = tokens.to(weights["embed.W_E"].device)
    first = torch.arange(1, size, device=tokens.device)
    at = torch.cat([first, first + size])
    total, gaps = 0.0, []
    for part in tokens.split(chunk):
        losses = token_losses(forward(weights, part, architecture, at), part[:, at + 1]).double()
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
    architecture: Architecture,
    chunk: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the attention from a query to several keys: mean over sequences, standard error, block means.

    tokens [sequence, context]; queries and each of keys [sequence]: positions

    Returns two arrays [key, head], and one [key, head, block].
    """
    total = torch.zeros(len(keys), architecture.n_layers * architecture.n_heads, dtype=torch.float64)
    every, device = [], weights["embed.W_E"].device
    where = torch.from_numpy(np.stack([queries, *keys], axis=1)).to(device)
    for part, at in zip(torch.from_numpy(tokens).to(device).split(chunk), where.split(chunk), strict=True):
        rows = torch.cat(list(_rows(weights, part, at[:, 0], architecture)), dim=1)
        index = at[:, None, 1:].expand(-1, rows.shape[1], -1)
        attended = rows.gather(-1, index)
        total += attended.sum(0, dtype=torch.float64).T.cpu()
        every.append(attended)
    of_sequences = torch.cat(every).double().permute(2, 1, 0).cpu().numpy()
    return (total / len(tokens)).numpy(), error_of_mean(of_sequences), block_means(of_sequences)


def _rows(weights: Weights, tokens: Tensor, queries: Tensor, architecture: Architecture) -> Iterator[Tensor]:
    """Yield, for each layer, the attention of one query per sequence: [sequence, head, context].

    All layers but the last are also computed at all positions, for the residual stream.
    """
    residual, position = embed(weights, tokens, architecture)
    for layer in range(architecture.n_layers):
        name = f"blocks.{layer}.attn"
        inputs = attention_inputs(weights, layer, residual, position, architecture)
        asked = inputs[0][torch.arange(len(tokens), device=tokens.device), queries]
        query = torch.einsum("bm,hmd->bhd", asked, weights[f"{name}.W_Q"]) + weights[f"{name}.b_Q"]
        # q . (W_K x + b_K) = (q W_K^T) . x + q . b_K. Applying W_K to the one query saves the keys of all
        # positions and heads. q . b_K is the same for all keys, so the softmax ignores it.
        carried = torch.einsum("bhd,hmd->bhm", query, weights[f"{name}.W_K"])
        scores = torch.einsum("bhm,bpm->bhp", carried, inputs[0]) / architecture.d_head**0.5
        future = torch.arange(tokens.shape[1], device=tokens.device) > queries[:, None]
        yield scores.masked_fill(future[:, None], float("-inf")).softmax(-1)
        if layer < architecture.n_layers - 1:
            residual = residual + attention(weights, layer, inputs)


def _plain(
    random: np.random.Generator, vocabulary: int, bos: int, sequences: int, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return random sequences of several lengths, and the last position of each.

    Every row has length // 2 tokens. Attention is causal, so tokens after the last position do not matter.
    """
    longest = length // 2
    tokens = _uniform(random, vocabulary, bos, (sequences, longest))
    tokens[:, 0] = bos
    return tokens, random.integers(length // 8, longest, sequences, endpoint=True) - 1


def _matching(
    random: np.random.Generator, vocabulary: int, bos: int, sequences: int, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random sequences with one A in each half, and the positions of the first and the second A."""
    half = length // 2
    repeated = _uniform(random, vocabulary, bos, (sequences, 1))
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


def _uniform(random: np.random.Generator, vocabulary: int, bos: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return tokens drawn uniformly from all but BOS."""
    rank = random.integers(0, vocabulary - 1, shape)
    return rank + (rank >= bos)


def _check(architecture: Architecture, bos: int, sequences: int, length: int) -> None:
    if not 16 <= length <= architecture.n_ctx:
        raise ValueError(
            f"length = {length}: expected 16 .. {architecture.n_ctx}, the context of the model, "
            "so that short sequences still have a previous token and long ones still fit"
        )
    if not 0 <= bos < architecture.d_vocab or architecture.d_vocab < 3:
        raise ValueError(f"bos = {bos} is not a token of a vocabulary of {architecture.d_vocab} (at least 3)")
    if sequences < 1:
        raise ValueError(f"sequences = {sequences}: at least one is needed")
