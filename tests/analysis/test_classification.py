"""Heads by their tokens in context: every number on heads made by hand, correlations against SciPy."""

import json
from functools import cache

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from rllc.analysis.classification import NUMBERS, classification
from rllc.analysis.tokens import bracket_head
from rllc.figures.heads.memorisation import rllc_fig11_memorisation
from rllc.study.analyses.classification import ANALYSIS

PATTERNS = ["induction", "dyck", "skip_ngram", "ngram", "recurrent_pair", "unexplained"]
#        type             share by pattern                        multigrams  rLLC  on code
HEADS = {
    "0:0": ("previous-token", [0.6, 0.0, 0.0, 0.3, 0.0, 0.1], 50, 2.0, 2.0),
    "0:1": ("multigram", [0.1, 0.1, 0.0, 0.7, 0.1, 0.0], 90, 4.0, 3.0),
    "0:2": ("multigram", [0.0, 0.5, 0.1, 0.1, 0.0, 0.3], 60, 3.2, 1.0),
    "1:0": ("induction", [0.8, 0.0, 0.0, 0.1, 0.1, 0.0], 10, 2.5, 4.0),
    "1:1": ("induction", [0.7, 0.1, 0.0, 0.1, 0.1, 0.0], 5, 2.0, 3.0),
    "1:2": ("multigram", [0.0, 0.8, 0.1, 0.0, 0.0, 0.1], 40, 1.0, 1.0),
    "1:3": ("multigram", [0.0, 0.1, 0.4, 0.2, 0.2, 0.1], 70, 3.0, 2.0),
    "1:4": ("multigram", [0.0, 0.1, 0.2, 0.5, 0.1, 0.1], 80, 3.5, 2.0),
}
NAMES = list(HEADS)


def made(seeds=1, error=0.0, spread=0.0, steps=(10, 20)):
    """The datasets; at the first step previous-token heads have all their induction as n-grams."""
    kinds, share, count, level, code = (list(column) for column in zip(*HEADS.values(), strict=True))
    shares = np.asarray(share)
    first = shares.copy()
    first[0, [0, 3]] = [0.0, 0.9]
    first[2, [1, 5]] = [0.2, 0.6]
    dims = ("seed", "step", "head")
    shape = (seeds, len(steps), len(NAMES))
    full = np.broadcast_to(np.stack([first, shares]), (*shape, 6))
    halves = np.asarray(count)[:, None] / 2 + spread * np.random.default_rng(0).normal(size=(len(NAMES), 20))
    coords = {
        "seed": list(range(seeds)), "step": list(steps), "head": NAMES, "pattern": PATTERNS,
        "layer": ("head", [int(name[0]) for name in NAMES]),
    }  # fmt: skip
    letterless = np.where(np.asarray(NAMES) == "1:0", 0.5, 0.2)[None, None, :, None]
    unique = np.broadcast_to(np.asarray([9.0, 4.0, 3.0, 2.0, 1.0, np.nan]), (*shape, 6)).copy()
    unique[..., NAMES.index("1:3"), 3], unique[..., NAMES.index("1:4"), 3] = 5, 8
    unique[..., NAMES.index("0:1"), 3] = 9
    opener = np.where(np.asarray(NAMES) == "1:2", 0.75, 0.25)[None, None, :, None]
    widest = np.where(np.asarray(NAMES) == "0:2", 0.3, 0.8)
    tokens = xr.Dataset(
        {
            "share": ((*dims, "pattern"), full),
            "tokens": (dims, np.full(shape, 1000.0)),
            "share_chance": ((*dims, "pattern"), np.full((*shape, 6), 0.1)),
            "unique": ((*dims, "pattern"), unique),
            "letterless": ((*dims, "pattern"), np.broadcast_to(letterless, (*shape, 6))),
            "at_matched": ((*dims, "pattern"), np.broadcast_to(opener, (*shape, 6))),
            "attention_max": ((*dims, "rank"), np.broadcast_to(widest[:, None], (*shape, 4))),
            "multigrams": (dims, np.broadcast_to(np.asarray(count, float), shape)),
            "multigrams_chance": (dims, np.full(shape, 20.0)),
            "multigrams_half": ((*dims, "half"), np.broadcast_to(halves, (*shape, 20))),
        },
        coords,
    )
    values = np.broadcast_to(np.stack([level, code], -1), (*shape, 2))
    where = {**coords, "distribution": ["mixture", "code"]}
    where.pop("pattern")
    rllc = xr.Dataset(
        {
            "rllc": ((*dims, "distribution"), values),
            "rllc_se": ((*dims, "distribution"), np.full((*shape, 2), error)),
            "rllc_prior_only": ((*dims, "distribution"), values),
            "rllc_prior_only_se": ((*dims, "distribution"), np.full((*shape, 2), error)),
        },
        where,
    )
    types = np.broadcast_to(np.asarray(kinds, dtype=object), (seeds, len(NAMES)))
    heads = xr.Dataset({"head_type": (("seed", "head"), types)}, {"seed": list(range(seeds)), "head": NAMES})
    return {"tokens": tokens, "rllc": rllc, "attention_scores": heads}


