"""Figures of the calibration, on a sweep with every kind of cell: sound, negative, failed, never sampled."""

import json
from functools import cache

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.calibration import REQUIRED, at_settings, recommend
from rllc.analysis.regime import quantities
from rllc.figures.drawing import save
from rllc.figures.sampler import calibration, dependence, sweep, traces
from rllc.vocabulary import STATUS

DRAW = {
    "regime_map": calibration.regime_map,
    "calibration_grid": sweep.calibration_grid,
    "calibration_running_estimates": dependence.calibration_running_estimates,
    "calibration_failure_modes": traces.calibration_failure_modes,
    "calibration_dataset_size": dependence.calibration_dataset_size,
    "calibration_batch_size": dependence.calibration_batch_size,
    "calibration_noise_seeds": dependence.calibration_noise_seeds,
}
DISTRIBUTIONS = ["mixture", "code"]
SETTINGS = {
    "heads": {
        "sampling": {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3},
        "likelihood": {"n_beta": 3000.0, "localization": 1000.0, "step_size": 1e-4},
    },
    "full": {"sampling": {"n_beta": 30.0, "localization": 1000.0, "step_size": 1e-4}},
}


def swept():
    random = np.random.default_rng(5)
    sizes = {
        "seed": [0], "step": [1342, 3000], "component": ["0:0", "0:1", "1:0", "full"],
        "distribution": DISTRIBUTIONS, "localization": [200.0, 1000.0, 5000.0],
        "n_beta": [30.0, 300.0, 3000.0], "step_size": [1e-4, 1e-3], "chain": [0, 1], "draw": list(range(20)),
    }  # fmt: skip
    grid = xr.Dataset(coords=sizes)
    cell = ["seed", "step", "component", "distribution", "localization", "n_beta", "step_size"]
    n_beta, pull = grid["n_beta"], grid["localization"]
    ones = xr.DataArray(np.ones([len(sizes[d]) for d in cell]), dims=cell, coords={d: sizes[d] for d in cell})
    curvature = xr.DataArray(
        [2.0, 4.0, 6.0, 40.0], dims="component", coords={"component": sizes["component"]}
    )
    on = 10 * n_beta * curvature / (n_beta * curvature + pull)
    slope = xr.DataArray([0.0, 0.2], dims="distribution", coords={"distribution": DISTRIBUTIONS})
    order = [d for d in cell if d in ("component", "distribution", "localization", "n_beta")]
    walked = ones * (-(n_beta**2) * slope**2 / (n_beta * curvature + pull)).transpose(*order)
    drift_free = ones * on.transpose(*[d for d in order if d != "distribution"])
    llc = drift_free + walked
    center = ones.isel(localization=0, n_beta=0, step_size=0, drop=True)
    shape = [len(sizes[d]) for d in (*cell, "chain", "draw")]
    noise = xr.DataArray(random.normal(0, 0.02, shape), dims=(*cell, "chain", "draw"))
    ramp = xr.DataArray(1 - np.exp(-np.arange(20) / 4), dims="draw", coords={"draw": sizes["draw"]})
    data = xr.Dataset(
        {
            "llc": llc, "llc_se": 0.05 * np.abs(llc), "llc_prior_only": ones * 10 * n_beta * curvature / pull, "llc_drift_free": drift_free, "llc_walked": walked,
            "rhat": ones, "quality": (0 * ones).astype(np.int16), "acceptance": 0.5 * ones, "acceptance_null": 0.5 * ones, "drift": 0.02 * np.abs(llc), "drift_se": 0.05 * np.abs(llc),
            "status": (ones.expand_dims(chain=[0, 1], axis=-1) * 0).astype(np.int8).copy(deep=True),
            "paired_loss": (llc / n_beta * ramp + noise / np.sqrt(n_beta)).transpose(*cell, "chain", "draw").astype(np.float32),
            "hessian_trace": center * 20 * curvature,
        }
    )  # fmt: skip
    data["drift"].loc[{"step_size": 1e-4, "localization": 200.0}] = 40.0
    lost = {"localization": 5000.0, "step_size": 1e-3}
    data["status"].loc[lost] = STATUS.index("missing")
    failed = {"localization": 200.0, "step_size": 1e-3, "n_beta": 3000.0}
    data["status"].loc[{**failed, "chain": 1}] = STATUS.index("diverged")
    for name in ("llc", "llc_se", "llc_prior_only", "rhat", "drift", "drift_se", "paired_loss"):
        data[name].loc[lost] = np.nan
    data["paired_loss"].loc[failed] *= 50.0
    labels = ["training mixture", "Python code"]
    return data.assign_coords(distribution_label=("distribution", labels))


