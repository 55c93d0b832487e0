"""All claims about in-context regression: each is complete, and the test of its module has its number."""

import pytest
from tests.claims.regression import (
    test_attention,
    test_curvature,
    test_dependence,
    test_far,
    test_in_context,
    test_prior,
    test_stages,
    test_weights,
)
from tests.claims.regression.small import CLAIMS

TESTS = (
    test_attention,
    test_curvature,
    test_dependence,
    test_far,
    test_in_context,
    test_prior,
    test_stages,
    test_weights,
)


def test_every_claim_has_an_expected_number():
    universal = {name for name in CLAIMS if name.startswith("prior_universal")}
    assert {name for each in TESTS for name in each.PAPER_NUMBERS} | universal == set(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_claim_is_complete(claim):
    assert claim.text and claim.source and claim.statistic.label and claim.statistic.unit
    assert claim.at_least is not None or claim.at_most is not None
    assert claim.given is None or claim.given in CLAIMS
    assert claim.versus is None
    assert claim.experiment in {"regression", *(f"regression_{n}" for n in (1, 4, 16, 256, 65536))}
