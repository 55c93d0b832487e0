"""What is said of statistics of experiments, in the claims table and in summaries."""

from collections.abc import Mapping, Sequence

import xarray as xr

from rllc.analysis.columns import DOUBTED
from rllc.vocabulary import in_full

DOUBT = "A value read from estimates that are not reliable says how estimates under this setting behave."


def experiment_titles(claims: xr.Dataset, titles: Mapping[str, str] | None) -> dict[str, str]:
    """What every experiment is called: as given, as labelled, or by its name."""
    names = claims["experiment"].values.tolist() if "experiment" in claims.dims else list(titles or {})
    labels = claims["experiment_label"].values.tolist() if "experiment_label" in claims.coords else names
    return {name: (titles or {}).get(name, label) for name, label in zip(names, labels, strict=True)}


def doubts(sign: str) -> str:
    """A caption's sentence on values that are read from estimates most of which are not reliable."""
    return (
        f"{sign}: more than {DOUBTED:.0%} of the estimates that the value is read from are not reliable "
        "(rings in the curves)."
    )


def averaged(claims: xr.Dataset, statistics: Sequence[str]) -> str:
    """A caption's sentence on statistics that are of a running mean."""
    known = [claims[name].attrs for name in dict.fromkeys(statistics) if name in claims]
    windows = sorted({int(attributes["window"]) for attributes in known if attributes.get("window")})
    parts = [
        f"means over {window} neighbouring checkpoints, since a maximum of noisy ones lies too high: "
        + ", ".join(in_full(a, "") for a in known if a.get("window") == window)
        for window in windows
    ]
    own = "Curves are of single checkpoints, peaks and falls in their captions of such means"
    return f"Of {'; of '.join(parts)}. {own}." if parts else ""
