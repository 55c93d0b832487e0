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
class ChainBatch:
    """Chains of one component that are advanced together: positions [chain, n] around the center [n]."""

    component: str
    row: int
    chains: slice
    center: Tensor
    positions: Tensor
    noise: Iterator[Tensor]
    memory: Any = None


class State(NamedTuple):
    """Input of one step of a sampler, for the chains [chain] of a batch.

    positions  [chain, n], to be moved in place
    center     [n]
    loss       [chain], of the batch at the positions, ``centred`` tilted; None where it is not computed
    gradient   [chain, n] of that loss; None without the gradient
    noise      next(noise) is the normals [chain, n] of the move, good until the next are asked for
    at_center  loss at the centre on the same batch; None where neither ``records`` nor ``records_next``
    records    the positions are a draw: the move before led to it
    records_next  the move to come leads to a draw
    """

    positions: Tensor
    center: Tensor
    loss: Tensor | None
    gradient: Tensor | None
    noise: Iterator[Tensor]
    at_center: Tensor | None
    records: bool
    records_next: bool


# (the state, what the sampler remembers: None at first) ->
# (acceptance probabilities [chain] of the move before or None, what to remember)
Advance = Callable[[State, Any], tuple[Tensor | None, Any]]


class Step(NamedTuple):
    """A step of all chains, on the minibatch of its number. At the last one nothing moves: losses are read.

    number, draw     counted from 0; ``draw`` is the draw at it or, where it lies between two, the one before
    records, records_next  as in ``State``
    read             the loss at the chains' positions is read
    """

    number: int
    draw: int
    records: bool
    records_next: bool
    read: bool


# step -> (what ``Evaluate`` needs of its minibatch, the loss at the centre there or None where it has no use)
LoadBatch = Callable[[Step], tuple[Any, Tensor | None]]
# (chains, what ``LoadBatch`` gave, whether gradients are asked for) ->
# (losses [chain], gradients [chain, n] or None)
Evaluate = Callable[[ChainBatch, Any, bool], tuple[Tensor, Tensor | None]]


def run_chains(
    groups: Iterable[Sequence[ChainBatch]],
    traces: Traces,
    *,
    advance: Advance,
    load_batch: LoadBatch,
    evaluate: Evaluate,
    setting: SamplerConfig,
    gradient: bool,
    control: bool,
) -> Traces:
    """``traces``, filled by chains that start where they are and are moved by ``advance``.

    groups    chains that go through the minibatches together, one group after the other
    load_batch  called once per step and group
    gradient  whether ``advance`` is given gradients
    control   losses of the burn-in are computed only where the gradient is: nobody reads them
    """
    steps = _steps(setting, gradient=gradient, unread=setting.burn_in if control else 0)
    for group in groups:
        for step in steps:
            seen, center_loss = load_batch(step)
            slopes_at_center: dict[int, Tensor] = {}
            if step.records and center_loss is not None:
                traces.at_center[step.draw] = center_loss
            for chain_batch in group:
                at, losses, slopes = (chain_batch.row, chain_batch.chains, step.draw), None, None
                if step.read:
                    losses, slopes = evaluate(chain_batch, seen, gradient and step.number < setting.moves)
                if losses is not None and step.records:
                    traces.loss[at] = losses
                if step.number == setting.moves:
                    continue
                if setting.centred:
                    if chain_batch.row not in slopes_at_center:
                        resting = replace(chain_batch, positions=chain_batch.center[None].clone())
                        _, slope = evaluate(resting, seen, True)
                        assert slope is not None
                        slopes_at_center[chain_batch.row] = slope[0]
                    assert losses is not None and slopes is not None
                    losses, slopes = _tilted(chain_batch, losses, slopes, slopes_at_center[chain_batch.row])
                state = State(
                    chain_batch.positions, chain_batch.center, losses, slopes, chain_batch.noise, center_loss,
                    records=step.records, records_next=step.records_next,
                )  # fmt: skip
                accepted, chain_batch.memory = advance(state, chain_batch.memory)
                if accepted is not None:
                    traces.acceptance[at] = accepted
    return traces


def _tilted(
    chain_batch: ChainBatch, losses: Tensor, slopes: Tensor, at_center: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss L(w) - g.(w - w*) and its gradient, with g = ``at_center`` [n] that at w*: w* is critical."""
    offset = chain_batch.positions - chain_batch.center
    return losses - vecdot(offset, at_center), slopes - at_center


def _steps(setting: SamplerConfig, *, gradient: bool, unread: int) -> list[Step]:
    """From the first draw to the last; nobody reads the losses of the first ``unread`` draws."""
    steps = []
    for number in range(setting.moves + 1):
        draw, skipped = divmod(number, setting.thinning)
        records, records_next = not skipped, (number + 1) % setting.thinning == 0
        steps.append(Step(number, draw, records, records_next, gradient or (records and draw >= unread)))
    return steps


def chains_at(
    center: Tensor, *, component: str, row: int, chains: Sequence[int], setting: SamplerConfig
) -> ChainBatch:
    """Consecutive chains of a component at its center [n], with their noise."""
    streams = [noise_stream(setting.seed, component, chain, center.device) for chain in chains]
    noise = normals(streams, center, moves=setting.moves)
    where = slice(chains[0], chains[-1] + 1)
    return ChainBatch(component, row, where, center, center.repeat(len(chains), 1), noise)


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
