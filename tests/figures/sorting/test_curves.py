"""Curves of sorting over training."""

import numpy as np
import pytest
import xarray as xr
from tests.figures.sorting.small import found, line, means, panel, said

from rllc.figures.sorting.curves import sort_curves
from rllc.figures.sorting.specialization import sort_specialization
from rllc.figures.style import DISTRUST
from rllc.quality import FAULTS, MASKS


def test_every_panel_draws_its_data_and_nothing_is_clipped(two, misplaced, unlike, tmp_path):
    drawing = sort_curves(two, title="Two heads")
    assert misplaced(drawing) == []
    assert unlike(drawing, two) == [
        "line in LLC under other settings, seed 0", "line in LLC under other settings, seed 1",
        "llc_long", "llc_long_se", "llc_scaled", "llc_scaled_se", "weight_norm",
    ]  # fmt: skip  # each over its largest
    for seed in (0, 1):
        one = {name: data.sel(seed=seed) for name, data in two.items()}
        lists = {name: data.sel(distribution="lists") for name, data in one.items() if "distribution" in data}
        for title, values in (
            ("accuracy", lists["metrics"]["accuracy"]),
            ("accuracy", lists["metrics"]["sequence_accuracy"]),
            ("held-out loss", lists["metrics"]["loss"]),
            ("LLC of the whole model", lists["llc"]["llc"]),
            ("refined LLC of each head", lists["rllc"]["rllc"].sel(head="0:1")),
            (
                "LLC under other settings",
                lists["llc.scaled"]["llc"] / lists["llc.scaled"]["llc"].max(),
            ),
            ("rank, summed over circuits", one["circuits"]["rank_sum"]),
            ("rank, summed over circuits", one["circuits"]["effective_rank_sum"]),
            ("translational symmetry", one["circuits"]["translational_symmetry"]),
            ("overlap of heads", one["circuits"]["head_overlap"]),
            ("overlap of heads", one["circuits"]["overlap"].sel(pair="0:0+0:1", circuit="ov")),
            ("vocabulary regions", one["circuits"]["regions"]),
            ("vocabulary regions", one["circuits"]["regions_min3"]),
            ("anti-state score", one["circuits"]["anti_state"].sel(head="0:0")),
        ):
            line(panel(drawing, f"{title}, seed {seed}"), values)
    drawing.data.to_netcdf(tmp_path / "a.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "a.nc"), drawing.data)
    np.testing.assert_array_equal(
        drawing.data["llc_scaled"].sel(seed=1), two["llc.scaled"]["llc"].sel(seed=1, distribution="lists")
    )
    np.testing.assert_array_equal(
        drawing.data["rllc_quality"], two["rllc"]["quality"].sel(distribution="lists")
    )


def test_peak_of_the_llc_is_marked_in_every_panel(two):
    drawing = sort_curves(two)
    for seed in (0, 1):
        mean, _ = means(two["llc"], seed)
        step = int(mean["step"][int(mean.argmax("step"))])
        axes = [ax for ax in drawing.figure.axes if ax.get_title("left").endswith(f"seed {seed}")]
        assert len(axes) == 10
        assert all([step, step] in [list(a.get_xdata()) for a in ax.get_lines()] for ax in axes)


def test_curves_of_one_seed_find_peak_fall_and_accuracy(two):
    drawing = sort_curves(two, seeds=[1], title="Two heads")
    mean, error = means(two["llc"], 1)
    best = int(mean.argmax("step"))
    top, end = float(mean[best]), float(mean[-1])
    findings = found(drawing)
    assert findings["step of the largest LLC"].value == float(mean["step"][best])
    fall = findings["fall of the LLC from peak to end"]
    assert (fall.value, fall.unit) == (pytest.approx(100 * (1 - end / top)), "%")
    parts = float(error[-1]) / top, end / top**2 * float(error[best])
    assert fall.error == pytest.approx(100 * np.hypot(*parts))
    metrics = two["metrics"].sel(seed=1, distribution="lists")
    first = metrics["step"].values[metrics["accuracy"].values >= 0.99][0]
    assert findings["first step with token accuracy 0.99"].value == first
    overlap = two["circuits"]["head_overlap"].sel(seed=1)
    assert findings["overlap of heads at step 8,000"].value == float(overlap[-1])
    assert findings["overlap of heads at the largest LLC"].value == float(
        overlap.sel(step=mean["step"][best])
    )
    assert len(drawing.findings) == 5
    assert drawing.title.startswith("Two heads: ")


def test_an_llc_that_is_largest_at_the_end_has_no_peak(two):
    rising = two["llc"].assign(llc=two["llc"]["llc"] * 0 + two["llc"]["step"])
    drawing = sort_curves({**two, "llc": rising}, seeds=[1])
    assert not any("largest LLC" in each.label for each in drawing.findings)
    assert "The last mean is the largest: no fall is seen." in drawing.conditions
    assert not any(len(set(line.get_xdata())) == 1 for ax in drawing.figure.axes for line in ax.get_lines())


def test_curves_of_two_seeds_find_mean_and_spread(two):
    drawing = sort_curves(two)
    falls = []
    for seed in (0, 1):
        mean, _ = means(two["llc"], seed)
        falls.append(100 * (1 - float(mean[-1]) / float(mean.max())))
    (fall,) = [each for each in drawing.findings if "fall" in each.label]
    assert "2 seeds" in fall.label
    assert (fall.value, fall.error) == (pytest.approx(np.mean(falls)), pytest.approx(np.std(falls, ddof=1)))
    assert len(drawing.findings) == 3 and len(drawing.caption.split()) <= 120


def test_an_accuracy_that_is_not_reached_has_its_largest_value_instead(two):
    findings = found(sort_curves(two, seeds=[0], accurate=0.9999))
    assert not any("first step" in label for label in findings)
    assert findings["largest token accuracy, never 0.9999"].value == pytest.approx(
        100 * float(two["metrics"]["accuracy"].sel(seed=0).max())
    )


def test_one_head_finds_the_rank_of_its_circuits(sorting):
    given = sorting.study(seeds=(3,), n_heads=1, vocabulary=12)
    findings = found(sort_curves(given))
    assert findings["rank sum of circuits at step 8,000"].value == float(given["circuits"]["rank_sum"][0, -1])
    assert not any("overlap" in label for label in findings)


def test_two_heads_have_one_line_of_their_anti_state(two):
    ax = panel(sort_curves(two), "anti-state score, seed 1")
    assert len([a for a in ax.get_lines() if len(a.get_xdata()) > 2]) == 1
    assert not ax.get_legend() or "either head" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_curves_are_of_the_distribution_asked_for(two):
    others = {
        name: xr.concat([2 * data.assign_coords(distribution=["other"]), data], "distribution")
        for name, data in (
            (name, two[name][[*variables]])
            for name, variables in {"metrics": ("accuracy", "loss"), "llc": ("llc", "llc_se")}.items()
        )
    }
    drawing = sort_curves(two | others, distribution="lists")
    for title, values in (
        ("held-out loss", two["metrics"]["loss"]),
        ("LLC of the whole model", two["llc"]["llc"]),
    ):
        line(panel(drawing, f"{title}, seed 1"), values.sel(seed=1, distribution="lists"))
    assert (
        sort_specialization(two | others, distribution="lists").findings == sort_specialization(two).findings
    )


def test_an_llc_on_other_lists_than_the_accuracy_is_said(two):
    assert "is measured on" not in said(sort_curves(two))
    noisy = two["llc"].assign_coords(
        distribution=["noisy_lists"], distribution_label=("distribution", ["perturbed lists"])
    )
    assert "The LLC is measured on perturbed lists." in said(sort_curves(two | {"llc": noisy}))


def test_an_llc_that_is_largest_at_its_end_has_no_fall(sorting):
    given = sorting.study(seeds=(0,))
    rising = given["llc"].assign(llc=given["llc"]["llc"] * 0 + np.arange(15)[None, :, None])
    drawing = sort_curves(given | {"llc": rising})
    assert not any("fall" in label for label in found(drawing))
    assert "no fall is seen" in said(drawing) and "no fall is seen" not in said(sort_curves(given))
    beside = sorting.study(seeds=(0, 1))
    late = beside["llc"].copy(deep=True)
    late["llc"].loc[{"seed": 1}] = np.arange(15)[:, None]
    drawing = sort_curves(beside | {"llc": late})
    assert any(label.startswith("fall") and label.endswith("(seed 0)") for label in found(drawing))
    assert "of seed 1 is the largest" in said(drawing)


def test_an_llc_without_a_peak_gives_no_finding(sorting):
    given = sorting.study(seeds=(0,))
    drawing = sort_curves(given | {"llc": given["llc"].assign(llc=given["llc"]["llc"] * np.nan)})
    assert not any("LLC" in label for label in found(drawing))
    assert "Largest LLC" not in said(drawing) and "nan" not in drawing.caption


def test_chains_that_are_not_in_equilibrium_are_said_of_most_estimates_only(two):
    assert "equilibrium" not in said(sort_curves(two))
    walking = two["llc"].copy(deep=True)
    walking["quality"][:] = MASKS["variance_not_equilibrated"]
    assert "equilibrium" in said(sort_curves(two | {"llc": walking}))


def test_faults_have_rings_and_gaps_are_counted(two):
    drawing = sort_curves(two)
    ringed = [
        (ax.get_title("left"), a.get_xdata().tolist())
        for ax in drawing.figure.axes
        for a in ax.get_lines()
        if a.get_markeredgecolor() == DISTRUST["markeredgecolor"]
    ]
    assert ("LLC of the whole model, seed 0", [30]) in ringed
    assert len(ringed) == 3  # the LLC and both heads; never a control
    assert int(((two["llc"]["quality"].values & FAULTS) > 0).sum()) == 2
    assert "3 of 87 estimates" in said(drawing)  # 29 of the LLC and 58 of heads have a value
    assert "3 of 90 estimates are missing" in said(drawing)


def test_the_llc_of_random_weights_does_not_set_the_scale(two):
    """It lies far below all others; a triangle at the edge stands for it."""
    llc = two["llc"].copy(deep=True)
    assert int(llc["step"][0]) == 0
    llc["llc"][{"step": 0}] = -1e5
    drawing = sort_curves({**two, "llc": llc})
    ax = panel(drawing, "LLC of the whole model, seed 0")
    rest = llc["llc"].sel(step=slice(50, None))
    assert -1e4 < ax.get_ylim()[0] < float(rest.min())
    assert ax.get_ylim()[1] > float(rest.max())
    triangles = [mark for mark in ax.lines if mark.get_marker() == "v" and len(mark.get_xdata())]
    assert [mark.get_xdata()[0] for mark in triangles] == [0]
    listed = panel(drawing, "LLC of the whole model, seed 1").get_legend().get_texts()
    assert "below the panel" in [text.get_text() for text in listed]
    calm = two["llc"].assign(llc=two["llc"]["llc"].clip(min=float(rest.min())))
    plain = (
        panel(sort_curves({**two, "llc": calm}), "LLC of the whole model, seed 1").get_legend().get_texts()
    )
    assert not any("the panel" in text.get_text() for text in plain)


def test_estimates_at_some_checkpoints_are_not_missing_at_the_others(two):
    sparse = two | {"llc": two["llc"].isel(step=slice(2, None, 3))}
    ax = panel(sort_curves(sparse), "LLC of the whole model, seed 1")
    assert not [a for a in ax.get_lines() if a.get_marker() == "x"]
    line(ax, sparse["llc"]["llc"].sel(seed=1, distribution="lists"))


@pytest.mark.parametrize(("heads", "rows"), [(1, 7), (2, 10), (4, 10)])
def test_one_head_has_no_overlap_and_four_fit(heads, rows, sorting, misplaced):
    drawing = sort_curves(sorting.study(seeds=(3,), n_heads=heads, vocabulary=12))
    assert len(drawing.figure.axes) == rows
    if heads == 4:
        assert misplaced(drawing) == []
        for head in ("0:0", "0:3"):
            line(panel(drawing, "anti-state score"), drawing.data["anti_state"].sel(seed=3, head=head))


@pytest.mark.parametrize(
    ("kept", "rows", "findings"),
    [(["metrics"], 2, 1), (["metrics", "llc"], 3, 3), (["metrics", "circuits"], 7, 2)],
)
def test_optional_datasets_may_be_missing(kept, rows, findings, two):
    drawing = sort_curves({name: two[name] for name in kept}, seeds=[1])
    assert len(drawing.figure.axes) == rows
    assert len(drawing.findings) == findings
    assert ("Setting" in said(drawing)) == ("llc" in kept)
    with pytest.raises(ValueError, match=r"metrics\.nc"):
        sort_curves({"llc": two["llc"]})


def test_counts_begin_at_zero_and_no_seed_is_clipped(two):
    circuits = two["circuits"].copy(deep=True)
    circuits["regions"].loc[{"seed": 1}] *= 3
    drawing = sort_curves(two | {"circuits": circuits})
    for seed in (0, 1):
        low, high = panel(drawing, f"vocabulary regions, seed {seed}").get_ylim()
        assert -0.1 * high < low <= 0
        assert high >= float(circuits["regions"].max())


def test_a_logarithmic_axis_of_less_than_two_decades_has_labels(sorting):
    given = sorting.study(seeds=(0,))
    loss = given["metrics"]["loss"]
    for most in (2.2, 30):
        scaled = 1.9 * (most / 1.9) ** ((loss - loss.min()) / (loss.max() - loss.min()))
        ax = panel(sort_curves(given | {"metrics": given["metrics"].assign(loss=scaled)}), "held-out loss")
        low, high = ax.get_ylim()
        assert ax.get_yscale() == "log"
        assert len([tick for tick in ax.get_yticks() if low <= tick <= high]) >= 2
