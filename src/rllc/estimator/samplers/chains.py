"""Chains around the centre: their noise, and the loop over moves shared by all samplers and paths.

A sampler is a function that advances the chains (sgld.py, rmsprop.py). A separate function computes losses
and gradients (sample.py for any loss, fast_heads.py for heads).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.linalg import vecdot

from rllc.sampler_config import SamplerConfig
from rllc.seeds import derive

NOISE_BYTES = 2**18  # of normals drawn ahead, for all chains of a ``ChainBatch``


class Traces(NamedTuple):
    """The result of a sampler, float64. Draw t is the position after t * thinning moves.

    loss        [component, chain, draw]: minibatch loss, before the move; draw 0 is at the centre. NaN in the
                burn-in of a control whose sampler reads no gradient
    at_center   [draw]: loss at the centre on the same minibatch
    acceptance  [component, chain, draw]: Metropolis acceptance probability of the move that led to the draw.
                NaN at draw 0, at the last draw (its gradient is not computed), without the gradient, and
                for a sampler without such a probability
    """

    loss: Tensor
    at_center: Tensor
    acceptance: Tensor

    @classmethod
    def unknown(cls, components: int, chains: int, draws: int, *, device: torch.device) -> "Traces":
        """Return traces before sampling: NaN everywhere."""
        every = (components, chains, draws)
        return cls(
            *(torch.full(shape, float("nan"), dtype=torch.float64, device=device)
              for shape in (every, (draws,), every))
        )  # fmt: skip


@dataclass
class ChainBatch:
    """Chains of one component that are advanced together: positions [chain, n] around the center [n].

    row     index of the component in ``Traces``
    chains  places of the chains in ``Traces``
    noise   yields the normals [chain, n] of each move
    memory  what ``Advance`` returned last
    """

    component: str
    row: int
    chains: slice
    center: Tensor
    positions: Tensor
    noise: Iterator[Tensor]
    memory: Any = None


class State(NamedTuple):
    """Input of one step of a sampler, for the chains [chain] of a ``ChainBatch``.

    positions  [chain, n], moved in place
    center     [n]
    loss       [chain], of the minibatch at the positions. If ``drift_free``, without its linear part at w*
               (``_tilted``). None where it is not computed
    gradient   [chain, n] of that loss; None without the gradient
    noise      next(noise) gives the normals [chain, n] of the move, valid until the following call
    at_center  loss at the centre on the same minibatch; may be None where no acceptance probability is
               computed
    records    the positions are a draw, reached by the previous move
    records_next  the next move leads to a draw
    """

    positions: Tensor
    center: Tensor
    loss: Tensor | None
    gradient: Tensor | None
    noise: Iterator[Tensor]
    at_center: Tensor | None
    records: bool
    records_next: bool


# (the state, the sampler's memory: None at first) ->
# (acceptance probabilities [chain] of the previous move or None, the new memory)
Advance = Callable[[State, Any], tuple[Tensor | None, Any]]


class Step(NamedTuple):
    """A step of all chains, on the minibatch of its number. The last step only reads losses, without a move.

    number, draw     counted from 0; ``draw`` is the draw at this step or, between two draws, the previous one
    records, records_next  as in ``State``
    read             whether the loss at the chains' positions is computed
    """

    number: int
    draw: int
    records: bool
    records_next: bool
    read: bool


# step -> (the minibatch data that ``Evaluate`` needs, its loss at the centre or None where it is not needed)
LoadBatch = Callable[[Step], tuple[Any, Tensor | None]]
# (chains, the minibatch data from ``LoadBatch``, whether to compute gradients) ->
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
    """Run the chains with ``advance`` from their current positions, and return the filled ``traces``.

    groups    chains that read the minibatches together; the groups run one after the other
    load_batch  called once per step and group
    gradient  whether ``advance`` gets gradients
    control   whether the chains are a control: nothing reads its burn-in losses, so they are computed only
              where a gradient is
    """
    steps = _steps(setting, gradient=gradient, unread=setting.burn_in if control else 0)
    for group in groups:
        for step in steps:
            data, center_loss = load_batch(step)
            slopes_at_center: dict[int, Tensor] = {}
            if step.records and center_loss is not None:
                traces.at_center[step.draw] = center_loss
            for chain_batch in group:
                at, losses, slopes = (chain_batch.row, chain_batch.chains, step.draw), None, None
                if step.read:
                    losses, slopes = evaluate(chain_batch, data, gradient and step.number < setting.moves)
                if losses is not None and step.records:
                    traces.loss[at] = losses
                if step.number == setting.moves:
                    continue
                if setting.drift_free:
                    if chain_batch.row not in slopes_at_center:
                        resting = replace(chain_batch, positions=chain_batch.center[None].clone())
                        _, slope = evaluate(resting, data, True)
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
    chain_batch: ChainBatch, losses: Tensor, slopes: Tensor, slope_at_center: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the tilted loss L(w) - g.(w - w*) and its gradient, where g = ``slope_at_center`` [n].

    g is the gradient of L at w*, so the tilted loss has slope 0 there.
    """
    offset = chain_batch.positions - chain_batch.center
    return losses - vecdot(offset, slope_at_center), slopes - slope_at_center


