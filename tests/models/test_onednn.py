"""Products in the block against torch's own in float64, at every level of derivatives, and where it applies."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from rllc.estimator.llc import estimate
from rllc.models import onednn as module
from rllc.models.device import computing
from rllc.models.onednn import faster, onednn

OURS = "mkldnn::_linear_pointwise"


def numbers(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def called(function):
    """What it returns, and how often oneDNN multiplied."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        made = function()
    return made, sum(event.count for event in seen.key_averages() if event.key == OURS)


FORMS = {  # of a, b and c: the product, and what it is
    "mm": (torch.mm, lambda a, b, c: a @ b),
    "row": (lambda a, b, c: torch.addmm(c[0], a, b), lambda a, b, c: c[0] + a @ b),
    "whole": (lambda a, b, c: torch.addmm(c, a, b), lambda a, b, c: c + a @ b),
    "scaled": (lambda a, b, c: torch.addmm(c, a, b, alpha=-2.0), lambda a, b, c: c - 2 * (a @ b)),
    "out": (lambda a, b, c: torch.addmm(c[0], a, b, out=c.clone()), lambda a, b, c: c[0] + a @ b),
    "bmm": (torch.bmm, lambda a, b, c: a @ b),
    "in place": (lambda a, b, c: c.clone().baddbmm_(a, b, alpha=0.5), lambda a, b, c: c + 0.5 * (a @ b)),
}
CASES = [(form, 3 if form in ("bmm", "in place") else None) for form in FORMS] + [("bmm", 1), ("in place", 1)]


@pytest.mark.parametrize("transposed", ["", "a", "b"])
@pytest.mark.parametrize(("form", "chains"), CASES)
def test_products_are_those_of_float64(form, chains, transposed):
    some = () if chains is None else (chains,)
    a, b, c = numbers(*some, 160, 130), numbers(*some, 130, 200, seed=1), numbers(*some, 160, 200, seed=2)
    if transposed:
        a, b = (x.mT.contiguous().mT if name == transposed else x for name, x in (("a", a), ("b", b)))
    product, truth = FORMS[form]
    operands = (a, b) if form in ("mm", "bmm") else (a, b, c)
    with onednn(where=True):
        made, times = called(lambda: product(*operands))
    assert times == (chains or 1)
    assert made.is_contiguous() and made.dtype == torch.float32
    expected = truth(*(x.double() for x in (a, b, c)))
    torch.testing.assert_close(made.double(), expected, rtol=1e-6, atol=3e-5)


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [((20, 20), (20, 20), torch.float32), ((9000, 300), (300, 4), torch.float32),
     ((4, 300), (300, 9000), torch.float32), ((200, 200), (200, 200), torch.float64),
     ((200, 200), (200, 200), torch.bfloat16)],
)  # fmt: skip
def test_small_narrow_and_other_products_are_torchs(a, b, dtype):
    a, b = numbers(*a).to(dtype), numbers(*b, seed=1).to(dtype)
    expected = torch.mm(a, b)
    with onednn(where=True):
        made, times = called(lambda: torch.mm(a, b))
    assert times == 0
    torch.testing.assert_close(made, expected, rtol=0, atol=0)


def test_what_torch_refuses_is_refused_in_its_words():
    a, b = numbers(200, 200), numbers(201, 200)
    for refused in (
        lambda: torch.mm(a, b),
        lambda: torch.addmm(numbers(3), a, b.T),
        lambda: torch.bmm(a.expand(2, -1, -1), a.expand(3, -1, -1)),
        lambda: numbers(1, 200, 200).baddbmm_(a.expand(2, -1, -1), a.expand(2, -1, -1)),
        lambda: torch.mm(a, a.double()),
        lambda: torch.mm(a[0], a),
        lambda: torch.addmm(a[0], a, a[0]),
        lambda: torch.bmm(a, a),
    ):
        with pytest.raises(RuntimeError) as outside:
            refused()
        with onednn(where=True), pytest.raises(RuntimeError) as inside:
            refused()
        assert str(inside.value) == str(outside.value)


