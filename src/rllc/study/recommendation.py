"""The rule that recommends a sampling setting: its section."""

from rllc.analysis.rule import THRESHOLDS
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.values import Positive, Share

KINDS = ("heads", "full")
GRID = ("step_size", "n_beta", "localization")


class Rule(ConfigModel):
    """When a setting is recommended; docs/calibration.md says what each word means."""

    min_share: float = config_field(
        "a criterion holds for a setting where it holds in this share of its cells",
        gt=0, le=1, default=THRESHOLDS["min_share"],
    )  # fmt: skip
    max_loss_rise: Positive = config_field(
        "local: mean loss rise at most this", unit="nats/token", default=THRESHOLDS["max_loss_rise"]
    )
    max_drift: Positive = config_field(
        "equilibrated: drift within two standard errors, or at most this share of the estimate",
        default=THRESHOLDS["max_drift"],
    )
    max_rhat: float = config_field("equilibrated: R-hat at most this", gt=1, default=THRESHOLDS["max_rhat"])
    min_acceptance: Share = config_field(
        "small_steps: mean acceptance of the moves at least this share of that of a constant loss",
        default=THRESHOLDS["min_acceptance"],
    )
    max_widening: Positive = config_field(
        "small_steps: 1 / (1 - step_size localization / 4) - 1 at most this",
        default=THRESHOLDS["max_widening"],
    )
    min_shrinkage: Share = config_field(
        "likelihood: 1 - drift-free / prior-only at least this", default=THRESHOLDS["min_shrinkage"]
    )
    max_drift_term: Positive = config_field(
        "small_drift: |estimate - drift-free| / |estimate| at most this",
        default=THRESHOLDS["max_drift_term"],
    )
