import numpy as np
import pytest
import torch
import xarray as xr

from rllc.estimator.llc import estimate

SETTING = {"n_beta": 30.0, "localization": 5.0, "step_size": 0.01, "chains": 3, "draws": 12}
H = torch.tensor([1.0, 3.0, 0.5])


def well(weights, batch):
    return 0.5 * (H * (weights["w"] - batch) ** 2).sum() + 0.1 * weights["v"].square().sum() + 1


def args(**changes):
    random = torch.Generator().manual_seed(0)
    weights = {"w": torch.tensor([0.1, 0.0, -0.2]), "v": torch.tensor([0.3])}
    batches = [0.1 * torch.randn(3, generator=random) for _ in range(5)]
    masks = {"full": None, "part": {"w": torch.tensor([True, False, True])}}
    return {"loss": well, "weights": weights, "batches": batches, "components": masks, **SETTING, **changes}


def test_estimate_is_the_mean_of_the_kept_paired_losses():
    given = args(burn_in=4, init_batches=[torch.zeros(3), torch.ones(3)], seed=3)
    ds = estimate(**given)
    at_center = np.array([float(well(given["weights"], given["batches"][t % 5])) for t in range(12)])
    assert ds.loss_at_center.values == pytest.approx(at_center, rel=1e-6)
    assert ds.loss[:, :, 0].values == pytest.approx(np.full((2, 3), at_center[0]), rel=1e-6)
    paired = 30 * (ds.loss.values - at_center)[..., 4:]
    assert ds.llc.values == pytest.approx(paired.mean((1, 2)))
    assert ds.llc_chain.values == pytest.approx(paired.mean(2))
    init = np.mean([float(well(given["weights"], b)) for b in given["init_batches"]])
    assert float(ds.init_loss) == pytest.approx(init)
    above_init = 30 * (ds.loss.values[..., 4:].mean((1, 2)) - init)
    assert ds.llc_init.values == pytest.approx(above_init)
    by_init = estimate(**given, baseline="init")
    assert by_init.llc.values == pytest.approx(above_init)
    assert by_init.rhat.values == pytest.approx(ds.rhat.values)  # of the paired trace either way
    assert ds.llc_se.values == pytest.approx(paired.std((1, 2), ddof=1) / np.sqrt(ds.ess.values))


def test_draws_do_not_depend_on_what_else_is_sampled():
    everything = estimate(**args())
    masks = args()["components"]
    reverse = estimate(**args(components={name: masks[name] for name in ("part", "full")}))
    alone = estimate(**args(components={"part": masks["part"]}, chains=2))
    xr.testing.assert_identical(everything.loss, reverse.loss.sel(component=["full", "part"]))
    assert np.array_equal(everything.loss.sel(component="part")[:2], alone.loss[0])
    assert np.array_equal(everything.loss, estimate(**args(max_memory=1)).loss)
    assert not np.array_equal(everything.loss, estimate(**args(seed=1)).loss)
    assert len(np.unique(everything.loss[:, :, 3])) == 6  # no two chains share noise


def test_prior_only_is_a_constant_loss_recorded_on_the_real_one():
    def level(weights, batch):  # the value of the well, without its gradient
        return well({n: w.detach() for n, w in weights.items()}, batch) + 1e-30 * weights["w"].sum()

    off = estimate(**args(gradient=False))
    assert np.array_equal(off.loss, estimate(**args(loss=level)).loss)
    assert not np.array_equal(off.loss, estimate(**args()).loss)
    # Pure localisation: E w_t^2 = eps (1 - a^2t) / (1 - a^2), a = 1 - eps gamma / 2; here on 30,000 copies.
    copies = torch.zeros(30_000)
    ds = estimate(
        lambda w, b: w["w"].square().mean(), {"w": copies}, [None], components={"full": None}, gradient=False,
        **SETTING | {"chains": 1, "draws": 20},
    )  # fmt: skip
    a, t = 1 - 0.01 * 5 / 2, np.arange(20)
    expected = 0.01 * (1 - a ** (2 * t)) / (1 - a**2)
    assert ds.loss[0, 0].values == pytest.approx(expected, rel=5 * np.sqrt(2 / 30_000))


@pytest.mark.parametrize("sampler", ["sgld", "rmsprop"])
@pytest.mark.parametrize("thinning", [1, 2])
def test_a_control_takes_what_is_known_at_the_centre_from_its_estimate(sampler, thinning):
    calls = []

    def counted(weights, batch):
        calls.append(1)
        return well(weights, batch)

    how = {"burn_in": 4, "init_batches": [torch.zeros(3)], "sampler": sampler, "thinning": thinning}
    on = estimate(**args(**how))
    alone = estimate(**args(**how, chains=2, gradient=False))
    control = estimate(**args(**how, chains=2, control_of=on, loss=counted))
    read = {"draw": slice(4, None)}
    of_burn_in = ["loss", "half_length_change", "half_length_change_se"]
    xr.testing.assert_identical(control.drop_vars(of_burn_in), alone.drop_vars(of_burn_in))
    assert np.array_equal(control.loss.isel(read), alone.loss.isel(read))
    if sampler == "sgld":
        assert control.loss.isel(draw=slice(4)).isnull().all()
        kept = 2 * 2 * (12 - 4)  # components, chains, draws
        assert len(calls) == 1 + kept  # one to see that it is the same loss
    with pytest.raises(ValueError, match="control_of has draws 12, expected was 9"):
        estimate(**args(**how, control_of=on) | {"draws": 9})


