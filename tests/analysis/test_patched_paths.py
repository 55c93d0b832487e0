"""Numbers of path patching on planted curves."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.patched_paths import patched_paths

ROOT = Path(__file__).parents[2]

STEPS = [0, 10, 20, 30]
UNNESTED, NESTED = [0.0, 0.8, 0.6, 0.2], [0.0, 0.1, 0.3, 0.4]


def datasets(onset=12, seeds=(0,)):
    ablated = np.asarray([[0.0, 1.0, 1.2, 2.0], [0.0, 0.5, 1.0, 1.6]])
    rise = np.stack([ablated, [UNNESTED, NESTED]])  # condition, brackets, step
    coords = {
        "seed": list(seeds), "step": STEPS, "condition": ["ablated", "patched"], "closers": ["all"],
        "brackets": ["unnested", "nested"],
    }  # fmt: skip
    dims = ("seed", "condition", "brackets", "step", "closers")
    table = np.stack([rise * (seed + 1) for seed in seeds])[..., None]
    brackets = xr.Dataset({"rise": (dims, table), "rise_se": (dims, np.full_like(table, 0.01))}, coords)
    fine = np.arange(0, 31, 2)
    score = np.where(fine >= onset, 0.06, 0.04)
    scores = np.stack([np.zeros_like(score), score], -1)[None].repeat(len(seeds), 0)
    heads = xr.Dataset(
        {"prefix_matching": (("seed", "step", "head"), scores)},
        {"seed": list(seeds), "step": fine, "head": ["1:0", "1:1"]},
    )
    return {"path_patching": brackets, "attention_scores": heads}


def test_planted_numbers_are_found():
    got = patched_paths(datasets()).sel(seed=0)
    np.testing.assert_allclose(got["ablated_least"], [0, 0.5, 1.0, 1.6])
    np.testing.assert_allclose(got["path"].sel(brackets="nested"), NESTED)
    np.testing.assert_allclose(got["path_share"].sel(brackets="unnested"), [np.nan, 0.8, 0.5, 0.1])
    np.testing.assert_allclose(got["path_share"].sel(brackets="nested"), [np.nan, 0.2, 0.3, 0.25])
    np.testing.assert_allclose(got["path_transient"].sel(brackets="unnested"), [np.nan, 1, 0.8 / 0.6, 4])
    np.testing.assert_allclose(got["path_onset"], [np.nan, np.nan, 1, 0.75])
    error = 0.01 / 2 * np.hypot(1, 0.1)
    assert float(got["path_share_se"].sel(brackets="unnested", step=30)) == pytest.approx(error)
    assert float(got["ablated_least_se"].sel(step=30)) == pytest.approx(0.01)


@pytest.mark.parametrize(("onset", "expected"), [(0, [np.nan, 0, 0, 0]), (10, [np.nan, 1, 1 / 3, 0.25])])
def test_the_onset_is_that_of_the_first_induction_head(onset, expected):
    np.testing.assert_allclose(patched_paths(datasets(onset))["path_onset"].sel(seed=0), expected, atol=1e-12)


def test_without_induction_there_is_no_onset_and_seeds_are_apart():
    assert np.isnan(patched_paths(datasets(onset=99))["path_onset"]).all()
    got = patched_paths(datasets(seeds=(0, 1)))
    np.testing.assert_allclose(got["path"].sel(seed=1), 2 * got["path"].sel(seed=0))
    np.testing.assert_allclose(got["path_share"].sel(seed=1), got["path_share"].sel(seed=0))
