import numpy as np
import pytest
import xarray as xr

from rllc.figures.drawing import save
from rllc.figures.sampler import validation
from rllc.quality import MASKS, quality_attributes


def dataset(dims, coefficient, **extra):
    """Estimates two percent above the truth, one of them not reliable and one missing."""
    shape = tuple(len(labels) for labels in dims.values())
    truth = np.broadcast_to(coefficient, shape).astype(float)
    llc, quality = 1.02 * truth, np.zeros(shape, np.int16)
    llc[(0,) * len(shape)] = np.nan
    quality[(0,) * len(shape)] = MASKS["missing"]
    quality[(-1,) * len(shape)] = MASKS["not_mixed"]
    values = {"llc": llc, "llc_se": 0.01 * truth, "exact": truth, "coefficient": truth, **extra}
    made = xr.Dataset(
        {name: (tuple(dims), np.broadcast_to(each, shape)) for name, each in values.items()},
        coords={name: np.asarray(labels, dtype=object if isinstance(labels[0], str) else None) for name, labels in dims.items()},
    )  # fmt: skip
    made["quality"] = (tuple(dims), quality, quality_attributes())
    return made


@pytest.fixture
def datasets():
    models = [f"{i}: 4-5-4, rank 2" for i in range(4)]
    sizes = np.array([[40.0], [90.0], [300.0], [1000.0]])
    reduced = dataset({"model": models, "n_beta": [1e2, 1e3]}, sizes / 4, parameters=sizes)
    reduced["exact"] = reduced["exact"].where(np.arange(4)[:, None] < 2)
    potentials = dataset(
        {"potential": ["sum_4_4", "crossing_2_2"], "n_beta": [10.0, 1e3], "localization": [10.0]},
        0.5,
        moves=np.array([100.0, 1000.0])[:, None],
        step_size=1e-3,
    )
    return {
        "quadratic": dataset(
            {"dimension": [1, 10], "component": ["full", "masked"], "n_beta": [10.0], "localization": [1.0, 10.0],
             "burn_in": [0, 20]},
            2.5, posterior=2.4,
        ),
        "potentials": potentials.assign_coords(label=("potential", ["$w_1^4+w_2^4$", "$w_1^2w_2^2$"])),
        "reduced_rank": reduced,
        "deep_linear": dataset(
            {"model": models, "n_beta": [1e3]}, sizes / 4, parameters=sizes, layers=np.array([[2.0], [2], [3], [4]])
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["quadratic", "potentials", "reduced_rank", "deep_linear"])
def test_every_figure_draws_and_gives_its_errors(name, datasets, misplaced, tmp_path):
    drawing = getattr(validation, f"validation_{name}")({name: datasets[name]})
    assert misplaced(drawing) == []
    save(drawing, png=tmp_path / "a.png")
    drawing.data.to_netcdf(tmp_path / "a.nc")
    assert len(drawing.caption.split()) <= 120 and len(drawing.title.split()) <= 20
    medians = [each for each in drawing.findings if each.label.startswith("median")]
    assert medians and all(each.value == pytest.approx(2.0) and each.unit == "%" for each in medians)
    assert any("1 of" in each and "not reliable" in each for each in drawing.conditions)


def test_points_are_the_estimates_and_rings_mark_what_is_not_reliable(datasets):
    drawing = validation.validation_deep_linear({"deep_linear": datasets["deep_linear"]})
    left = drawing.figure.axes[0]
    drawn = np.sort(
        np.concatenate([line.get_ydata() for line in left.get_lines() if line.get_marker() in "os^"])
    )
    truth = datasets["deep_linear"]["llc"].values.ravel()
    error = datasets["deep_linear"]["llc_se"].values.ravel()
    bars = [line[:, 1] for each in left.containers for line in each.lines[2][0].get_segments() if len(line)]
    expected = np.stack([truth - 2 * error, truth + 2 * error], axis=1)[1:]
    np.testing.assert_allclose(np.sort([bar for bar in bars if np.isfinite(bar).all()], axis=0), expected)
    upright = sorted({float(line.get_xdata()[0]) for line in drawing.figure.axes[2].get_lines()})
    assert upright == pytest.approx([0.0, 2.0])  # the truth and the median
    relative = [
        segment[:, 1]
        for each in drawing.figure.axes[1].containers
        for segment in each.lines[2][0].get_segments()
    ]
    relative = [bar for bar in relative if np.isfinite(bar).all() and len(bar)]
    np.testing.assert_allclose(
        relative, [[0.0, 4.0]] * (truth.size - 1), atol=1e-9
    )  # 2 % off, an error of 1 %
    ring = truth[-1]
    np.testing.assert_allclose(drawn, np.sort([*truth[1:], ring]))


def test_small_networks_stand_by_their_widths_with_the_exact_values_of_each_n_beta(datasets):
    data = datasets["reduced_rank"].isel(model=[0, 1])
    left = validation.validation_reduced_rank({"reduced_rank": datasets["reduced_rank"]}).figure.axes[0]
    lines = [line.get_ydata().tolist() for line in left.get_lines() if len(line.get_ydata()) == 2]
    for beta in (1e2, 1e3):
        assert data["exact"].sel(n_beta=beta).values.tolist() in lines
    points = {round(float(y), 6) for line in left.get_lines() for y in line.get_ydata() if np.isfinite(y)}
    assert {round(float(y), 6) for y in data["llc"].values.ravel() if np.isfinite(y)} <= points
    assert [text.get_text() for text in left.get_xticklabels()] == ["4-5-4", "4-5-4"]


def test_errors_are_counted_in_standard_errors_from_the_exact_values(datasets, numbers):
    """All are 2 % off: with an error of 1.1 % they lie within two."""
    one = datasets["quadratic"]
    for error, share in ((0.011, 100), (0.009, 0)):
        given = one.assign(llc_se=error * one["exact"])
        found = numbers(validation.validation_quadratic({"quadratic": given}))
        assert found("within two standard errors").value == share


def test_quantiles_of_relative_errors_leave_out_missing_estimates(datasets, numbers):
    data = datasets["deep_linear"].copy(deep=True)
    data["llc"][:, 0] = [np.nan, 0.9, 1.0, 1.2] * data["coefficient"][:, 0]
    found = numbers(validation.validation_deep_linear({"deep_linear": data}))
    assert found("median").value == pytest.approx(0.0)
    assert found("10 %").value == pytest.approx(-8.0)
    assert found("90 %").value == pytest.approx(16.0)


def test_a_dataset_that_is_not_given_is_named(datasets):
    with pytest.raises(ValueError, match=r"draws deep_linear\.nc"):
        validation.validation_deep_linear({"quadratic": datasets["quadratic"]})