def _steps(setting: SamplerConfig, *, gradient: bool, unread: int) -> list[Step]:
    """Return the steps from the first draw to the last. The first ``unread`` draws need no losses."""
    steps = []
    for number in range(setting.moves + 1):
        draw, skipped = divmod(number, setting.thinning)
        records, records_next = not skipped, (number + 1) % setting.thinning == 0
        steps.append(Step(number, draw, records, records_next, gradient or (records and draw >= unread)))
    return steps


def chains_at(
    center: Tensor, *, component: str, row: int, chains: Sequence[int], setting: SamplerConfig
) -> ChainBatch:
    """Return consecutive chains of a component at its center [n], with their noise."""
    streams = [noise_stream(setting.seed, component, chain, center.device) for chain in chains]
    noise = normals(streams, center, moves=setting.moves)
    where = slice(chains[0], chains[-1] + 1)
    return ChainBatch(component, row, where, center, center.repeat(len(chains), 1), noise)


def noise_stream(seed: int, component: str, chain: int, device: torch.device) -> torch.Generator:
    """Return the generator of one chain's normals: the stream (seed, "sgld", component, chain).

    The name "sgld" stands in the stream of every sampler. The stream does not depend on other components or
    chains. On a CPU, PyTorch uses only the low 32 bits of the derived seed, so two chains share their noise
    with probability 2^-32.
    """
    return torch.Generator(device).manual_seed(derive(int(seed), "sgld", str(component), int(chain)))


def normals(streams: Sequence[torch.Generator], like: Tensor, *, moves: int) -> Iterator[Tensor]:
    """Yield the normals [chain, n] of each move. Row c equals one ``torch.randn(n)`` per move from stream c.

    like  a vector [n] with their dtype and device

    A yielded tensor is valid until the next one is asked for. The normals of many moves are drawn at once
    where this changes no number. PyTorch's CPU generator makes normals in groups of 16 when it fills 16 or
    more contiguous numbers, and one by one when it fills fewer or with gaps.
    """
    chains, n = len(streams), len(like)
    short = n < 16
    ahead = NOISE_BYTES // (chains * n * like.element_size()) if short or n % 16 == 0 else 1
    block = max(1, min(moves, ahead)) if like.device.type == "cpu" else 1
    if short:
        drawn = like.new_empty(block, chains, n + 1)[..., :n]  # with gaps: see above
    else:
        drawn = like.new_empty(chains, block, n).transpose(0, 1)
    while True:
        for chain, stream in enumerate(streams):
            drawn[:, chain].normal_(generator=stream)
        yield from drawn
