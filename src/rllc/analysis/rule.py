"""The rule that recommends a sampling setting (docs/calibration.md): its criteria and thresholds.

No arrays are imported here: these are the defaults of the config's thresholds.
"""

GRID = ("localization", "n_beta", "step_size")
REQUIRED = ("stable", "local", "equilibrated", "small_steps", "positive")
PREFERRED = ("likelihood", "small_drift")
CRITERIA = REQUIRED + PREFERRED
EVERYWHERE = ("stable", "positive")  # must hold in every cell, the others in ``min_share`` of them
OUTCOMES = ("none", "curvature", "likelihood")
THRESHOLDS = {
    "min_share": 0.8, "max_loss_rise": 0.3, "max_drift": 0.15, "max_rhat": 1.2,
    "min_acceptance": 0.5, "max_widening": 0.15, "min_shrinkage": 0.2, "max_drift_term": 0.5,
}  # fmt: skip


def limits(thresholds: dict[str, float]) -> dict[str, float]:
    """All thresholds, those given and the others' defaults. Raises ValueError for one that there is not."""
    unknown = set(thresholds) - set(THRESHOLDS)
    if unknown:
        raise ValueError(f"unknown threshold {', '.join(sorted(unknown))}: known are {', '.join(THRESHOLDS)}")
    return {**THRESHOLDS, **thresholds}
