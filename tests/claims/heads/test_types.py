"""rLLC by type: claims against plain loops over a small run."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.claims.heads.small import HEADS, TYPES, of, table
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import types


def test_types_level_equals_eta_squared_within_layers(datasets):
    last, total, within = table(datasets)[-1], 0.0, 0.0
    for layer in ("0", "1"):
        inside = [n for n, head in enumerate(HEADS) if head.startswith(layer)]
        total += ((last[inside] - last[inside].mean()) ** 2).sum()
        for kind in {TYPES[n] for n in inside}:
            group = last[[n for n in inside if TYPES[n] == kind]]
            within += ((group - group.mean()) ** 2).sum()
    assert of(types.types_level, datasets) == pytest.approx(1 - within / total)


def test_correlation_of_multigrams_pools_ranks_within_seeds_and_needs_five_heads():
    labels = [f"{layer}:{n}" for layer in range(2) for n in range(4)]
    random = np.random.default_rng(3)
    seeds, step = [0, 1], [0, 3000]
    counts, level = random.random((2, 2, 8)), random.random((2, 2, 8, 1))
    coords = {"seed": seeds, "step": step, "head": labels}
    given = {
        "tokens": xr.Dataset({"multigrams": (("seed", "step", "head"), counts)}, coords),
        "rllc": xr.Dataset(
            {"rllc": (("seed", "step", "head", "distribution"), level)},
            {**coords, "distribution": ["mixture"]},
        ),
        "attention_scores": xr.Dataset(
            {"head_type": (("seed", "head"), np.full((2, 8), "multigram", object))}, coords
        ),
    }
    pairs = [[stats.rankdata(x) - 4.5 for x in (counts[s, 1], level[s, 1, :, 0])] for s in range(2)]
    one, other = (np.concatenate(each) for each in zip(*pairs, strict=True))
    expected = one @ other / np.sqrt((one @ one) * (other @ other))
    assert of(types.multigram_correlation_both, given) == pytest.approx(expected)
    assert of(types.multigram_correlation_both, given, seed=1) == pytest.approx(expected), (
        "one number for all seeds"
    )
    given["attention_scores"]["head_type"][:, 2:] = "induction"
    with pytest.raises(NotJudged, match="needs 5 multigram heads"):
        types.multigram_correlation_both(run(given))
