"""The columns of the table of claims, ``claims.nc``: names, long names, units."""

import xarray as xr

STANDARD_ERROR, CONTROL = "_se", "_prior_only"  # endings of the error and of the control of a variable
BY_BLOCK = "_by_block"  # ending of its values on blocks of contexts, whose errors checkpoints share
INTERVAL = 0.95  # probability of the interval by which a seed is judged
DOUBTED = 0.5  # share of unreliable estimates above which nothing is decided by a number read from them
CHANCE = 0.05  # share of shuffles that may pass before a claim is not judged
SHUFFLES = 200  # of the types of heads, where there are not fewer different ones
PASSES = {"fails": 0, "passes": 1, "not_reached": -1, "undecided": -2, "not_judged": -3, "missing": -4}
VERDICTS = {
    "holds": "all seeds pass",
    "half": "some pass, some fail",
    "does not": "all fail",
    "undecided": "it would differ with how seeds turn out that are undecided, or that the claim needs beside "
    "those judged",
    "not reached": "training is too short for the claim",
    "not judged": "it has no value, no seed has reliable estimates, or chance passes too: reason says why",
}
DECIDED = ("holds", "half", "does not")
OWN = "as the statistic"
PER_SEED = {
    "value": ("the number of the claim, minus or divided by the number compared with", OWN),
    "value_se": ("standard error of the value, by redraws of the estimates; NaN: none is known", OWN),
    "degrees_of_freedom": ("degrees of freedom of value_se, by Welch and Satterthwaite", "1"),
    "unreliable": ("largest share of a curve's estimates that are not reliable, NaN: there are none", "1"),
    "passes": (
        f"whether the claim passes in a seed; undecided where the {INTERVAL:.0%} Student interval crosses "
        f"a bound, more than {DOUBTED:.0%} of the estimates are not reliable, or the claim presupposed does "
        "not pass",
        "1",
    ),
    "control": ("the value of the prior-only control (no loss gradient), NaN: there is none", OWN),
    "control_passes": ("whether the control passes in a seed", "1"),
}
NUMBERS = {
    "chance": (
        "share of shuffles in which every seed passes: of the types of heads within their layers, or of what "
        "the claim shuffles; NaN: nothing is shuffled",
        "1",
    ),
    "shuffles": ("number of these shuffles", "1"),
    "compared_with": ("mean over seeds of the number in the experiment compared with", OWN),
    "at_least": ("least value that passes", OWN),
    "at_most": ("largest value that passes", OWN),
    "reached": ("training step that the claim speaks of", "steps"),
    "seeds_needed": ("fewest seeds by which the claim can hold", "1"),
}
TEXTS = {
    "text": ("the claim", "1"),
    "source": ("who claims it", "1"),
    "work": ("which module of claims it belongs to", "1"),
    "family": ("group of claims that it stands with", "1"),
    "experiment_of_claim": ("experiment that the claim is about", "1"),
    "versus": ("experiment that it is compared with", "1"),
    "comparison": ("how it is compared with that experiment's mean: difference or ratio", "1"),
    "published": ("what the claimants' own data give, in words", "1"),
    "given": ("claim that this one presupposes, seed by seed", "1"),
    "correction": ("how it departs from the claim that was fixed before results", "1"),
    "statistic": ("name of the function that the claim is judged by", "1"),
    "label": ("what its number is", "1"),
    "unit": ("unit of its number", "1"),
    "reason": ("why there is no value or no verdict, by seeds", "1"),
    "control_verdict": ("the verdict of the prior-only control", "1"),
    "verdict": ("; ".join(f"{verdict}: {seeds}" for verdict, seeds in VERDICTS.items()), "1"),
}
PUBLISHED = {"published_value": ("the number by the claimants' own curves", OWN)}  # (claim, published_seed)
VARIABLES = PER_SEED | NUMBERS | TEXTS | PUBLISHED


def in_seeds(claim: xr.Dataset) -> str:
    """Return ", in 3 seeds" for a claim that needs several to hold, else nothing."""
    needed = float(claim["seeds_needed"]) if "seeds_needed" in claim else 1
    return f", in {needed:g} seeds" if needed > 1 else ""
