"""All figures of in-context regression: what is drawn is what was measured, and nothing sticks out."""

import numpy as np
import pytest
import xarray as xr
from tests.figures.regression.small import NAMES, SEEDS, STEPS, drawn_by

from rllc.study.figures import FIGURES

# Of which the figure shows nothing but in its caption, or a part; "line in ...": shown, not kept.
BESIDE = {
    "stage_fig1b_lr": ["line in LLC, local, seed 0", "line in LLC, local, seed 1"],  # what the loss would make of it
    "regression_published_curves": ["cumulative_rate", "no hessian_trace_se", "no icl_late_se", "no icl_score_se", "no llc_se"],
    "regression_sampled_loss": ["llc", "llc_prior_only", "llc_local", "llc_local_prior_only", "llc_local_se", "llc_se", "weight_norm"],
    "stage_fig6b": ["norm_weight_small"],
    "stage_figC5": ["embedding_rank", "position_rank"],
    "stage_figC6": [
        f"line in {panel}, seed {seed}" for panel in ("unembedding W_U[0]", "effective weight = W_U[0] γ") for seed in SEEDS
    ],  # the mean over channels
    "stage_figC9": ["attention_variability"],
    "stage_figC10": ["attention_mean"],  # of the chosen
    "stage_figD2": ["line in "],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_nothing_sticks_out_and_what_is_drawn_is_kept(study, made, misplaced, unlike, tmp_path, name):
    drawing, given = made(name)
    given.are(FIGURES[name])
    assert misplaced(drawing) == []
    assert unlike(drawing, study) == sorted(BESIDE.get(name, []))
    assert len(drawing.caption.split()) <= 120 and len(drawing.title.split()) <= 20
    assert len(drawing.findings) <= 8 and np.isfinite([each.value for each in drawing.findings]).all()
    assert drawing.findings or name == "stage_figC2"  # here of endless tasks alone
    drawing.data.to_netcdf(tmp_path / "a.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "a.nc"), drawing.data)


BANDED = [
    name
    for name in NAMES
    if name not in ("stage_figC10", "stage_figC2", "stage_figD2", "regression_published_curves")
]


@pytest.mark.parametrize("name", BANDED)
def test_boundaries_are_those_of_the_llc_at_the_setting(study, name):
    """One saddle, planted between the two falls of the loss; every panel over training has it."""
    one = study["stages"].sel(setting="local", distribution="pairs", seed=0)
    (step,) = one["boundary_step"].values[one["boundary_kind"].values == "saddle"]
    assert 150 < step < 600
    moved = study["stages"].copy(deep=True)
    moved["boundary_step"].loc[{"setting": "sampling"}] = STEPS[3]
    drawing = drawn_by(name)(study | {"stages": moved}, setting="local")
    for ax in drawing.figure.axes:
        if "seed 1" not in (title := ax.get_title("left")) and not title.startswith(("LLC, pub", "steps")):
            upright = {a.get_xdata()[0] for a in ax.get_lines() if len(set(a.get_xdata())) == 1}
            assert step in upright, title
    assert any(each.startswith("Stages") and "setting local" in each for each in drawing.conditions)
    without = drawn_by(name)({key: data for key, data in study.items() if key != "stages"})
    assert not any(each.startswith("Stages") for each in without.conditions)
