"""Write the tables of claims in the docs: verdicts from ``claims.nc``, corrections from the code.

    python -m rllc.claims.document docs/regression.md results/regression/claims.nc
    python -m rllc.claims.document docs/claims.md

A table of verdicts stands between ``<!-- claims: heads -->``, which names the work, and
``<!-- end of claims -->``. With ``--experiment NAME`` it has only rows about that experiment. Without a
``claims.nc`` these tables stay as they are. The list of corrections stands between ``<!-- corrections -->``
and ``<!-- end of corrections -->``.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import xarray as xr

from rllc.claims.claim import claims_of
from rllc.claims.columns import DECIDED, in_seeds
from rllc.claims.works import WORKS

BLOCK = re.compile(r"(<!-- claims: (\w+) -->\n).*?(<!-- end of claims -->)", re.DOTALL)
CORRECTIONS = re.compile(r"(<!-- corrections -->\n).*?(<!-- end of corrections -->)", re.DOTALL)
COUNTED = {
    "holds": "hold",
    "half": "hold in some seeds",
    "does not": "do not hold",
    "undecided": "undecided",
    "not judged": "not judged",
    "not reached": "not reached",
}


def table(claims: xr.Dataset, work: str) -> str:
    """Return the table of a work's claims in Markdown, a row each, in the order of ``claims.nc``.

    It has columns for chance and for the claimants' own data where any row has them.
    """
    rows = [_row(claims.isel(claim=int(n))) for n in np.flatnonzero(claims["work"].values == work)]
    named = [name for name in rows[0] if name not in ("chance", "their data") or any(r[name] for r in rows)]
    lines = [named, ["---"] * len(named), *([row[name] for name in named] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def counts(claims: xr.Dataset, work: str) -> str:
    """Return how many claims of a work have each verdict: "15 claims: 12 hold, 3 do not hold."."""
    found = claims["verdict"].values[claims["work"].values == work].tolist()
    parts = [f"{found.count(verdict)} {words}" for verdict, words in COUNTED.items() if verdict in found]
    return f"{len(found)} claims: {', '.join(parts)}."


def corrections() -> str:
    """Return the table of claims that depart from those fixed before results, by work; equal texts once."""
    rows: dict[tuple[str, str], list[str]] = {}
    for work, module in WORKS.items():
        for each in claims_of(module, work):
            if each.correction:
                rows.setdefault((work, each.correction), []).append(f"`{each.name}`")
    lines = ["| work | claims | correction |", "|---|---|---|"]
    for (work, correction), names in rows.items():
        lines.append(f"| {work} | {', '.join(names)} | {_cell(correction[0].upper() + correction[1:])} |")
    return "\n".join(lines)


def written(text: str, claims: xr.Dataset | None = None) -> str:
    """Return a text of docs with its tables written anew: of verdicts where claims are given.

    Raises ValueError where it has no place for them, or the claims have none of a work that it names.
    """
    listed = bool(CORRECTIONS.search(text))
    text = CORRECTIONS.sub(lambda match: f"{match[1]}{corrections()}\n{match[2]}", text)
    if claims is None:
        if not listed:
            raise ValueError(
                "the text has no list of corrections: expected <!-- corrections --> and "
                "<!-- end of corrections -->; for a table of verdicts give claims.nc too"
            )
        return text
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


def _row(claim: xr.Dataset) -> dict[str, str]:
    """Return the cells of one claim by column."""

    def text(name: str) -> str:
        return str(claim[name].item()) if name in claim else ""

    values = [_seed(claim.sel(seed=seed)) for seed in claim["seed"].values.tolist()]
    chance = float(claim["chance"])
    verdict = text("verdict")
    if text("reason"):
        verdict = f"{verdict}: {text('reason')}"
    if text("control_verdict") == text("verdict") and text("verdict") in DECIDED:
        verdict = f"{verdict} (so does the prior-only control)"
    cells = {
        "claim": f"`{text('claim')}`: {text('text')} ({text('source')})",
        "expected": _bounds(claim),
        "value ± standard error, by seed": "; ".join(filter(None, values)),
        "chance": f"{chance:.0%}" if np.isfinite(chance) else "",
        "their data": text("published"),
        "verdict": verdict,
    }
    return {name: _cell(cell) for name, cell in cells.items()}


def _cell(text: str) -> str:
    """Return a text that does not end a cell of a table."""
    return text.replace("|", r"\|")


def _bounds(claim: xr.Dataset) -> str:
    low, high = float(claim["at_least"]), float(claim["at_most"])
    parts = [f"{low:g}"] if low == high else []
    parts += [f"≥ {low:g}"] if np.isfinite(low) and low != high else []
    parts += [f"≤ {high:g}"] if np.isfinite(high) and low != high else []
    return ", ".join(parts) + in_seeds(claim)


def _seed(one: xr.Dataset) -> str:
    """Return the value of a seed, to the first digit of its error; without an error, to four digits."""
    value, error = float(one["value"]), float(one["value_se"])
    if not np.isfinite(value):
        return ""
    if np.isfinite(error) and error > 0:
        decimals = max(0, -int(f"{error:.0e}".partition("e")[2]))
        return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def main() -> None:
    """Write the tables of claims of a file of docs."""
    parser = argparse.ArgumentParser(prog="python -m rllc.claims.document", description=main.__doc__)
    parser.add_argument("docs", type=Path, help="file whose tables are written, as docs/heads.md")
    parser.add_argument(
        "claims", type=Path, nargs="?", help="claims.nc of the study; without it only corrections are written"
    )
    parser.add_argument("--experiment", help="only claims about this experiment")
    given = parser.parse_args()
    claims = None
    if given.claims:
        with xr.open_dataset(given.claims) as opened:
            claims = opened.load()
        if given.experiment:
            rows = np.flatnonzero(claims["experiment_of_claim"] == given.experiment)
            claims = claims.isel(claim=rows)
    text = written(given.docs.read_text(encoding="utf-8"), claims)
    given.docs.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
