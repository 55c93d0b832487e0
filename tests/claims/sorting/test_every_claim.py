"""All claims on sorting: each is complete, and the engine compares the experiments that it names."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.claims.sorting.small import CLAIMS, LLC, NUMBERS, STEPS, datasets, llc

from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge

CONFIG = Path(__file__).parents[3] / "config"


def test_experiments_are_compared_by_the_engine():
    """One head falls by 1 - 190/285 less (3.5 %) of two heads' fall to step 4,000; two heads judge overlap with it."""
    experiments = {
        name: Experiment(name, "sorting", text="lists", steps=steps)
        for name, steps in (("sort_1head", 4000), ("sort_2head_baseline", 8000))
    }
    one = {"llc": llc([0, 10, 20, 30, 30, 30, 30, 30], steps=STEPS[:8])}
    two = {"llc": llc(LLC, error=0.01), **datasets(head_overlap=np.linspace(1, 0.5, 10))}
    table = judge(CLAIMS, experiments, {"sort_1head": one, "sort_2head_baseline": two}, numbers=NUMBERS)
    found = table.sel(claim="fall_weaker_1head", seed=0)
    assert found["value"].item() == pytest.approx(-(1 - 275 / 285))
    assert found["verdict"].item() == "holds"
    assert table["verdict"].sel(claim="overlap_falls").item() == "holds"
    assert table["final_accuracy"].sel(experiment="sort_2head_baseline", seed=0).item() == 0.09
    assert np.isnan(table["final_accuracy"].sel(experiment="sort_1head", seed=0))


def test_numbers_that_the_summary_draws_are_listed():
    drawn = {"llc_peak_step", "llc_fall", "overlap_fall", "final_regions", "final_accuracy"}
    assert drawn <= {each.name for each in NUMBERS}


def test_every_claim_has_what_a_claim_needs():
    written = {}
    for name in ("config.yaml", "sorting.yaml"):
        written |= yaml.safe_load((CONFIG / name).read_text())["experiments"]
    names = {each.name for each in CLAIMS}
    for each in CLAIMS:
        assert each.source and each.text and each.statistic.label, each.name
        assert each.at_least is not None or each.at_most is not None, each.name
        assert each.experiment in written, each.name
        assert each.versus is None or each.versus in written, each.name
        assert each.given is None or each.given in names, each.name
    assert len(CLAIMS) == len(names) == 49
