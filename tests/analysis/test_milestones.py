"""Steps that were planted are found."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.milestones import milestones

STEPS = np.array([0, 100, 200, 400, 800, 1600, 3200])
HEADS, ASKED = ["0:0", "0:1", "1:0", "1:1"], {"distribution": "mixture", "setting": "published"}


def begins(step, high=0.8, low=0.1):
    return np.where(step <= STEPS, high, low)


def datasets(
    *, bigram=200, three=400, previous=800, prefix=1600, composition=100, boundary=400, matching=1600
):
    """Curves that come to their last value at one step; head 1:1 matches from ``matching`` on a little."""
    random = np.random.default_rng(0)
    scores = 4 + 0.1 * np.abs(np.log2((STEPS + 1) / (bigram + 1)))
    along, where = ("seed", "step", "distribution"), ("seed", "step", "head")
    previous_token, prefix_matching = (random.normal(0.1, 1e-3, (1, len(STEPS), 4)) for _ in range(2))
    previous_token[0, :, 1] = begins(previous)
    previous_token[0, :, 2] = begins(100, 0.9)  # of a later layer, which no head composes with
    prefix_matching[0, :, 3] = np.maximum(begins(prefix), begins(matching, 0.15))
    pairs = np.full((1, len(STEPS), 4, 4), np.nan)
    pairs[0, :, :2, 2:] = random.normal(0.05, 1e-3, (len(STEPS), 2, 2))
    pairs[0, :, 1, 3] = begins(composition, 0.2, 0.05)
    pairs[0, :, 0, 2] = begins(200, 0.9, 0.05)  # of heads that are not meant
    orders = np.stack([np.ones(len(STEPS)), begins(three, 4.0, 1.0), np.ones(len(STEPS))], -1)
    at = {"seed": [0], "step": STEPS}
    dims = ("setting", "distribution", "seed", "boundary")
    return {
        "ngrams": xr.Dataset(
            {"bigram_score": (along, scores[None, :, None]),
             "ngram_score": ((*along, "n"), orders[None, :, None, :])},
            {**at, "distribution": ["mixture"], "n": [2, 3, 4]},
        ),
        "attention_scores": xr.Dataset(
            {"previous_token": (where, previous_token), "prefix_matching": (where, prefix_matching),
             "k_composition": ((*where, "later_head"), pairs)},
            {**at, "head": HEADS, "layer": ("head", [0, 0, 1, 1]), "later_head": HEADS},
        ),
        "stages": xr.Dataset(
            {"boundary_step": (dims, [[[[boundary, 900.0, 1600]]]]),
             "boundary_kind": (dims, np.asarray([[[["start", "peak", "trough"]]]], dtype=object))},
            {"setting": ["published"], "distribution": ["mixture"], "seed": [0]},
        ),
    }  # fmt: skip


def found(made):
    got = milestones(made, **ASKED).squeeze()
    return {name: float(got[name]) for name in got.data_vars}


def test_planted_steps_are_found():
    assert found(datasets()) == pytest.approx(
        {
            "first_boundary": 400, "bigram_minimum": 200, "ngram_half": 400, "previous_token_half": 800,
            "prefix_matching_half": 1600, "composition_onset": 100, "prefix_matching_onset": 1600,
            "bigram_after_boundary": -1, "in_order": 1, "composition_lead": -4,
        }
    )  # fmt: skip
    assert milestones(datasets(), **ASKED)["step"].values.tolist() == [3200]


def test_behaviours_that_come_together_or_the_other_way_are_in_no_order():
    assert found(datasets(three=200))["in_order"] == 0
    assert found(datasets(previous=1600, prefix=800))["in_order"] == 0


def test_a_little_matching_is_an_onset_and_no_half():
    got = found(datasets(matching=400))
    assert (got["prefix_matching_onset"], got["prefix_matching_half"]) == (400, 1600)


@pytest.mark.parametrize(("deviations", "onset"), [(2.9, 1600), (3.1, 400)])
def test_an_onset_is_three_standard_deviations_above_the_start(deviations, onset):
    made = datasets()
    matching = made["attention_scores"]["prefix_matching"]
    start = matching.isel(step=0)
    matching[0, 3:5, 3] = start.mean() + deviations * start.std()
    assert found(made)["prefix_matching_onset"] == onset


def test_what_is_missing_is_nan():
    made = datasets()
    bare = made["stages"].assign(boundary_step=made["stages"]["boundary_step"] * np.nan)
    assert np.isnan(found({**made, "stages": bare})["bigram_after_boundary"])
    alone = made["attention_scores"].assign(
        k_composition=made["attention_scores"]["k_composition"] * np.nan
    )  # one layer
    assert np.isnan(found({**made, "attention_scores": alone})["composition_lead"])
    assert np.isnan(found(datasets(bigram=0))["bigram_after_boundary"])
