"""Stochastic gradient Langevin dynamics on the selected coordinates of a dict of weights.

One draw, on the flat vector w of the n selected coordinates (arXiv 2410.02984, App. F; the sign and the
factor of localization are those of the authors' code)::

    w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)

The loss of a draw is the minibatch loss whose gradient is used, before the move: draw 0 is at w*.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.seeds import derive

Weights = Mapping[str, Tensor]
Loss = Callable[[dict[str, Tensor], Any], Tensor]


class Part(NamedTuple):
    """The selected coordinates of one weight: ``flat[start:stop]``, at ``index`` (None: everywhere)."""

    name: str
    start: int
    stop: int
    index: Tensor | None


@dataclass(frozen=True)
class Coordinates:
    """The True coordinates of a mask: by sorted weight name, row-major within a weight."""

    parts: tuple[Part, ...]
    size: int

    def gather(self, weights: Weights) -> Tensor:
        """The selected coordinates as one new vector [n]."""
        flat = (weights[part.name].detach().reshape(-1) for part in self.parts)
        return torch.cat(
            [w if part.index is None else w[part.index] for w, part in zip(flat, self.parts, strict=True)]
        )

    def insert(self, weights: Weights, flat: Tensor) -> dict[str, Tensor]:
        """``weights`` with the selected coordinates taken from ``flat`` [n]; differentiable in ``flat``."""
        placed = dict(weights)
        for name, start, stop, index in self.parts:
            frozen, values = weights[name], flat[start:stop]
            if index is not None:
                values = frozen.reshape(-1).index_copy(0, index, values)
            placed[name] = values.view(frozen.shape)
        return placed


def coordinates(weights: Weights, masks: Mapping[str, Tensor] | None, *, component: str) -> Coordinates:
    """The coordinates that a component selects.

    masks      boolean, by weight name, shaped like the weights; a weight not named is frozen; None selects
               every floating-point weight
    component  its name, for messages

    Raises ValueError where a mask names no weight, has another shape or is not boolean, where nothing is
    selected, or where the selected weights differ in dtype or are not floating-point.
    """
    if masks is None:
        masks = {
            name: torch.ones(w.shape, dtype=torch.bool)
            for name, w in weights.items()
            if w.is_floating_point()
        }
    _check_masks(weights, masks, component)
    parts, stop = [], 0
    for name in sorted(masks):
        mask = masks[name].reshape(-1).to(weights[name].device)
        index = mask.nonzero().squeeze(1)
        if not len(index):
            continue
        start, stop = stop, stop + len(index)
        parts.append(Part(name, start, stop, None if len(index) == len(mask) else index))
    if not parts:
        raise ValueError(f"component {component!r} selects no coordinate: at least one must be True")
    kinds = {weights[part.name].dtype for part in parts}
    if len(kinds) > 1 or not next(iter(kinds)).is_floating_point:
        raise ValueError(
            f"component {component!r} selects weights of dtype {', '.join(sorted(map(str, kinds)))}: "
            "expected one floating-point dtype; convert the weights"
        )
    return Coordinates(tuple(parts), stop)


def _check_masks(weights: Weights, masks: Mapping[str, Tensor], component: str) -> None:
    for name, mask in masks.items():
        if name not in weights:
            raise ValueError(
                f"component {component!r} has a mask for {name!r}, which is no weight: "
                f"expected one of {', '.join(sorted(weights))}"
            )
        if mask.dtype != torch.bool:
            raise ValueError(
                f"component {component!r}: the mask of {name!r} is {mask.dtype}, expected torch.bool; "
                "write `mask.bool()` if nonzero means selected"
            )
        if mask.shape != weights[name].shape:
            raise ValueError(
                f"component {component!r}: the mask of {name!r} has shape {list(mask.shape)}, "
                f"the weight {list(weights[name].shape)}: expected the same"
            )


def noise_stream(seed: int, component: str, chain: int, device: torch.device) -> torch.Generator:
    """The generator of one chain's normals: the stream (seed, component, chain), whatever else is sampled.

    PyTorch's CPU generator keeps the low 32 bits of a seed.
    """
    return torch.Generator(device).manual_seed(derive(seed, "sgld", component, chain))


def move(
    w: Tensor,
    *,
    center: Tensor,
    gradient: Tensor | None,
    noise: Tensor,
    n_beta: float,
    localization: float,
    step_size: float,
) -> Tensor:
    """One SGLD move, in place::

        w - (step_size/2) (n_beta gradient + localization (w - center)) + sqrt(step_size) noise

    All tensors [..., n]; ``gradient`` None drops its term (the control).
    """
    w.lerp_(center, step_size * localization / 2)
    if gradient is not None:
        w.sub_(gradient, alpha=step_size * n_beta / 2)
    return w.add_(noise, alpha=step_size**0.5)


def sample(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Coordinates],
    n_beta: float,
    localization: float,
    step_size: float,
    chains: int,
    draws: int,
    seed: int,
    gradient: bool = True,
    max_memory: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Loss traces of chains started at ``weights``: [component, chain, draw], and [draw] at the centre.

    loss        ``loss(weights, batch)``, scalar
    batches     draw t of every chain uses ``batches[t % len(batches)]``, asked for once per draw
    max_memory  bytes that the positions of chains may hold at once (None: no bound). Chains beyond it are
                sampled in a further pass over the batches, with the same result.

    All tensors lie on the weights' device; batches are moved there. Raises ValueError where the loss is not
    a scalar or is not finite at the centre.
    """
    weights = {name: w.detach() for name, w in weights.items()}
    device = next(iter(weights.values())).device
    setting = {"n_beta": n_beta, "localization": localization, "step_size": step_size}
    traces = torch.full((len(components), chains, draws), float("nan"), dtype=torch.float64, device=device)
    at_center = torch.empty(draws, dtype=torch.float64, device=device)
    names = list(components)
    states = [(names.index(name), name, chain) for name in names for chain in range(chains)]
    for number, group in enumerate(_passes(states, components, weights, max_memory)):
        centers = {name: components[name].gather(weights) for _, name, _ in group}
        walkers = [
            (row, chain, name, centers[name].clone(), noise_stream(seed, name, chain, device))
            for row, name, chain in group
        ]
        for draw in range(draws):
            batch = to_device(batches[draw % len(batches)], device)
            if number == 0:
                seen = draw >= len(batches)
                at_center[draw] = (
                    at_center[draw - len(batches)] if seen else center_loss(loss, weights, batch)
                )
            last = draw == draws - 1
            for row, chain, name, w, stream in walkers:
                value, slope = loss_and_gradient(
                    loss, weights, components[name], w, batch, gradient=gradient and not last
                )
                traces[row, chain, draw] = value
                if not last:
                    noise = torch.randn(len(w), generator=stream, device=device, dtype=w.dtype)
                    move(w, center=centers[name], gradient=slope, noise=noise, **setting)
    return traces, at_center