def classified(datasets):
    return classification(datasets, random_seed=0, distribution="mixture", code_distribution="code")


@cache
def result(**errors):
    return classified(made(**errors))


EXPECTED = {
    "types_by_tokens": 1.0,
    "dyck_share": 0.8,
    "dyck_heads": np.nan,  # layers are narrower than the paper's
    "dyck_heads_layer0": np.nan,
    "dyck_attends_opener": 0.75,
    "dyck_diffuse": 0.3 - 0.8,
    "dyck_share_gained": 0.3,
    "skip_share": 0.4,
    # n-grams: Dyck 2 and 2, skip 5, n-gram 9 and 8: every pair in order
    "ngram_order": 1.0,
    "ngram_share_lost": 0.6,
    "least_explained": 0.7,
    "enrichment": 4.0,  # of 1:3, .4 / .1
    "code_head_letterless": 0.5 - 0.2,
    "induction_less_ngram": 2.25 - 3.25,
    "dyck_less_others": 1.0 - 3.25,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_of_heads_made_by_hand(name):
    found = result()[name]
    assert found.isel(seed=0, step=-1).item() == pytest.approx(EXPECTED[name], nan_ok=True)


def test_classes_are_those_of_the_step():
    found = result()["token_class"].isel(seed=0)
    assert found.sel(head="0:2").values.tolist() == ["multigram (Dyck)", "multigram (Dyck)"]
    assert found.sel(head="1:3", step=20).item() == "multigram (skip n-gram)"


def test_numbers_that_heads_may_lack_say_what_they_need():
    """A statistic of them has it for a reason (attribute ``needs``)."""
    found = result()
    lacking = [name for name in NUMBERS if found[name].isel(seed=0, step=-1).isnull()]
    assert lacking == ["dyck_heads", "dyck_heads_layer0"]
    assert [found[name].attrs["needs"] for name in lacking] == ["8 heads in layer 0"] * 2


def test_bracket_heads_are_counted_in_wide_layers():
    wide = made()["tokens"].isel(seed=0, step=-1).assign_coords(layer=("head", [0] * 8))
    wide = wide.assign(token_class=("head", ["multigram (Dyck)"] * 3 + ["induction"] * 5))
    assert NUMBERS["dyck_heads_layer0"](wide) == 3


def test_the_bracket_head_is_the_one_that_path_patching_is_into():
    """Whatever its type: here an induction head, at 2.5, beside multigram heads at 1, 3 and 3.5."""
    datasets = made()
    share = datasets["tokens"]["share"].copy()
    at = {"seed": 0, "step": 20}
    assert bracket_head(share.sel(at)) == "1:2"
    assert bracket_head(0 * share.sel(at)) is None
    share.loc[at | {"head": "0:2", "pattern": "dyck"}] = 1.0
    share.loc[at | {"head": "1:0", "pattern": "dyck"}] = 0.9
    assert bracket_head(share.sel(at)) == "1:0"
    found = classified({**datasets, "tokens": datasets["tokens"].assign(share=share)})
    assert found["dyck_less_others"].sel(at).item() == pytest.approx(2.5 - (1 + 3 + 3.5) / 3)


def test_correlations_are_those_of_scipy():
    found = result().isel(seed=0, step=-1)
    both = found.sel(scope="both layers")
    x, y = ([HEADS[n][i] for n in NAMES if HEADS[n][0] == "multigram"] for i in (2, 3))
    expected = stats.permutation_test(
        (x,), lambda a: stats.spearmanr(a, y).statistic, permutation_type="pairings", alternative="greater"
    )
    assert both["multigram_spearman"].item() == pytest.approx(expected.statistic)
    assert both["multigram_spearman_p"].item() == pytest.approx(expected.pvalue)
    assert both["multigram_spearman_heads"] == 5
    assert found["multigram_spearman_p"].sel(scope="layer 1").isnull()  # three heads
    assert found["multigram_correlation"].isnull()
    assert found["multigram_correlation_both"].item() == pytest.approx(expected.statistic)


def test_an_interval_holds_the_errors_of_both():
    exact = result().sel(scope="both layers").isel(seed=0, step=-1)
    assert exact["multigram_spearman_low"] == exact["multigram_spearman"] == exact["multigram_spearman_high"]
    for errors in ({"error": 1.0}, {"spread": 10.0}):
        wide = result(**errors).sel(scope="both layers").isel(seed=0, step=-1)
        assert wide["multigram_spearman_low"] < exact["multigram_spearman"]


def test_an_interval_is_drawn_with_the_deviations_that_halves_have_not_their_opposites():
    """Head 1:2, which counts fewest by 20, counts 25 less in 99 of 100 halves."""
    datasets = made()
    deviation = np.zeros((len(NAMES), 100))
    deviation[NAMES.index("1:2")] = [99 * 25, *[-25] * 99]
    tokens = datasets["tokens"].drop_vars("multigrams_half")
    shape = (1, 2, *deviation.shape)
    halves = {"multigrams_half": (("seed", "step", "head", "half"), np.broadcast_to(deviation, shape))}
    found = classified({**datasets, "tokens": tokens.assign(halves)})
    both = found.sel(scope="both layers").isel(seed=0, step=-1)
    assert both["multigram_spearman_low"] == both["multigram_spearman"] == both["multigram_spearman_high"]


def test_seeds_are_pooled_by_ranks_within_each():
    two = made(seeds=2)
    far = two["rllc"]["rllc"].copy()
    far[1] = 100 * far[1]  # another level, and the same order
    found = classified({**two, "rllc": two["rllc"].assign(rllc=far)}).isel(step=-1)
    # layer 1: multigrams 40, 70, 80 and rLLC 1, 3, 3.5 in both seeds
    assert found["multigram_correlation"].values == pytest.approx([1.0, 1.0])
    assert 0 < found["multigram_correlation_p"].isel(seed=0) < 0.06  # 1 of 36 orders


def test_numbers_of_the_control_are_those_of_its_refined_llcs():
    datasets = made(seeds=2)
    reverse = datasets["rllc"].assign(rllc=-datasets["rllc"]["rllc"])
    off = {"rllc_prior_only": reverse["rllc"], "rllc_prior_only_se": reverse["rllc_se"]}
    found = classified({**datasets, "rllc": datasets["rllc"].assign(off)}).isel(step=-1)
    expected = classified({**datasets, "rllc": reverse}).isel(step=-1)
    names = (
        "induction_less_ngram",
        "dyck_less_others",
        "multigram_correlation",
        "multigram_correlation_both",
    )
    for name in names:
        np.testing.assert_allclose(found[f"{name}_prior_only"], expected[name])
        assert not np.allclose(found[name], expected[name])
    one = made()
    without = one["rllc"].drop_vars(off)
    assert "induction_less_ngram_prior_only" not in classified({**one, "rllc": without})


def test_a_step_or_a_distribution_without_estimates_is_refused():
    datasets = made()
    short = {**datasets, "rllc": datasets["rllc"].isel(step=[1])}
    with pytest.raises(ValueError, match=r"rllc\.nc has no step 10, which tokens\.nc has"):
        classified(short)
    with pytest.raises(ValueError, match=r"rllc\.nc has no distribution poems"):
        classification(datasets, random_seed=0, distribution="poems", code_distribution=None)


def test_the_row_declares_what_is_made():
    assert set(ANALYSIS.variables) == set(result().data_vars)


def test_the_figure_draws_every_multigram_head():
    datasets, numbers = made(error=0.1, spread=2.0), result(error=0.1, spread=2.0)
    attrs = {"classification": json.dumps({"distribution": "mixture", "code_distribution": "code"})}
    drawing = rllc_fig11_memorisation({**datasets, "classification": numbers.assign_attrs(attrs)})
    titles = {ax.get_title(loc="left"): ax for ax in drawing.figure.axes}
    both = titles["both layers, step 20"]
    named = {text.get_text() for text in both.texts}
    assert {"0:1", "0:2", "1:2", "1:3", "1:4"} <= named and "1:0" not in named
    found = numbers.isel(seed=0, step=-1).sel(scope="both layers")
    rank, p = (found[f"multigram_spearman{part}"].item() for part in ("", "_p"))
    assert [finding.value for finding in drawing.findings[:2]] == [rank, p]
    assert "both layers" in drawing.findings[0].label
    assert titles["layer 1, step 10"].texts[0].get_text().startswith("ρ = 1.00")
    assert all(ax.texts[0].get_transform() == ax.transAxes for ax in titles.values())
    line = next(line for line in both.lines if line.get_linestyle() == "--")
    legend = next(ax.get_legend() for ax in drawing.figure.axes if ax.get_legend())
    assert "least squares" in [text.get_text() for text in legend.get_texts()]
    assert any("least squares" in condition for condition in drawing.conditions)
    cell = drawing.data.isel(seed=0, step=-1)
    cell = cell.isel(head=np.flatnonzero(cell["head_type"] == "multigram"))
    points, ticks = ([a for a in both.lines if a.get_marker() == marker] for marker in "o|")
    np.testing.assert_array_equal(points[0].get_xydata().T, [cell["multigrams"], cell["rllc"]])
    np.testing.assert_array_equal(ticks[0].get_xdata(), cell["multigrams_chance"])
    assert set(ticks[0].get_ydata()) == {0.03}  # of the height
    bars = [part.get_segments() for each in both.containers for part in each.lines[2]]
    spread = cell["multigrams_half"].std("half").values
    for middle, half, segments, axis in (
        (cell["multigrams"].values, spread, bars[0], 0), (cell["rllc"].values, cell["rllc_se"].values, bars[1], 1)
    ):  # fmt: skip
        ends = np.stack([middle - half, middle + half], axis=1)
        np.testing.assert_allclose([segment[:, axis] for segment in segments], ends)
    fitted = stats.linregress(cell["multigrams"], cell["rllc"])
    np.testing.assert_allclose(line.get_ydata(), fitted.intercept + fitted.slope * line.get_xdata())


def test_the_figure_of_several_seeds_names_no_heads_and_fits_no_line():
    datasets = made(seeds=2, error=0.1, spread=2.0)
    attrs = {"classification": json.dumps({"distribution": "mixture", "code_distribution": "code"})}
    drawing = rllc_fig11_memorisation(
        {**datasets, "classification": classified(datasets).assign_attrs(attrs)}
    )
    assert all(len(ax.texts) == 1 for ax in drawing.figure.axes)
    assert not any("least squares" in condition for condition in drawing.conditions)
    found = classified(datasets).isel(step=-1).sel(scope="both layers")
    rho, clear, *_ = drawing.findings
    assert rho.value == pytest.approx(float(found["multigram_spearman"].mean()))
    assert clear.value == int((found["multigram_spearman_p"] <= 0.05).sum())