def varied():
    random = np.random.default_rng(6)
    sizes = {
        "seed": [0], "step": [66, 545, 1342, 3000], "component": ["0:0", "1:1", "full"], "distribution": ["mixture"],
    }  # fmt: skip
    extra = {
        "llc_by_dataset_size": {"dataset_size": [8, 32, 64, 240]},
        "llc_by_batch_size": {"evaluation": ["same", "new"], "batch_size": [4, 8, 16]},
        "llc_by_noise_seed": {"seeding": ["shared", "fresh"], "noise_seed": [0, 1]},
        "paired_loss": {"chain": [0, 1], "draw": list(range(30))},
    }
    found = xr.Dataset()
    for name, more in extra.items():
        coords = {**sizes, **more}
        shape = [len(values) for values in coords.values()]
        found[name] = xr.DataArray(2 + random.normal(0, 0.2, shape), dims=list(coords), coords=coords)
        found[f"{name}_se"] = 0.1 + 0 * found[name]
    found["paired_loss"] = found["paired_loss"] / 20
    base = {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3, "batch_size": 8}
    told = {"settings": {"full": base | {"n_beta": 60.0}, "heads": base}, "chains": 2, "draws": 30}
    return found.assign_attrs(dependence=json.dumps(told))


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    sweep = swept()
    named = at_settings(sweep, SETTINGS, max_loss_rise=1.0)
    made = {
        "calibration": sweep.merge(quantities(sweep)),
        "recommendation": recommend(sweep, max_loss_rise=1.0)
        .merge(named)
        .assign_attrs(rule='{"max_loss_rise": 1.0}'),
        "dependence": varied(),
    }
    folder = tmp_path_factory.mktemp("calibration")
    for name, data in made.items():
        data.to_netcdf(folder / f"{name}.nc")
    return {name: xr.load_dataset(folder / f"{name}.nc") for name in made}


@pytest.fixture(scope="module")
def drawn(datasets):
    """A figure by its name, drawn once. Read only."""
    return cache(lambda name: DRAW[name](datasets))


@pytest.mark.parametrize("name", DRAW)
def test_every_figure_draws_saves_and_clips_nothing(name, drawn, misplaced, tmp_path):
    drawing = drawn(name)
    assert misplaced(drawing) == []
    save(drawing, png=tmp_path / "a.png")
    drawing.data.to_netcdf(tmp_path / "a.nc")
    assert len(drawing.caption.split()) <= 120 and len(drawing.title.split()) <= 20
    assert 0 < len(drawing.findings) <= 8 and np.isfinite([each.value for each in drawing.findings]).all()


def test_minibatch_sizes_have_one_key_beside_the_first_row(datasets):
    drawing = dependence.calibration_batch_size(datasets)
    (legend,) = [ax.get_legend() for ax in drawing.figure.axes if ax.get_legend()] or drawing.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["4", "8", "16"]
    above = [ax for ax in drawing.figure.axes if "the same" in ax.get_title("left")]
    assert len(above) == 3
    assert legend.axes is above[-1] if legend.axes else True


@pytest.mark.parametrize("name", ["regime_map", "calibration_grid"])
def test_captions_count_the_heads(name, drawn):
    assert any("3 heads" in each for each in drawn(name).conditions)


@pytest.mark.parametrize("name", DRAW)
def test_an_experiment_without_heads_has_every_figure(name, datasets, misplaced):
    settings = json.dumps(
        {"settings": {"full": {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3, "batch_size": 8}}}
    )
    whole = {
        "calibration": datasets["calibration"].sel(component=["full"]),
        "recommendation": datasets["recommendation"].sel(kind=["full"]),
        "dependence": datasets["dependence"].sel(component=["full"]).assign_attrs(dependence=settings),
    }
    drawing = DRAW[name](whole)
    assert misplaced(drawing) == []
    assert "head" not in drawing.caption


