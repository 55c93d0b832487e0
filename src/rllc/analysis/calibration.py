"""What a sweep of sampling settings says: where an estimate is more than a curvature, and what to use.

**The rule.** A *cell* is one seed, checkpoint and component. A criterion holds for a setting where it holds
in at least ``min_share`` of its cells (*stable* and *positive* in all), on each distribution by itself and
on all together.

required, in this order:

- *stable*: no chain failed.
- *local*: the mean loss rise llc / n_beta is at most ``max_loss_rise``.
- *equilibrated*: the drift of the trace is within two of its standard errors or at most ``max_drift`` of the
  estimate, R-hat is at most ``max_rhat``, and burn-in is long enough that a chain without loss has reached
  ``min_relaxed`` of its stationary variance.
- *small_steps*: the moves would be accepted by a Metropolis test at least ``min_acceptance`` times as often
  as those of a constant loss of the same dimension (where that is 0.05 or more), else minibatch noise heats
  the chain; and the discretised localization is at most ``max_widening`` wider in variance than the
  continuous one, 1 / (1 - step_size localization / 4) - 1.
- *positive*: the estimate is above 0; an LLC cannot be negative, a chain that leaves a centre that is no
  minimum can.

preferred:

- *likelihood*: the shrinkage without drift, 1 - (on - drift term)/off, is at least ``min_shrinkage``: the
  curvature of the loss shapes the posterior, not the localization alone, nor a slope that a chain walks down.
- *small_drift*: |drift term| is at most ``max_drift_term`` times the estimate.

Among the settings that pass all that is required, those with both preferred criteria come first, then those
with *likelihood* (the drift is reported), then those with *small_drift*, then the rest. Within the first
class that is not empty the setting with the smallest median relative standard error is taken; ties go to the
smaller localization, then the larger n_beta, then the larger step size (arXiv 2402.02364, App. D.3.3).
Where no setting passes, the outcome is ``none``, with the required criterion that fails at most settings.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.regime import VARIABLES as OF_ESTIMATES
from rllc.analysis.regime import quantities
from rllc.vocabulary import STATUS, describe

GRID = ("localization", "n_beta", "step_size")
CELLS = ("seed", "step", "component", "distribution")
MEDIANS = (
    "shrinkage",
    "shrinkage_without_drift",
    "curvature_ratio",
    "drift_ratio",
    "relative_error",
    "loss_rise",
)
REQUIRED = ("stable", "local", "equilibrated", "small_steps", "positive")
PREFERRED = ("likelihood", "small_drift")
CRITERIA = REQUIRED + PREFERRED
WHOLE = ("stable", "positive")  # criteria that must hold in every cell
COMPARABLE = 0.05  # acceptance of a constant loss from which on there is something to compare with
OUTCOMES = ("none", "curvature", "likelihood")
ALL = "all distributions"
OK, MISSING = STATUS.index("ok"), STATUS.index("missing")
THRESHOLDS = {
    "min_share": 0.8, "max_loss_rise": 0.3, "max_drift": 0.15, "max_rhat": 1.2, "min_relaxed": 0.8,
    "min_acceptance": 0.5, "max_widening": 0.15, "min_shrinkage": 0.2, "max_drift_term": 0.5,
}  # fmt: skip
VARIABLES = OF_ESTIMATES | {
    "recommended_n_beta": ("n_beta that the rule recommends", "1"),
    "recommended_localization": ("localization that the rule recommends", "1"),
    "recommended_step_size": ("step size that the rule recommends", "1"),
    "share": ("share of cells in which the criterion holds", "1"),
    "passes": ("whether the criterion holds for the setting: 1 yes, 0 no, -1 not sampled", "1"),
    "tested": ("settings sampled", "1"),
    "candidates": ("settings that pass all that is required", "1"),
}


def criteria(calibration: xr.Dataset, **thresholds: float) -> xr.DataArray:
    """Whether each criterion holds in each cell: float, dim ``criterion`` first, NaN where not sampled.

    A quantity that is NaN in a cell that was sampled (a failed chain, no equilibrium) fails its criterion.
    """
    limit = _limits(thresholds)
    q, status = quantities(calibration), calibration["status"]
    tried = (status != MISSING).any("chain")
    llc, drift = calibration["llc"], np.abs(calibration["drift"])
    widening = 1.0 / (1.0 - calibration["step_size"] * calibration["localization"] / 4.0) - 1.0
    narrow = (widening >= 0) & (widening <= limit["max_widening"])
    null, relaxed = calibration["acceptance_null"], calibration["relaxed"] >= limit["min_relaxed"]
    accepted = calibration["acceptance"] >= limit["min_acceptance"] * null
    settled = (drift <= 2.0 * calibration["drift_se"]) | (drift <= limit["max_drift"] * np.abs(llc))
    held = {
        "stable": ((status == OK) | (status == MISSING)).all("chain"),
        "local": q["loss_rise"] <= limit["max_loss_rise"],
        "equilibrated": settled & relaxed & (calibration["rhat"] <= limit["max_rhat"]),
        "small_steps": narrow & (accepted | ~(null >= COMPARABLE)),
        "positive": llc > 0,
        "likelihood": q["shrinkage_without_drift"] >= limit["min_shrinkage"],
        "small_drift": q["drift_ratio"] <= limit["max_drift_term"],
    }
    index = xr.DataArray(list(CRITERIA), dims="criterion", name="criterion")
    return xr.concat([held[name].astype(float) for name in CRITERIA], index).where(tried).rename("holds")


def kinds(calibration: xr.Dataset) -> dict[str, list[str]]:
    """Components by kind: ``heads`` (labels L:H) and ``full``."""
    labels = [str(label) for label in calibration["component"].values]
    found = {
        "heads": [label for label in labels if ":" in label],
        "full": [label for label in labels if label == "full"],
    }
    return {kind: listed for kind, listed in found.items() if listed}


def recommend(calibration: xr.Dataset, **thresholds: float) -> xr.Dataset:
    """Apply the rule (see the module) to every kind of component, on each distribution and on all together.

    calibration  ``llc``, ``llc_se``, ``llc_gradient_off``, ``rhat``, ``drift``, ``drift_se``, ``acceptance``,
                 ``acceptance_null`` (seed, step, component, distribution, localization, n_beta,
                 step_size), ``status`` (.., chain), ``relaxed`` (component, localization, step_size),
                 ``hessian_trace``, ``gradient_square``, ``gradient_curvature`` (seed, step, component,
                 distribution)
    thresholds   any of ``THRESHOLDS``

    Returns, per (kind, distribution): ``recommended_n_beta``, ``recommended_localization``,
    ``recommended_step_size`` (NaN without recommendation), ``outcome`` (a flag: none, curvature: the
    localization dominates, likelihood), medians over cells at that setting, ``excluded_by`` (the required
    criterion that fails at most settings), ``said`` (one sentence); per setting also ``share`` and ``passes``
    of each criterion. The last ``distribution`` is "all distributions" where there are several.
    """
    limit = _limits(thresholds)
    holds, measured = criteria(calibration, **limit), quantities(calibration)
    groups = _groups(calibration)
    rows = []
    for labels in kinds(calibration).values():
        row = []
        for members in groups.values():
            picked = {"component": labels, "distribution": members}
            row.append(
                _choose(holds.sel(picked), measured.sel(picked), calibration["llc"].sel(picked), limit)
            )
        rows.append(xr.concat(row, xr.DataArray(list(groups), dims="distribution", name="distribution")))
    index = xr.DataArray(list(kinds(calibration)), dims="kind", name="kind")
    found = xr.concat(rows, index, combine_attrs="drop")
    found["outcome"].attrs = {
        "long_name": "what the rule comes to",
        "flag_values": np.arange(len(OUTCOMES), dtype=np.int8),
        "flag_meanings": " ".join(OUTCOMES),
    }
    return describe(found, VARIABLES).assign_attrs(limit)


def at_settings(
    calibration: xr.Dataset, settings: Mapping[str, Mapping[str, Mapping[str, float]]], **thresholds: float
) -> xr.Dataset:
    """What the sweep says of settings that are in use: criteria and medians over cells.

    settings  kind of component -> name -> n_beta, localization, step_size

    Returns ``setting_n_beta``, ``setting_localization``, ``setting_step_size`` (kind, setting; NaN where a
    kind has no such setting), and, where the setting is a point of the grid (else NaN, -1),
    ``setting_shrinkage``, ``setting_curvature_ratio``, ``setting_drift_ratio``, ``setting_relative_error``,
    ``setting_llc`` (kind, distribution, setting) and ``setting_passes`` (.., criterion).
    """
    limit = _limits(thresholds)
    held, groups = criteria(calibration, **limit), _groups(calibration)
    measured = quantities(calibration)[list(MEDIANS)].assign(llc=calibration["llc"])
    names = list(dict.fromkeys(name for kind in settings.values() for name in kind))
    listed = kinds(calibration)
    where = xr.Dataset(
        {
            f"setting_{part}": (("kind", "setting"), np.full((len(listed), len(names)), np.nan))
            for part in GRID
        },
        coords={"kind": list(listed), "setting": np.asarray(names, dtype=object)},
    )
    shape = (len(listed), len(groups), len(names))
    dims = ("kind", "distribution", "setting")
    medians = {name: np.full(shape, np.nan) for name in measured.data_vars}
    passes = np.full((*shape, len(CRITERIA)), -1, dtype=np.int8)
    for i, (kind, labels) in enumerate(listed.items()):
        for k, name in enumerate(names):
            point = settings.get(kind, {}).get(name)
            if point is None:
                continue
            for part in GRID:
                where[f"setting_{part}"][i, k] = point[part]
            if any(not np.isclose(calibration[part].values, point[part]).any() for part in GRID):
                continue
            for j, members in enumerate(groups.values()):
                picked = {"component": labels, "distribution": members}
                at = {part: point[part] for part in GRID}
                share = held.sel(picked).sel(at, method="nearest").mean(CELLS)
                if share.isnull().any():
                    continue
                passes[i, j, k] = share.values >= _floor(held, limit).values - 1e-9
                middle = measured.sel(picked).sel(at, method="nearest").median(CELLS)
                for variable, values in medians.items():
                    values[i, j, k] = float(middle[variable])
    found = where.assign({f"setting_{name}": (dims, values) for name, values in medians.items()})
    found["setting_passes"] = ((*dims, "criterion"), passes)
    return found.assign_coords(distribution=list(groups), criterion=list(CRITERIA))


def _groups(calibration: xr.Dataset) -> dict[str, list[str]]:
    """Every distribution by itself, and all of them together where there are several."""
    names = [str(name) for name in calibration["distribution"].values]
    return {name: [name] for name in names} | ({ALL: names} if len(names) > 1 else {})


def _floor(holds: xr.DataArray, limit: Mapping[str, float]) -> xr.DataArray:
    """The share of cells in which each criterion must hold."""
    return xr.where(holds["criterion"].isin(WHOLE), 1.0, limit["min_share"])


def _choose(
    holds: xr.DataArray, measured: xr.Dataset, llc: xr.DataArray, limit: Mapping[str, float]
) -> xr.Dataset:
    """The rule on the cells of one kind of component."""
    share = holds.mean(CELLS)
    sampled = share.notnull().all("criterion")
    passes = (share >= _floor(holds, limit) - 1e-9).astype(np.int8).where(sampled, -1).astype(np.int8)
    good = (passes.sel(criterion=list(REQUIRED)) == 1).all("criterion")
    error = measured["relative_error"].median(CELLS)
    likely, small = (passes.sel(criterion=name, drop=True) == 1 for name in PREFERRED)
    rank = 2 * likely.astype(int) + small.astype(int)
    best = _first(good, rank, error)
    tested = int(sampled.sum())
    found: dict[str, Any] = {
        "share": share, "passes": passes, "tested": tested, "candidates": int(good.sum()),
    }  # fmt: skip
    failing = (passes.sel(criterion=list(REQUIRED)) == 0).sum(GRID)
    worst = str(failing["criterion"].values[int(failing.values.argmax())]) if int(failing.max()) else ""
    found["excluded_by"] = worst
    middle = measured[list(MEDIANS)].median(CELLS)
    for name in GRID:
        found[f"recommended_{name}"] = np.nan if best is None else float(best[name])
    for name in MEDIANS:
        found[name] = np.nan if best is None else float(middle[name].sel(best))
    found["llc"] = np.nan if best is None else float(llc.median(CELLS).sel(best))
    if best is None:
        found["outcome"] = np.int8(OUTCOMES.index("none"))
        found["said"] = (
            f"none of {tested} settings passes; {worst} fails at most of them ({int(failing.max())})"
            if tested
            else "no setting was sampled"
        )
    else:
        outcome = "likelihood" if bool(likely.sel(best)) else "curvature"
        found["outcome"] = np.int8(OUTCOMES.index(outcome))
        found["said"] = _sentence(found, outcome, bool(small.sel(best)))
    return xr.Dataset(found)


def _first(good: xr.DataArray, rank: xr.DataArray, error: xr.DataArray) -> dict[str, float] | None:
    """The setting that the rule takes, None where none is good."""
    table = xr.Dataset({"good": good, "rank": rank, "error": error}).to_dataframe().reset_index()
    table = table[table["good"]]
    if not len(table):
        return None
    table = table.sort_values(
        ["rank", "error", "localization", "n_beta", "step_size"],
        ascending=[False, True, True, False, False],
        na_position="last",
    )
    return {name: float(table.iloc[0][name]) for name in GRID}


def _sentence(found: Mapping[str, Any], outcome: str, small: bool) -> str:
    setting = ", ".join(f"{name} {found[f'recommended_{name}']:g}" for name in ("step_size", "n_beta"))
    what = (
        "the likelihood matters"
        if outcome == "likelihood"
        else "the localization dominates, so the estimate is close kin of a curvature"
    )
    drift = "small" if small else "not small and must be reported"
    return (
        f"{setting}, localization {found['recommended_localization']:g}: {what} "
        f"(median 1 - on/off {found['shrinkage']:.0%}, "
        f"{found['shrinkage_without_drift']:.0%} without drift); "
        f"the drift term is {drift} "
        f"(median {found['drift_ratio']:.0%} of the estimate); {found['candidates']} of {found['tested']} "
        "settings pass what is required"
    )


def best_step(calibration: xr.Dataset, **thresholds: float) -> xr.DataArray:
    """The step size at which a pair (localization, n_beta) is looked at in the regime map; NaN where none.

    Of the step sizes at which no chain failed, the one with the largest share of cells that are equilibrated
    and have small steps, ties to the largest step size. Dims (localization, n_beta).
    """
    holds = criteria(calibration, **thresholds)
    sound = holds.sel(criterion=["equilibrated", "small_steps"]).min("criterion", skipna=False).mean(CELLS)
    usable = sound.where(holds.sel(criterion="stable", drop=True).mean(CELLS) == 1)
    steps = calibration["step_size"]
    # Ties to the largest: a preference far below any difference of shares.
    order = usable + 1e-9 * xr.DataArray(np.arange(steps.size), dims="step_size", coords={"step_size": steps})
    known = order.notnull().any("step_size")
    at = order.fillna(-1.0).argmax("step_size")
    return steps.isel(step_size=at).drop_vars("step_size").where(known).rename("step_size_used")


def regime(calibration: xr.Dataset, **thresholds: float) -> xr.Dataset:
    """Medians over cells of shrinkage, curvature ratio and signed drift ratio per (localization, n_beta).

    At the step size of ``best_step`` (over all cells given: choose the components and the distribution
    first). ``drift_term`` is drift_prediction / |llc|, so that its sign says which way; ``trusted`` is 1
    where all required criteria of the rule hold there, else 0.
    """
    limit = _limits(thresholds)
    used = best_step(calibration, **limit)
    known = used.notnull()
    measured = quantities(calibration)
    measured["drift_term"] = measured["drift_prediction"] / np.abs(calibration["llc"])
    measured["llc"] = calibration["llc"]
    at = used.fillna(calibration["step_size"].values[0])
    names = ["shrinkage", "shrinkage_without_drift", "curvature_ratio", "drift_term", "llc", "loss_rise"]
    middle = measured[names].sel(step_size=at).median(CELLS).where(known).drop_vars("step_size")
    holds = criteria(calibration, **limit)
    share = holds.mean(CELLS).sel(step_size=at).drop_vars("step_size")
    good = (share >= _floor(holds, limit) - 1e-9).sel(criterion=list(REQUIRED)).all("criterion")
    return middle.assign(step_size_used=used, trusted=(good & known).astype(np.int8))


def _limits(thresholds: Mapping[str, float]) -> dict[str, float]:
    unknown = set(thresholds) - set(THRESHOLDS)
    if unknown:
        raise ValueError(
            f"unknown threshold {', '.join(sorted(unknown))}: expected some of {', '.join(THRESHOLDS)}"
        )
    return {**THRESHOLDS, **thresholds}
