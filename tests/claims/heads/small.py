"""A small run of which claims on heads are judged, and how tests read it."""

import json

import numpy as np
import xarray as xr
from tests.claims.runs import run

STEPS = [0, 50, 100, 400, 1600, 3000]
HEADS = ["0:0", "0:1", "0:2", "1:0", "1:1", "1:2"]
TYPES = ["previous-token", "current-token", "multigram", "induction", "induction", "multigram"]
TEXTS = ["mixture", "code", "one_layer"]


def made():
    random = np.random.default_rng(7)
    step = np.asarray(STEPS, dtype=float)
    shape = (1, len(STEPS), len(HEADS))
    rise = 1 + np.minimum(step, 400)[:, None] / 400 - 0.3 * np.maximum(step - 400, 0)[:, None] / 2600
    rllc = random.uniform(1, 3, (1, 1, len(HEADS), 3)) * rise[None, :, :, None] + random.normal(
        0, 0.05, (*shape, 3)
    )
    matching = np.zeros(shape)
    matching[0, 3:, 3] = 0.3  # induction begins at step 400
    coords = {"seed": [0], "step": STEPS, "head": HEADS}
    dims = ("seed", "step", "head")
    costs = random.uniform(0.1, 1, (*shape, 3)) * (1 + np.arange(len(STEPS)))[None, :, None, None]
    trace = random.uniform(1, 9, (*shape, 2))
    return {
        "rllc": xr.Dataset(
            {"rllc": ((*dims, "distribution"), rllc), "rllc_se": ((*dims, "distribution"), np.full_like(rllc, 1e-3))},
            {**coords, "distribution": TEXTS},
        ),
        "attention_scores": xr.Dataset(
            {"prefix_matching": (dims, matching), "prefix_matching_se": (dims, np.full(shape, 1e-3)), "head_type": (("seed", "head"), np.asarray([TYPES], object))}, coords
        ),
        "ablation": xr.Dataset(
            {
                "ablation": ((*dims, "distribution", "method"), costs[:, :, :, None]),
                "ablation_se": ((*dims, "distribution", "method"), np.full_like(costs[:, :, :, None], 1e-3)),
            },
            {**coords, "distribution": ["mixture"], "method": ["zero", "mean", "resample"]},
        ),
        "hessian": xr.Dataset(
            {
                "hessian_trace_head": ((*dims, "distribution"), trace),
                "hessian_trace_head_se": ((*dims, "distribution"), np.full_like(trace, 0.01)),
            },
            {**coords, "distribution": ["mixture", "code"]},
            {"hessian": json.dumps({"probes": 4})},
        ),
    }  # fmt: skip


def of(function, datasets, **options):
    return float(function(run(datasets, **options)))


def table(datasets, text="mixture", variable="rllc.rllc"):
    """Values [step, head] of a text."""
    name, _, short = variable.rpartition(".")
    return datasets[name][short].sel(seed=0, distribution=text).values
