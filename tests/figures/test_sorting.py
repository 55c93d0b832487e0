from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection

from rllc.claims import Experiment, Run
from rllc.claims.sorting import llc as claims_of_llc
from rllc.figures.sorting.curves import sort_curves
from rllc.figures.sorting.inputs import llc_peak
from rllc.figures.sorting.specialization import sort_specialization
from rllc.figures.sorting.summary import sort_summary
from rllc.figures.style import DISTRUST
from rllc.quality import FAULTS, MASKS

ROOT = Path(__file__).parents[2]


def found(drawing):
    """The findings of a drawing by their labels."""
    return {finding.label: finding for finding in drawing.findings}


def said(drawing):
    """The conditions of a drawing as one text."""
    return " ".join(drawing.conditions)


@pytest.fixture(scope="module")
def two(sorting):
    return sorting.study()


def panel(drawing, title):
    return next(ax for ax in drawing.figure.axes if ax.get_title("left") == title)


def line(ax, values):
    """The line of ``ax`` that draws ``values``; fails where there is none."""
    found = [a for a in ax.get_lines() if np.array_equal(a.get_ydata(), values.values, equal_nan=True)]
    assert found, f"{ax.get_title('left')} does not draw {values.name}"
    np.testing.assert_array_equal(found[0].get_xdata(), values["step"])
    return found[0]


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


def means(llc, seed):
    """Running means of three checkpoints from step 50 on, and their standard errors."""
    late = llc.sel(seed=seed, distribution="lists").dropna("step", subset=["llc"]).sel(step=slice(50, None))
    mean = late["llc"].rolling(step=3, center=True).mean().dropna("step")
    return mean, np.sqrt((late["llc_se"] ** 2).rolling(step=3, center=True).sum()).dropna("step") / 3


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


def test_the_largest_llc_is_one_and_the_same_in_figures_and_in_the_claims_table(two):
    """By the functions of claims, early values far above all others and missing ones included."""
    high = two["llc"].copy(deep=True)
    high["llc"].loc[{"step": slice(None, 30)}] = 900.0

    def number(name, seed):
        run = Run(Experiment("sort_2head_baseline", "sorting"), {"llc": high}, seed)
        return float(getattr(claims_of_llc, name)(run))

    for seed in (0, 1):
        one = {"llc": high.sel(seed=seed, distribution="lists")}
        peak = llc_peak(one)
        assert float(peak) == pytest.approx(number("llc_peak", seed))
        assert int(peak["step"]) == number("llc_peak_step", seed)
    drawing = sort_curves({**two, "llc": high}, seeds=[1])
    assert found(drawing)["fall of the LLC from peak to end"].value == pytest.approx(
        100 * number("llc_fall", 1)
    )
    few = {"llc": high.sel(seed=0, distribution="lists").isel(step=slice(0, 5))}
    assert llc_peak(few) is None


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


def test_specialization_shows_who_handles_each_number(two, misplaced, unlike):
    drawing = sort_specialization(two, title="Two heads")
    assert misplaced(drawing) == []
    assert unlike(drawing, two) == []
    mesh = panel(drawing, "head that handles each number, seed 1").collections[0]
    truth = two["circuits"]["token_head"].sel(seed=1).transpose("token", "step")
    np.testing.assert_array_equal(mesh.get_array(), truth)
    edges = mesh.get_coordinates()[0, :, 0]
    steps = two["circuits"]["step"].values
    assert (edges[:-1] <= steps).all() and (steps < edges[1:]).all()
    borders = mesh.get_coordinates()[:, 0, 1]
    np.testing.assert_array_equal(borders, np.arange(two["circuits"].sizes["token"] + 1) - 0.5)
    findings = found(sort_specialization(two, seeds=[1]))
    last = two["circuits"].sel(seed=1).isel(step=-1)
    share = findings["largest share of a head at step 8,000"]
    assert (share.value, share.unit) == (pytest.approx(100 * float(last["vocabulary_share"].max())), "%")
    assert findings["vocabulary regions at step 8,000"].value == int(last["regions"])


def test_regions_at_the_largest_llc_are_found_where_the_circuits_are_known_there(two):
    peak = int(llc_peak({"llc": two["llc"].sel(seed=1, distribution="lists")})["step"])
    number = two["circuits"]["regions"].sel(seed=1, step=peak).item()
    label = "vocabulary regions at the largest LLC"
    assert found(sort_specialization(two, seeds=[1]))[label].value == number
    elsewhere = two | {"circuits": two["circuits"].drop_sel(step=peak)}
    for given in (elsewhere, {"circuits": two["circuits"]}):
        assert label not in found(sort_specialization(given, seeds=[1]))


