"""A type of heads in place of a component's label: the planted heads, each seed's own, or none."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from planted import induction_model

from rllc.estimator.dispatch import estimator
from rllc.measures import sampling
from rllc.measures.attention_scores.kernel import attention_scores as scores
from rllc.measures.sample_other.kernel import other
from rllc.models.attention_only import AttentionOnly
from rllc.quality import reasons
from rllc.seeds import derive, generator
from rllc.store.gathering import gather, whole_grid
from rllc.tasks.batch import next_token_batch
from rllc.vocabulary import STATUS

THRESHOLDS = {"previous_token": 0.3, "current_token": 0.3, "prefix_matching": 0.1}
SECTION = {
    "step_size": 1e-5, "n_beta": 20.0, "localization": 100.0, "chains": 4, "reference_norm": None, "draws": 5,
    "scale_localization": False, "burn_in": 1, "thinning": 2, "sampler": "sgld", "batch_size": 3, "scored_positions": None,
    "init_batches": 2, "control_chains": 4, "drift_free_chains": 2, "seeded": False, "divergence_factor": 5.0,
    "keep_traces": True, "antithetic_pairs": 0,
}  # fmt: skip


class Planted:
    """Seed 0 of a model of which 1:0 is an induction head, 0:0 of the previous and 0:1 of the current token;
    1:1 is another induction head, or attends evenly. With ``none`` layer 1 attends evenly."""

    bos = stream = 0

    def __init__(self, *, several=False, none=False):
        self.shape, self.weights = induction_model(12, 17)
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            weight = self.weights[f"blocks.1.attn.{name}"]
            weight[0] *= not none
            weight[1] = weight[0] if several else weight[1]
        self.model = AttentionOnly(self.shape)
        found = scores(self, sequences=20, length=17)(self.weights, self.model, 9)
        self.parts = {"attention_scores": found.expand_dims(seed=[0], step=[9])}

    def part(self, name):
        return self.parts[name]

    def batches(self, purpose, *, count, batch_size, scored):
        random = generator(0, purpose)
        contexts = random.integers(0, 12, (count, batch_size, 17))
        return [next_token_batch(each, np.arange(16)) for each in contexts]

    def seed(self, step, *, seeded=False):
        return derive(7, step)

    def measured(self, components, kernel=other, **changes):
        given = {"thresholds": THRESHOLDS} if kernel is other else {}
        return kernel(self, components=components, **given, **SECTION | changes)(self.weights, self.model, 9)


@pytest.mark.parametrize("pairs", [0, 2])
@pytest.mark.parametrize(("several", "heads"), [(True, "1:0+1:1"), (False, "1:0")])
def test_the_induction_heads_are_estimated_as_by_their_label_to_the_bit(several, heads, pairs):
    planted = Planted(several=several)
    found = planted.measured(["layer:0", "induction"], antithetic_pairs=pairs)
    named = planted.measured(["layer:0", heads], kernel=sampling.other, antithetic_pairs=pairs)
    assert found["component"].values.tolist() == ["layer:0", "induction"]
    assert found["members"].values.tolist() == ["layer:0", heads]
    assert np.isfinite(found["rllc"]).all()
    xr.testing.assert_identical(found.drop_vars("members").assign_coords(component=named["component"]), named)
    assert all(found[name].dtype == named[name].dtype for name in named)


def test_one_head_is_the_estimate_of_that_head():
    """Also by the heads' own fast path, with the noise of which the generic one is."""
    planted = Planted()
    quick = sampling.sampled(
        planted, lambda weights, model, **given: estimator(weights, model, ("1:0",), **given), name="rllc", **SECTION
    )  # fmt: skip
    head = quick(planted.weights, planted.model, 9).squeeze("component")
    found = planted.measured(["induction"]).squeeze("component")
    np.testing.assert_allclose(found["rllc_chain"], head["rllc_chain"], rtol=1e-6)


@pytest.mark.parametrize(
    ("role", "heads"), [("previous-token", "0:0"), ("current-token", "0:1"), ("multigram", "1:1")]
)
def test_every_type_is_a_component(role, heads):
    found = Planted().measured([role], draws=2, thinning=1)
    assert found["members"].values.tolist() == [heads]


def test_a_type_and_the_label_of_its_heads_are_sampled_once(monkeypatch):
    planted, sampled = Planted(several=True), []
    listed = sampling.other
    monkeypatch.setattr(
        sampling, "other", lambda *at, components, **to: sampled.append(components) or listed(*at, components=components, **to)
    )  # fmt: skip
    found = planted.measured(["induction", "1:0+1:1"])
    assert sampled == [["1:0+1:1"]]
    xr.testing.assert_equal(*(found.isel(component=n).drop_vars("component") for n in (0, 1)))


@pytest.mark.parametrize("pairs", [0, 2])
@pytest.mark.parametrize("beside", [[], ["layer:0"]])
def test_without_such_a_head_there_is_no_estimate_and_it_says_so(beside, pairs):
    """A part of a dataset in which other seeds have one."""
    planted, there = Planted(none=True), Planted()
    found, of_another = (
        each.measured(["induction", *beside], antithetic_pairs=pairs) for each in (planted, there)
    )
    assert found["members"].values.tolist() == ["", *beside]
    lost = found.sel(component="induction")
    numbers = [
        each for each in lost.data_vars.values() if each.dtype.kind == "f" and each.name != "init_loss"
    ]
    assert len(numbers) > 15 and all(bool(each.isnull().all()) for each in numbers)
    assert (lost["status"] == STATUS.index("missing")).all() and reasons(lost["quality"]) == ["missing"]
    assert np.isfinite(found["init_loss"])
    assert found.sizes == of_another.sizes
    assert {name: (each.dims, each.dtype) for name, each in found.variables.items()} == {
        name: (each.dims, each.dtype) for name, each in of_another.variables.items()
    }
    if beside:
        named = planted.measured(beside, kernel=sampling.other, antithetic_pairs=pairs)
        xr.testing.assert_identical(found.sel(component=beside).drop_vars("members"), named)
    parts = [
        each.expand_dims(seed=[seed], step=[9], distribution=np.asarray(["code"], dtype=object))
        for seed, each in enumerate((of_another, found))
    ]
    joined = gather(parts, labels={"code": "Code"})
    assert joined["members"].sel(component="induction").values.ravel().tolist() == ["1:0", ""]
    labels = {"seed": [0, 1], "step": [9], "distribution": ["code"]}
    assert "unfinished" not in whole_grid(joined, labels, {"code": "Code"}).attrs


def test_labels_alone_need_no_heads_and_stay_as_they_are():
    planted = Planted()
    planted.parts = {}
    without = partial(other, thresholds=None)
    xr.testing.assert_identical(
        without(planted, components=["layer:0"], **SECTION)(planted.weights, planted.model, 9),
        planted.measured(["layer:0"], kernel=sampling.other),
    )
