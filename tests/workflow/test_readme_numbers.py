"""Numbers of the README are those of the default study, where it is finished in this checkout."""

import json
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import xarray as xr
from readme import README, snippet

from rllc.models.initial import initial_weights
from rllc.models.transformer import Architecture
from rllc.study import defaults, parameters
from rllc.study.reading import read

ROOT = Path(__file__).resolve().parents[2]


def said(pattern):
    """The one place of the README that a pattern matches, line breaks as spaces."""
    (found,) = re.findall(pattern, " ".join(README.split()))
    return found


def of_the_study(results, *, head, distributions):
    """What the README quotes of a study of one training seed, as it writes it.

    head           the induction head
    distributions  mixture, English, code
    """
    mixture, english, code = distributions
    one, like = (
        xr.open_dataset(results / f"language/{name}.nc").isel(seed=0) for name in ("rllc", "rllc.likelihood")
    )
    onset = xr.open_dataset(results / "figures/induction_onset.nc").isel(seed=0)
    left = "rllc_onset" in onset  # not where no head is an induction head
    curve = one.sel(head=head, distribution=mixture)
    peak = int(curve["rllc"].argmax("step"))

    def value(cell):
        return f"{cell['rllc'].item():.2f} ± {cell['rllc_se'].item():.2f}"

    def highest_other(distribution):
        layer = one["head"].values[(one["layer"] == one["layer"].sel(head=head)).values]
        others = one.isel(step=-1).sel(head=[h for h in layer if h != head], distribution=distribution)
        return others.isel(head=int(others["rllc"].argmax("head")))

    last = one.sel(head=head).isel(step=-1)
    at_last = like.isel(step=-1)
    chains = json.loads(like.attrs["sampling"])["control_chains"]  # those that have a control
    with_control = at_last["rllc_chain"].isel(chain=slice(chains)).mean("chain")
    change = np.abs(1 - one["rllc"] / one["rllc_prior_only"])
    return {
        "peak": f"step {one['step'].values[peak]:,} ({value(curve.isel(step=peak))})",
        "end": value(curve.isel(step=-1)),
        "code": value(last.sel(distribution=code)),
        "next on code": value(highest_other(code)),
        "English": value(last.sel(distribution=english)),
        "highest on English": value(highest_other(english)),
        "onset by rLLC": f"{onset['rllc_onset'].sel(distribution=code).item():,.0f}" if left else None,
        "onset by score": f"{onset['score_onset'].item():,.0f}" if left else None,
        "control": f"{100 * change.median().item():.1f} %",
        "second setting": f"{100 * (1 - with_control / at_last['rllc_prior_only']).median().item():.0f} %",
    }


def test_the_numbers_of_the_readme_are_those_of_the_default_study(monkeypatch, capsys):
    results = ROOT / "results"
    if not (results / "claims.nc").is_file():
        pytest.skip("the default study is not finished here: `make run`")
    monkeypatch.chdir(ROOT)
    lines = snippet("python", "import reliable")
    matplotlib.use("Agg")
    exec(lines, {})
    printed = re.findall(r"^print.*# (\[.*\]|[\d.]+)", lines, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == printed
    found = of_the_study(results, head="1:2", distributions=("mixture", "english", "code"))
    estimate = r"(\d+\.\d\d ± \d\.\d\d)"
    assert found == {
        "peak": said(r"peaks at (step [\d,]+ \(\d+\.\d\d ± \d\.\d\d\))"),
        "end": said(rf"and ends at {estimate}"),
        "code": said(rf"On code it ends highest in its layer: {estimate}"),
        "next on code": said(rf"next {estimate}\)"),
        "English": said(rf"On English it does not: {estimate}"),
        "highest on English": said(rf"highest {estimate}\)"),
        "onset by rLLC": said(r"its layer at step ([\d,]+) by rLLC"),
        "onset by score": said(r"by rLLC and at step ([\d,]+) by prefix-matching score"),
        "control": said(r"differs from the estimate by ([\d.]+ %)"),
        "second setting": said(r"at step 6,500 are (\d+ %) below their control"),
    }
    assert float(found["code"][:4]) > float(found["next on code"][:4])
    assert float(found["English"][:4]) < float(found["highest on English"][:4])


def test_what_the_readme_quotes_is_found_in_a_study(finished):
    """So that the test above is known to work where no default study is: here its numbers mean nothing."""
    found = of_the_study(
        finished.root / "results/ci", head="1:1", distributions=("mixture", "english", "code")
    )
    for name in ("end", "code", "next on code", "English", "highest on English"):
        assert re.fullmatch(r"-?\d+\.\d\d ± \d+\.\d\d", found[name]), name
    assert re.fullmatch(r"step \d+ \(-?\d+\.\d\d ± \d+\.\d\d\)", found["peak"])
    assert re.fullmatch(r"\d+\.\d %", found["control"])
    assert re.fullmatch(r"-?\d+ %", found["second setting"])


def test_the_model_has_the_number_of_weights_that_the_readme_says():
    study = read(defaults.load(root=ROOT))
    sizes = parameters.model(study, study.experiments["language"])
    architecture = Architecture(**{name: value for name, value in sizes.items() if name != "family"})
    count = sum(weight.numel() for weight in initial_weights(architecture, seed=0).values())
    assert said(r"a model of ([\d,]+) weights") == f"{count:,}"
