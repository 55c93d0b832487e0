"""The rule that recommends a sampling setting: its section."""

from rllc.analysis.rule import THRESHOLDS
from rllc.study.section import Section, key
from rllc.study.values import Positive, Share

KINDS = ("heads", "full")
GRID = ("step_size", "n_beta", "localization")


class Rule(Section):
    """When a setting is recommended; docs/calibration.md says what each word means."""

    min_share: float = key(
        "a criterion holds for a setting where it holds in this share of its cells",
        gt=0, le=1, default=THRESHOLDS["min_share"],
    )  # fmt: skip
    max_loss_rise: Positive = key(
        "local: mean loss rise at most this", unit="nats/token", default=THRESHOLDS["max_loss_rise"]
    )
    max_drift: Positive = key(
        "equilibrated: drift within two standard errors, or at most this share of the estimate",
        default=THRESHOLDS["max_drift"],
    )
    max_rhat: float = key("equilibrated: R-hat at most this", gt=1, default=THRESHOLDS["max_rhat"])
    min_acceptance: Share = key(
        "small_steps: mean acceptance of the moves at least this share of that of a constant loss",
        default=THRESHOLDS["min_acceptance"],
    )
    max_widening: Positive = key(
        "small_steps: 1 / (1 - step_size localization / 4) - 1 at most this",
        default=THRESHOLDS["max_widening"],
    )
    min_shrinkage: Share = key(
        "likelihood: 1 - (on - drift term)/off at least this", default=THRESHOLDS["min_shrinkage"]
    )
    max_drift_term: Positive = key(
        "small_drift: the drift term of a centre that is no minimum at most this share of the estimate",
        default=THRESHOLDS["max_drift_term"],
    )
