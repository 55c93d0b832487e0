"""The claims table's columns beside the statistics; the config refuses a statistic of such a name.

No arrays are imported here: the workflow reads these names when it is parsed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

# Endings of variables that go with a statistic or an estimate.
STANDARD_ERROR, UNTRUSTED, CONTROL = "_se", "_untrusted", "_gradient_off"
# Attributes: why a statistic has no value; without what a variable has none ("two induction heads").
NOT_JUDGED, NEEDS = "not_judged", "needs"
INTERVAL = 1.96  # standard errors to either side of a value: 95 % of a normal law
DOUBTED = 0.5  # share of estimates with a fault above which nothing is decided by a number read from them
VERDICTS = {
    "holds": "all seeds pass",
    "half": "some pass, some fail",
    "does not": "all fail",
    "undecided": "it would differ with how seeds turn out that are undecided",
    "not reached": "training is too short for the claim",
    "not judged": "it has no value: reason says why",
}
COORDINATES = ("claim", "seed", "experiment", "experiment_label")
# Name -> long name and unit, by the dims that a column has.
PER_SEED = {
    "value": ("the statistic of the claim, less or over what it is compared with", "as the statistic"),
    "value_se": (
        "standard error of the value, from those of the estimates; NaN: no such",
        "as the statistic",
    ),
    "untrusted": ("share of the estimates behind the value that are not reliable, NaN: not judged", "1"),
    "passes": (
        f"whether the claim passes in a seed; undecided where value ± {INTERVAL:g} value_se crosses a bound, "
        f"more than {DOUBTED:.0%} of the estimates are not reliable, or the claim presupposed does not pass",
        "1",
    ),
    "control": ("the value of the control without the loss gradient, NaN: there is none", "as the statistic"),
    "control_passes": ("whether the control passes in a seed", "1"),
}
NUMBERS = {
    "compared_with": ("mean over seeds of the statistic in the experiment compared with", "as the statistic"),
    "at_least": ("least value that passes", "as the statistic"),
    "at_most": ("largest value that passes", "as the statistic"),
    "reached": ("training step that the claim speaks of", "steps"),
}
TEXTS = {
    "text": ("the claim", "1"),
    "source": ("who claims it", "1"),
    "experiment_of_claim": ("experiment that the claim is about", "1"),
    "versus": ("experiment that it is compared with", "1"),
    "published": ("what the claimants' own data give for the statistic", "1"),
    "given": ("claim that this one presupposes, seed by seed", "1"),
    "comparison": ("how it is compared with that experiment's mean: difference or ratio", "1"),
    "statistic": ("statistic that the claim is judged by", "1"),
    "reason": ("why there is no value, by seeds", "1"),
    "control_verdict": ("the verdict of the control without the loss gradient", "1"),
    "verdict": ("; ".join(f"{verdict}: {seeds}" for verdict, seeds in VERDICTS.items()), "1"),
}
PER_EXPERIMENT = {"last_step": ("last checkpoint at which any of the statistics is measured", "steps")}
VARIABLES = PER_SEED | NUMBERS | TEXTS
RESERVED = (*VARIABLES, *PER_EXPERIMENT, *COORDINATES)


def needing(made: "xr.Dataset", needed: Mapping[str, str]) -> "xr.Dataset":
    """The dataset, whose variables say without what they have no value."""
    for name, words in needed.items():
        made[name].attrs[NEEDS] = words
    return made
