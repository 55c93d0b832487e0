"""An operator given by its quadratic form, against its exact traces over all probes."""

import itertools

import pytest
import torch

from rllc.measures import traces
from rllc.measures.traces import form_of, hutchinson, of_form, of_product

WEIGHTS = {"x": torch.ones(2, dtype=torch.float64), "y": torch.ones(3, dtype=torch.float64)}
BLOCKS = {
    "0:0": {"x": torch.tensor([False, True]), "y": torch.tensor([True, False, True])},
    "1:0": {"y": torch.tensor([False, True, False])},
}
WHERE = {"0:0": [1, 2, 4], "1:0": [3]}


def jacobian(batch):
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(batch), dtype=torch.float64)


def form(batch):
    """v -> |J v|^2, of vectors that name some weights only."""

    def of(vector):
        zeros = {name: torch.zeros_like(w) for name, w in WEIGHTS.items()}
        v = torch.cat([{**zeros, **vector}[name] for name in ("x", "y")])
        return float((jacobian(batch) @ v).square().sum())

    return of


def times(batch):
    a = jacobian(batch).T @ jacobian(batch)

    def of(vector):
        parts = {"x": slice(0, 2), "y": slice(2, 5)}
        return {name: sum(a[parts[name], parts[other]] @ v for other, v in vector.items()) for name in vector}

    return of


def every_probe(monkeypatch):
    """Each of the 2^5 probes in the place of the random ones: no sampling error is left."""
    probes = iter(torch.tensor(s, dtype=torch.float64) for s in itertools.product((-1.0, 1.0), repeat=5))
    monkeypatch.setattr(
        traces, "signs", lambda weights, seed: dict(zip("xy", next(probes).split([2, 3]), strict=True))
    )


@pytest.mark.parametrize(
    "operator",
    [lambda b: of_form(form(b)), lambda b: of_product(times(b)), lambda b: of_form(form_of(times(b)))],
)
def test_a_mean_over_all_probes_is_the_trace_of_the_whole_and_of_every_block(operator, monkeypatch):
    every_probe(monkeypatch)
    found = hutchinson(operator, WEIGHTS, [3], name="fim_trace", heads=BLOCKS, probes=32, seed=0)
    diagonal = jacobian(3).square().sum(0)
    assert float(found.fim_trace) == pytest.approx(float(diagonal.sum()), rel=1e-12)
    for label, where in WHERE.items():
        block = found.fim_trace_head.sel(head=label)
        assert float(block) == pytest.approx(float(diagonal[where].sum()), rel=1e-12)


def test_a_form_and_a_masked_product_read_the_same():
    one, other = (
        hutchinson(operator, WEIGHTS, [0, 1], name="t", heads=BLOCKS, probes=4, seed=2)
        for operator in (lambda b: of_form(form(b)), lambda b: of_form(form_of(times(b))))
    )
    for name in ("t", "t_se", "t_head", "t_head_se"):
        torch.testing.assert_close(torch.tensor(one[name].values), torch.tensor(other[name].values))
    assert (one.t_head_se.sel(head="0:0") > 0).all()


@pytest.mark.parametrize(("probes", "batches"), [(0, [1]), (2, [])])
def test_without_probes_or_batches_there_is_no_trace(probes, batches):
    with pytest.raises(ValueError, match=f"{probes} probes on {len(batches)} batches"):
        hutchinson(form, WEIGHTS, batches, name="t", heads=BLOCKS, probes=probes, seed=0)