@pytest.mark.parametrize("name", DRAW)
def test_figure_and_caption_begin_with_the_title(name, datasets, drawn):
    drawing = DRAW[name](datasets, title="two heads", seed=0)
    assert drawing.figure.get_suptitle() == "two heads"
    assert drawing.title == f"two heads: {drawn(name).title}"


@pytest.mark.parametrize("name", ["regime_map", "calibration_grid"])
def test_captions_say_which_step_is_drawn(name, datasets):
    for step in (1342, 3000):
        assert f"Training seed 0, step {step:,}." in DRAW[name](datasets, seed=0, step=step).conditions


def test_the_numbers_on_the_map_are_the_medians_over_heads(datasets, drawn):
    drawing = drawn("regime_map")
    sweep = datasets["calibration"].sel(
        component=["0:0", "0:1", "1:0"], distribution="code", step=3000, seed=0
    )
    change = 1 - sweep["llc"] / sweep["llc_prior_only"]
    at = {"n_beta": 300.0, "localization": 1000.0}
    expected = float(change.sel(at | {"step_size": 1e-3}).median("component"))
    assert drawing.data["shrinkage"].sel(at | {"kind": "heads", "distribution": "code"}) == pytest.approx(
        expected
    )
    rows = len(calibration.MAPS)
    columns = len([ax for ax in drawing.figure.axes if ax.images]) // rows
    texts = {text.get_text() for text in drawing.figure.axes[columns + 1].texts}
    assert f"{expected:.2f}" in texts
    shades = [ax.images[0].norm for ax in drawing.figure.axes if ax.images][1::columns]
    ends = [(0, 0.5, 1), (0, 0.5, 1), (0, 0.5, 1), (0, 1, 2), (-1, 0, 1)]  # of the colours, and their middle
    assert [tuple(map(float, shade.inverse([0, 0.5, 1]))) for shade in shades[1:]] == ends
    exponent = drawing.data["exponent"].sel(at | {"kind": "heads", "distribution": "code"})
    assert f"{float(exponent):.2f}" in {
        t.get_text().strip("()") for t in drawing.figure.axes[3 * columns + 1].texts
    }


def test_a_panel_of_the_grid_has_medians_quartiles_controls_and_what_fails(datasets, drawn):
    """Of the heads on code at one localization; a line per n_beta."""
    axes = [ax for ax in drawn("calibration_grid").figure.axes if ax.get_visible()]
    row = next(n for n, ax in enumerate(axes) if ax.get_ylabel() == "heads\nPython code\nLLC")
    ax = next(ax for ax in axes[row:] if ax.get_title("left") == "localization 1000")
    cell = {
        "component": ["0:0", "0:1", "1:0"],
        "distribution": "code",
        "step": 3000,
        "seed": 0,
        "localization": 1000.0,
    }
    swept = datasets["calibration"].sel(cell)
    criteria = datasets["recommendation"]["passes"].sel(
        kind="heads", distribution="code", localization=1000.0
    )
    passes = (criteria.sel(criterion=list(REQUIRED)) == 1).all("criterion")
    lines = [line.get_xydata().T.tolist() for line in ax.get_lines() if line.get_linestyle() in ("-", ":")]
    bars = [c.get_segments() for c in ax.collections]
    hollow = [
        tuple(point)
        for line in ax.get_lines()
        if line.get_markerfacecolor() == "white"
        for point in line.get_xydata()
    ]
    expected = []
    for n_beta in swept["n_beta"].values:
        one = swept.sel(n_beta=n_beta)
        steps, middle = one["step_size"].values.tolist(), one["llc"].median("component")
        assert [steps, middle.values.tolist()] in lines
        assert [steps, one["llc_prior_only"].median("component").values.tolist()] in lines
        ends = one["llc"].quantile([0.25, 0.75], "component").transpose("step_size", "quantile").values
        upright = [np.stack([[x, x], y], axis=1) for x, y in zip(steps, ends, strict=True)]
        assert any(np.allclose(each, upright) for each in bars)
        failed = ~passes.sel(n_beta=n_beta).values
        expected += zip(np.asarray(steps)[failed], middle.values[failed], strict=True)
    assert expected and sorted(hollow) == sorted(expected)


