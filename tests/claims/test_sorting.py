"""Every number of the claims about sorting, by values computed by hand on small runs."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from rllc.analysis.curves import NotJudged
from rllc.claims import sorting
from rllc.claims.claim import claims_of, numbers_of
from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
from rllc.claims.judging.evaluate import evaluate
from rllc.claims.run import Run
from rllc.claims.selection import Absent
from rllc.claims.sorting import accuracy, anti_state, overlap, ranks, symmetry
from rllc.claims.sorting import llc as llc_claims

CONFIG = Path(__file__).parents[2] / "config"
STEPS = [0, 75, 200, 400, 700, 1200, 2000, 4000, 6000, 8000]
LENGTHY = [0, 75, 400, 4000, 30000, 60000, 100000]
# Step 0 is left out. Means over three: 17.3, 46.7, 76.7, 95 (step 1,200), 91.7, 78.3, 63.3.
LLC = [900, 2, 10, 40, 90, 100, 95, 80, 60, 50]
CLAIMS, NUMBERS = claims_of(sorting, "sorting"), numbers_of(sorting)


def llc(*curves, steps=STEPS, distributions=("lists",), error=None):
    """Return an LLC dataset of one seed, a curve per distribution."""
    dims = ("seed", "step", "distribution")
    values = np.asarray(curves, dtype=float).T[None]
    data = xr.Dataset(
        {"llc": (dims, values), "verdict": (dims, np.zeros(values.shape, np.int16))},
        {"seed": [0], "step": steps, "distribution": list(distributions)},
    )
    return data if error is None else data.assign(llc_se=(dims, np.full(values.shape, error)))


def datasets(steps=STEPS, **circuits):
    """Return the datasets of one seed: accuracy n/100 at the n-th checkpoint, and these curves of circuits."""
    accuracy = np.arange(len(steps)).reshape(1, -1, 1) / 100
    metrics = xr.Dataset(
        {"accuracy": (("seed", "step", "distribution"), accuracy)},
        {"seed": [0], "step": steps, "distribution": ["lists"]},
    )
    curves = {
        name: (("seed", "step"), np.asarray(values, dtype=float)[None]) for name, values in circuits.items()
    }
    return {"metrics": metrics, "circuits": xr.Dataset(curves, {"seed": [0], "step": steps})}


def run(data, *, task="sorting", text="lists", length=8000, name="sort"):
    return Run(Experiment(name, task, text=text, steps=length), data, 0)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (accuracy.accuracy_by_200, 0.02),
        (accuracy.final_accuracy, 0.09),
        (llc_claims.llc_peak_step, 1200),
        (llc_claims.llc_peak, 95),
        (llc_claims.llc_fall, 1 - (60 + 50 + 80) / 285),
        (llc_claims.llc_fall_common, 1 - (100 + 95 + 80) / 285),
        (llc_claims.llc_fall_to_minimum, 1 - (60 + 50 + 80) / 285),
        (llc_claims.llc_fall_single, 0.5),
    ],
)
def test_number_of_llc_or_accuracy_is_that_by_hand(function, expected):
    assert float(function(run({"llc": llc(LLC), **datasets()}))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("function", "variable", "curve", "expected"),
    [
        (ranks.rank_fall, "rank_sum", [80, 90, 88, 80, 70, 60, 50, 45, 40, 36], 0.6),
        (ranks.rank_range, "rank_sum", [10, 12, 8, 10, 10, 10, 10, 10, 10, 10], 0.4),
        # Step 0 is left out.
        (overlap.overlap_fall, "head_overlap", [0.9, 0.2, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.3], 0.4),
        (overlap.overlap_common, "head_overlap", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 7),
        (overlap.final_regions, "regions_min3", [8, 7, 6, 5, 5, 5, 5, 5, 5, 4], 4),
        (overlap.final_raw_regions, "regions", [8, 7, 6, 5, 5, 5, 5, 5, 5, 3], 3),
        (overlap.regions_common, "regions_min3", [8, 7, 6, 5, 5, 5, 5, 2, 5, 3], 2),
        # Steps 0 and 75 are left out: of 8 ranks the first two are exchanged, so 1 - 6 * 2 / (8 * 63).
        (symmetry.symmetry_growth, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 8], 1 - 12 / 504),
        (symmetry.symmetry_peak, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 6], 7),
        (symmetry.final_symmetry, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 6], 6),
        (symmetry.symmetry_common, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 8], 6),
    ],
)
def test_number_of_circuits_is_that_by_hand(function, variable, curve, expected):
    data = datasets(**{variable: curve})
    assert float(function(run(data))) == pytest.approx(expected, rel=1e-12)


def test_overlap_lead_is_log2_of_the_steps_of_both_largest_means():
    """The overlap's mean over three is largest at step 400, the LLC's at 1,200."""
    curve = [9, 0, 3, 3, 3, 1, 1, 1, 1, 1]
    data = {"llc": llc(LLC), **datasets(head_overlap=curve)}
    assert float(overlap.overlap_lead(run(data))) == pytest.approx(np.log2(1201 / 401))


def test_anti_state_is_that_of_the_head_with_the_largest_at_the_end():
    data = datasets()
    values = np.zeros((1, len(STEPS), 3))
    values[0, -1], values[0, 3] = [-0.5, 0.7, 0.2], 0.9
    data["circuits"] = data["circuits"].assign_coords(head=["0:0", "0:1", "0:2"])
    data["circuits"]["anti_state"] = ("seed", "step", "head"), values
    assert float(anti_state.final_anti_state(run(data))) == 0.7


@pytest.mark.parametrize("setting", ["calibrated", "coarse", "long", "scaled"])
def test_fall_at_another_setting_reads_that_dataset_alone(setting):
    function = getattr(llc_claims, f"llc_fall_{setting}")
    assert (
        float(function(run({"llc": llc(LLC), f"llc.{setting}": llc([7, 1, 2, 3, 4, 5, 6, 8, 7, 6])}))) == 0.25
    )
    with pytest.raises(Absent, match=setting):
        function(run({"llc": llc(LLC)}))


def test_a_fall_that_is_made_good_shows_to_its_minimum_alone():
    curve = llc([0, 10, 10, 10, 40, 40, 40, 10, 10, 400])
    assert float(llc_claims.llc_fall_to_minimum(run({"llc": curve}))) == 0.0  # the largest mean is the last
    curve = llc([0, 10, 10, 10, 40, 40, 40, 10, 10, 40])
    assert float(llc_claims.llc_fall_to_minimum(run({"llc": curve}))) == 0.5
    assert float(llc_claims.llc_fall(run({"llc": curve}))) == 0.5
    curve = llc([0, 10, 40, 40, 40, 10, 10, 10, 40, 40])
    assert float(llc_claims.llc_fall_to_minimum(run({"llc": curve}))) == 0.75
    assert float(llc_claims.llc_fall(run({"llc": curve}))) == 0.25


@pytest.mark.parametrize(("length", "place"), [(4000, 3), (8000, 3), (59999, 3), (60000, 5), (100000, 5)])
def test_experiments_are_compared_at_the_end_of_the_shortest_training_of_their_study(length, place):
    """A model of the post's lengths is read at step 60,000, a shorter one at 4,000."""
    curve = np.arange(7.0) + 1
    data = datasets(LENGTHY, head_overlap=curve, translational_symmetry=curve, regions_min3=curve)
    for function in (overlap.overlap_common, symmetry.symmetry_common, overlap.regions_common):
        assert float(function(run(data, length=length))) == curve[place]
    falling = np.array([0, 6, 9, 9, 3, 0, 3])
    means = np.convolve(falling[1 : place + 1], np.ones(3) / 3, "valid")
    found = llc_claims.llc_fall_common(run({"llc": llc(falling, steps=LENGTHY)}, length=length))
    assert float(found) == pytest.approx(1 - means[-1] / means.max())


