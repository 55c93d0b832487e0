"""The whole table of claims as a page: one static file without a script."""

from html import escape

import numpy as np
import xarray as xr

from rllc.claims.columns import PASSES
from rllc.claims.columns import VERDICTS as MEANING
from rllc.figures.claims import LIGHT, VERDICTS, threshold
from rllc.figures.drawing import Datasets, rounded
from rllc.figures.inputs import need
from rllc.figures.page import END, INK, WIDE, head

INTRODUCTION = """<p>Each row is a statement about a model, judged on this study. Its number stands under it
in words, and beside it with its standard error by training seed. A seed passes (✓) if the 95 % Student
interval lies within the bounds and fails (✗) if it lies beyond one. It is undecided (?) between, or if most
estimates behind it are not reliable. <em>Chance</em> is the share of shuffles of the types of heads in which
every seed passes; above 5 % a claim that does not fail is not judged. <em>Prior only</em> is the verdict by
chains without the loss gradient.</p>"""
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
COLUMNS = ("claim", "expected", "seeds", "chance", "prior only", "their own data", "verdict")


def claims_page(datasets: Datasets) -> str:
    """Return the page: a table of the claims of each family, and what the verdicts mean.

    datasets  ``claims``
    """
    claims = need(datasets, "claims", "text", "family", "value", "passes", "verdict")
    lines = [head("Claims, judged", _style()), INTRODUCTION, _verdicts(claims)]
    for family in dict.fromkeys(claims["family"].values.tolist()):
        lines += _family(claims.isel(claim=np.flatnonzero(claims["family"].values == family)), family)
    return "\n".join([*lines, *END])


def _style() -> str:
    badge = "padding:.1rem .4rem;border-radius:.3rem;white-space:nowrap"
    colors = "".join(
        f".v{n}{{background:{color};color:{INK if verdict in LIGHT else '#fff'};{badge}}}"
        for n, (verdict, (color, _)) in enumerate(VERDICTS.items())
    )
    cells = "td.c,td.p{white-space:normal;text-align:left}td.c{min-width:18rem}td{vertical-align:top}"
    return f"{colors}{cells}small{{color:var(--soft)}}main{{max-width:80rem}}"


def _badge(verdict: str) -> str:
    names = list(VERDICTS)
    if verdict not in names:
        return escape(verdict)
    return f'<span class="v{names.index(verdict)}">{VERDICTS[verdict][1]} {escape(verdict)}</span>'


def _verdicts(claims: xr.Dataset) -> str:
    """Return the number of claims with each verdict, and the verdict's meaning."""
    counts = claims["verdict"].values.tolist()
    rows = [
        f"<tr><td class=w>{_badge(name)}</td><td>{counts.count(name)}</td><td "
        f"class=w>{escape(MEANING[name])}</td></tr>"
        for name in VERDICTS
        if name in counts
    ]
    return "\n".join([WIDE.format(label="verdicts"), *rows, "</table></div>"])


def _family(claims: xr.Dataset, family: str) -> list[str]:
    header = "".join(
        f'<th scope="col"{" class=w" if name == "claim" else ""}>{name}</th>' for name in COLUMNS
    )
    lines = [
        f"<h2>{escape(family[:1].upper() + family[1:])}</h2>",
        WIDE.format(label=escape(family)),
        f"<tr>{header}</tr>",
    ]
    lines += [_row(claims.isel(claim=n)) for n in range(claims.sizes["claim"])]
    return [*lines, "</table></div>"]


def _row(claim: xr.Dataset) -> str:
    def text(name: str) -> str:
        return escape(str(claim[name].item())) if name in claim else ""

    unit = "" if text("unit") in ("", "1") else f" ({text('unit')})"
    more = [
        f"<br><small>{text('label')}{unit}</small>",
        f"<br><small>{text('source')}; {text('experiment_of_claim')}</small>",
    ]
    if text("versus"):
        more.append(
            f"<br><small>{'over' if text('comparison') == 'ratio' else 'less'} that of "
            f"{text('versus')}</small>"
        )
    for name, before in (("given", "presupposes "), ("correction", "corrected: "), ("reason", "")):
        if text(name):
            more.append(f"<br><small>{before}{text(name)}</small>")
    seeds = "<br>".join(filter(None, (_seed(claim.sel(seed=seed)) for seed in claim["seed"].values.tolist())))
    chance = float(claim["chance"]) if "chance" in claim else np.nan
    cells = [
        ("c", text("text") + "".join(more)),
        ("", threshold(claim)),
        ("", seeds),
        ("", f"{chance:.0%}" if np.isfinite(chance) else ""),
        ("", text("control_verdict")),
        ("p", text("published")),
        ("", _badge(str(claim["verdict"].item()))),
    ]
    row = "".join(f"<td{f' class={kind}' if kind else ''}>{words}</td>" for kind, words in cells)
    return f'<tr id="{text("claim")}">{row}</tr>'


def _seed(one: xr.Dataset) -> str:
    """Return a seed's value, error and sign: "0: 0.51 ± 0.03 ✓"."""
    sign = SIGNS.get(int(one["passes"]))
    if sign is None:  # the experiment does not have the seed
        return ""
    value = float(one["value"])
    number = rounded(value, float(one.get("value_se", np.nan))) if np.isfinite(value) else ""
    return f"{int(one['seed'])}: {number} {sign}"
