from dataclasses import replace

import pytest
import torch

from rllc.estimator.samplers import chains
from rllc.estimator.samplers.chains import noise_stream, normals
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.sample import losses_and_gradients, sample
from rllc.sampler_config import SamplerConfig

CPU = torch.device("cpu")
SETTING = SamplerConfig(n_beta=30.0, localization=5.0, step_size=0.01, chains=5, draws=6)
BATCHES = [0.1 * torch.randn(3, generator=torch.Generator().manual_seed(k)).double() for k in range(4)]
WEIGHTS = {"w": torch.tensor([0.1, 0.0, -0.2]).double(), "v": torch.tensor([0.3, 0.1]).double()}
MASKS = {"full": None, "part": {"w": torch.tensor([True, False, True])}}
SAMPLERS = pytest.mark.parametrize("sampler", ["sgld", "rmsprop"])


def well(weights, batch):
    h = torch.tensor([1.0, 3.0, 0.5], dtype=batch.dtype)
    return 0.5 * (h * (weights["w"] - batch) ** 2).sum() + 0.1 * weights["v"].square().sum() + 1


def run(
    sampler,
    loss=well,
    weights=WEIGHTS,
    batches=BATCHES,
    masks=MASKS,
    vectorize=False,
    max_memory=None,
    **changes,
):
    selected = {name: coordinates(weights, mask, component=name) for name, mask in masks.items()}
    setting = replace(SETTING, sampler=sampler, **changes)
    how = {"setting": setting, "vectorize": vectorize, "max_memory": max_memory}
    return sample(loss, weights, batches, components=selected, **how)


def assert_same(one, other, **tolerance):
    for name, a, b in zip(one._fields, one, other, strict=True):
        torch.testing.assert_close(
            a,
            b,
            equal_nan=True,
            **{"rtol": 0, "atol": 0, **tolerance},
            msg=lambda m, name=name: f"{name}: {m}",
        )


def test_streams_are_named_by_seed_component_and_chain():
    names = [(0, "1:0", 0), (0, "1:0", 1), (0, "1:1", 0), (1, "1:0", 0)]
    first = [float(torch.randn(1, generator=noise_stream(*name, CPU))) for name in names]
    again = [float(torch.randn(1, generator=noise_stream(*name, CPU))) for name in names]
    assert first == again
    assert len(set(first)) == 4


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 33, 48, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 3])
def test_normals_drawn_ahead_are_those_drawn_one_by_one(n, dtype, count, monkeypatch):
    monkeypatch.setattr(chains, "NOISE_BYTES", 7 * count * n * dtype.itemsize)  # blocks of 7 moves, or of 1
    drawn = normals(
        [noise_stream(3, "x", c, CPU) for c in range(count)], torch.zeros(n, dtype=dtype), moves=50
    )
    streams = [noise_stream(3, "x", c, CPU) for c in range(count)]
    for _ in range(17):
        each = [torch.randn(n, generator=stream, dtype=dtype) for stream in streams]
        assert torch.equal(next(drawn), torch.stack(each))


def test_normals_are_drawn_ahead_on_a_cpu_only():
    """A GPU's generator makes other numbers of a block than of one move after the other."""
    for place, moves in (("cpu", 5), ("meta", 1)):
        drawn = next(normals([torch.Generator()], torch.zeros(32, device=place), moves=5))
        assert drawn.untyped_storage().nbytes() == moves * 32 * 4


@SAMPLERS
def test_components_and_chains_do_not_depend_on_each_other(sampler):
    whole = run(sampler)
    assert_same(run(sampler, masks=dict(reversed(MASKS.items()))), whole._replace(
        loss=whole.loss.flip(0), acceptance=whole.acceptance.flip(0)))  # fmt: skip
    alone = run(sampler, masks={"part": MASKS["part"]}, chains=2)
    assert_same(alone, whole._replace(loss=whole.loss[1:, :2], acceptance=whole.acceptance[1:, :2]))
    assert_same(run(sampler), whole)
    assert not torch.equal(run(sampler, seed=1).loss, whole.loss)
    assert len(whole.loss[:, :, 3].unique()) == 10


@SAMPLERS
@pytest.mark.parametrize("vectorize", [False, True])
def test_memory_bound_and_gradient_context_change_nothing(sampler, vectorize):
    whole = run(sampler, vectorize=vectorize, thinning=2)
    tolerance = {"rtol": 1e-10, "atol": 1e-12} if vectorize else {}
    for bytes_ in (1, 300, 500):  # the chains of full need 120 each, of part 48
        with torch.no_grad():
            parts = run(sampler, vectorize=vectorize, thinning=2, max_memory=bytes_)
        assert_same(parts, whole, **tolerance)


