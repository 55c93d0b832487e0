"""Chains around the centre: batches, noise, losses and gradients, for whatever sampler moves them.

A sampler is one function that advances the chains (sgld.py, rmsprop.py beside this); what is here is
the same for all of them, so that they differ in their moves only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.estimator.samplers.admissible import Loss, center_loss, to_device
from rllc.estimator.samplers.coordinates import Coordinates
from rllc.models.weights import Weights
from rllc.seeds import derive
from rllc.setting import Setting

VECTORS = 3  # of a chain: its position, its noise, and what its sampler remembers
NOISE_BYTES = 2**18  # of normals drawn ahead, for all chains that move together


class Traces(NamedTuple):
    """What a sampler returns, float64, draw t after t * thinning moves.

    loss        [component, chain, draw]: minibatch loss, before the move; draw 0 is at the centre. NaN where
                nothing reads it: in the burn-in of a control
    at_center   [draw]: loss at the centre on the same minibatch
    acceptance  [component, chain, draw]: Metropolis acceptance probability of the move that led to the draw.
                NaN where it is not computed: at draw 0, at the last draw (whose gradient is not computed),
                without the gradient, and for a sampler whose moves have no such probability
    """

    loss: Tensor
    at_center: Tensor
    acceptance: Tensor

    @classmethod
    def unknown(cls, components: int, chains: int, draws: int, *, device: torch.device) -> "Traces":
        """Nothing sampled yet: NaN everywhere."""
        every = (components, chains, draws)
        return cls(
            *(torch.full(shape, float("nan"), dtype=torch.float64, device=device)
              for shape in (every, (draws,), every))
        )  # fmt: skip


@dataclass
class Walkers:
    """Chains of one component that are advanced together: positions [chain, n] around the center [n]."""

    component: str
    row: int
    chains: slice
    selected: Coordinates
    center: Tensor
    positions: Tensor
    noise: Iterator[Tensor]
    memory: Any = None


class State(NamedTuple):
    """What a sampler sees before a move, all of it for the chains [chain] of some walkers.

    positions  [chain, n], to be moved in place
    center     [n]
    loss       [chain], of the batch at the positions; None where it is not computed
    gradient   [chain, n] of that loss; None without the gradient
    noise      next(noise) is the normals [chain, n] of the move, good until the next are asked for
    at_center  loss at the centre on the same batch; None where neither ``drawn`` nor ``leaving``
    drawn      the positions are a draw: the move before led to it
    leaving    the move to come leads to a draw
    """

    positions: Tensor
    center: Tensor
    loss: Tensor | None
    gradient: Tensor | None
    noise: Iterator[Tensor]
    at_center: Tensor | None
    drawn: bool
    leaving: bool


# (the state, what the sampler remembers: None at first) ->
# (acceptance probabilities [chain] of the move before or None, what to remember)
Advance = Callable[[State, Any], tuple[Tensor | None, Any]]


def walk(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    advance: Advance,
    components: Mapping[str, Coordinates],
    setting: Setting,
    gradient: bool,
    vectorize: bool,
    max_memory: int | None,
    at_center: Tensor | None,
) -> Traces:
    """Traces of chains that start at ``weights`` and are moved by ``advance``.

    batches     move m of every chain uses ``batches[m % len(batches)]``, asked for once per move, and not
                where neither a loss nor a gradient is computed
    gradient    whether ``advance`` is given gradients
    vectorize   all chains of a component in one call of the loss, by ``torch.func.vmap``
    max_memory  bytes that the chains' vectors may take (None: no bound). Chains beyond it are sampled in a
                further pass over the batches, with the same result.
    at_center   [draw]: losses at the centre of the draws' batches, of the estimate whose control this is
                (None: this is no control). Losses of a control's burn-in are computed only where the
                gradient is: nobody reads them.

    All tensors lie on the weights' device; batches are moved there. Raises ValueError where the loss is not
    a scalar, is not finite at the centre, or does not read the weights of a component.
    """
    weights = {name: w.detach() for name, w in weights.items()}
    device = next(iter(weights.values())).device
    traces = Traces.unknown(len(components), setting.chains, setting.draws, device=device)
    last, thinning, known, unread = setting.moves, setting.thinning, {}, 0
    if at_center is not None:
        known = {draw * thinning % len(batches): value for draw, value in enumerate(at_center.to(device))}
        unread = setting.burn_in
    for group in _passes(weights, components, setting, vectorize, max_memory):
        for number in range(last + 1):
            index, draw = number % len(batches), number // thinning
            drawn, leaving = number % thinning == 0, (number + 1) % thinning == 0
            read = gradient or (drawn and draw >= unread)
            wanted = index not in known and (drawn or (gradient and leaving))
            batch = to_device(batches[index], device) if read or wanted else None
            if wanted:
                known[index] = center_loss(loss, weights, batch).double()
            if drawn:
                traces.at_center[draw] = known[index]
            for walkers in group:
                values = slopes = None
                if read:
                    values, slopes = losses_and_gradients(
                        loss, weights, walkers.selected, walkers.positions, batch,
                        component=walkers.component, gradient=gradient and number < last, vectorize=vectorize,
                    )  # fmt: skip
                if read and drawn:
                    traces.loss[walkers.row, walkers.chains, draw] = values
                if number == last:
                    continue
                accepted, walkers.memory = advance(
                    State(
                        walkers.positions, walkers.center, values, slopes, walkers.noise, known.get(index),
                        drawn, leaving,
                    ),
                    walkers.memory,
                )  # fmt: skip
                if accepted is not None:
                    traces.acceptance[walkers.row, walkers.chains, draw] = accepted
    return traces


def losses_and_gradients(
    loss: Loss,
    weights: Weights,
    selected: Coordinates,
    positions: Tensor,
    batch: Any,
    *,
    component: str,
    gradient: bool,
    vectorize: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The batch's loss [chain] at the positions [chain, n] and, if asked for, its gradients [chain, n].

    One chain, or all in one call of the loss (``vectorize``). Raises ValueError, naming the component, where
    the loss reads none of the selected weights.
    """

    def at(w: Tensor) -> Tensor:
        return loss(selected.insert(weights, w), batch)

    with torch.set_grad_enabled(gradient):
        w = positions.detach().requires_grad_(gradient)
        values = torch.func.vmap(at)(w) if vectorize else at(w.squeeze(0)).unsqueeze(0)
        if not gradient:
            return values, None
        slopes = None  # the gradient of the sum: the loss of a chain depends on its own position alone
        if values.requires_grad:
            (slopes,) = torch.autograd.grad(values.sum(), w, allow_unused=True)
    if slopes is None:
        raise ValueError(_ignored(component))
    return values.detach(), slopes


