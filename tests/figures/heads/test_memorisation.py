"""Correlations of multigrams and rLLC: what is said of few heads, and of many."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures.heads.memorisation import rllc_fig11_memorisation

SCOPES, RHO, COUNTS = ["layer 0", "layer 1", "both layers"], [0.5, 0.4, 0.62], [3, 5, 8]


@pytest.fixture(scope="module")
def datasets(make_study):
    """Three multigram heads in layer 0, whose redrawn ranks never change, and five in layer 1."""
    made = make_study(n_heads=6, missing=False)
    heads, steps = made["rllc"]["head"].values, made["rllc"]["step"].values[[-1]]
    kinds = np.asarray(
        ["multigram"] * 3 + ["induction"] * 3 + ["multigram"] * 5 + ["induction"], dtype=object
    )
    counts = np.random.default_rng(0).integers(10, 90, (1, 1, 12)).astype(float)
    dims, coords = ("seed", "step", "head"), {"seed": [0], "step": steps, "head": heads}
    tokens = xr.Dataset(
        {
            "multigrams": (dims, counts),
            "multigrams_chance": (dims, counts / 4),
            "multigrams_half": ((*dims, "half"), counts[..., None] / 2 + np.asarray([-1.0, 1.0])),
        },
        coords | {"layer": ("head", made["rllc"]["layer"].values)},
    )
    numbers = {"": RHO, "_low": [0.5, 0.1, 0.52], "_high": [0.5, 0.7, 0.71], "_p": [np.nan, 0.2, 0.02]}
    numbers["_heads"] = COUNTS
    found = {
        f"multigram_spearman{part}": (("seed", "step", "scope"), np.asarray([[n]], dtype=float))
        for part, n in numbers.items()
    }
    at = {"seed": [0], "step": steps, "scope": SCOPES}
    classification = xr.Dataset(found, at, {"classification": json.dumps({"distribution": "mixture"})})
    types = xr.Dataset({"head_type": (("seed", "head"), kinds[None])}, {"seed": [0], "head": heads})
    return made | {"tokens": tokens, "classification": classification, "attention_scores": types}


def test_intervals_are_those_of_enough_heads(datasets):
    drawing = rllc_fig11_memorisation(datasets)
    said = ["\n".join(text.get_text() for text in ax.texts) for ax in drawing.figure.axes[:3]]
    assert "ρ = 0.50, 3 heads" in said[0]
    assert "ρ = 0.40 (0.10 to 0.70), p = 0.2, 5 heads" in said[1]
    assert "ρ = 0.62 (0.52 to 0.71), p = 0.02, 8 heads" in said[2]


def test_findings_tell_how_many_heads_are_correlated(datasets):
    found = {f.label.split(", ", 1)[1]: f.value for f in rllc_fig11_memorisation(datasets).findings}
    assert found == {
        "both layers, 8 heads": 0.62,
        "both layers": 0.02,
        "layer 0, 3 heads": 0.5,
        "layer 1, 5 heads": 0.4,
    }
