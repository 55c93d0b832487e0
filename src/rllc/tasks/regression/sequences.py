"""In-context linear regression (arXiv 2402.02364, Sec. 6): y = w . x + noise, with another w per sequence.

A sequence is x_1, y_1, .., x_K, y_K as vectors of D + 1 numbers: (0, x_k), then (y_k, 0, .., 0). The model
predicts the answer y_k at each x_k. Only the preceding pairs contain information on w.
"""

from typing import Any, NamedTuple

import numpy as np

from rllc.seeds import generator
from rllc.tasks.batch import Examples


class Regressions(NamedTuple):
    """Drawn sequences: tasks w [count, D], inputs x [count, K, D], answers y [count, K]; float64."""

    w: np.ndarray
    x: np.ndarray
    y: np.ndarray


def blocks(count: int, *, seed: int, **law: Any) -> Examples:
    """Return ``count`` sequences as vectors, scored at their inputs; ``law`` are arguments of ``draw``."""
    return as_examples(draw(count, seed=seed, **law))


def draw(
    count: int,
    *,
    dimension: int,
    length: int,
    noise_variance: float,
    tasks: int | None,
    task_seed: int,
    seed: int,
    input_scale: float = 1.0,
    task_scale: float = 1.0,
) -> Regressions:
    """Draw ``count`` sequences of ``length`` pairs, with w, x ~ N(0, 1) in each of ``dimension`` coordinates.

    noise_variance            variance of y - w . x
    tasks                     draw w from the first ``tasks`` of ``task_pool``; None: a new w per sequence
    input_scale, task_scale   factor of x, or of w, applied before y is made; the draws are the same
    """
    random = generator(seed, "regression")
    if tasks is None:
        w = random.standard_normal((count, dimension))
    else:
        pool = task_pool(tasks, dimension=dimension, task_seed=task_seed)
        w = pool[random.integers(tasks, size=count)]
    x = input_scale * random.standard_normal((count, length, dimension))
    noise = noise_variance**0.5 * random.standard_normal((count, length))
    w = task_scale * w
    return Regressions(w, x, np.einsum("nkd,nd->nk", x, w) + noise)


def task_pool(tasks: int, *, dimension: int, task_seed: int) -> np.ndarray:
    """Return the tasks w [tasks, dimension] of a finite pool; a larger pool begins with a smaller one."""
    return generator(task_seed, "regression tasks", dimension).standard_normal((tasks, dimension))


def as_examples(drawn: Regressions) -> Examples:
    """Return examples for a model: vectors [count, 2 K, D + 1], scored at inputs, not at answers."""
    count, length, dimension = drawn.x.shape
    vectors = np.zeros((count, length, 2, dimension + 1), dtype=np.float32)
    vectors[:, :, 0, 1:], vectors[:, :, 1, 0] = drawn.x, drawn.y
    targets = np.zeros((count, length, 2), dtype=np.float32)
    targets[:, :, 0] = drawn.y
    positions = np.arange(0, 2 * length, 2)
    return Examples(vectors.reshape(count, 2 * length, -1), positions, targets.reshape(count, -1))
