import numpy as np
import pytest
import xarray as xr

from rllc.analysis.kcomposition import kcomposition

STEPS = [0, 100, 200, 400, 800, 1600, 3200]
HEADS = ["0:0", "0:1", "0:2", "1:0", "1:1", "1:2", "1:3"]
KINDS = ["multigram", "multigram", "current-token", "multigram", "multigram", "induction", "induction"]


def study(curves, kinds=KINDS, prefix=(0, 0, 0, 0, 0.06, 0.2, 0.3), start=0.001):
    """K-composition by (head, later head); pairs that are not named are constant but for the start's spread."""
    score = np.full((1, len(STEPS), len(HEADS), len(HEADS)), np.nan)
    random = np.random.default_rng(0)
    for a, first in enumerate(HEADS):
        for b, later in enumerate(HEADS):
            if first[0] == "0" and later[0] == "1":
                score[0, :, a, b] = curves.get((first, later), 0.06)
                score[0, 0, a, b] += random.normal(0, start)
    dims = ("seed", "step", "head", "later_head")
    coords = {"seed": [5], "step": STEPS, "head": HEADS, "later_head": HEADS}
    matching = np.zeros((1, len(STEPS), len(HEADS)))
    matching[..., 5] = prefix
    data = xr.Dataset({"k_composition": (dims, score)}, coords)
    return data.assign(
        prefix_matching=(("seed", "step", "head"), matching),
        head_type=(("seed", "head"), np.asarray([kinds], dtype=object)),
    )


UP = np.array([0.06, 0.07, 0.10, 0.16, 0.16, 0.12, 0.08])


def numbers(*of, **more):
    found = kcomposition({"attention_scores": study(*of, **more)})
    assert found["step"].values.tolist() == [3200] and found["seed"].values.tolist() == [5]
    return {name: each.item() for name, each in found.data_vars.items()}


def test_a_curve_turns_around_where_it_leaves_both_ends():
    """Of four pairs of multigram heads one rises and falls, one falls and rises, one only rises."""
    curves = {("0:0", "1:0"): UP, ("0:0", "1:1"): 0.2 - UP, ("0:1", "1:0"): np.linspace(0.06, 0.2, 7)}
    assert numbers(curves)["turnaround"] == 0.5
    assert numbers(curves | {("0:0", "1:2"): UP})["turnaround"] == 0.5  # an induction head is none of them
    assert numbers(curves, start=0.05)["turnaround"] < 0.5  # not by more than what pairs differ by at first


@pytest.mark.parametrize(("deviations", "share"), [(1.9, 0.0), (2.1, 0.25)])
def test_a_turn_is_two_standard_deviations_of_the_start_from_both_ends(deviations, share):
    """One of four pairs; the rest are constant but for the start."""
    start = study({}, start=0.01)["k_composition"].values[0, 0]
    away = deviations * np.nanstd(start)
    bump = np.full(7, 0.06)
    bump[3] = max(start[0, 3], 0.06) + away
    assert numbers({("0:0", "1:0"): bump}, start=0.01)["turnaround"] == share


def test_the_null_is_the_mean_of_pairs_of_random_heads_with_its_error():
    start = study({}, start=0.01)["k_composition"].values[0, 0]
    pairs = start[np.isfinite(start)]
    found = numbers({}, start=0.01)
    assert found["null"] == pytest.approx(pairs.mean())
    assert found["null_se"] == pytest.approx(pairs.std(ddof=1) / np.sqrt(pairs.size))


def test_the_share_that_turns_has_the_error_of_the_spread_of_the_null():
    """One of four pairs turns by 2.1 standard deviations, so with the spread one error larger it does not."""
    start = study({}, start=0.01)["k_composition"].values[0, 0]
    bump = np.full(7, 0.06)
    bump[3] = max(start[0, 3], 0.06) + 2.1 * np.nanstd(start)
    assert numbers({("0:0", "1:0"): bump}, start=0.01)["turnaround_se"] == pytest.approx(0.125)
    bump[3] = 10
    assert numbers({("0:0", "1:0"): bump}, start=0.01)["turnaround_se"] == 0


def test_curves_of_one_head_that_move_together():
    together = {("0:0", "1:0"): UP, ("0:0", "1:1"): 0.3 + 5 * UP, ("0:1", "1:0"): UP, ("0:1", "1:1"): -UP}
    assert numbers(together, start=0)["coupled"] == pytest.approx(0)  # 1 of one head, -1 of the other
    induction = {("0:0", "1:2"): UP, ("0:0", "1:3"): UP, ("0:1", "1:2"): UP, ("0:1", "1:3"): UP}
    assert numbers(together | induction, start=0)["coupled_less_induction"] == pytest.approx(-1)
    alone = ["multigram", "multigram", "current-token", "multigram", *["induction"] * 3]
    assert np.isnan(numbers(together, kinds=alone)["coupled"])


def test_a_spike_is_against_the_early_mean_and_the_end():
    """Early ends at step 800, where prefix matching comes to 0.06."""
    curves = {("0:2", "1:0"): UP, ("0:2", "1:1"): UP}
    peak, early = max(UP[n : n + 3].mean() for n in range(1, 5)), UP[:5].mean()
    assert numbers(curves, start=0)["current_spike"] == pytest.approx(peak / max(early, UP[-1]))
    late = numbers(curves, start=0, prefix=(0, 0.05, 0, 0, 0, 0, 0))["current_spike"]
    assert late == pytest.approx(peak / UP[-1])
    assert np.isnan(numbers(curves, prefix=[0] * 7)["current_spike"])
    assert np.isnan(numbers(curves, kinds=["multigram"] * 7)["current_spike"])