class Asked(list):
    """Batches that note when they are asked for."""

    def __init__(self, batches):
        super().__init__(batches)
        self.indices = []

    def __getitem__(self, index):
        self.indices.append(index)
        return super().__getitem__(index)


def test_a_batch_is_asked_for_once_per_move_and_pass():
    one, thinned, passes = Asked(BATCHES[:2]), Asked(BATCHES[:3]), Asked(BATCHES[:2])
    run("sgld", batches=one)
    assert one.indices == [0, 1, 0, 1, 0, 1]
    run("sgld", batches=thinned, thinning=2, draws=4)
    assert thinned.indices == [0, 1, 2, 0, 1, 2, 0]
    run("sgld", batches=passes, masks={"full": None}, max_memory=250)  # 2, 2 and 1 chains
    assert passes.indices == 3 * [0, 1, 0, 1, 0, 1]


@SAMPLERS
@pytest.mark.parametrize("thinning", [2, 3])
@pytest.mark.parametrize("gradient", [True, False])
def test_thinning_keeps_every_so_many_positions(sampler, thinning, gradient):
    every = run(sampler, draws=3 * thinning + 1, gradient=gradient)
    some = run(sampler, draws=4, thinning=thinning, gradient=gradient)
    assert torch.equal(some.loss, every.loss[..., ::thinning])
    assert torch.equal(some.at_center, every.at_center[::thinning])
    assert torch.equal(some.acceptance[..., 1:3], every.acceptance[..., thinning:-1:thinning]) or (
        (sampler == "rmsprop" or not gradient) and some.acceptance.isnan().all()
    )
    assert some.acceptance[..., [0, 3]].isnan().all()


@SAMPLERS
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_all_chains_in_one_call_have_the_same_draws(sampler, gradient, dtype, tolerance):
    weights = {name: w.to(dtype) for name, w in WEIGHTS.items()}
    given = {"weights": weights, "batches": [b.to(dtype) for b in BATCHES], "draws": 40, "gradient": gradient}
    loop = run(sampler, **given)
    assert_same(run(sampler, **given, vectorize=True), loop, rtol=tolerance, atol=tolerance)
    fewer = run(sampler, **given, vectorize=True, chains=2)
    assert_same(
        fewer, loop._replace(loss=loop.loss[:, :2], acceptance=loop.acceptance[:, :2]),
        rtol=tolerance, atol=tolerance,
    )  # fmt: skip


@pytest.mark.parametrize("vectorize", [False, True])
def test_a_loss_that_ignores_a_component_is_refused_by_name(vectorize):
    ignoring = {
        "a constant": lambda w, b: torch.tensor(1.0),
        "other weights": lambda w, b: w["v"].sum(),
        "weights of its own": lambda w, b: WEIGHTS["w"].sum(),
    }
    for loss in ignoring.values():
        with pytest.raises(ValueError, match="does not read the weights of component 'part'"):
            run("sgld", loss, masks={"part": MASKS["part"]}, vectorize=vectorize, draws=2)


def test_a_flat_direction_is_an_answer_and_no_error():
    """A dead unit: the loss reads its weight, and is flat in it."""
    traces = run("sgld", lambda w, b: w["w"][1] ** 2, masks={"part": MASKS["part"]})
    assert (traces.loss == traces.at_center).all()


def test_losses_and_gradients_of_many_chains_are_those_of_each():
    selected = coordinates(WEIGHTS, MASKS["part"], component="part")
    positions = torch.tensor([[1.0, 2.0], [0.0, -1.0], [0.5, 0.5]]).double()
    given = {"component": "part", "gradient": True}
    values, slopes = losses_and_gradients(
        well, WEIGHTS, selected, positions, BATCHES[0], vectorize=True, **given
    )
    for chain, w in enumerate(positions):
        value, slope = losses_and_gradients(well, WEIGHTS, selected, w[None], BATCHES[0], **given)
        by_hand = torch.tensor([1.0, 0.5]).double() * (w - BATCHES[0][[0, 2]])
        torch.testing.assert_close(slope[0], by_hand)
        torch.testing.assert_close(slopes[chain], by_hand)
        torch.testing.assert_close(values[chain], value[0])
    assert not values.requires_grad