def test_the_llc_is_read_on_perturbed_lists_and_the_accuracy_on_clean_ones():
    flat = np.ones(len(STEPS))
    both = llc(flat, LLC, distributions=("lists", "noisy_lists"))
    data = datasets()
    noisy = data["metrics"].assign_coords(distribution=["noisy_lists"]) * 0.5
    data["metrics"] = xr.concat([data["metrics"], noisy], "distribution")
    model = run({"llc": both, **data}, text="noisy_lists")
    assert float(llc_claims.llc_fall_single(model)) == 0.5
    assert float(accuracy.final_accuracy(model)) == 0.09
    assert (
        float(llc_claims.llc_fall_single(run({"llc": llc(LLC)}, text="noisy_lists"))) == 0.5
    )  # clean ones alone


@pytest.mark.parametrize("task", ["language", "regression"])
def test_other_models_have_no_llc_of_the_post(task):
    with pytest.raises(Absent, match=task):
        llc_claims.llc_fall(run({"llc": llc(LLC)}, task=task))


def test_a_model_without_circuits_has_no_claim_about_them():
    data = {"llc": llc(LLC), **{"metrics": datasets()["metrics"]}}
    with pytest.raises(Absent, match="circuits"):
        ranks.rank_fall(run(data, task="cumulative_sum"))


