"""The rule that recommends a sampling setting (docs/calibration.md): its criteria and thresholds.

The config takes the defaults of its thresholds from here, so this module does not import arrays.
"""

GRID = ("localization", "n_beta", "step_size")
REQUIRED = ("stable", "local", "equilibrated", "small_steps", "positive")
PREFERRED = ("likelihood", "small_drift")
CRITERIA = REQUIRED + PREFERRED
EVERYWHERE = ("stable", "positive")  # must hold in every cell; other criteria in ``min_share`` of the cells
OUTCOMES = ("none", "curvature", "likelihood")
THRESHOLDS = {
    "min_share": 0.8, "max_loss_rise": 0.3, "max_drift": 0.15, "max_rhat": 1.2,
    "min_acceptance": 0.5, "max_widening": 0.15, "min_shrinkage": 0.2, "max_drift_term": 0.5,
}  # fmt: skip


def limits(thresholds: dict[str, float]) -> dict[str, float]:
    """Return the given thresholds, with defaults for the others. Raises ValueError for an unknown one."""
    unknown = set(thresholds) - set(THRESHOLDS)
    if unknown:
        raise ValueError(f"unknown threshold {', '.join(sorted(unknown))}: known are {', '.join(THRESHOLDS)}")
    return {**THRESHOLDS, **thresholds}
