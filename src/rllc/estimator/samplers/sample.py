"""Sample chains of any loss with any sampler."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rllc.estimator.samplers.admissible import Loss, blamed, center_loss
from rllc.estimator.samplers.batches import to_device
from rllc.estimator.samplers.by_name import advance_of, reads_gradient
from rllc.estimator.samplers.chains import ChainBatch, Step, Traces, chains_at, run_chains
from rllc.estimator.samplers.coordinates import Coordinates
from rllc.estimator.samplers.pairs import Pairs, rises
from rllc.models.device import tuned
from rllc.models.weights import Weights
from rllc.sampler_config import SamplerConfig

VECTORS = 3  # of a chain: its position, its noise, and its sampler's memory


@tuned()
def sample(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Coordinates],
    setting: SamplerConfig,
    losses: Mapping[str, Loss] | None = None,
    vectorize: bool = False,
    max_memory: int | None = None,
    at_center: Tensor | None = None,
) -> Traces:
    """Return the traces of the components' chains, started at ``weights``.

    batches     fetched once per move in each pass, and only where a loss or a gradient is computed
    losses      component -> a faster loss, equal to ``loss`` where only its coordinates differ from w*
    max_memory  bytes of the chains' vectors; further chains are sampled in another pass over the batches
    at_center   [draw]: for a control, its estimate's losses at the centre on the draws' batches; else None

    All tensors are on the weights' device, and batches are moved there. Other arguments, and errors, as in
    ``llc.estimate``.
    """
    weights = {name: w.detach() for name, w in weights.items()}
    device = next(iter(weights.values())).device
    gradient = reads_gradient(setting)
    known: dict[int, Tensor] = {}
    if at_center is not None:
        indices = (draw * setting.thinning % len(batches) for draw in range(setting.draws))
        known = dict(zip(indices, at_center.to(device), strict=True))

    def load_batch(step: Step) -> tuple[Any, Tensor | None]:
        index = step.number % len(batches)
        wanted = index not in known and (step.records or (gradient and step.records_next))
        batch = to_device(batches[index], device) if step.read or wanted else None
        if wanted:
            known[index] = center_loss(loss, weights, batch, name=f"batches[{index}]").double()
        return batch, known.get(index)

    def evaluate(chain_batch: ChainBatch, batch: Any, gradient: bool) -> tuple[Tensor, Tensor | None]:
        component = chain_batch.component
        return losses_and_gradients(
            (losses or {}).get(component, loss), weights, components[component], chain_batch.positions, batch,
            component=component, gradient=gradient, vectorize=vectorize,
        )  # fmt: skip

    return run_chains(
        _groups(weights, components, setting, vectorize, max_memory),
        Traces.unknown(len(components), setting.chains, setting.draws, device=device),
        advance=advance_of(setting),
        load_batch=load_batch,
        evaluate=evaluate,
        setting=setting,
        gradient=gradient,
        control=at_center is not None,
    )


@tuned()
def sample_pairs(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    names: Sequence[str],
    *,
    components: Mapping[str, Coordinates],
    setting: SamplerConfig,
    losses: Mapping[str, Loss] | None = None,
    vectorize: bool = False,
    further: Sequence[Any] | None = None,
) -> Pairs:
    """Return the antithetic pairs of the components ``names``.

    Arguments are those of ``sample`` and ``pairs.rises``.
    """
    weights = {name: w.detach() for name, w in weights.items()}
    device = next(iter(weights.values())).device

    def look(batch: Any) -> tuple[Any, Tensor]:
        batch = to_device(batch, device)
        return batch, center_loss(loss, weights, batch, name="a minibatch of the pairs")

    def at(name: str, positions: Tensor, batch: Any) -> Tensor:
        parts = positions[None] if vectorize else positions[:, None]
        how = {"component": name, "gradient": False, "vectorize": vectorize}
        own = (losses or {}).get(name, loss)
        each = (losses_and_gradients(own, weights, components[name], part, batch, **how)[0] for part in parts)
        return torch.cat(list(each))

    centers = {name: components[name].gather(weights) for name in names}
    return rises(centers, batches, look=look, losses=at, setting=setting, further=further)


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
    """Return the batch's loss [chain] at the positions [chain, n] and, with ``gradient``, its gradients.

    The gradients are [chain, n], else None. ``vectorize`` evaluates all chains in one call of the loss;
    otherwise there is one chain. Raises ValueError, with the component, where the loss reads none of the
    selected weights.
    """

    def at(w: Tensor) -> Tensor:
        return loss(selected.insert(weights, w), batch)

    how = " together (vectorize: by torch.func.vmap)" if vectorize else ""
    with torch.set_grad_enabled(gradient), blamed(f"for the chains of component {component!r}{how}"):
        w = positions.detach().requires_grad_(gradient)
        values = torch.func.vmap(at)(w) if vectorize else at(w.squeeze(0)).unsqueeze(0)
        if not gradient:
            return values, None
        slopes = None  # the gradient of the sum suffices: a chain's loss depends only on its own position
        if values.requires_grad:
            (slopes,) = torch.autograd.grad(values.sum(), w, allow_unused=True)
    if slopes is None:
        raise ValueError(
            f"the loss does not read the weights of component {component!r}: expected a loss that reads them "
            "from the weights it is given (as torch.func.functional_call does), or no such component"
        )
    return values.detach(), slopes


def _groups(
    weights: Weights,
    components: Mapping[str, Coordinates],
    setting: SamplerConfig,
    vectorize: bool,
    max_memory: int | None,
) -> Iterator[list[ChainBatch]]:
    """Yield all chains, at the centre, in groups that fit in ``max_memory`` (at least one chain each)."""
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
        chain_batches = []
        for row in sorted({row for row, _ in group}):
            mine = [chain for r, chain in group if r == row]
            center = components[names[row]].gather(weights)
            chain_batches += [
                chains_at(center, component=names[row], row=row, chains=chains, setting=setting)
                for chains in ([mine] if vectorize else [[chain] for chain in mine])
            ]
        yield chain_batches
