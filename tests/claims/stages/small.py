"""Small runs of a language model with stages, whose numbers are known by hand."""

import numpy as np
import pandas as pd
import xarray as xr

from rllc.claims import stages
from rllc.claims.claim import claims_of
from rllc.claims.experiment import Experiment
from rllc.claims.published import DATA
from rllc.claims.run import Run

STEPS = [0, 100, 800, 900, 6400, 6500, 8500, 17000, 21300, 50000]
N = len(STEPS)
KINDS = ["any", "saddle", "trough"]
CLAIMS = claims_of(stages, "stages")


def curves(dims=(), coords=None, **values):
    """Return a dataset of one seed and distribution, each variable [step, *dims]."""
    coords = {"seed": [0], "step": STEPS, "distribution": ["mixture"], **(coords or {})}
    return xr.Dataset(
        {
            name: (("seed", "step", "distribution", *dims), np.asarray(value, dtype=float)[None, :, None])
            for name, value in values.items()
        },
        coords,
    )


def boundaries(settings, **marks):
    """Return stages of these settings; ``kind=[checkpoints]`` of the first one, each possible."""
    at = np.zeros((len(settings), 1, 1, N, len(KINDS)))
    for kind, places in marks.items():
        at[0, 0, 0, places, KINDS.index(kind)] = 1
    dims = ("setting", "distribution", "seed", "step")
    coords = {"setting": settings, "distribution": ["mixture"], "seed": [0], "step": STEPS, "kind": KINDS}
    flat = at[..., 0].copy()
    return xr.Dataset({"at_boundary": ((*dims, "kind"), at), "published": (dims, flat)}, coords)


def heads(previous_token=None, prefix_matching=None):
    labels = ["0:0", "0:1", "1:0"]
    given = {"previous_token": previous_token, "prefix_matching": prefix_matching}
    made = {
        n: (("seed", "step", "head"), np.asarray(v, dtype=float)[None])
        for n, v in given.items()
        if v is not None
    }
    return xr.Dataset(made, {"seed": [0], "step": STEPS, "head": labels})


def run(setting="published", layers=2, length=50000, **datasets):
    named = {name.replace("__", "."): each for name, each in datasets.items()}
    return Run(
        Experiment("language", "language", layers, text="mixture", setting=setting, steps=length), named, 0
    )


def authors_run(curve):
    """Return the run whose LLC and loss are those of the authors' own curve."""
    rows = pd.read_csv(DATA / "published_llc.csv", comment="#")
    rows = rows[rows["curve"] == curve].set_index("step")[["llc", "loss"]].to_xarray()
    data = rows.expand_dims({"seed": [0], "distribution": ["mixture"]})
    return run(llc__published=data[["llc"]], metrics=data[["loss"]])