def test_counts_begin_at_zero_and_no_seed_is_clipped(two):
    circuits = two["circuits"].copy(deep=True)
    circuits["regions"].loc[{"seed": 1}] *= 3
    drawing = sort_curves(two | {"circuits": circuits})
    for seed in (0, 1):
        low, high = panel(drawing, f"vocabulary regions, seed {seed}").get_ylim()
        assert -0.1 * high < low <= 0
        assert high >= float(circuits["regions"].max())


def test_shares_of_the_vocabulary_begin_at_zero_and_no_seed_is_clipped(two):
    circuits = two["circuits"].copy(deep=True)
    circuits["vocabulary_share"].loc[{"seed": 1}] *= 1.4
    drawing = sort_specialization(two | {"circuits": circuits})
    for seed in (0, 1):
        low, high = panel(drawing, f"share of the vocabulary, seed {seed}").get_ylim()
        assert -0.1 * high < low < 0  # the markers of heads without a share are whole
        assert high > 1.02 * float(circuits["vocabulary_share"].max())


def test_a_logarithmic_axis_of_less_than_two_decades_has_labels(sorting):
    given = sorting.study(seeds=(0,))
    loss = given["metrics"]["loss"]
    for most in (2.2, 30):
        scaled = 1.9 * (most / 1.9) ** ((loss - loss.min()) / (loss.max() - loss.min()))
        ax = panel(sort_curves(given | {"metrics": given["metrics"].assign(loss=scaled)}), "held-out loss")
        low, high = ax.get_ylim()
        assert ax.get_yscale() == "log"
        assert len([tick for tick in ax.get_yticks() if low <= tick <= high]) >= 2


def test_points_of_estimates_that_cannot_be_trusted_are_hollow(sorting):
    claims = sorting.claims()
    share = np.zeros((claims.sizes["experiment"], 2))
    share[2, 1] = 0.9
    drawing = sort_summary({"claims": claims.assign(llc_fall_unreliable=(("experiment", "seed"), share))})
    lines = [a for a in panel(drawing, "fall of the LLC after it").get_lines() if a.get_linestyle() == "None"]
    (hollow,) = [a for a in lines if a.get_markerfacecolor() == "white"]
    np.testing.assert_array_equal(hollow.get_xdata(), claims["llc_fall"].isel(experiment=[2]).sel(seed=1))


def test_summary_has_a_bar_where_a_value_has_a_standard_error(sorting, misplaced):
    claims = sorting.claims()
    error = claims["llc_fall"].where(claims["seed"] == 1) * 0 + 0.6
    drawing = sort_summary({"claims": claims.assign(llc_fall_se=error, llc_peak_step_se=error * 1000)})
    assert misplaced(drawing) == []
    ax = panel(drawing, "fall of the LLC after it")
    bars = [line for c in ax.collections if isinstance(c, LineCollection) for line in c.get_segments()]
    known = claims["llc_fall"].sel(seed=1).values
    ends = sorted(line[:, 0].tolist() for line in bars if len(line) == 2 and np.isfinite(line).all())
    np.testing.assert_allclose(ends, sorted([value - 0.6, value + 0.6] for value in known))
    assert ax.get_xlim()[0] < known.min() - 0.6 and ax.get_xlim()[1] > known.max() + 0.6
    steps = panel(drawing, "step of the largest LLC").collections
    assert not any(isinstance(c, LineCollection) for c in steps)


def test_summary_has_a_point_per_seed_and_the_expected_range(sorting, misplaced):
    claims = sorting.claims()
    drawing = sort_summary({"claims": claims}, titles={"cumsum": "Cumulative sums"})
    assert misplaced(drawing) == []
    ax = panel(drawing, "fall of the LLC after it")
    points = [a for a in ax.get_lines() if a.get_linestyle() == "None"]
    for n, seed in enumerate(claims["seed"].values):
        np.testing.assert_array_equal(points[n].get_xdata(), claims["llc_fall"].sel(seed=seed))
    assert drawing.figure.axes[0].get_yticklabels()[-1].get_text() == "Cumulative sums"
    shaded = [c.get_paths()[0].get_extents() for c in panel(drawing, "step of the largest LLC").collections]
    assert [(box.x0, box.x1) for box in shaded] == [(500, 1300), (500, 1300)]
    low, high = panel(drawing, "step of the largest LLC").get_xlim()
    assert low < 500 and high > 1300
    dash = [t for t in panel(drawing, "fall of the overlap").texts if t.get_text() == "–"]
    assert len(dash) == 1 and dash[0].xy[1] == 0  # one head
    for title, per_cent in {"fall of the LLC after it": True, "step of the largest LLC": False}.items():
        axis = panel(drawing, title).xaxis
        assert (axis.get_major_formatter()(0.25, 0) == "25 %") == per_cent
    with pytest.raises(ValueError, match="no_such"):
        sort_summary({"claims": claims}, quantities={"no_such": "nothing"})
