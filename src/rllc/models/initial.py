"""Weights before training.

The default is the ``TransformerLens`` style ("gpt2"), as in the papers: every matrix
N(0, (0.8 / sqrt(d_model))^2), biases 0, layer norms w = 1, b = 0. Each option changes one part of it. The
config of the default study states its options and their reasons.
"""

import math

import numpy as np
import torch
from torch import Tensor

from rllc.models.transformer import Architecture, shapes
from rllc.seeds import generator


def initial_weights(
    architecture: Architecture,
    *,
    seed: int,
    matrix_scale: float = 0.8,
    embedding_scale: float | None = None,
    query_key_factor: float = 1.0,
    position_init: str = "normal",
    position_scale: float | None = None,
) -> dict[str, Tensor]:
    """Return initial weights, float32. Each weight has its own random stream (seed, weight name).

    Arguments are the keys of ``rllc.study.families.AttentionOnlyInitial``; ``position_scale`` is the standard
    deviation of normal positions (None: like the other matrices) or the amplitude of sinusoidal positions
    (None: 1).

    Raises ValueError for an unknown position_init.
    """
    if position_init not in ("normal", "sinusoidal"):
        raise ValueError(f'unknown position_init {position_init!r}: expected "normal" or "sinusoidal"')
    common = matrix_scale / math.sqrt(architecture.d_model)
    scales = {
        "W_E": common if embedding_scale is None else embedding_scale,
        "W_Q": common * query_key_factor,
        "W_K": common * query_key_factor,
        "W_pos": common if position_scale is None else position_scale,
    }
    weights = {}
    for name, shape in shapes(architecture).items():
        last = name.rpartition(".")[2]
        if last == "w":
            weights[name] = torch.ones(shape)
        elif last.startswith("b"):
            weights[name] = torch.zeros(shape)
        else:
            draw = generator(seed, "initial weights", name).standard_normal(shape, dtype=np.float32)
            weights[name] = torch.from_numpy(draw) * scales.get(last, common)
    if position_init == "sinusoidal" and "pos_embed.W_pos" in weights:
        table = sinusoidal_positions(architecture.n_ctx, architecture.d_model)
        weights["pos_embed.W_pos"] = (1.0 if position_scale is None else position_scale) * table
    return weights


def sinusoidal_positions(n_ctx: int, d_model: int) -> Tensor:
    """Return [sin f t, cos f t] for t = 0 .. n_ctx - 1: [n_ctx, d_model], float32.

    f: d_model / 2 frequencies, geometric from 2.8 to 2 pi / n_ctx, radians per position. Raises ValueError
    where d_model is odd.
    """
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}: sinusoidal positions need an even d_model")
    frequencies = np.geomspace(2.8, 2 * math.pi / n_ctx, d_model // 2)
    angles = np.arange(n_ctx)[:, None] * frequencies
    return torch.from_numpy(np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32))
