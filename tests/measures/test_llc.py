import numpy as np
import pytest
import torch
import xarray as xr

from rllc.measures.llc import estimate, summarise

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


def test_burn_in_enters_no_estimate():
    loss = np.array([[[1.0, 9.0, 2.0, 3.0, 2.5, 2.0]]])
    changed = loss.copy()
    changed[..., :2] = 1.5
    one, other = (
        summarise(x, np.ones(6), components=["a"], sizes=[1], setting={"n_beta": 10.0}, burn_in=2)
        for x in (loss, changed)
    )
    for name in ("llc", "llc_se", "llc_chain", "ess"):
        assert one[name].equals(other[name]), name
    assert float(one.llc[0]) == pytest.approx(10 * 1.375)


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


def test_gradient_off_is_a_constant_loss_recorded_on_the_real_one():
    off = estimate(**args(gradient=False))
    value = estimate(**args(loss=lambda w, b: well({n: x.detach() for n, x in w.items()}, b)))
    assert np.array_equal(off.loss, value.loss)
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


def test_failed_chains_are_flagged_and_in_no_mean():
    rise = np.tile(np.linspace(0, 0.2, 16), (1, 4, 1))
    rise[0, 1] = np.linspace(0, 90, 16)
    rise[0, 2, 5:9] = np.inf
    ds = summarise(rise + 2, np.full(16, 2.0), components=["a"], sizes=[3], setting={"n_beta": 30.0})
    assert ds.status.values.tolist() == [[0, 2, 1, 0]]
    assert ds.status.attrs["flag_meanings"].split()[2] == "diverged"
    assert np.isnan(ds.llc_chain.values).tolist() == [[False, True, True, False]]
    assert float(ds.llc[0]) == pytest.approx(3.0)
    assert np.isnan(ds.loss[0, 2, 5:]).all()
    none = summarise(
        np.full((1, 2, 8), np.nan), np.ones(8), components=["a"], sizes=[3], setting={"n_beta": 1.0}
    )
    assert np.isnan([none[name][0] for name in ("llc", "llc_se", "llc_init", "rhat", "ess")]).all()


def test_an_unstable_step_is_found_and_a_relaxing_chain_is_not():
    zero = {"w": torch.zeros(3), "v": torch.zeros(1)}
    flat = {"loss": lambda w, b: 0.5 * (H * w["w"] ** 2).sum(), "weights": zero, "components": {"full": None}}
    unstable = estimate(**args(**flat, step_size=0.05, draws=40))  # step * (n_beta h + localization) > 4
    assert set(unstable.status.values.ravel()) <= {1, 2}
    slow = estimate(**args(**flat, step_size=1e-5, draws=40, chains=50))  # still climbs out of a loss of 0
    assert not slow.status.any()


def test_dataset_follows_the_contract_and_survives_netcdf(tmp_path):
    ds = estimate(**args())
    dims = {
        "llc": ("component",), "llc_se": ("component",), "rhat": ("component",), "ess": ("component",),
        "llc_chain": ("component", "chain"), "status": ("component", "chain"), "llc_init": ("component",),
        "loss": ("component", "chain", "draw"), "loss_at_center": ("draw",), "init_loss": (),
    }  # fmt: skip
    assert {name: v.dims for name, v in ds.data_vars.items()} == dims
    assert all("units" in v.attrs or name == "status" for name, v in ds.data_vars.items())
    assert (ds.attrs["n_beta"], ds.attrs["gradient"], ds.attrs["burn_in"]) == (30.0, 1, 0)
    ds.to_netcdf(tmp_path / "llc.nc")
    with xr.open_dataset(tmp_path / "llc.nc") as back:
        xr.testing.assert_equal(back, ds)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_beta": 0.0}, "n_beta is 0.0: expected a positive"),
        ({"n_beta": float("nan")}, "n_beta"),
        ({"step_size": -1e-3}, "step_size"),
        ({"localization": -1.0}, "localization"),
        ({"chains": 0}, "0 chains"),
        ({"draws": 0}, "0 draws"),
        ({"burn_in": 12}, "burn_in 12 leaves none of the 12 draws"),
        ({"burn_in": -1}, "burn_in"),
        ({"batches": []}, "no batches"),
        ({"init_batches": []}, "init_batches is empty"),
        ({"baseline": "init"}, "needs init_batches"),
        ({"baseline": "mean"}, "unknown baseline 'mean': expected one of paired, init"),
        ({"sampler": "hmc"}, "unknown sampler 'hmc': expected one of sgld"),
        ({"components": {}}, "nothing to sample"),
        ({"weights": {}}, "nothing to sample"),
        ({"max_memory": 0}, "max_memory"),
        ({"divergence_factor": 0.0}, "divergence_factor"),
        ({"components": {"x": {"u": torch.ones(1, dtype=torch.bool)}}}, "no weight"),
        ({"components": {"x": {"w": torch.ones(3)}}}, "torch.bool"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        estimate(**args(**change))
