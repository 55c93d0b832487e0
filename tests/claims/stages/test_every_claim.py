"""All claims on stages: each is complete, and about models of its depth."""

import pytest
from tests.claims.stages.small import CLAIMS

from rllc.claims.experiment import Experiment


@pytest.mark.parametrize(
    ("experiment", "count"),
    [
        (Experiment("language", "language", 2, setting="published"), 28),
        (Experiment("mine", "language", 4, setting="stagewise"), 28),
        (Experiment("language", "language", 2, setting="sampling"), 26),
        (Experiment("language_1layer", "language", 1, setting="published"), 4),
        (Experiment("sort_1head", "sorting", 1), 0),
        (Experiment("regression", "regression", 2), 0),
    ],
)
def test_claims_are_about_language_models_of_their_depth(experiment, count):
    """The base setting is not compared with itself."""
    about = {each.name for each in CLAIMS if each.applies(experiment)}
    assert len(about) == count
    local = {"llc_not_loss_local", "llc_not_control_local"}
    assert (local <= about) == (count == 28)


def test_every_claim_has_what_a_claim_needs():
    names = {each.name for each in CLAIMS}
    for each in CLAIMS:
        assert each.source and each.text and each.statistic.label and each.published, each.name
        assert each.at_least is not None or each.at_most is not None, each.name
        assert each.versus in (None, "language"), each.name
        assert each.given is None or each.given in names, each.name
    assert len(CLAIMS) == len(names) == 32
