"""Tokens in context: claims against plain loops over a small run."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.claims.runs import run

from rllc.claims.heads import tokens
from rllc.claims.judging.evaluate import evaluate


def shares_of(count, shares):
    """A table of numbers by tokens in context, of which each head has so many."""
    made = {name: (("seed", "step"), [[value]]) for name, value in shares.items()}
    attributes = {"tokens": json.dumps({"top": count})}
    return {
        "classification": xr.Dataset(made, {"seed": [0], "step": [3000]}),
        "tokens": xr.Dataset(coords={"seed": [0], "step": [3000]}, attrs=attributes),
    }


def test_share_of_tokens_has_the_error_of_a_binomial(datasets):
    given = datasets | shares_of(400, {"dyck_share": 0.8, "dyck_share_gained": 0.1})
    drawn = tokens.dyck_pure(run(given, noise="own"))
    assert float(drawn.std()) == pytest.approx(np.sqrt(0.8 * 0.2 / 400), rel=0.1)
    difference = tokens.dyck_late(run(given, noise="own"))
    assert float(difference.std()) == pytest.approx(np.sqrt(2 * 0.25 / 400), rel=0.1)


def test_enrichment_has_the_binomial_errors_of_both_shares(datasets):
    """The smallest ratio is 3, of 0:1; no random position of 0:2 has its commonest pattern."""
    shares = {
        "share": [[0.9, 0.05, 0.0], [0.1, 0.6, 0.3], [0.9, 0.0, 0.1]],
        "share_chance": [[0.1, 0.0, 0.9], [0.9, 0.2, 0.0], [0.0, 0.1, 0.9]],
    }
    coords = {"seed": [0], "step": [3000], "head": ["0:0", "0:1", "0:2"]}
    given = datasets | shares_of(400, {"enrichment": 3.0})
    made = {
        name: (("seed", "step", "head", "pattern"), np.asarray([[each]])) for name, each in shares.items()
    }
    patterns = ["induction", "dyck", "unexplained"]
    filled = xr.Dataset(made, {**coords, "pattern": patterns}, given["tokens"].attrs)
    given["tokens"] = filled.reindex(pattern=[*patterns, "skip_ngram", "ngram"], fill_value=0.0)
    found = evaluate(tokens.enrichment.statistic, run(given))
    assert found.value == pytest.approx(3)
    relative = np.hypot(np.sqrt(0.4 / 0.6 / 400), np.sqrt(0.8 / 0.2 / 400))
    assert found.error == pytest.approx(3 * relative, rel=0.15)
