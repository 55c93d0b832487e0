"""Tokens in context: claims against plain loops over a small run."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.claims.runs import run

from rllc.claims.heads import tokens


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