def noise_stream(seed: int, component: str, chain: int, device: torch.device) -> torch.Generator:
    """The generator of one chain's normals: the stream (seed, component, chain), whatever else is sampled.

    PyTorch's CPU generator keeps the low 32 bits of a seed.
    """
    return torch.Generator(device).manual_seed(derive(int(seed), "sgld", str(component), int(chain)))


def normals(streams: Sequence[torch.Generator], like: Tensor, *, moves: int) -> Iterator[Tensor]:
    """Normals [chain, n] of each move, row c from stream c as by one ``torch.randn(n)`` per move.

    like  a vector [n] of their dtype and device

    The tensor handed out is overwritten when a later one is asked for. Where it changes no number, those of
    many moves are drawn at once: PyTorch's CPU generator makes normals in 16s when it fills 16 or more in a
    row, and one after the other where it fills fewer or with gaps.
    """
    chains, n = len(streams), len(like)
    short = n < 16
    ahead = NOISE_BYTES // (chains * n * like.element_size()) if short or n % 16 == 0 else 1
    block = max(1, min(moves, ahead)) if like.device.type == "cpu" else 1
    if short:
        drawn = like.new_empty(block, chains, n + 1)[..., :n]  # with gaps
    else:
        drawn = like.new_empty(chains, block, n).transpose(0, 1)
    while True:
        for chain, stream in enumerate(streams):
            drawn[:, chain].normal_(generator=stream)
        yield from drawn


def _passes(
    weights: Weights,
    components: Mapping[str, Coordinates],
    setting: Setting,
    vectorize: bool,
    max_memory: int | None,
) -> Iterator[list[Walkers]]:
    """All chains, in groups whose vectors fit in ``max_memory`` (one chain at least), at the centre."""
    device = next(iter(weights.values())).device
    waiting = [(row, chain) for row in range(len(components)) for chain in range(setting.chains)]
    names = list(components)
    while waiting:
        held, count = 0, 0
        for row, _ in waiting:
            selected = components[names[row]]
            held += VECTORS * selected.size * weights[selected.parts[0].name].element_size()
            if count and max_memory is not None and held > max_memory:
                break
            count += 1
        group, waiting = waiting[:count], waiting[count:]
        walkers = []
        for row in sorted({row for row, _ in group}):
            mine = [chain for r, chain in group if r == row]
            name, selected = names[row], components[names[row]]
            center = selected.gather(weights)
            for some in [mine] if vectorize else [[chain] for chain in mine]:
                streams = [noise_stream(setting.seed, name, chain, device) for chain in some]
                walkers.append(
                    Walkers(
                        name, row, slice(some[0], some[-1] + 1), selected, center,
                        center.repeat(len(some), 1), normals(streams, center, moves=setting.moves),
                    )
                )  # fmt: skip
        yield walkers


def _ignored(component: str) -> str:
    return (
        f"the loss does not read the weights of component {component!r}: expected a loss that "
        "reads them from the weights it is given (as torch.func.functional_call does), or no such component"
    )
