"""Trace of the Fisher information matrix (FIM) of a model of tokens, on contexts that it generates itself."""

from collections.abc import Collection, Sequence

import torch
import xarray as xr
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.measures.hessian.kernel import head_masks, hessian_traces
from rllc.measures.precise import count_at, most
from rllc.measures.traces import Form, Reading, hutchinson, of_form
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import derive
from rllc.tasks.batch import Batch
from rllc.tasks.lazy import First


def fisher(
    data: Data,
    *,
    probes: int,
    batch_size: int,
    context: int,
    precise: int | None = None,
    precise_at: Collection[int] = (),
) -> Measurement:
    """``fisher_traces`` with contexts of ``context`` tokens, and the last form on held-out text.

    At the steps ``precise_at`` there are ``precise`` probes.
    """
    held_out = data.batches("fisher", count=most(probes, precise), batch_size=batch_size, scored=None)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        count, seed = count_at(step, probes, precise, precise_at), data.seed(step)
        shape, bos, text = (count, batch_size, context), data.bos, First(held_out, count)
        opening = _first_tokens(text) if bos is None else bos
        generated = generated_batches(model, weights, shape=shape, bos=opening, seed=seed)
        return fisher_traces(model, weights, generated, text, probes=count, seed=seed)

    return measure


def fisher_traces(
    model: Model,
    weights: Weights,
    generated: Sequence[Batch],
    held_out: Sequence[Batch],
    *,
    probes: int,
    seed: int,
) -> xr.Dataset:
    """Hutchinson estimates of the trace of the FIM, in two forms of one mean, and one that is none.

    With L the mean loss of the K predictions of a context x, J_k the Jacobian of the logits of the k-th and
    p_k its probabilities (arXiv 2410.02984, App. D.2)::

        F = E |grad log p(x)|^2 / K  =  E tr grad^2 L(x)  =  E sum_k tr J_k^T (diag p_k - p_k p_k^T) J_k / K

    all over x ~ p, what the model generates. ``fim_trace`` is the second form (the paper's), with the block
    of every head; ``fim_trace_ggn`` the third, of the generalised Gauss-Newton matrix: never negative,
    without the noise of the labels, at half of the cost. ``fisher_data`` is the third form on text: no FIM,
    since the contexts are not the model's, and the reading that the paper rejects.

    generated, held_out  probe i sees batch i of each: one batch per probe makes the values independent
    probes, seed         as of ``traces.hutchinson``; all three have the same probes

    Returns ``fim_trace``, ``fim_trace_ggn``, ``fisher_data`` and their ``_se`` (no dims), and
    ``fim_trace_head``, ``fim_trace_head_se`` (head), nats/token.
    """
    of = {"probes": probes, "seed": seed}

    def gauss_newton(name: str, batches: Sequence[Batch]) -> xr.Dataset:
        def operator(batch: Batch) -> Reading:
            return of_form(gauss_newton_form(model, weights, batch))

        return hutchinson(operator, weights, batches, name=name, heads={}, **of)[[name, f"{name}_se"]]

    paper = hessian_traces(model.loss, weights, generated, heads=head_masks(model), probes=probes, seed=seed)
    renamed = {str(name): str(name).replace("hessian", "fim") for name in paper.data_vars}
    parts = [gauss_newton("fim_trace_ggn", generated), gauss_newton("fisher_data", held_out)]
    return paper.rename(renamed).merge(xr.merge(parts))


def gauss_newton_form(model: Model, weights: Weights, batch: Batch) -> Form:
    """v -> v . G v, with G the mean over predictions of J^T (diag p - p p^T) J; one forward-mode product."""
    weights = dict(weights)

    def form(vector: Weights) -> float:
        tangent = {name: vector[name] for name in weights}
        logits, along = torch.func.jvp(lambda w: model.outputs(w, batch), (weights,), (tangent,))[:2]
        p = logits.softmax(-1)
        spread = (p * along.square()).sum(-1) - (p * along).sum(-1).square()
        return float(spread.mean(dtype=torch.float64))

    return form


@torch.no_grad()
def generated_batches(
    model: Model, weights: Weights, *, shape: tuple[int, int, int], bos: int | Tensor, seed: int
) -> list[Batch]:
    """Contexts that the model generates at temperature 1 after a first ``bos``: batches, contexts, tokens.

    Any token may follow, ``bos`` too, as in the model's own law. Stream of the draws: (seed, "generate").

    bos  the first token of every context, or one for each [batches * contexts]: where models saw no BOS, the
         first tokens of text

    Raises ValueError for contexts of one token, which hold no prediction.
    """
    batches, count, length = shape
    if length < 2:
        raise ValueError(f"contexts of {length} tokens hold no prediction: expected at least 2")
    random = torch.Generator().manual_seed(derive(seed, "generate"))
    device = next(iter(weights.values())).device
    tokens = torch.as_tensor(bos, device=device).expand(batches * count)[:, None]
    for position in range(length - 1):
        at = torch.tensor([position], device=device)
        logits = model.outputs(weights, Batch(tokens, at, tokens[:, :0]))[:, 0]
        following = torch.multinomial(logits.softmax(-1).cpu(), 1, generator=random)
        tokens = torch.cat([tokens, following.to(device)], dim=1)
    return [_next_tokens(part) for part in tokens.split(count)]


def _first_tokens(batches: Sequence[Batch]) -> Tensor:
    return torch.cat([batches[index].contexts[:, 0] for index in range(len(batches))])


def _next_tokens(contexts: Tensor) -> Batch:
    return Batch(contexts, torch.arange(contexts.shape[1] - 1, device=contexts.device), contexts[:, 1:])