def loss_and_gradient(
    loss: Loss, weights: Weights, selected: Coordinates, w: Tensor, batch: Any, *, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """The batch's loss at the coordinates ``w`` [n] and, if asked for, its gradient there [n]."""
    with torch.set_grad_enabled(gradient):
        w = w.detach().requires_grad_(gradient)
        value = loss(selected.insert(weights, w), batch)
        if not gradient:
            return value, None
        if not value.requires_grad:  # a loss that reads none of the selected coordinates
            return value, torch.zeros_like(w)
        (slope,) = torch.autograd.grad(value, w, allow_unused=True, materialize_grads=True)
    return value.detach(), slope


def center_loss(loss: Loss, weights: Weights, batch: Any) -> Tensor:
    """The batch's loss at the centre. Raises ValueError where it is not a finite scalar."""
    with torch.no_grad():
        value = loss(dict(weights), batch)
    if not isinstance(value, Tensor) or value.ndim:
        found = f"shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(
            f"the loss must return a scalar tensor, the mean over the batch: it returned {found}"
        )
    if not value.isfinite():
        raise ValueError(
            f"the loss at the centre is {value.item()}, not a finite number: check the weights and the batch"
        )
    return value


def to_device(batch: Any, device: torch.device) -> Any:
    """The batch with every tensor in it (nested in tuples, lists, dicts) on ``device``."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: to_device(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(to_device(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(to_device(value, device) for value in batch)
    return batch


def _passes(
    states: list[tuple[int, str, int]],
    components: Mapping[str, Coordinates],
    weights: Weights,
    max_memory: int | None,
) -> Iterator[list[tuple[int, str, int]]]:
    """Cut the list of chains into groups whose positions fit in ``max_memory`` (one chain at least)."""
    group: list[tuple[int, str, int]] = []
    held = 0
    for state in states:
        selected = components[state[1]]
        needed = selected.size * weights[selected.parts[0].name].element_size()
        if group and max_memory is not None and held + needed > max_memory:
            yield group
            group, held = [], 0
        group.append(state)
        held += needed
    yield group
