import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from rllc.figures.drawing import save
from rllc.figures.sorting.circuits import limit_text, sort_circuits, strip_colors
from rllc.figures.sorting.inputs import HEAD_COLORS


@pytest.fixture(scope="module")
def two(sorting):
    return sorting.study(vocabulary=12)


def image(ax):
    return ax.get_images()[0]


@pytest.mark.parametrize("heads", [1, 4])
def test_every_panel_is_a_circuit_with_symmetric_colours(heads, sorting, misplaced, tmp_path):
    given = sorting.study(seeds=(0, 1), n_heads=heads, vocabulary=12)
    drawing = sort_circuits(given, seed=1, steps=[200, 8000], quantile=0.9)
    assert misplaced(drawing) == []
    axes = np.array([ax for ax in drawing.figure.axes if ax.get_images()]).reshape(2 * heads, 2)
    for row, line in enumerate(axes):
        kind = ("qk", "ov")[row % 2]
        for step, ax in zip((200, 8000), line, strict=True):
            truth = given["circuits"][kind].sel(seed=1, step=step)
            np.testing.assert_array_equal(image(ax).get_array(), truth.isel(head=row // 2))
            limit = np.quantile(np.abs(truth), 0.9)
            assert image(ax).get_clim() == pytest.approx((-limit, limit), rel=1e-5)
            assert f"± {limit:.2g}" in [text.get_text() for text in ax.texts]
            assert len(ax.child_axes) == (heads > 1 and kind == "ov")
    if heads == 1:
        save(drawing, png=tmp_path / "a.png")
    drawing.data.to_netcdf(tmp_path / "a.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "a.nc"), drawing.data)


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_headings_and_axes_have_room(heads, sorting, misplaced, tmp_path):
    given = sorting.study(seeds=(0,), n_heads=heads, vocabulary=12)
    drawing = sort_circuits(given, title="a title")
    assert misplaced(drawing) == []
    save(drawing, png=tmp_path / "a.png")
    edges = imread(tmp_path / "a.png")[[0, -1]]
    assert (edges == 1).all(), "something is cut at the top or the bottom"


def test_a_circuit_that_looks_empty_says_how_large_it_is(two):
    circuits = two["circuits"].copy(deep=True)
    circuits["qk"].loc[{"head": "0:0", "step": 8000}] = 3e-17
    drawing = sort_circuits(two | {"circuits": circuits}, steps=[200, 8000])
    said = [
        text.get_text() for ax in drawing.figure.axes for text in ax.texts if "largest" in text.get_text()
    ]
    assert said == ["largest |W|\n3e-17"]


def test_limits_are_written_in_full():
    assert [limit_text(limit) for limit in (0.01234, 4.26, 99.4, 99.6, 128.4, 1234.5)] == [
        "0.012", "4.3", "99", "100", "128", "1,234",
    ]  # fmt: skip


def test_the_strip_shows_the_head_of_each_number(two):
    last = two["circuits"].sel(seed=0, step=8000)
    colors = strip_colors(last, 1)[:, 0]
    own = last["token_head"].values == 1
    assert own.any() and not own.all()
    assert (colors[own] == to_rgb(HEAD_COLORS[1])).all()
    assert (colors[~own].mean() > 0.75) and not (colors[~own] == to_rgb(HEAD_COLORS[0])).all()
    unknown = last.assign(token_head=last["token_head"].where(last["token"] > 3))
    assert len(np.unique(strip_colors(unknown, 1)[:4].ravel())) == 1
    findings = {finding.label: finding.value for finding in sort_circuits(two).findings}
    assert findings == {
        "numbers handled by head 0:0 at step 8,000 (of 12)": (~own).sum(),
        "numbers handled by head 0:1 at step 8,000 (of 12)": own.sum(),
    }


def test_many_heads_have_six_findings_of_those_with_most_numbers(two):
    many = two["circuits"].isel(head=[0, 1] * 4).assign_coords(head=[f"0:{n}" for n in range(8)])
    holder = np.repeat([0, 2, 3, 4, 5, 7], 2)
    many["token_head"] = two["circuits"]["token_head"] * 0 + xr.DataArray(holder, dims="token")
    findings = sort_circuits({"circuits": many}).findings
    assert [finding.label.split()[4] for finding in findings] == [f"0:{n}" for n in (0, 2, 3, 4, 5, 7)]
    assert {finding.value for finding in findings} == {2}


def test_one_head_finds_the_scale_of_its_circuits_at_the_first_and_last_checkpoint(sorting):
    given = sorting.study(seeds=(0,), n_heads=1, vocabulary=12)
    findings = sort_circuits(given, steps=[200, 1000, 8000], quantile=0.9).findings
    assert findings[0].label.endswith("QK at step 200")
    assert [finding.value for finding in findings] == pytest.approx(
        [
            np.quantile(np.abs(given["circuits"][kind].sel(seed=0, step=step)), 0.9)
            for kind in ("qk", "ov")
            for step in (200, 8000)
        ]
    )


def test_default_checkpoints_are_onset_peak_after_and_end(two, sorting):
    drawing = sort_circuits(two)
    llc = two["llc"]["llc"].sel(seed=0, distribution="lists").sel(step=slice(50, None))
    mean = llc.rolling(step=3, center=True).mean()
    peak = int(mean["step"][int(mean.argmax("step"))])
    assert drawing.data["step"].values.tolist() == [200, peak, 1600, 2500, 8000]
    titles = [ax.get_title() for ax in drawing.figure.axes if ax.get_title()]
    assert titles[:2] == ["step 200\naccuracy 0.99", f"step {peak:,}\nlargest LLC"]
    rising = two["llc"].assign(llc=two["llc"]["llc"] * 0 + two["llc"]["step"])
    late = sort_circuits({**two, "llc": rising})
    titles = [ax.get_title() for ax in late.figure.axes if ax.get_title()]
    assert titles[-1] == "step 8,000\nlast" and not any("largest LLC" in each for each in titles)
    bare = sort_circuits({"circuits": two["circuits"]})
    assert bare.data["step"].values[-1] == 8000 and bare.data.sizes["step"] >= 4
    assert any("Largest LLC" in each for each in drawing.conditions)
    assert not any("Largest LLC" in each for each in late.conditions)
    assert not any("Largest LLC" in each for each in bare.conditions)
    wide = sorting.study(seeds=(0,), n_heads=1, vocabulary=202, steps=(0, 100, 1000), controls=False)
    assert sort_circuits(wide).data.sizes["token"] == 202


def test_errors_name_what_is_missing(two):
    with pytest.raises(ValueError, match=r"no step 7; it has \[0, 10"):
        sort_circuits(two, steps=[7])
    with pytest.raises(ValueError, match="no seed"):
        sort_circuits(two, seed=9)
    with pytest.raises(ValueError, match=r"circuits\.nc"):
        sort_circuits({"metrics": two["metrics"]})


def test_circuits_to_answers_have_a_column_for_each(sorting, misplaced, tmp_path):
    given = sorting.study(seeds=(0,), n_heads=1, vocabulary=12)
    source, names = given["circuits"], ["negative", "zero", "positive"]
    to_answers = source["ov"].isel(other_token=slice(3)).rename(other_token="answer")
    to_answers = to_answers.assign_coords(answer=np.array(names, dtype=object))
    circuits = source[["qk", "rank", "rank_sum", "effective_rank_sum"]].assign(ov_answers=to_answers)
    drawing = sort_circuits({**given, "circuits": circuits}, steps=[200, 8000])
    assert misplaced(drawing) == []
    qk, ov = (ax for ax in drawing.figure.axes if ax.get_images() and ax.get_subplotspec().colspan.start == 1)
    np.testing.assert_array_equal(image(qk).get_array(), source["qk"].sel(seed=0, step=8000).squeeze())
    np.testing.assert_array_equal(image(ov).get_array(), to_answers.sel(seed=0, step=8000).squeeze())
    assert [text.get_text() for text in ov.get_xticklabels()] == names
    assert ov.get_xlabel() == "answer" and qk.get_xlabel() == "key number"
    assert [text.get_text() for text in qk.get_xticklabels() if text.get_visible()]
    widths = [ax.get_window_extent().width for ax in (qk, ov)]
    assert widths[0] == pytest.approx(widths[1], rel=0.05)
    assert not any("Strip" in each for each in drawing.conditions)
    drawing.data.to_netcdf(tmp_path / "a.nc")