def test_rounding_that_was_allowed_stays_allowed():
    a, before = numbers(200, 200), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        expected = torch.mm(a, a)
        with onednn(where=True):
            made, times = called(lambda: torch.mm(a, a))
    finally:
        torch.set_float32_matmul_precision(before)
    assert times == 0
    torch.testing.assert_close(made, expected, rtol=0, atol=0)


def loss(weights, batch):
    return (torch.tanh(batch @ weights["w"]) @ weights["w"].T).square().mean()


def test_all_derivatives_are_the_same():
    weights, batch = {"w": numbers(150, 140) / 10}, numbers(160, 150, seed=1)
    tangent = {"w": numbers(150, 140, seed=2)}
    of = partial(loss, batch=batch)

    def along(weights):
        return torch.func.jvp(torch.func.grad(of), (weights,), (tangent,))

    def several(weights):
        stacked = {"w": torch.stack([weights["w"], 2 * weights["w"]])}
        return torch.func.vmap(torch.func.grad_and_value(of))(stacked)

    for derivative in (along, several):
        expected = derivative(weights)
        with onednn(where=True):
            made, times = called(lambda derivative=derivative: derivative(weights))
        assert times > 3
        torch.testing.assert_close(made, expected, rtol=1e-3, atol=1e-6)


def test_the_block_is_of_its_thread_and_ends_with_the_outermost_also_by_an_error():
    a = numbers(200, 200)

    def times():
        return called(lambda: torch.mm(a, a))[1]

    with onednn(where=False):
        assert times() == 0
    with pytest.raises(KeyError), onednn(where=True), ThreadPoolExecutor() as other:
        with onednn(where=True):
            pass
        assert times() == 1
        assert other.submit(times).result() == 0
        raise KeyError
    assert times() == 0


@pytest.mark.parametrize(
    ("vendor", "capability", "expected"),
    [("AuthenticAMD", "AVX512", True), ("GenuineIntel", "AVX512", False), ("AuthenticAMD", "AVX2", False),
     (None, "AVX512", False)],
)  # fmt: skip
def test_it_is_for_wide_processors_that_are_not_intels(vendor, capability, expected, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "PROCESSOR", tmp_path / "cpuinfo")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    if vendor is not None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n")
    assert faster.__wrapped__() is expected


def test_measures_and_estimates_are_made_in_it(monkeypatch):
    weights = {"w": numbers(150, 140) / 10}
    batches = [numbers(160, 150, seed=seed) for seed in range(4)]
    how = {
        "components": {"w": None}, "n_beta": 30.0, "localization": 50.0, "step_size": 1e-3, "chains": 2,
        "draws": 4, "seed": 0,
    }  # fmt: skip
    found = {}
    for where in (True, False):
        monkeypatch.setattr(module, "faster", lambda where=where: where)
        estimated, times = called(lambda: estimate(loss, weights, batches, **how))
        with computing("cpu", "fp32"):
            measured = called(lambda: batches[0] @ weights["w"])[1]
        assert (times > 0, measured) == (where, int(where))
        found[where] = estimated["llc_chain"].values
    np.testing.assert_allclose(found[True], found[False], rtol=1e-3)


@pytest.mark.parametrize("name", ["rows", "columns"])
def test_no_matrix_with_gaps_is_handed_on(name):
    """Its product with one took 250 ms in place of 0.3."""
    b = numbers(96, 148)[:, :52] if name == "rows" else numbers(52, 148)[:, :96].T
    weight = module._weight(b)
    assert torch.equal(weight, b.T)
    assert weight.is_contiguous() or weight.T.is_contiguous()
    assert not (b.is_contiguous() or b.T.is_contiguous())
    dense = numbers(96, 52)
    assert module._weight(dense).data_ptr() == dense.data_ptr()  # no copy
    assert module._weight(dense.T).data_ptr() == dense.data_ptr()
