"""Full QK and OV circuits of the heads of one layer, and how simple, symmetric and shared they are.

The measures of the blog post on the LLC of list-sorting transformers (its footnotes 1 to 4), for any model
whose tokens are numbers: symmetry and regions ask which number stands beside which.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.analysis.regions import regions
from rllc.measures.architecture import architecture_of
from rllc.measures.data import Data, Measurement
from rllc.models.model import Model
from rllc.models.transformer import Architecture, Weights
from rllc.vocabulary import head_coords, head_label

CIRCUITS = ("qk", "ov")
NORMALISATIONS = ("mean_abs", "mean")
SHORTEST = 3


def circuits(
    data: Data, *, tokens: int, answers: Sequence[str] = (), rank_tolerance: float | None
) -> Measurement:
    """Circuits of the numbers, the first ``tokens`` tokens.

    answers  names of the tokens after them, if predictions are answers instead of numbers
    """

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        shape, numbers = architecture_of(model), range(tokens)
        if answers:
            return circuits_to_answers(
                weights, architecture=shape, tokens=numbers, answers=answers, tolerance=rank_tolerance
            )
        return full_circuits(weights, architecture=shape, tokens=numbers, tolerance=rank_tolerance)

    return measure


@torch.no_grad()
def full_circuits(
    weights: Weights,
    *,
    architecture: Architecture,
    tokens: Sequence[int],
    layer: int = 0,
    tolerance: float | None = None,
) -> xr.Dataset:
    """Full circuits of every head of a layer and what is read off them; W is a circuit, i and j tokens.

    ::

        qk = W_E W_Q W_K^T W_E^T,  ov = W_E W_V W_O W_U      (head, token, other_token)
        rank            singular values above tolerance * the largest                    (head, circuit)
        effective_rank  exp(- sum p ln p), p = singular values / their sum               (head, circuit)
        symmetry        mean over interior i, j of |W_ij - (W_i-1,j+1 + W_i+1,j-1) / 2|
                        - |W_ij - (W_i-1,j-1 + W_i+1,j+1) / 2|, over the mean of |W| or of W, all i, j
                                                                          (head, circuit, normalisation)
        overlap         1 - sum |W^k - W^l| / sum(|W^k| + |W^l|) of heads k, l           (pair, circuit)
        token_head      argmax over heads of ov[t, t]                                            (token)
        anti_state      Pearson correlation of ov[h] with - sum of ov[g], g != h                  (head)

    The circuits are bare products as in the post: no biases, positions, layer norm or 1 / sqrt(d_head), and
    in models of several layers no other layer. In double precision; ``qk`` and ``ov`` are kept as float32.

    tokens     ids of the tokens that are numbers, ascending by number: the coordinates
    tolerance  None: that of ``torch.linalg.matrix_rank`` in float32, len(tokens) * 2^-23, whatever the
               precision here, so that ranks are those of the weights and not of rounding

    Over all heads and circuits: ``rank_sum``, ``effective_rank_sum``, ``translational_symmetry`` (the sum at
    mean |W|: the post's level) and its mean; ``head_overlap``. ``vocabulary_share`` (head) and ``regions``
    are of ``token_head``. Where two heads are equal but for noise the raw ``regions`` counts every
    alternation: ``regions_min3`` counts the runs of the assignment of tokens to heads that has the largest
    sum of ov[t, t] among those whose runs have at least 3 tokens. Dividing by the mean of W, which may be
    near 0 or negative, is there because the post does not say which; nothing else uses it. A circuit that
    is 0 has NaN symmetry and effective rank. With one head ``head_overlap`` and ``anti_state`` are NaN and
    there is no ``overlap``.

    Sources: the post; effective rank: Roy & Vetterli 2007; full circuits: Elhage et al. 2021.

    Raises ValueError where the model has no such layer or tokens, or fewer than 3 tokens are given.
    """
    numbers = _checked(tokens, architecture, layer, tolerance)
    tolerance = len(numbers) * torch.finfo(torch.float32).eps if tolerance is None else tolerance
    both = _full(weights, numbers, layer)
    singular = torch.linalg.svdvals(both)
    rank = (singular > tolerance * singular[..., :1]).sum(-1)
    effective = torch.special.entr(singular / singular.sum(-1, keepdim=True)).sum(-1).exp()
    symmetric = symmetry(both)
    diagonal = both[:, 1].diagonal(dim1=-2, dim2=-1)
    largest = diagonal.argmax(0)
    shared = torch.nn.functional.one_hot(largest, len(both)).double().mean(0)
    pairs = list(combinations(range(len(both)), 2))
    shares = torch.stack([overlap(both[k], both[m]) for k, m in pairs]) if pairs else both.new_zeros(0, 2)

    per_circuit = ("head", "circuit")
    found = {
        "qk": (("head", "token", "other_token"), both[:, 0].float()),
        "ov": (("head", "token", "other_token"), both[:, 1].float()),
        "rank": (per_circuit, rank),
        "effective_rank": (per_circuit, effective),
        "rank_sum": ((), rank.sum()),
        "effective_rank_sum": ((), effective.sum()),
        "symmetry": ((*per_circuit, "normalisation"), symmetric),
        "translational_symmetry": ((), symmetric[..., 0].sum()),
        "translational_symmetry_mean": ((), symmetric[..., 0].mean()),
        "head_overlap": ((), shares.mean()),
        "token_head": ("token", largest),
        "vocabulary_share": ("head", shared),
        "regions": ((), 1 + (largest.diff() != 0).sum()),
        "regions_min3": ((), torch.tensor(regions(diagonal.T.tolist(), shortest=SHORTEST))),
        "anti_state": ("head", anti_state(both[:, 1])),
    }
    if pairs:
        found["overlap"] = (("pair", "circuit"), shares)
    labels = [head_label(layer, head) for head in range(len(both))]
    coords = {
        **head_coords(labels),
        "token": numbers,
        "other_token": numbers,
        "circuit": np.asarray(CIRCUITS, dtype=object),
        "normalisation": np.asarray(NORMALISATIONS, dtype=object),
    }
    if pairs:
        coords["pair"] = np.asarray([f"{labels[k]}+{labels[m]}" for k, m in pairs], dtype=object)
    dataset = xr.Dataset({name: (dims, value.cpu().numpy()) for name, (dims, value) in found.items()}, coords)
    dataset["rank"].attrs["relative_tolerance"] = tolerance
    return dataset


@torch.no_grad()
def circuits_to_answers(
    weights: Weights,
    *,
    architecture: Architecture,
    tokens: Sequence[int],
    answers: Sequence[str],
    layer: int = 0,
    tolerance: float | None = None,
) -> xr.Dataset:
    """Return full circuits of a model that reads numbers and predicts other tokens, the answers.

    ``qk`` (head, token, other_token) is that of ``full_circuits``. ``ov_answers`` (head, token, answer) is
    the OV circuit from numbers to answers. ``rank``, ``effective_rank`` and their sums have the same
    definitions. Overlap, symmetry and regions are of circuits from numbers to numbers, so they
    are left out.

    tokens   ids of the numbers
    answers  names of the answers, whose ids follow the last number

    Raises ValueError as ``full_circuits``, and if the model has fewer tokens than numbers and answers.
    """
    numbers = _checked(tokens, architecture, layer, tolerance)
    outputs = range(numbers[-1] + 1, numbers[-1] + 1 + len(answers))
    if outputs[-1] >= architecture.d_vocab:
        raise ValueError(
            f"answers {outputs[0]} .. {outputs[-1]}: the model has {architecture.d_vocab} tokens"
        )
    tolerance = len(numbers) * torch.finfo(torch.float32).eps if tolerance is None else tolerance
    qk, ov = _products(weights, numbers, outputs, layer)
    singular = [torch.linalg.svdvals(each) for each in (qk, ov)]
    rank = torch.stack([(each > tolerance * each[..., :1]).sum(-1) for each in singular], dim=1)
    shares = [each / each.sum(-1, keepdim=True) for each in singular]
    effective = torch.stack([torch.special.entr(each).sum(-1).exp() for each in shares], dim=1)
    found = {
        "qk": (("head", "token", "other_token"), qk.float()),
        "ov_answers": (("head", "token", "answer"), ov.float()),
        "rank": (("head", "circuit"), rank),
        "effective_rank": (("head", "circuit"), effective),
        "rank_sum": ((), rank.sum()),
        "effective_rank_sum": ((), effective.sum()),
    }
    coords = {
        **head_coords([head_label(layer, head) for head in range(len(qk))]),
        "token": numbers,
        "other_token": numbers,
        "answer": np.asarray(answers, dtype=object),
        "circuit": np.asarray(CIRCUITS, dtype=object),
    }
    dataset = xr.Dataset({name: (dims, value.cpu().numpy()) for name, (dims, value) in found.items()}, coords)
    dataset["rank"].attrs["relative_tolerance"] = tolerance
    return dataset


def _full(weights: Weights, tokens: Sequence[int], layer: int) -> Tensor:
    """Both circuits of all heads: [head, circuit, token, other_token], double precision."""
    return torch.stack(_products(weights, tokens, tokens, layer), dim=1)


def _products(
    weights: Weights, tokens: Sequence[int], outputs: Sequence[int], layer: int
) -> tuple[Tensor, Tensor]:
    """Return QK [head, token, token] and OV [head, token, output] of all heads, in double precision."""
    place = weights["embed.W_E"].device
    embedded = weights["embed.W_E"].double()[torch.as_tensor(tokens, device=place)]
    unembedded = weights["unembed.W_U"].double()[:, torch.as_tensor(outputs, device=place)]
    q, k, v, o = (weights[f"blocks.{layer}.attn.W_{m}"].double() for m in "QKVO")
    query, key, value = (embedded @ w for w in (q, k, v))
    return query @ key.transpose(-1, -2), value @ (o @ unembedded)


def symmetry(W: Tensor) -> Tensor:
    """Irregularity across the diagonals minus along them, over mean |W| and mean W: [.., n, n] -> [.., 2]."""
    middle = W[..., 1:-1, 1:-1]
    across = (middle - (W[..., :-2, 2:] + W[..., 2:, :-2]) / 2).abs()
    along = (middle - (W[..., :-2, :-2] + W[..., 2:, 2:]) / 2).abs()
    scale = torch.stack([W.abs().mean((-2, -1)), W.mean((-2, -1))], dim=-1)
    return (across - along).mean((-2, -1))[..., None] / scale


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """1 - sum |a - b| / sum(|a| + |b|): [.., n, n] -> [..], 0 (opposite signs) .. 1 (equal)."""
    return 1 - (a - b).abs().sum((-2, -1)) / (a.abs() + b.abs()).sum((-2, -1))


def anti_state(ov: Tensor) -> Tensor:
    """Pearson correlation of each head's circuit with minus the sum of the others': [head, n, n] -> [head].

    NaN where one of the two is constant, so with one head.
    """
    flat = ov.flatten(1)
    others = flat - flat.sum(0)
    a, b = (x - x.mean(1, keepdim=True) for x in (flat, others))
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))


def _checked(
    tokens: Sequence[int], architecture: Architecture, layer: int, tolerance: float | None
) -> list[int]:
    """The tokens as a list, if the model has them and the layer."""
    numbers = [int(token) for token in tokens]
    if not 0 <= layer < architecture.n_layers:
        raise ValueError(
            f"layer {layer}: the model has {architecture.n_layers} layers, give one of 0 .. that less 1"
        )
    if len(numbers) < 3:
        raise ValueError(f"{len(numbers)} tokens have no interior: expected at least 3 numbers")
    if any(b <= a for a, b in pairwise(numbers)) or numbers[0] < 0 or numbers[-1] >= architecture.d_vocab:
        raise ValueError(
            f"tokens {numbers[0]} .. {numbers[-1]}: expected ids in 0 .. {architecture.d_vocab - 1}, each "
            "once and ascending; give the tokens that are numbers, without the separator"
        )
    if tolerance is not None and not 0 <= tolerance < 1:
        raise ValueError(
            f"tolerance {tolerance}: expected a share of the largest singular value, in 0 .. 1; "
            "leave it out for that of matrix_rank"
        )
    return numbers
