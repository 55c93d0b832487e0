"""Hutchinson traces against exact Hessians, exact variances and curvlinops."""

import itertools

import numpy as np
import pytest
import torch

from rllc.measures import traces
from rllc.measures.hessian.kernel import hessian_times, hessian_traces
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, forward, shapes
from rllc.seeds import derive
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels

TINY = Architecture(n_layers=2, n_heads=2, d_model=4, d_head=2, n_ctx=6, d_vocab=5)


def random_weights(architecture: Architecture, seed: int = 0) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    table = shapes(architecture)
    return {n: torch.randn(s, generator=random, dtype=torch.float64) for n, s in table.items()}


def random_batch(architecture: Architecture, soft: bool, seed: int = 0) -> Batch:
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, architecture.d_vocab, (3, architecture.n_ctx), generator=random)
    positions = torch.tensor([0, 2, 4])
    targets = tokens[:, positions + 1]
    if soft:
        logits = torch.randn(3, 3, architecture.d_vocab, generator=random, dtype=torch.float64)
        targets = logits.softmax(-1)
    return Batch(tokens, positions, targets)


def exact_hessian(weights: dict, batch: Batch, architecture: Architecture) -> torch.Tensor:
    """[weight, weight], forward over reverse on the flat vector of all weights, names sorted.

    Not ``torch.func.hessian``: torch 2.13 gets the mixed second derivative of its layer norm wrong there
    (forward mode over ``jacrev``, by its input and its weight).
    """
    names = sorted(weights)
    sizes = [weights[name].numel() for name in names]
    loss = next_token_loss(architecture)

    def of_vector(vector: torch.Tensor) -> torch.Tensor:
        parts = vector.split(sizes)
        return loss({n: p.view(weights[n].shape) for n, p in zip(names, parts, strict=True)}, batch)

    vector = torch.cat([weights[name].flatten() for name in names])
    gradient = torch.func.grad(of_vector)
    return torch.vmap(lambda v: torch.func.jvp(gradient, (vector,), (v,))[1])(torch.eye(len(vector)).double())


def flat(vector: dict, names: list[str]) -> torch.Tensor:
    return torch.cat([vector[name].flatten() for name in names])


@pytest.fixture(scope="module", params=[False, True], ids=["hard", "soft"])
def tiny(request):
    weights, batch = random_weights(TINY), random_batch(TINY, request.param)
    heads = {label: masks(label, TINY) for label in head_labels(2, 2)}
    return weights, batch, heads, exact_hessian(weights, batch, TINY)


def where_in(weights: dict, own: dict) -> torch.Tensor:
    """A head's coordinates in the flat vector: bool [weight]."""
    everywhere = {n: own.get(n, torch.zeros(w.shape, dtype=torch.bool)) for n, w in weights.items()}
    return flat(everywhere, sorted(weights))


def test_product_is_the_exact_hessian_times_a_vector(tiny):
    weights, batch, _, exact = tiny
    names, vector = sorted(weights), random_weights(TINY, seed=1)
    product = hessian_times(next_token_loss(TINY), weights, batch)(vector)
    torch.testing.assert_close(flat(product, names), exact @ flat(vector, names), rtol=1e-9, atol=1e-10)


