"""Stages of the LLC behind the panels of heads, and changes of traces over them."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.figures.heads.small import panels
from tests.figures.of_study import figure, values

from rllc.analysis.clusters import cluster
from rllc.analysis.stages import stages
from rllc.figures.heads.behind import Stages
from rllc.figures.stage_bands import FALLING, LAST, RISING

STEPS = (0, *np.geomspace(100, 50_000, 24).astype(int).tolist())
OVER_TRAINING = [
    "rllc_fig2_wrllc_by_head",
    "rllc_fig3_code_wdrllc",
    "rllc_fig5_one_layer_drllc",
    "rllc_by_distribution",
    "induction_onset",
    "rllc_fig7_kcomposition",
    "rllc_fig14_hessian_trace",
    "rllc_fig17_ablations",
    "clusters_all_heads",
    "rllc_fig18_clusters_layer0",
    "control_prior_only",
]


@pytest.fixture(scope="module")
def staged(make_study):
    """A study whose LLC rises, falls and rises."""
    made = make_study(steps=STEPS, missing=False)
    x = np.log(np.maximum(STEPS, 1))

    def rise(at, width):
        return 1 / (1 + np.exp(-(x - np.log(at)) / width))

    shape = 100 * rise(1000, 0.3) - 25 * rise(6000, 0.2) + 30 * rise(20_000, 0.2)
    of_step = xr.DataArray(shape, {"step": list(STEPS)}, ["step"])
    nothing = 0 * made["llc"]["llc"]
    loss = 8 - 0.4 * xr.DataArray(x, of_step.coords)
    made["llc"] = made["llc"].assign(llc=nothing + of_step, init_loss=nothing + loss)
    curves = made["rllc"]["rllc"].sel(distribution=["mixture", "code"])
    made["clusters"] = cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=["ward"])
    return made | {"stages": stages({"llc": made["llc"]}, tolerance=8.0, chance=8.5)}


@pytest.fixture(scope="module")
def edges(staged):
    found = Stages(staged, staged["rllc"]["seed"]).edges(0)
    assert found.size >= 4 and found[-1] == STEPS[-1]
    return found


def bands(ax):
    """Edges and colours of the bands of a panel."""
    colors = {*RISING, *FALLING, LAST}
    from matplotlib.colors import to_hex

    return [
        (*patch.get_extents().transformed(ax.transData.inverted()).intervalx, to_hex(patch.get_facecolor()))
        for patch in ax.patches
        if to_hex(patch.get_facecolor()).upper() in {c.upper() for c in colors}
    ]


@pytest.mark.parametrize("name", OVER_TRAINING)
def test_the_stages_stand_behind_every_panel_over_training(name, staged, edges, misplaced):
    drawing = figure(name)(staged)
    over_training = [ax for ax in drawing.figure.axes if ax.get_visible() and ax.get_xscale() == "function"]
    assert over_training
    for ax in over_training:
        assert len(bands(ax)) == edges.size - 1
    (said,) = (each for each in drawing.conditions if each.startswith("Stages:"))
    assert said == "Stages: LLC on mixture, setting sampling."
    assert misplaced(drawing) == []
    assert len(drawing.caption.split()) <= 120


def test_without_stages_nothing_is_drawn_or_said(staged):
    bare = {name: data for name, data in staged.items() if name != "stages"}
    drawing = figure("rllc_fig2_wrllc_by_head")(bare)
    assert not any(bands(ax) for ax in drawing.figure.axes)
    assert not any(each.startswith("Stages:") for each in drawing.conditions)


def test_the_trace_of_the_model_is_compared_with_its_interval_over_each_stage(staged, edges):
    drawing = figure("rllc_fig14_hessian_trace")(staged, distributions=["mixture"])
    trace = staged["hessian"].sel(seed=0, distribution="mixture")
    value, error = (trace[f"hessian_trace{end}"].sel(step=edges).values for end in ("", "_se"))
    change = np.diff(value)
    half = stats.norm.ppf(0.975) * np.hypot(error[:-1], error[1:])
    of_data = drawing.data.sel(seed=0, distribution="mixture")
    np.testing.assert_allclose(of_data["trace_reach"], change / half)
    np.testing.assert_allclose(of_data["trace_change"], change)
    total = edges.size - 1
    clear = int((abs(change) > half).sum())
    assert values(drawing, f"stages, of {total}", "model's Hessian trace") == [clear]
    llc = staged["llc"].sel(seed=0, distribution="mixture")
    reach = np.diff(llc["llc"].sel(step=edges)) / (stats.norm.ppf(0.975) * np.hypot(1.5, 1.5))
    np.testing.assert_allclose(of_data["llc_reach"], reach)
    (ax,) = (ax for title, label, ax in panels(drawing) if title == "full model" and "change" in label)
    points = [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) == total]
    np.testing.assert_allclose(points, [change / half, reach])


def test_heads_that_change_beyond_their_interval_are_counted_by_layer(staged, edges):
    drawing = figure("rllc_fig14_hessian_trace")(staged, distributions=["mixture"])
    name = drawing.data["distribution"].values[0]
    data = staged["rllc"].sel(seed=0, distribution=name)
    shares = []
    for layer in (0, 1):
        heads = data["head"].values[data["layer"].values == layer]
        value, error = (
            data[n].sel(head=heads, step=edges).transpose("step", "head").values for n in ("rllc", "rllc_se")
        )
        beyond = abs(np.diff(value, axis=0)) > stats.norm.ppf(0.975) * np.hypot(error[:-1], error[1:])
        shares.append(beyond.mean(1))
    found = drawing.data["llc_heads"].sel(seed=0, distribution=name).transpose("of_layer", "stage")
    np.testing.assert_allclose(found, shares)
    assert values(drawing, "heads' rLLCs") == [pytest.approx(100 * np.mean(shares))]


def test_a_figure_of_two_seeds_has_the_stages_of_each(make_study):
    made = make_study(seeds=(0, 1), steps=STEPS, missing=False)
    x = np.log(np.maximum(STEPS, 1))
    level = 0 * made["llc"]["llc"]
    for seed, at in ((0, 1000.0), (1, 5000.0)):
        shape = 100 / (1 + np.exp(-(x - np.log(at)) / 0.2))
        level.loc[{"seed": seed}] = level.sel(seed=seed) + xr.DataArray(
            shape, {"step": list(STEPS)}, ["step"]
        )
    loss = 0 * level + (8 - 0.4 * xr.DataArray(x, {"step": list(STEPS)}, ["step"]))
    made["llc"] = made["llc"].assign(llc=level, init_loss=loss)
    given = made | {"stages": stages({"llc": made["llc"]}, tolerance=8.0, chance=8.5)}
    drawing = figure("rllc_fig14_hessian_trace")(given, distributions=["mixture"])
    both = Stages(given, made["rllc"]["seed"])
    for seed in (0, 1):
        own = [ax for title, _, ax in panels(drawing) if f"seed {seed}" in title]
        assert own and all(len(bands(ax)) == both.edges(seed).size - 1 for ax in own)
    assert both.edges(0).tolist() != both.edges(1).tolist()
