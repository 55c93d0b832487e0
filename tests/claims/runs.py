"""Small runs of which claims can be judged: datasets with errors, controls, flags and types of heads."""

import json

import numpy as np
import xarray as xr

from rllc.claims import Experiment, Run

STEPS = [0, 100, 200, 300, 400]
HEADS = ["0:0", "0:1", "1:0", "1:1"]
LANGUAGE = Experiment(
    "language", "language", layers=2, label="two layers", text="mixture", code="code", steps=400
)


def rllc(*, seeds=(0,), heads=HEADS, error=0.1, seeded=False, quality=0):
    """rLLCs that rise to step 200 and fall by head: values are known in closed form."""
    step = np.asarray(STEPS, dtype=float)
    level = np.minimum(step, 200) / 100 - 0.25 * np.maximum(step - 200, 0) / 100
    number = np.arange(1, len(heads) + 1)
    value = np.stack([level[:, None] * number] * len(seeds))[..., None] * np.asarray([1.0, 2.0])
    dims = ("seed", "step", "head", "distribution")
    data = {
        "rllc": (dims, value),
        "rllc_se": (dims, np.full_like(value, error)),
        "rllc_prior_only": (dims, np.full_like(value, 5.0)),
        "rllc_prior_only_se": (dims, np.full_like(value, 0.01)),
        "quality": (dims, np.full(value.shape, quality, dtype=np.int16)),
    }
    coords = {"seed": list(seeds), "step": STEPS, "head": list(heads), "distribution": ["mixture", "code"]}
    return xr.Dataset(data, coords, {"sampling": json.dumps({"seeded": seeded})})


def scores(types, *, seeds=(0,), heads=HEADS):
    """Attention scores with the types of heads."""
    kinds = np.asarray([types] * len(seeds), dtype=object)
    matching = np.zeros((len(seeds), len(STEPS), len(heads)))
    matching[:, 1:] = 0.2
    return xr.Dataset(
        {"head_type": (("seed", "head"), kinds), "prefix_matching": (("seed", "step", "head"), matching)},
        {"seed": list(seeds), "step": STEPS, "head": list(heads)},
    )


def run(datasets, *, experiment=LANGUAGE, seed=0, **options):
    return Run(experiment, datasets, seed, **options)
