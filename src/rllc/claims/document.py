"""Write the tables of verdicts in the docs from tables of claims.

    python -m rllc.claims.document docs/regression.md results/regression/claims.nc

A table stands between ``<!-- claims: heads -->``, which names the work, and ``<!-- end of claims -->``. With
``--experiment NAME`` only rows about that experiment are written. Without a file of docs nothing is changed.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import xarray as xr

BLOCK = re.compile(r"(<!-- claims: (\w+) -->\n).*?(<!-- end of claims -->)", re.DOTALL)
HEADER = "| claim | expected | value ± standard error, by seed | chance | verdict |\n|---|---|---|---|---|"


def table(claims: xr.Dataset, work: str) -> str:
    """Return the table of a work's claims in Markdown, a row each, in the order of ``claims.nc``."""
    rows = [HEADER]
    for n in np.flatnonzero(claims["work"].values == work):
        rows.append(_row(claims.isel(claim=int(n))))
    return "\n".join(rows)


def counts(claims: xr.Dataset, work: str) -> str:
    """Return how many claims of a work have each verdict: "12 hold, 3 do not, ..."."""
    found = claims["verdict"].values[claims["work"].values == work].tolist()
    order = ("holds", "half", "does not", "undecided", "not judged", "not reached")
    parts = [f"{found.count(verdict)} {verdict}" for verdict in order if verdict in found]
    return f"{len(found)} claims: {', '.join(parts)}."


def written(text: str, claims: xr.Dataset) -> str:
    """Return a text of docs with its tables of claims written anew.

    Raises ValueError where it has no such table, or the file of claims no claim of the work that one names.
    """
    works = set(claims["work"].values.tolist())
    named = [match[2] for match in BLOCK.finditer(text)]
    if not named:
        raise ValueError(
            "the text has no table of claims: expected <!-- claims: WORK --> and <!-- end of claims -->"
        )
    if missing := sorted(set(named) - works):
        raise ValueError(
            f"the table of claims has none of {', '.join(missing)}: it has {', '.join(sorted(works))}"
        )

    def made(match: re.Match[str]) -> str:
        return f"{match[1]}{counts(claims, match[2])}\n\n{table(claims, match[2])}\n{match[3]}"

    return BLOCK.sub(made, text)


def _row(claim: xr.Dataset) -> str:
    def text(name: str) -> str:
        return str(claim[name].item()).replace("|", r"\|")

    values = [_seed(claim.sel(seed=seed)) for seed in claim["seed"].values.tolist()]
    chance = float(claim["chance"])
    verdict = text("verdict")
    if text("reason"):
        verdict = f"{verdict}: {text('reason')}"
    if text("control_verdict") == text("verdict") and text("verdict") in ("holds", "half", "does not"):
        verdict = f"{verdict} (so does the prior-only control)"
    cells = [
        f"{text('text')} ({text('source')})",
        _bounds(claim),
        "; ".join(filter(None, values)),
        f"{chance:.0%}" if np.isfinite(chance) else "",
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def _bounds(claim: xr.Dataset) -> str:
    low, high = float(claim["at_least"]), float(claim["at_most"])
    if low == high:
        return f"{low:g}"
    parts = [f"≥ {low:g}"] if np.isfinite(low) else []
    parts += [f"≤ {high:g}"] if np.isfinite(high) else []
    return ", ".join(parts)


def _seed(one: xr.Dataset) -> str:
    value, error = float(one["value"]), float(one["value_se"])
    if not np.isfinite(value):
        return ""
    return f"{value:.3g} ± {error:.1g}" if np.isfinite(error) else f"{value:.4g}"


def main() -> None:
    """Write the tables of the docs that are named."""
    parser = argparse.ArgumentParser(prog="python -m rllc.claims.document", description=main.__doc__)
    parser.add_argument("docs", type=Path, help="file whose tables are written, as docs/heads.md")
    parser.add_argument("claims", type=Path, help="claims.nc of the study that they are of")
    parser.add_argument("--experiment", help="only claims about this experiment")
    given = parser.parse_args()
    with xr.open_dataset(given.claims) as claims:
        chosen = claims
        if given.experiment:
            chosen = claims.isel(claim=np.flatnonzero(claims["experiment_of_claim"] == given.experiment))
        text = written(given.docs.read_text(encoding="utf-8"), chosen.load())
    given.docs.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
