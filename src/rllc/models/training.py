"""Training as a generator of checkpoints. It can stop after any checkpoint and resume bit for bit.

A checkpoint of step s holds the weights after s updates (step 0: the initial weights). ``Checkpoint.state``,
a flat dict of tensors, holds everything needed to resume. The data of a step is a function of the step
(``shuffled_batches``, or another), so resuming replays nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rllc.models.device import product_precision
from rllc.models.weights import Weights
from rllc.seeds import derive, generator
from rllc.tasks.batch import Batch, Examples

OPTIMIZERS = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}
SCHEDULES = ("constant", "linear")
PRECISIONS = ("fp32", "tf32", "bf16")
MOMENTS = ("exp_avg", "exp_avg_sq")
LOSSES_PER_LOOK = 50  # on an accelerator, since reading a loss waits for the device


class Checkpoint(NamedTuple):
    """A model during training.

    step     updates made so far
    weights  float32, on the CPU, without gradient; later updates do not change them
    state    the state to resume from: weights/*, exp_avg/*, exp_avg_sq/*, step, losses (flat, on the CPU)
    losses   float32 [step]: minibatch loss of each update since step 0, in the unit of ``loss``
    """

    step: int
    weights: dict[str, Tensor]
    state: dict[str, Tensor]
    losses: np.ndarray


class TrainingDiverged(ValueError):
    """The error of a loss or weight that became infinite or NaN. Earlier checkpoints are valid."""

    def __init__(self, what: str, rate: float) -> None:
        super().__init__(
            f"training diverged: {what}, at learning rate {rate:g}. Earlier checkpoints are sound. "
            "Lower learning_rate, lengthen warmup or set gradient_clip, and run again"
        )


def train(
    weights: Weights,
    batches: Callable[[int], Batch],
    *,
    loss: Callable[[Weights, Batch], Tensor],
    steps: int,
    checkpoints: Iterable[int],
    learning_rate: float,
    optimizer: str = "adamw",
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    warmup: int = 0,
    schedule: str = "constant",
    end_rate: float = 0.0,
    gradient_clip: float | None = None,
    late_layers_ramp: int = 0,
    precision: str = "fp32",
    device: str | torch.device = "cpu",
    state: Mapping[str, Tensor] | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Iterator[Checkpoint]:
    """Train, and yield a ``Checkpoint`` at each of ``checkpoints``; stop after the last one.

    weights           initial weights; not modified. When resuming, only their names and shapes matter
    batches           step -> minibatch of update ``step`` (from 0)
    loss              (weights, batch) -> mean loss of the batch
    checkpoints       steps from 0 to ``steps`` in any order; when resuming, none before the state's step
    learning_rate     peak rate: update s uses ``learning_rate * rate_factor(s)``
    optimizer         "adam" adds weight_decay * w to the gradient. All weights decay, including biases and
                      layer norms
    late_layers_ramp  the rate of all weights of layers 1, 2, .. is also multiplied by
                      min(1, (step + 1) / late_layers_ramp); 0: no ramp
    precision         precision of the passes: "fp32", "tf32" (CUDA only) or "bf16" (autocast); weights are
                      fp32
    state             ``Checkpoint.state`` of an earlier step of this run, to resume from
    report            called with (updates made, latest loss): after each update on a CPU; on another device
                      every ``LOSSES_PER_LOOK`` updates and at each checkpoint

    Other settings are the keys of ``rllc.study.runs.Training``.

    Resumed weights equal those of the uninterrupted run bit for bit, on the same machine and number of
    threads. Raises ValueError, when the first checkpoint is requested, where the arguments contradict each
    other. Raises ``TrainingDiverged`` where a loss or a weight is no longer finite.
    """
    device = torch.device(device)
    first = 0 if state is None else int(state["step"])
    wanted = sorted(set(checkpoints))
    if not wanted:
        raise ValueError("checkpoints is empty: give at least one step")
    if wanted[0] < first or wanted[-1] > steps:
        raise ValueError(
            f"checkpoints {wanted[0]} to {wanted[-1]} are not within {first} to {steps}, the first and last "
            "step of this training: resume from an earlier state, or choose other steps"
        )
    for name, value, known in (
        ("optimizer", optimizer, tuple(OPTIMIZERS)),
        ("schedule", schedule, SCHEDULES),
        ("precision", precision, PRECISIONS),
    ):
        if value not in known:
            raise ValueError(f"unknown {name} {value!r}: expected one of {', '.join(known)}")
    if precision == "tf32" and device.type != "cuda":
        raise ValueError(f'precision "tf32" needs a CUDA device, not {device}: use "fp32" or "bf16"')

    if state is not None:
        _check_state(state, weights)
        weights = {name: state[f"weights/{name}"] for name in weights}
    live = {name: w.detach().to(device, torch.float32, copy=True) for name, w in weights.items()}
    for w in live.values():
        w.requires_grad_()
    late = {name for name in live if name.startswith("blocks.") and not name.startswith("blocks.0.")}
    groups = [[w for name, w in live.items() if (name in late) is ramped] for ramped in (False, True)]
    updater = OPTIMIZERS[optimizer](
        [{"params": group} for group in groups],
        lr=learning_rate,
        betas=tuple(betas),
        eps=eps,
        weight_decay=weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )
    if state is not None:
        for name, w in live.items():
            moments = {moment: state[f"{moment}/{name}"].to(device, copy=True) for moment in MOMENTS}
            updater.state[w] = {"step": torch.tensor(float(first), device=device), **moments}

    losses = np.full(wanted[-1], np.nan, dtype=np.float32)
    if state is not None:
        losses[:first] = state["losses"].numpy()
    unread: list[Tensor] = []
    per_look = 1 if device.type == "cpu" else LOSSES_PER_LOOK
    rate = learning_rate

    def read_losses(done: int) -> None:
        if not unread:
            return
        begin = done - len(unread)
        losses[begin:done] = torch.stack(unread).cpu().numpy()
        unread.clear()
        broken = begin + np.flatnonzero(~np.isfinite(losses[begin:done]))
        if broken.size:
            raise TrainingDiverged(f"the loss of update {broken[0]} is {losses[broken[0]]}", rate)
        if report is not None:
            report(done, float(losses[done - 1]))

    for step in range(first, wanted[-1] + 1):
        if step in wanted:
            read_losses(step)
            yield _checkpoint(step, live, updater, losses, rate)
        if step == wanted[-1]:
            return
        rate = learning_rate * rate_factor(
            step, steps=steps, warmup=warmup, schedule=schedule, end_rate=end_rate
        )
        updater.param_groups[0]["lr"] = rate
        updater.param_groups[1]["lr"] = rate * min(1.0, (step + 1) / (late_layers_ramp or 1))
        batch = batches(step)
        batch = type(batch)(*(part.to(device) for part in batch))
        with product_precision(precision):
            with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
                value = loss(live, batch)
            value.backward()
        if gradient_clip is not None:
            torch.nn.utils.clip_grad_norm_(live.values(), gradient_clip)
        updater.step()
        updater.zero_grad()
        unread.append(value.detach().float())
        if len(unread) == per_look:
            read_losses(step + 1)


def shuffled_batches(examples: Examples, *, batch_size: int, seed: int) -> Callable[[int], Batch]:
    """Return ``step -> Batch``: minibatches in a new random order each epoch, all positions scored.

    examples  at least ``batch_size`` examples (memory-mapped arrays work)

    The order of an epoch depends only on (seed, epoch). The incomplete batch at the end of an epoch is
    dropped. Raises ValueError where there is less than one batch.
    """
    total = len(examples.contexts)
    per_epoch = total // batch_size
    if not per_epoch:
        raise ValueError(
            f"{total} contexts are too few for one batch of {batch_size}: give more text or lower batch_size"
        )
    positions = examples.scorable()

    @lru_cache(maxsize=1)
    def order(epoch: int) -> np.ndarray:
        return generator(seed, "training order", epoch).permutation(total)

    def batch(step: int) -> Batch:
        epoch, index = divmod(step, per_epoch)
        return examples.batch(order(epoch)[index * batch_size : (index + 1) * batch_size], positions)

    return batch


def fresh_batches(
    generate: Callable[..., Examples], settings: Mapping[str, Any], *, batch_size: int, seed: int
) -> Callable[[int], Batch]:
    """Return ``step -> Batch``: minibatches that are generated on demand, so there are no epochs.

    generate  ``generate(count, seed=, **settings)``; step t has the stream (seed, "fresh batch", t)
    """

    def batch(step: int) -> Batch:
        examples = generate(batch_size, seed=derive(seed, "fresh batch", step), **settings)
        return examples.batch(np.arange(batch_size), examples.scorable())

    return batch


def rate_factor(
    step: int, *, steps: int, warmup: int = 0, schedule: str = "constant", end_rate: float = 0.0
) -> float:
    """Return the share of the peak learning rate at update ``step``.

    During warmup it is (step + 1) / warmup. Afterwards it is "constant", or "linear": it falls linearly from
    1 at step ``warmup`` to ``end_rate`` at step ``steps``.
    """
    if step < warmup:
        return (step + 1) / warmup
    if schedule == "constant":
        return 1.0
    return end_rate + (1 - end_rate) * (steps - step) / (steps - warmup)


def _check_state(state: Mapping[str, Tensor], weights: Weights) -> None:
    for part in ("weights", *MOMENTS):
        kept = {name: w.shape for name, w in state.items() if name.startswith(f"{part}/")}
        if kept != {f"{part}/{name}": w.shape for name, w in weights.items()}:
            raise ValueError(
                f"the {part} in the state do not fit this model: move the state away and train again"
            )


def _checkpoint(
    step: int, live: Weights, updater: torch.optim.Optimizer, losses: np.ndarray, rate: float
) -> Checkpoint:
    """Return the checkpoint after ``step`` updates. Raises TrainingDiverged where a weight is not finite."""
    weights = {name: w.detach().to("cpu", copy=True) for name, w in live.items()}
    broken = [name for name, w in weights.items() if not w.isfinite().all()]
    if broken:
        raise TrainingDiverged(f"{broken[0]} is not finite after {step} updates", rate)
    state = {f"weights/{name}": w for name, w in weights.items()}
    for name, w in live.items():
        moments = updater.state.get(w, {})  # empty before the first update
        for moment in MOMENTS:
            state[f"{moment}/{name}"] = moments.get(moment, torch.zeros_like(w)).detach().to("cpu", copy=True)
    state["step"] = torch.tensor(step)
    state["losses"] = torch.from_numpy(losses[:step].copy())
    return Checkpoint(step, weights, state, losses[:step].copy())