def test_an_unstable_step_is_found_and_a_relaxing_chain_is_not():
    zero = {"w": torch.zeros(3), "v": torch.zeros(1)}
    flat = {"loss": lambda w, b: 0.5 * (H * w["w"] ** 2).sum(), "weights": zero, "components": {"full": None}}
    unstable = estimate(**args(**flat, step_size=0.05, draws=40))  # step * (n_beta h + localization) > 4
    assert set(unstable.status.values.ravel()) <= {1, 2}
    slow = estimate(**args(**flat, step_size=1e-5, draws=40, chains=50))  # still climbs out of a loss of 0
    assert not slow.status.any()


@pytest.mark.parametrize("sampler", ["sgld", "rmsprop"])
def test_dataset_is_labelled_and_survives_netcdf(sampler, tmp_path):
    ds = estimate(**args(sampler=sampler, thinning=2, divergence_factor=7.0))
    dims = {
        "llc": ("component",), "llc_se": ("component",), "rhat": ("component",), "ess": ("component",),
        "llc_chain": ("component", "chain"), "status": ("component", "chain"), "llc_init": ("component",),
        "loss": ("component", "chain", "draw"), "loss_at_center": ("draw",), "init_loss": (),
        "acceptance": ("component",), "quality": ("component",),
    }  # fmt: skip
    assert {name: ds[name].dims for name in dims} == dims
    assert (ds.attrs["n_beta"], ds.attrs["gradient"], ds.attrs["burn_in"]) == (30.0, 1, 0)
    assert ds.attrs["divergence_factor"] == 7.0
    assert (ds.attrs["sampler"], ds.attrs["thinning"], ds.attrs.get("decay")) == (
        sampler, 2, 0.99 if sampler == "rmsprop" else None,
    )  # fmt: skip
    assert bool(ds.acceptance.isnull().all()) == (sampler == "rmsprop")
    ds.to_netcdf(tmp_path / "llc.nc")
    with xr.open_dataset(tmp_path / "llc.nc") as back:
        xr.testing.assert_equal(back, ds)


def test_samplers_differ_and_take_their_own_constants():
    plain, one, other = (
        estimate(**args(draws=20, **how))
        for how in (
            {},
            {"sampler": "rmsprop"},
            {"sampler": "rmsprop", "sampler_options": {"stabilizer": 2.0}},
        )
    )
    assert (other.attrs["decay"], other.attrs["stabilizer"]) == (0.99, 2.0)
    assert len({float(ds.llc[0]) for ds in (plain, one, other)}) == 3


def test_all_chains_in_one_call_give_the_same_estimate():
    for how in ({}, {"sampler": "rmsprop"}, {"gradient": False}, {"thinning": 3}):
        loop, together = (estimate(**args(vectorize=vectorize, **how)) for vectorize in (False, True))
        np.testing.assert_allclose(together.loss, loop.loss, rtol=1e-6)
        assert together.attrs == loop.attrs


def test_burn_in_and_draws_count_draws_when_thinned():
    every = estimate(**args(draws=23))
    thinned = estimate(**args(draws=12, thinning=2, burn_in=5))
    assert np.array_equal(thinned.loss, every.loss[..., ::2])
    rise = (every.loss - every.loss_at_center)[..., ::2]
    assert thinned.llc.values == pytest.approx(30 * rise[..., 5:].mean(("chain", "draw")).values)


def test_double_precision_and_a_named_device():
    double = {name: w.double() for name, w in args()["weights"].items()}
    batches = [batch.double() for batch in args()["batches"]]
    one = estimate(**args(weights=double, batches=batches, device=None))
    named = estimate(**args(weights=double, batches=batches, device="cpu"))
    assert np.array_equal(one.loss, named.loss)
    assert not np.array_equal(one.loss, one.loss.astype(np.float32))  # no step of it is in single precision


def test_weights_and_their_gradients_are_left_alone():
    weights = {
        "w": torch.nn.Parameter(torch.tensor([0.1, 0.0, -0.2])),
        "v": torch.nn.Parameter(torch.ones(1)),
    }
    before = {name: w.detach().clone() for name, w in weights.items()}
    estimate(**args(weights=weights))
    for name, w in weights.items():
        assert torch.equal(w, before[name])
        assert w.grad is None