def test_short_training_has_no_number_of_a_later_step():
    data = datasets(head_overlap=np.ones(10))
    with pytest.raises(NotJudged, match="before 60,000"):
        accuracy.accuracy_at_60k(run(data))
    short = {name: each.isel(step=slice(4)) for name, each in data.items()}
    with pytest.raises(NotJudged, match="before 4,000"):
        overlap.overlap_common(run(short, length=400))
    with pytest.raises(NotJudged, match="3 checkpoints"):
        llc_claims.llc_fall(run({"llc": llc(LLC).isel(step=slice(3))}, length=200))


def test_a_fall_without_the_last_estimate_is_not_judged():
    """The last mean would be of earlier checkpoints; one that is missing in between is left out."""
    with pytest.raises(NotJudged, match="8,000"):
        llc_claims.llc_fall(run({"llc": llc([*LLC[:-1], np.nan])}))
    assert float(llc_claims.llc_fall_common(run({"llc": llc([*LLC[:-1], np.nan])}))) == pytest.approx(
        1 - 275 / 285
    )
    without = llc([*LLC[:5], np.nan, *LLC[6:]])  # means 17.3, 46.7, 75, 88.3, 78.3, 63.3
    assert float(llc_claims.llc_fall(run({"llc": without}))) == pytest.approx(1 - 190 / 265)


def test_the_error_of_a_fall_is_that_of_means_over_three():
    """Of far apart means: fall = 1 - b/a, with errors of 3/sqrt(3) of each."""
    curve = llc([0, 1, 1, 300, 300, 300, 1, 150, 150, 150], error=3.0)
    found = evaluate(llc_claims.llc_fall.statistic, run({"llc": curve}))
    assert found.value == 0.5
    assert found.error == pytest.approx(np.hypot(1, 0.5) * 3 / np.sqrt(3) / 300, rel=0.1)


def test_experiments_are_compared_by_the_engine():
    """One head falls by 1 - 190/285 less (3.5 %) of two heads' fall to step 4,000; two heads judge overlap with it."""
    experiments = {
        name: Experiment(name, "sorting", text="lists", steps=steps)
        for name, steps in (("sort_1head", 4000), ("sort_2head_baseline", 8000))
    }
    one = {"llc": llc([0, 10, 20, 30, 30, 30, 30, 30], steps=STEPS[:8])}
    two = {"llc": llc(LLC, error=0.01), **datasets(head_overlap=np.linspace(1, 0.5, 10))}
    table = judge(CLAIMS, experiments, {"sort_1head": one, "sort_2head_baseline": two}, numbers=NUMBERS)
    found = table.sel(claim="fall_weaker_1head", seed=0)
    assert found["value"].item() == pytest.approx(-(1 - 275 / 285))
    assert found["verdict"].item() == "holds"
    assert table["verdict"].sel(claim="overlap_falls").item() == "holds"
    assert table["final_accuracy"].sel(experiment="sort_2head_baseline", seed=0).item() == 0.09
    assert np.isnan(table["final_accuracy"].sel(experiment="sort_1head", seed=0))


def test_numbers_that_the_summary_draws_are_listed():
    drawn = {"llc_peak_step", "llc_fall", "overlap_fall", "final_regions", "final_accuracy"}
    assert drawn <= {each.name for each in NUMBERS}


def test_every_claim_has_what_a_claim_needs():
    written = {}
    for name in ("config.yaml", "sorting.yaml"):
        written |= yaml.safe_load((CONFIG / name).read_text())["experiments"]
    names = {each.name for each in CLAIMS}
    for each in CLAIMS:
        assert each.source and each.text and each.statistic.label, each.name
        assert each.at_least is not None or each.at_most is not None, each.name
        assert each.experiment in written, each.name
        assert each.versus is None or each.versus in written, each.name
        assert each.given is None or each.given in names, each.name
    assert len(CLAIMS) == len(names) == 40