def test_product_of_some_weights_is_their_block(tiny):
    weights, batch, _, exact = tiny
    some = ["blocks.0.attn.W_K", "blocks.1.attn.b_V"]
    vector = {name: random_weights(TINY, seed=1)[name] for name in some}
    inside = flat({n: torch.full(w.shape, n in some) for n, w in weights.items()}, sorted(weights))
    product = hessian_times(next_token_loss(TINY), weights, batch)(vector)
    block = exact[inside][:, inside]
    torch.testing.assert_close(flat(product, some), block @ flat(vector, some), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("masked", [False, True])
def test_traces_agree_with_the_exact_hessian(tiny, masked):
    """Means within 4 exact standard errors, and standard errors near the exact ones.

    Var(v . H v) = 2 sum of H_ij^2 over i != j; of a block, unmasked probes add H_ij^2 of i inside, j outside.
    """
    weights, batch, heads, exact = tiny
    probes = 150
    got = hessian_traces(
        next_token_loss(TINY), weights, [batch], heads=heads, probes=probes, seed=0, masked=masked
    )
    squares = exact.square() - exact.square().diag().diag()
    se = (2 * squares.sum() / probes).sqrt().item()
    assert abs(float(got.hessian_trace) - exact.trace().item()) < 4 * se
    assert float(got.hessian_trace_se) == pytest.approx(se, rel=0.3)
    for label, own_masks in heads.items():
        inside = where_in(weights, own_masks)
        variance = 2 * squares[inside][:, inside].sum()
        if not masked:
            variance += squares[inside][:, ~inside].sum()
        se = (variance / probes).sqrt().item()
        block = got.sel(head=label)
        assert abs(float(block.hessian_trace_head) - exact.diag()[inside].sum().item()) < 4 * se
        assert float(block.hessian_trace_head_se) == pytest.approx(se, rel=0.3)


@pytest.mark.parametrize("masked", [False, True])
def test_one_probe_is_its_quadratic_form(tiny, masked):
    weights, batch, heads, exact = tiny
    signs = flat(traces.signs(weights, derive(7, "probe", 0)), sorted(weights))
    assert set(signs.tolist()) == {-1.0, 1.0}
    got = hessian_traces(
        next_token_loss(TINY), weights, [batch], heads=heads, probes=1, seed=7, masked=masked
    )
    assert float(got.hessian_trace) == pytest.approx((signs @ exact @ signs).item(), rel=1e-9)
    for label, own_masks in heads.items():
        own = signs * where_in(weights, own_masks)
        expected = own @ exact @ (own if masked else signs)
        assert float(got.hessian_trace_head.sel(head=label)) == pytest.approx(expected.item(), rel=1e-9)


@pytest.mark.parametrize("masked", [False, True])
def test_mean_over_all_signs_is_the_trace(monkeypatch, masked):
    """With each of the 2^6 probes once there is no sampling error left."""
    random = torch.Generator().manual_seed(3)
    a = torch.randn(6, 6, generator=random, dtype=torch.float64)
    hessian = a + a.T
    signs = [torch.tensor(s, dtype=torch.float64) for s in itertools.product((-1.0, 1.0), repeat=6)]
    probes = iter({"x": s[:2], "y": s[2:]} for s in signs)
    monkeypatch.setattr(traces, "signs", lambda weights, seed: next(probes))
    weights = {"x": torch.ones(2, dtype=torch.float64), "y": torch.ones(4, dtype=torch.float64)}

    def loss(w, batch):
        vector = torch.cat([w["x"], w["y"]])
        return vector @ hessian @ vector / 2

    some = {"x": torch.tensor([False, True]), "y": torch.tensor([True, False, True, False])}
    got = hessian_traces(loss, weights, [None], heads={"0:0": some}, probes=64, seed=0, masked=masked)
    assert float(got.hessian_trace) == pytest.approx(hessian.trace().item(), abs=1e-12)
    assert float(got.hessian_trace_head[0]) == pytest.approx(
        (hessian[1, 1] + hessian[2, 2] + hessian[4, 4]).item(), abs=1e-12
    )


def test_probes_take_batches_in_turn():
    """A diagonal Hessian makes every probe exact, so only which batch it saw is left."""

    def loss(w, batch):
        return (batch * w["w"].square()).sum() / 2

    batches = [torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]), torch.tensor([100.0, 200.0])]
    got = hessian_traces(loss, {"w": torch.ones(2)}, batches, heads={}, probes=4, seed=0)
    seen = np.array([3, 30, 300, 3])
    assert float(got.hessian_trace) == pytest.approx(seen.mean())
    assert float(got.hessian_trace_se) == pytest.approx(seen.std(ddof=1) / 2)
    assert got.sizes["head"] == 0


def test_a_weight_without_curvature_counts_zero():
    def loss(w, batch):
        return w["quadratic"].square().sum() + 5 * w["linear"].sum()

    weights = {name: torch.ones(3) for name in ("quadratic", "linear", "absent")}
    some = {"linear": torch.ones(3, dtype=torch.bool)}
    for masked in (False, True):
        got = hessian_traces(loss, weights, [None], heads={"0:0": some}, probes=1, seed=0, masked=masked)
        assert float(got.hessian_trace) == pytest.approx(6)
        assert float(got.hessian_trace_head[0]) == 0
        assert np.isnan(got.hessian_trace_se)


def test_equal_to_curvlinops():
    from curvlinops import HessianLinearOperator

    # Without layer norm, for the reason given above: curvlinops goes through jacrev.
    architecture = Architecture(2, 2, 6, 3, 6, 7, positions="standard", layer_norm=False)
    weights, batch = random_weights(architecture), random_batch(architecture, soft=False)
    names = list(weights)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.list = torch.nn.ParameterList([weights[name].clone() for name in names])

        def forward(self, tokens):
            named = dict(zip(names, self.list, strict=True))
            return forward(named, tokens, architecture, batch.positions).flatten(0, 1)

    model = Model()
    operator = HessianLinearOperator(
        model,
        torch.nn.CrossEntropyLoss(),
        list(model.parameters()),
        [(batch.contexts, batch.targets.flatten())],
        check_deterministic=False,
    )
    vector = random_weights(architecture, seed=1)
    product = hessian_times(next_token_loss(architecture), weights, batch)(vector)
    torch.testing.assert_close(flat(product, names), operator @ flat(vector, names), rtol=1e-9, atol=1e-10)


def test_a_probe_depends_on_seed_and_number_only(tiny):
    weights, batch, heads, _ = tiny
    loss = next_token_loss(TINY)
    first = hessian_traces(loss, weights, [batch], heads=heads, probes=1, seed=5)
    again = hessian_traces(loss, weights, [batch, batch], heads={}, probes=1, seed=5, masked=True)
    other = hessian_traces(loss, weights, [batch], heads={}, probes=1, seed=6)
    assert float(first.hessian_trace) == float(again.hessian_trace) != float(other.hessian_trace)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probes": 0}, "0 probes"),
        ({"batches": []}, "0 batches"),
        ({"heads": {"0:0": {"nothing": torch.ones(2, dtype=torch.bool)}}}, "'nothing'"),
        ({"heads": {"0:0": {"w": torch.ones(2)}}}, "component '0:0': the mask of 'w' is torch.float32"),
        ({"heads": {"0:0": {"w": torch.ones(3, dtype=torch.bool)}}}, r"shape \[3\], the weight \[2\]"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"batches": [None], "heads": {}, "probes": 1, "seed": 0} | change
    with pytest.raises(ValueError, match=message):
        hessian_traces(
            lambda w, b: w["w"].square().sum(), {"w": torch.ones(2)}, given.pop("batches"), **given
        )