def test_every_cell_of_the_maps_has_its_number_in_brackets_where_it_fails(drawn):
    drawing = drawn("regime_map")
    data = drawing.data.transpose("localization", "n_beta", ...)
    tables = [
        (v, k, d) for v in list(calibration.MAPS)[1:] for k in data["kind"].values for d in DISTRIBUTIONS
    ]
    axes = [ax for ax in drawing.figure.axes if ax.images][len(tables) // (len(calibration.MAPS) - 1) :]
    for ax, (variable, kind, distribution) in zip(axes, tables, strict=True):
        one = data.sel(kind=kind, distribution=distribution)
        one = one.sel(
            {
                dim: one["llc"].notnull().any([d for d in one["llc"].dims if d != dim])
                for dim in ("localization", "n_beta")
            }
        )
        said = {text.get_position(): text.get_text() for text in ax.texts}
        cells = np.argwhere(np.isfinite(one[variable].values)).tolist()
        assert len(said) == len(cells)
        edges = [(-0.5, one.sizes[dim] - 0.5) for dim in ("n_beta", "localization")]
        assert [ax.get_xlim(), ax.get_ylim()] == edges
        for i, j in cells:
            value, sound = float(one[variable][i, j]), int(one["meets_requirements"][i, j]) == 1
            text = said[j, i + 0.12]
            assert text.startswith("(") != sound
            assert float(text.strip("()")) == pytest.approx(value, abs=0.0051, rel=0.06)


def test_map_gives_the_shrinkage_drawn_in_the_cells_of_settings_in_use(datasets, drawn, numbers):
    """Of the heads: the base setting, and the likelihood; of the whole model the main one."""
    drawing = drawn("regime_map")
    for kind, called, setting in (
        ("heads", "heads", "sampling"),
        ("heads", "heads", "likelihood"),
        ("full", "whole", "sampling"),
    ):
        at = {axis: SETTINGS[kind][setting][axis] for axis in ("n_beta", "localization")}
        cells = drawing.data["shrinkage_without_drift"].sel(at | {"kind": kind}).values
        assert numbers(drawing)("shrinkage", called, setting).value == pytest.approx(np.median(cells))


def test_map_gives_the_setting_that_the_rule_recommends(datasets, numbers):
    one = datasets["recommendation"].sel(kind="heads", distribution="code")
    found = numbers(calibration.regime_map(datasets, distributions=["code"]))
    for axis in ("n_beta", "localization"):
        assert found(f"recommended {axis}", "heads").value == float(one[f"recommended_{axis}"])
    differs = datasets["recommendation"].copy(deep=True)
    differs["recommended_n_beta"].loc[{"kind": "heads", "distribution": "code"}] = 30.0
    labels = [each.label for each in calibration.regime_map(datasets | {"recommendation": differs}).findings]
    assert not any(label.startswith("recommended") and "heads" in label for label in labels)


def test_grid_gives_how_many_settings_pass(datasets, drawn, numbers):
    criteria = datasets["recommendation"]["passes"].sel(kind="heads", distribution="code")
    passing = int((criteria.sel(criterion=list(REQUIRED)) == 1).all("criterion").sum())
    assert passing > 0
    assert numbers(drawn("calibration_grid"))("heads", "Python code").value == passing


def test_dependence_gives_medians_and_spreads(datasets, drawn, numbers):
    one = datasets["dependence"].sel(distribution="mixture", seed=0)
    sizes = one["llc_by_dataset_size"]
    change = 100 * abs(sizes.sel(dataset_size=8) / sizes.sel(dataset_size=240) - 1)
    found = numbers(drawn("calibration_dataset_size"))
    assert found("for 8", "median").value == pytest.approx(float(np.median(change)))
    assert found("for 8", "largest").value == pytest.approx(float(change.max()))
    batches = one["llc_by_batch_size"]
    apart = 100 * abs(batches.sel(evaluation="new") / batches.sel(evaluation="same") - 1)
    found = numbers(drawn("calibration_batch_size"))
    assert found("new", "median").value == pytest.approx(float(np.median(apart)))
    noise = one["llc_by_noise_seed"].sel(component="full", seeding="fresh").transpose("noise_seed", "step")
    steps = np.diff(noise.values, axis=1)
    found = numbers(drawn("calibration_noise_seeds"))
    assert found("whole model", "fresh").value == pytest.approx(np.std(steps, axis=0, ddof=1).mean())


def test_settings_in_use_stand_in_their_cells(drawn):
    """Of the heads: the first cell of both axes, and the last n_beta with the second localization."""
    first = drawn("regime_map").figure.axes[0]
    at = [
        tuple(map(float, np.round(line.get_xydata()[0])))
        for line in first.get_lines()
        if line.get_marker() != "o"
    ]
    assert at == [(0, 0), (2, 1)]


def test_the_map_says_what_an_estimate_is(drawn):
    """By drift over half of the drift-free control, else by whether that control is near the one without gradient."""
    drawing = drawn("regime_map")
    data = drawing.data.sel(kind="heads", distribution="code")
    for at in ({"n_beta": n, "localization": g} for n in (30.0, 300.0) for g in (200.0, 1000.0)):
        one = data.sel(at)
        drift, near = float(one["walked_share"]) > 0.5, float(one["shrinkage_without_drift"]) < 0.2
        assert int(one["meaning"]) == (2 if drift else 0 if near else 1)
    shown = {text.get_text().strip("()") for text in drawing.figure.axes[1].texts}
    assert shown == {calibration.WORDS[int(n)] for n in np.unique(data["meaning"]) if n == n}
    assert "main" not in shown


def test_failures_are_real_cells_and_what_does_not_occur_is_said(datasets, drawn):
    drawing = drawn("calibration_failure_modes")
    assert drawing.data["mode"].values.tolist() == [
        "divergence", "escape", "negative estimate", "not converged", "converged",
    ]  # fmt: skip
    calm = datasets["calibration"].sel(distribution=["mixture"], localization=[1000.0])
    drawing = DRAW["calibration_failure_modes"]({"calibration": calm})
    assert any("divergence, negative estimate" in each for each in drawing.conditions)


def test_failure_modes_give_the_llc_of_their_cells(datasets, drawn, numbers):
    drawing = drawn("calibration_failure_modes")
    one = drawing.data.sel(mode="negative estimate")
    at = {dim: one[dim].item() for dim in datasets["calibration"]["llc"].dims if dim != "seed"}
    cell = datasets["calibration"].isel(seed=0).sel(at)
    found = numbers(drawing)("negative estimate", at["component"], f"step {at['step']:,}")
    assert (found.value, found.error) == (float(cell["llc"]), float(cell["llc_se"]))
    assert found.value < 0


def test_the_trace_ends_at_the_mean_over_all_draws(datasets, drawn):
    drawing = drawn("calibration_running_estimates")
    for component, n_beta in (("1:1", 30), ("full", 60)):
        loss = datasets["dependence"]["paired_loss"].sel(
            component=component, step=1342, distribution="mixture", seed=0
        )
        end = drawing.data["running_llc"].sel(component=component, step=1342).isel(draw=-1).squeeze()
        np.testing.assert_allclose(end, n_beta * loss.mean("draw"), rtol=1e-6)


def test_a_trace_is_the_mean_of_the_chains_and_its_band_all_of_them(drawn):
    drawing = drawn("calibration_running_estimates")
    ax = next(ax for ax in drawing.figure.axes if ax.get_title("left") == "1:1 on mixture")
    running = (
        drawing.data["running_llc"].sel(component="1:1").squeeze(drop=True).transpose("step", "chain", "draw")
    )
    lines = [line.get_ydata() for line in ax.get_lines() if len(line.get_xdata()) > 2]
    np.testing.assert_allclose(lines, running.mean("chain"))
    bands = [area.get_paths()[0].vertices[:, 1] for area in ax.collections]
    ends = [(float(one.min()), float(one.max())) for one in running]
    np.testing.assert_allclose([(band.min(), band.max()) for band in bands], ends)


def test_a_likelihood_has_traces_of_its_own(datasets, misplaced, numbers):
    both = datasets["dependence"].assign(paired_loss_likelihood=2 * datasets["dependence"]["paired_loss"])
    drawing = DRAW["calibration_running_estimates"]({"dependence": both})
    assert misplaced(drawing) == []
    running = drawing.data["running_llc"]
    assert running["loss"].values.tolist() == ["all predictions", "one prediction of each context"]
    np.testing.assert_allclose(running.isel(loss=1), 2 * running.isel(loss=0), rtol=1e-6)
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    assert [title.partition("\n")[2] for title in titles] == running["loss"].values.tolist() * 3
    end = running.sel(component="full", step=3000).isel(loss=1, draw=-1).mean()
    found = numbers(drawing)("whole model", "step 3,000", "one prediction of each context")
    assert found.value == pytest.approx(float(end))
