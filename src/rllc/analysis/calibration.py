"""Evaluate a sweep of sampling settings: where an estimate is more than a curvature, and which to use.

The rule (docs/calibration.md) reads *cells*: one seed, checkpoint and component each. A setting meets a
criterion if ``min_share`` of its cells do (*stable* and *positive*: all cells), on each distribution
separately and on all together. Among the settings that meet all required criteria, those that also meet the
preferred ones come first. Among these, the smallest median relative standard error wins (arXiv 2402.02364,
App. D.3.3).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc import components
from rllc.analysis.regime import VARIABLES as OF_ESTIMATES
from rllc.analysis.regime import meaning, quantities
from rllc.analysis.rule import CRITERIA, EVERYWHERE, GRID, OUTCOMES, PREFERRED, REQUIRED, limits
from rllc.quality import MASKS
from rllc.vocabulary import STATUS, describe

CELLS = ("seed", "step", "component", "distribution")
MEDIANS = (
    "shrinkage", "shrinkage_without_drift", "curvature_ratio", "drift_ratio", "relative_error", "loss_rise",
    "exponent", "walked_share",
)  # fmt: skip
NOT_EQUILIBRATED = MASKS["variance_not_equilibrated"] | MASKS["mean_not_equilibrated"]
COMPARABLE = 0.05  # least acceptance under a constant loss for a comparison
ALL = "all distributions"
OK, MISSING = STATUS.index("ok"), STATUS.index("missing")
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
    """Return whether each criterion holds in each cell: float, dim ``criterion`` first, NaN if not sampled.

    A quantity that is NaN in a sampled cell (a failed chain, no equilibrium) fails its criterion.
    """
    limit = limits(thresholds)
    q, status = quantities(calibration), calibration["status"]
    sampled = (status != MISSING).any("chain")
    llc, drift = calibration["llc"], np.abs(calibration["drift"])
    widening = 1.0 / (1.0 - calibration["step_size"] * calibration["localization"] / 4.0) - 1.0
    narrow = (widening >= 0) & (widening <= limit["max_widening"])
    null, relaxed = calibration["acceptance_null"], (calibration["quality"] & NOT_EQUILIBRATED) == 0
    accepted = calibration["acceptance"] >= limit["min_acceptance"] * null
    settled = (drift <= 2.0 * calibration["drift_se"]) | (drift <= limit["max_drift"] * np.abs(llc))
    holds = {
        "stable": ((status == OK) | (status == MISSING)).all("chain"),
        "local": q["loss_rise"] <= limit["max_loss_rise"],
        "equilibrated": settled & relaxed & (calibration["rhat"] <= limit["max_rhat"]),
        "small_steps": narrow & (accepted | ~(null >= COMPARABLE)),
        "positive": llc > 0,
        "likelihood": q["shrinkage_without_drift"] >= limit["min_shrinkage"],
        "small_drift": q["drift_ratio"] <= limit["max_drift_term"],
    }
    index = xr.DataArray(list(CRITERIA), dims="criterion", name="criterion")
    return xr.concat([holds[name].astype(float) for name in CRITERIA], index).where(sampled).rename("holds")


def kinds(calibration: xr.Dataset) -> dict[str, list[str]]:
    """Return the components of each kind present: ``heads`` (heads or groups) and ``full``."""
    labels = [str(label) for label in calibration["component"].values]
    found = {
        kind: [label for label in labels if components.kind(label) == kind] for kind in ("heads", "full")
    }
    return {kind: names for kind, names in found.items() if names}


def recommendation(
    datasets: Mapping[str, xr.Dataset],
    *,
    rule: Mapping[str, float],
    known: Mapping[str, Any],
    random_seed: int = 0,
) -> xr.Dataset:
    """Return all criteria at all settings of ``calibration``, the choice, and the values at known settings.

    known  kind of component -> setting -> its step_size, n_beta and localization
    """
    sweep = datasets["calibration"]
    made = recommend(sweep, **rule).merge(at_settings(sweep, known, **rule))
    if "distribution_label" in sweep.coords:
        named = dict(zip(sweep["distribution"].values, sweep["distribution_label"].values, strict=True))
        labels = [str(named.get(name, name)) for name in made["distribution"].values]
        made = made.assign_coords(distribution_label=("distribution", labels))
    return made.drop_attrs(deep=False)


def recommend(calibration: xr.Dataset, **thresholds: float) -> xr.Dataset:
    """Apply the rule to every kind of component, on each distribution and on all together.

    calibration  the dataset of that name: estimates and ``CELLS`` on the ``GRID``
    thresholds   any of ``rllc.analysis.rule.THRESHOLDS``

    Returns ``VARIABLES`` per (kind, distribution), NaN without recommendation: medians over cells at the
    recommended setting, ``outcome`` (a flag; curvature: the localization dominates), ``excluded_by`` (the
    required criterion that fails at most settings), ``said`` (one sentence); also ``share`` and ``passes``
    per setting. With several distributions, the last ``distribution`` is "all distributions".
    """
    limit = limits(thresholds)
    holds, terms = criteria(calibration, **limit), quantities(calibration)
    terms = terms[list(MEDIANS)].assign(llc=calibration["llc"])
    table = _by_group(calibration, lambda kind, cells: _choose(holds.sel(cells), terms.sel(cells), limit))
    table["outcome"].attrs = {
        "long_name": "what the rule comes to",
        "flag_values": np.arange(len(OUTCOMES), dtype=np.int8),
        "flag_meanings": " ".join(OUTCOMES),
    }
    return describe(table, VARIABLES).assign_attrs(limit)


def at_settings(
    calibration: xr.Dataset, settings: Mapping[str, Mapping[str, Mapping[str, float]]], **thresholds: float
) -> xr.Dataset:
    """Return criteria and medians over cells of the sweep at settings in use.

    settings  kind of component -> name -> n_beta, localization, step_size

    Returns ``setting_`` and each axis of the grid (kind, setting; NaN where a kind has no such setting), and
    for settings on the grid (else NaN, -1) ``setting_`` and each of ``MEDIANS``, ``llc`` (kind, distribution,
    setting) and ``passes`` (.., criterion).
    """
    limit = limits(thresholds)
    holds = criteria(calibration, **limit)
    terms = quantities(calibration)[list(MEDIANS)].assign(llc=calibration["llc"])
    names = list(dict.fromkeys(name for kind in settings.values() for name in kind))
    index = xr.DataArray(np.asarray(names, dtype=object), dims="setting", name="setting")

    def every(kind: str, cells: Mapping[str, list[str]]) -> xr.Dataset:
        passes, middle = _passes(holds.sel(cells), limit), terms.sel(cells).median(CELLS)
        table = middle.where((passes >= 0).all("criterion")).assign(passes=passes)
        points = [_at_point(table, settings.get(kind, {}).get(name, {})) for name in names]
        return xr.concat(points, index) if points else _at_point(table, {}).expand_dims(setting=0)

    table = _by_group(calibration, every).transpose("kind", "distribution", "setting", "criterion")
    table = table.assign({axis: table[axis].isel(distribution=0, drop=True) for axis in GRID})
    return table.rename({name: f"setting_{name}" for name in table.data_vars})


def _at_point(table: xr.Dataset, point: Mapping[str, float]) -> xr.Dataset:
    """Return the grid at one setting, with the setting; NaN, and -1 in ``passes``, off the grid."""
    known = point and all(np.isclose(table[axis].values, point[axis]).any() for axis in GRID)
    here = (
        table.sel(point, method="nearest", drop=True)
        if point
        else table.isel(dict.fromkeys(GRID, 0), drop=True)
    )
    here = here if known else here.where(False).assign(passes=xr.full_like(here["passes"], -1))
    return here.assign({axis: point.get(axis, np.nan) for axis in GRID})


def _by_group(
    calibration: xr.Dataset, result: Callable[[str, Mapping[str, list[str]]], xr.Dataset]
) -> xr.Dataset:
    """Return ``result(kind, cells)`` for every kind, on each distribution and, if several, on all."""
    names = [str(name) for name in calibration["distribution"].values]
    groups = {name: [name] for name in names} | ({ALL: names} if len(names) > 1 else {})
    along = xr.DataArray(list(groups), dims="distribution", name="distribution")
    rows = [
        xr.concat(
            [result(kind, {"component": labels, "distribution": group}) for group in groups.values()], along
        )
        for kind, labels in kinds(calibration).items()
    ]
    index = xr.DataArray(list(kinds(calibration)), dims="kind", name="kind")
    return xr.concat(rows, index, combine_attrs="drop")


def _passes(holds: xr.DataArray, limit: Mapping[str, float]) -> xr.DataArray:
    """Return whether each criterion holds for each setting: 1 yes, 0 no, -1 not sampled."""
    share = holds.mean(CELLS)
    least = xr.where(holds["criterion"].isin(EVERYWHERE), 1.0, limit["min_share"])
    sampled = share.notnull().all("criterion")
    return (share >= least - 1e-9).astype(np.int8).where(sampled, -1).astype(np.int8)


def _choose(holds: xr.DataArray, terms: xr.Dataset, limit: Mapping[str, float]) -> xr.Dataset:
    """Apply the rule to the cells of one kind of component."""
    passes, middle = _passes(holds, limit), terms.median(CELLS)
    required = passes.sel(criterion=list(REQUIRED))
    good, failures = (required == 1).all("criterion"), (required == 0).sum(GRID)
    likely, small = (passes.sel(criterion=name, drop=True) == 1 for name in PREFERRED)
    best = _first(good, 2 * likely.astype(int) + small.astype(int), middle["relative_error"])
    most = int(failures.max())
    row: dict[str, Any] = {
        "share": holds.mean(CELLS),
        "passes": passes,
        "tested": int((passes >= 0).all("criterion").sum()),
        "candidates": int(good.sum()),
        "excluded_by": str(failures["criterion"].values[int(failures.values.argmax())]) if most else "",
    }
    row |= {f"recommended_{name}": np.nan if best is None else best[name] for name in GRID}
    row |= {
        name: np.nan if best is None else float(middle[name].sel(best)) for name in map(str, middle.data_vars)
    }
    if best is None:
        outcome = "none"
        row["said"] = (
            f"none of {row['tested']} settings passes; {row['excluded_by']} fails at most of them ({most})"
            if row["tested"]
            else "no setting was sampled"
        )
    else:
        outcome = "likelihood" if bool(likely.sel(best)) else "curvature"
        row["said"] = _sentence(row, outcome, bool(small.sel(best)))
    return xr.Dataset(row | {"outcome": np.int8(OUTCOMES.index(outcome))})


def _first(good: xr.DataArray, rank: xr.DataArray, error: xr.DataArray) -> dict[str, float] | None:
    """Return the setting that the rule selects; None where no setting is good."""
    table = xr.Dataset({"good": good, "rank": rank, "error": error}).to_dataframe().reset_index()
    columns = ["rank", "error", *GRID]
    table = table.loc[table["good"]].sort_values(columns, ascending=[False, True, True, False, False])
    return {name: float(table[name].iloc[0]) for name in GRID} if len(table) else None


def _sentence(row: Mapping[str, Any], outcome: str, small: bool) -> str:
    setting = ", ".join(f"{name} {row[f'recommended_{name}']:g}" for name in ("step_size", "n_beta"))
    what = {
        "likelihood": "the likelihood matters",
        "curvature": "the localization dominates, so the estimate is close kin of a curvature",
    }
    drift = "small" if small else "not small and must be reported"
    return (
        f"{setting}, localization {row['recommended_localization']:g}: {what[outcome]} (median shrinkage "
        f"{row['shrinkage']:.0%}, {row['shrinkage_without_drift']:.0%} without drift); the drift term is "
        f"{drift} (median {row['drift_ratio']:.0%} of the estimate); {row['candidates']} of {row['tested']} "
        "settings pass what is required"
    )


def best_step(calibration: xr.Dataset, **thresholds: float) -> xr.DataArray:
    """Return the step size of each pair (localization, n_beta) in the regime map; NaN where none.

    Among the step sizes without failed chains, it is the one with the largest share of cells that are
    equilibrated and have small steps; ties go to the largest step size. Dims (localization, n_beta).
    """
    holds = criteria(calibration, **thresholds)
    sound = holds.sel(criterion=["equilibrated", "small_steps"]).min("criterion", skipna=False).mean(CELLS)
    usable = sound.where(holds.sel(criterion="stable", drop=True).mean(CELLS) == 1)
    steps = calibration["step_size"]
    # Ties go to the largest: the added preference is far below any difference of shares.
    order = usable + 1e-9 * xr.DataArray(np.arange(steps.size), dims="step_size", coords={"step_size": steps})
    known = order.notnull().any("step_size")
    at = order.fillna(-1.0).argmax("step_size")
    return steps.isel(step_size=at).drop_vars("step_size").where(known).rename("step_size_used")


def regime(calibration: xr.Dataset, **thresholds: float) -> xr.Dataset:
    """Return medians over cells of shrinkage, curvature ratio and drift ratio per (localization, n_beta).

    They are at the step size of ``best_step``, over all given cells, so select components and distribution
    before. ``drift_term`` is llc_walked / |llc|, and its sign gives the direction. ``meaning`` is that of the
    medians (``rllc.analysis.regime.MEANINGS``). ``meets_requirements`` is 1 where all required criteria of
    the rule hold, else 0.
    """
    limit = limits(thresholds)
    used = best_step(calibration, **limit)
    known, terms = used.notnull(), quantities(calibration).assign(llc=calibration["llc"])
    terms["drift_term"] = calibration["llc_walked"] / np.abs(terms["llc"])
    at = used.fillna(calibration["step_size"].values[0])
    names = [
        "shrinkage", "shrinkage_without_drift", "exponent", "walked_share", "curvature_ratio", "drift_term",
        "llc", "loss_rise",
    ]  # fmt: skip
    middle = terms[names].sel(step_size=at).median(CELLS).where(known).drop_vars("step_size")
    passes = _passes(criteria(calibration, **limit), limit).sel(criterion=list(REQUIRED))
    good = (passes == 1).all("criterion").sel(step_size=at).drop_vars("step_size")
    kind = meaning(
        middle["shrinkage_without_drift"], middle["walked_share"], min_shrinkage=limit["min_shrinkage"]
    )
    return middle.assign(step_size_used=used, meets_requirements=(good & known).astype(np.int8), meaning=kind)
