"""What a sampling section says, of thinning, seeds and steps too, is what is sampled."""

from functools import partial

import numpy as np
import pytest
import torch

from rllc.estimator.llc import estimate
from rllc.measures.sample_full.kernel import full
from rllc.measures.sample_heads.kernel import heads
from rllc.measures.sampling import other
from rllc.seeds import derive

WEIGHTS = {"w": torch.tensor([0.2, -0.1, 0.3])}
SECTION = {
    "step_size": 1e-2, "n_beta": 20.0, "localization": 10.0, "chains": 3, "reference_norm": None, "draws": 6,
    "scale_localization": False,
    "burn_in": 2, "thinning": 1, "sampler": "sgld", "batch_size": 4, "scored_positions": 5, "init_batches": 3,
    "control_chains": 2, "drift_free_chains": 0, "seeded": False, "divergence_factor": 5.0, "keep_traces": False, "antithetic_pairs": 0,
}  # fmt: skip


def well(weights, batch):
    return 0.5 * ((weights["w"] - batch) ** 2).sum() + 3.0


class Near:
    """A model whose heads are no attention: its loss is the well."""

    heads = ("0:0", "1:0")
    loss = staticmethod(well)

    def masks(self, component):
        return None if component == "full" else {"w": torch.arange(3) < 2}


class Points:
    """Points to be near to: those of a purpose and size are the same for any number of them."""

    def batches(self, purpose, *, count, batch_size, scored):
        random = torch.Generator().manual_seed(derive(0, purpose, batch_size, scored))
        return [torch.randn(3, generator=random) for _ in range(count)]

    def seed(self, step, *, seeded=False):
        return 7 if seeded else derive(7, step)


def alone(*, draws=6, seed=None, component="full", **changes):
    """The same by hand: minibatches and seed as the section has them."""
    take = partial(Points().batches, batch_size=4, scored=5)
    law = {"n_beta": 20.0, "localization": 10.0, "step_size": 1e-2, "chains": 3, "draws": draws, "burn_in": 2}
    return estimate(
        well, WEIGHTS, take("draws", count=17), init_batches=take("init", count=3),
        components={component: Near().masks(component)}, seed=derive(7, 3) if seed is None else seed,
        **law | changes,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _float64(monkeypatch):
    """So that the order of a sum, which differs by processor, is far below any tolerance."""
    torch.set_default_dtype(torch.float64)
    monkeypatch.setitem(WEIGHTS, "w", WEIGHTS["w"].double())
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ({}, {}),
        ({"thinning": 3}, {"thinning": 3}),
        ({"seeded": True}, {"seed": 7}),
        ({"seeded": True, "thinning": 2}, {"seed": 7, "thinning": 2}),
        ({"reference_norm": 0.14**0.5 / 2}, {"step_size": 4e-2}),
        (
            {"reference_norm": 0.14**0.5 / 2, "scale_localization": True},
            {"step_size": 4e-2, "localization": 2.5},
        ),
        ({"sampler": "rmsprop", "seeded": True}, {"sampler": "rmsprop", "seed": 7}),
        (
            {"sampler": "rmsprop", "sampler_options": {"decay": 0.5}},
            {"sampler": "rmsprop", "sampler_options": {"decay": 0.5}},
        ),
    ],
)
def test_every_option_is_that_of_the_estimate(section, changes):
    found, one = full(Points(), **SECTION | section)(WEIGHTS, Near(), 3), alone(**changes)
    for name, of in (("llc_chain", "llc_chain"), ("llc_init", "llc_init"), ("init_loss", "init_loss")):
        np.testing.assert_allclose(found[name], one[of].squeeze(), rtol=1e-6, err_msg=name)
    control = alone(**changes | {"chains": 2, "gradient": False})
    for end in ("", "_se"):
        np.testing.assert_allclose(found[f"llc_prior_only{end}"], control[f"llc{end}"].item(), rtol=1e-6)


def test_pairs_read_minibatches_of_their_own_and_stand_for_the_control():
    section = SECTION | {"chains": 4, "control_chains": 4, "antithetic_pairs": 4, "drift_free_chains": 2}
    found = full(Points(), **section)(WEIGHTS, Near(), 3)
    more = Points().batches("pairs", count=8, batch_size=4, scored=5)
    one = alone(chains=4, antithetic_pairs=4, pair_batches=more)
    for name in (
        "llc",
        "llc_se",
        "llc_se_data",
        "llc_prior_only",
        "llc_prior_only_se",
        "control_coefficient",
    ):
        np.testing.assert_allclose(found[name], one[name].item(), rtol=1e-6, err_msg=name)
    assert found["control_coefficient"] > 0
    np.testing.assert_allclose(
        found["llc_drift_free"], alone(chains=2, drift_free=True)["llc"].item(), rtol=1e-6
    )
    assert "llc_prior_only_chain" not in found
    assert "from pairs" in found["llc_prior_only"].attrs["long_name"]


def test_the_components_listed_have_their_controls_and_traces():
    section = SECTION | {"drift_free_chains": 2, "keep_traces": True, "thinning": 2}
    found = other(Points(), components=["layer:0", "embedding"], **section)(WEIGHTS, Near(), 3)
    assert found["component"].values.tolist() == ["layer:0", "embedding"]
    for component in ("layer:0", "embedding"):
        one = alone(component=component, thinning=2)
        drift_free = alone(component=component, thinning=2, drift_free=True, chains=2)
        here = found.sel(component=component)
        np.testing.assert_allclose(here["rllc_chain"], one["llc_chain"][0], rtol=1e-6)
        np.testing.assert_allclose(here["rllc_drift_free"], drift_free["llc"].item(), rtol=1e-6)
        np.testing.assert_allclose(here["trace_loss"], one["loss"][0], rtol=1e-6)


@pytest.mark.parametrize("seeded", [False, True])
def test_all_heads_are_the_components_of_their_kernel(seeded):
    """With the options in one: the noise of a step or of all, on minibatches of every move."""
    section = SECTION | {"seeded": seeded, "drift_free_chains": 1, "thinning": 2}
    found = heads(Points(), **section)(WEIGHTS, Near(), 3)
    one = other(Points(), components=["0:0", "1:0"], **section)(WEIGHTS, Near(), 3)
    assert (found["rllc"] == heads(Points(), **section)(WEIGHTS, Near(), 4)["rllc"]).all() == seeded
    assert found["layer"].values.tolist() == [0, 1] and found["head_index"].values.tolist() == [0, 0]
    for name in one.data_vars:
        np.testing.assert_array_equal(found[name], one[name], err_msg=name)
        assert found[name].dims == tuple(dim.replace("component", "head") for dim in one[name].dims)
