"""The whole table of claims as a page: one static file without a script."""

import numpy as np
import xarray as xr

from rllc.claims.columns import PASSES, in_seeds
from rllc.claims.columns import VERDICTS as MEANING
from rllc.figures.claims import LIGHT, VERDICTS, threshold
from rllc.figures.drawing import Datasets, rounded
from rllc.figures.inputs import need
from rllc.figures.page import INK, render

SIGNS = {  # sign of a seed, by the verdict that this seed alone would give
    PASSES[flag]: VERDICTS[verdict][1]
    for flag, verdict in (
        ("passes", "holds"),
        ("fails", "does not"),
        ("undecided", "undecided"),
        ("not_judged", "not judged"),
        ("not_reached", "not reached"),
    )
}
TEXTS = (
    "claim", "text", "label", "unit", "source", "experiment_of_claim", "versus", "comparison", "given",
    "correction", "reason", "control_verdict", "published", "verdict",
)  # fmt: skip


def claims_page(datasets: Datasets) -> str:
    """Return the page: a table of the claims of each family, and what the verdicts mean.

    datasets  ``claims``
    """
    claims = need(datasets, "claims", "text", "family", "value", "passes", "verdict")
    families: dict[str, list[dict]] = {}
    for n, family in enumerate(claims["family"].values.tolist()):
        families.setdefault(family, []).append(_row(claims.isel(claim=n)))
    given = claims["verdict"].values.tolist()
    return render(
        "claims.html",
        title="Claims, judged",
        looks={
            verdict: {"number": n, "color": color, "sign": sign, "ink": INK if verdict in LIGHT else "#fff"}
            for n, (verdict, (color, sign)) in enumerate(VERDICTS.items())
        },
        verdicts=[
            {"name": name, "count": given.count(name), "meaning": MEANING[name]}
            for name in VERDICTS
            if name in given
        ],
        families=families,
    )


def _row(claim: xr.Dataset) -> dict:
    """Return the texts of a row of the table."""
    chance = float(claim["chance"]) if "chance" in claim else np.nan
    return {
        **{name: str(claim[name].item()) if name in claim else "" for name in TEXTS},
        "threshold": threshold(claim) + in_seeds(claim),
        "seeds": [*filter(None, (_seed(claim.sel(seed=seed)) for seed in claim["seed"].values.tolist()))],
        "chance": f"{chance:.0%}" if np.isfinite(chance) else "",
    }


def _seed(one: xr.Dataset) -> str:
    """Return a seed's value, error and sign: "0: 0.51 ± 0.03 ✓"."""
    sign = SIGNS.get(int(one["passes"]))
    if sign is None:  # the experiment does not have the seed
        return ""
    value = float(one["value"])
    number = rounded(value, float(one.get("value_se", np.nan))) if np.isfinite(value) else ""
    return f"{int(one['seed'])}: {number} {sign}"
