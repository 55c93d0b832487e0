"""Chains around the centre: their noise, and the loop over moves that all samplers and paths share.

A sampler is one function that advances the chains (sgld.py, rmsprop.py beside this); what computes losses and
gradients is another (sample.py for any loss, refined.py for heads).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.linalg import vecdot

from rllc.sampler_config import SamplerConfig
from rllc.seeds import derive

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
    center: Tensor
    positions: Tensor
    noise: Iterator[Tensor]
    memory: Any = None


class State(NamedTuple):
    """What a sampler sees before a move, all of it for the chains [chain] of some walkers.

    positions  [chain, n], to be moved in place
    center     [n]
    loss       [chain], of the batch at the positions, ``centred`` tilted; None where it is not computed
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


class Move(NamedTuple):
    """A move of all chains, on the minibatch of its number. The last is only looked at, and not made.

    number, draw     counted from 0; ``draw`` is the draw at it or, where it lies between two, the one before
    drawn, leaving   as in ``State``
    read             the loss at the chains' positions is read
    """

    number: int
    draw: int
    drawn: bool
    leaving: bool
    read: bool


# move -> (what ``Evaluate`` needs of its minibatch, the loss at the centre there or None where it has no use)
Visit = Callable[[Move], tuple[Any, Tensor | None]]
# (chains, what ``Visit`` gave, whether gradients are asked for) ->
# (losses [chain], gradients [chain, n] or None)
Evaluate = Callable[[Walkers, Any, bool], tuple[Tensor, Tensor | None]]


def walk(
    groups: Iterable[Sequence[Walkers]],
    traces: Traces,
    *,
    advance: Advance,
    visit: Visit,
    evaluate: Evaluate,
    setting: SamplerConfig,
    gradient: bool,
    control: bool,
) -> Traces:
    """``traces``, filled by chains that start where they are and are moved by ``advance``.

    groups    chains that go through the minibatches together, one group after the other
    visit     called once per move and group
    gradient  whether ``advance`` is given gradients
    control   losses of the burn-in are computed only where the gradient is: nobody reads them
    """
    moves = _moves(setting, gradient=gradient, unread=setting.burn_in if control else 0)
    for group in groups:
        for move in moves:
            seen, center_loss = visit(move)
            slopes_at_center: dict[int, Tensor] = {}
            if move.drawn and center_loss is not None:
                traces.at_center[move.draw] = center_loss
            for walkers in group:
                at, losses, slopes = (walkers.row, walkers.chains, move.draw), None, None
                if move.read:
                    losses, slopes = evaluate(walkers, seen, gradient and move.number < setting.moves)
                if losses is not None and move.drawn:
                    traces.loss[at] = losses
                if move.number == setting.moves:
                    continue
                if setting.centred:
                    if walkers.row not in slopes_at_center:
                        resting = replace(walkers, positions=walkers.center[None].clone())
                        _, slope = evaluate(resting, seen, True)
                        assert slope is not None
                        slopes_at_center[walkers.row] = slope[0]
                    assert losses is not None and slopes is not None
                    losses, slopes = _tilted(walkers, losses, slopes, slopes_at_center[walkers.row])
                state = State(
                    walkers.positions, walkers.center, losses, slopes, walkers.noise, center_loss,
                    drawn=move.drawn, leaving=move.leaving,
                )  # fmt: skip
                accepted, walkers.memory = advance(state, walkers.memory)
                if accepted is not None:
                    traces.acceptance[at] = accepted
    return traces


def _tilted(walkers: Walkers, losses: Tensor, slopes: Tensor, at_center: Tensor) -> tuple[Tensor, Tensor]:
    """The loss L(w) - g.(w - w*) and its gradient, with g = ``at_center`` [n] that at w*: w* is critical."""
    offset = walkers.positions - walkers.center
    return losses - vecdot(offset, at_center), slopes - at_center


def _moves(setting: SamplerConfig, *, gradient: bool, unread: int) -> list[Move]:
    """From the first draw to the last; nobody reads the losses of the first ``unread`` draws."""
    moves = []
    for number in range(setting.moves + 1):
        draw, skipped = divmod(number, setting.thinning)
        drawn, leaving = not skipped, (number + 1) % setting.thinning == 0
        moves.append(Move(number, draw, drawn, leaving, gradient or (drawn and draw >= unread)))
    return moves


def walkers_at(
    center: Tensor, *, component: str, row: int, chains: Sequence[int], setting: SamplerConfig
) -> Walkers:
    """Consecutive chains of a component at its center [n], with their noise."""
    streams = [noise_stream(setting.seed, component, chain, center.device) for chain in chains]
    noise = normals(streams, center, moves=setting.moves)
    where = slice(chains[0], chains[-1] + 1)
    return Walkers(component, row, where, center, center.repeat(len(chains), 1), noise)


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
