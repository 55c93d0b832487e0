"""Traces of the running estimate over draws, and failure modes (arXiv 2402.02364, Fig. D.7)."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.inputs import distribution_labels, need, of_seeds
from rllc.vocabulary import STATUS

OK, NONFINITE, DIVERGED = (STATUS.index(name) for name in ("ok", "nonfinite", "diverged"))
RUNNING = "The running estimate is n_beta times the mean paired loss up to each draw, burn-in included."
CHAIN_COLOR, MEAN_COLOR = "#8899BB", "#22335E"


def running(paired_loss: xr.DataArray, n_beta: float | xr.DataArray) -> xr.DataArray:
    """n_beta times the mean paired loss up to each draw: the estimate, had the chain ended there."""
    draws = paired_loss["draw"].size
    count = xr.DataArray(np.arange(1, draws + 1), dims="draw", coords={"draw": paired_loss["draw"]})
    return (n_beta * paired_loss.cumsum("draw", skipna=False) / count).rename("running_llc")


class Case(NamedTuple):
    """One cell of the sweep: what it shows, its coordinates."""

    mode: str
    at: dict[str, Any]


@style.styled
def stage_figD7(datasets: Datasets, *, seed: int | None = None) -> Drawing:  # noqa: N802
    """Failure modes: chains of the sweep itself, each the clearest of its kind.

    datasets  ``calibration``
    """
    calibration = of_seeds(
        need(datasets, "calibration", "paired_loss", "llc", "drift", "status"),
        None if seed is None else [seed],
    )
    cases = _cases(calibration.isel(seed=[0]))
    if not cases:
        raise ValueError("calibration.nc has no cell that was sampled")
    figure, axes = style.grid(1, len(cases), panel=(2.5, 2.2), margin=1.3)
    labels, drawn, cells = distribution_labels(calibration), [], []
    for ax, (mode, at) in zip(axes[0], cases, strict=True):
        cell = calibration.sel(at)
        trace = running(cell["paired_loss"].dropna("draw", how="all"), at["n_beta"])
        for chain in trace["chain"].values:
            ax.plot(trace["draw"], trace.sel(chain=chain), color=CHAIN_COLOR, linewidth=0.9)
        ax.plot(trace["draw"], trace.mean("chain", skipna=False), color=MEAN_COLOR, linewidth=1.8)
        style.zero(ax)
        ax.set_title(f"{mode}\n{at['component']}, n_beta {at['n_beta']:g}", loc="left")
        ax.set_xlabel("draw")
        drawn.append(trace.reset_coords(drop=True))
        cells.append(
            f"{mode}: {at['component']} on {labels[at['distribution']]} at step {at['step']}, step size "
            f"{at['step_size']:g}, n_beta {at['n_beta']:g}, localization {at['localization']:g}, "
            + (
                f"LLC {float(cell['llc']):.2f} ± {float(cell['llc_se']):.2f}"
                if np.isfinite(cell["llc"])
                else "no LLC"
            )
        )
    axes[0, 0].set_ylabel("running LLC estimate")
    style.beside(
        axes[0, -1],
        [
            style.key("chain", color=CHAIN_COLOR),
            style.key("mean over chains", color=MEAN_COLOR, linewidth=1.8),
        ],
    )
    index = xr.DataArray([case.mode for case in cases], dims="mode", name="mode")
    data = xr.concat(drawn, index, join="outer").to_dataset(name="running_llc")
    modes = [case.mode for case in cases]
    absent = ", ".join(mode for mode in ("divergence", "negative estimate") if mode not in modes)
    conditions = [
        f"Not found in this sweep: {absent}." if absent else "",
        captions.seeds(calibration.isel(seed=[0])),
    ]
    words = captions.compose(
        *map(captions.sentence, cells), f"{RUNNING} Chains of the sweep.", conditions=conditions
    )
    return Drawing(figure, data, *words)


def _cases(calibration: xr.Dataset) -> list[Case]:
    """The clearest cell of each failure, and a sound one; a failure that does not occur is left out."""
    status = calibration["status"]
    tried = calibration["llc_gradient_off"].notnull() & ((status != STATUS.index("missing")).any("chain"))
    failed = ((status == NONFINITE) | (status == DIVERGED)).any("chain")
    ok, llc = tried & ~failed, calibration["llc"]
    moved = np.abs(calibration["drift"]) / np.abs(llc.where(llc != 0))
    grown = calibration["paired_loss"].max(["chain", "draw"])
    scores = {
        "divergence": grown.where(failed),
        "escape": (llc / calibration["n_beta"]).where(ok),
        "negative estimate": (-llc / calibration["llc_se"]).where(ok & (llc < 0)),
        "not converged": moved.where(
            ok & (llc > 0) & (np.abs(calibration["drift"]) > 4 * calibration["drift_se"])
        ),
        "sound": (-np.abs(calibration["llc_se"] / llc)).where(
            ok
            & (llc > 0)
            & (np.abs(calibration["drift"]) < calibration["drift_se"])
            & (calibration["rhat"] < 1.1)
        ),
    }
    cases = []
    for mode, score in scores.items():
        known = score.where(np.isfinite(score))
        if known.notnull().any():
            best = known.fillna(-np.inf).argmax(...)
            at = {str(dim): known[dim].values[int(index)] for dim, index in best.items()}
            cases.append(Case(mode, {k: v.item() if hasattr(v, "item") else v for k, v in at.items()}))
    return cases
