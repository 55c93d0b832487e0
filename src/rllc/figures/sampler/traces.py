"""Traces of the running estimate over draws, and failure modes (arXiv 2402.02364, Fig. D.7)."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding, headed
from rllc.figures.findings import known
from rllc.figures.inputs import distribution_labels, need, of_seeds
from rllc.figures.panels import Panel, Row, all_of, sheet
from rllc.vocabulary import STATUS

AT = ("n_beta", "localization", "step_size")  # keys of a cell's setting
FAILED = [STATUS.index(name) for name in ("nonfinite", "diverged")]
CHAIN_COLOR = "#8899BB"
MEAN = {"color": "#22335E", "linewidth": 1.8}


def running(paired_loss: xr.DataArray, n_beta: float | xr.DataArray) -> xr.DataArray:
    """Return n_beta times the mean paired loss up to each draw: the estimate if the chain ended there."""
    draws = paired_loss["draw"].size
    count = xr.DataArray(np.arange(1, draws + 1), dims="draw", coords={"draw": paired_loss["draw"]})
    return (n_beta * paired_loss.cumsum("draw", skipna=False) / count).rename("running_llc")


@style.styled
def calibration_failure_modes(datasets: Datasets, *, seed: int | None = None, title: str = "") -> Drawing:
    """The clearest chain of the sweep for each way to fail, and one that converged."""
    calibration = of_seeds(
        need(datasets, "calibration", "paired_loss", "llc", "drift", "status"),
        None if seed is None else [seed],
    ).isel(seed=[0])
    cases = _cases(calibration)
    if not cases:
        raise ValueError(
            "calibration.nc has no sampled cell: expected estimates, so run the calibration again"
        )
    labels, panels, cells = distribution_labels(calibration), [], {}
    drawn: list[xr.DataArray] = []
    for mode, at in cases.items():
        cell = calibration.sel(at)
        trace = running(cell["paired_loss"].dropna("draw", how="all"), at["n_beta"])
        named = f"{mode}\n{at['component']}, n_beta {at['n_beta']:g}"
        panels.append(Panel(named, over=all_of(partial(_chains, trace=trace), style.zero), x="draw"))
        drawn.append(trace.reset_coords(drop=True))
        cells[mode] = cell
    keys = [style.key("chain", color=CHAIN_COLOR), style.key("mean over chains", **MEAN)]
    figure, _ = sheet([Row("running LLC estimate", panels, keys)], panel=(2.5, 2.2), margin=1.3, title=title)
    index = xr.DataArray(list(cases), dims="mode", name="mode")
    absent = [mode for mode in ("divergence", "negative estimate") if mode not in cases]
    data = (
        xr.concat(drawn, index, join="outer")
        .to_dataset(name="running_llc")
        .assign_coords(
            {name: ("mode", [at[name] for at in cases.values()]) for name in next(iter(cases.values()))}
        )
    )
    for name in ("llc", "llc_se"):
        data[name] = ("mode", [float(cell[name]) for cell in cells.values()])
    return Drawing(
        figure,
        data,
        headed(title, "Chains of the sweep of sampling settings: each failure mode's clearest case."),
        known(_estimate(data.sel(mode=mode), labels) for mode in cases),
        [
            *([f"Not found in this sweep: {', '.join(absent)}."] if absent else []),
            *conditions.seeds(calibration),
        ],
    )


def _estimate(one: xr.Dataset, labels: Mapping[str, str]) -> Finding:
    """Return the LLC of one case, with its place in the sweep."""
    at = ", ".join(f"{name} {float(one[name]):g}" for name in AT)
    where = (
        f"{one['component'].item()} on {labels[one['distribution'].item()]}, step {int(one['step']):,}, {at}"
    )
    return Finding(f"LLC, {one['mode'].item()} ({where})", float(one["llc"]), float(one["llc_se"]))


def _chains(ax: Axes, trace: xr.DataArray) -> None:
    for chain in trace["chain"].values:
        ax.plot(trace["draw"], trace.sel(chain=chain), color=CHAIN_COLOR, linewidth=0.9)
    ax.plot(trace["draw"], trace.mean("chain", skipna=False), **MEAN)


def _cases(calibration: xr.Dataset) -> dict[str, dict]:
    """Return coordinates of the clearest cell of each failure that occurs, and of one that converged.

    The converged cell need not pass the rule of docs/calibration.md, which is stricter."""
    llc, error, drift = calibration["llc"], calibration["llc_se"], abs(calibration["drift"])
    sampled = (calibration["status"] != STATUS.index("missing")).any("chain")
    tried = calibration["llc_prior_only"].notnull() & sampled
    failed = calibration["status"].isin(FAILED).any("chain")
    ok = tried & ~failed
    positive = ok & (llc > 0)
    scores = {
        "divergence": calibration["paired_loss"].max(["chain", "draw"]).where(failed),
        "escape": (llc / calibration["n_beta"]).where(ok),
        "negative estimate": (-llc / error).where(ok & (llc < 0)),
        "not converged": (drift / llc).where(positive & (drift > 4 * calibration["drift_se"])),
        "converged": (-error / llc).where(
            positive & (drift < calibration["drift_se"]) & (calibration["rhat"] < 1.1)
        ),
    }
    cases = {}
    for mode, score in scores.items():
        known = score.where(np.isfinite(score))
        if known.notnull().any():
            best = known.fillna(-np.inf).argmax(...)
            cases[mode] = {str(dim): known[dim].values.tolist()[int(index)] for dim, index in best.items()}
    return cases
