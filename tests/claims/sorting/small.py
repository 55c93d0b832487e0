"""Small runs of sorting, whose numbers are known by hand."""

import numpy as np
import xarray as xr

from rllc.claims import sorting
from rllc.claims.claim import claims_of, numbers_of
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run

STEPS = [0, 75, 200, 400, 700, 1200, 2000, 4000, 6000, 8000]
LENGTHY = [0, 75, 400, 4000, 30000, 60000, 100000]
# Step 0 is left out. Means over three: 17.3, 46.7, 76.7, 95 (step 1,200), 91.7, 78.3, 63.3.
LLC = [900, 2, 10, 40, 90, 100, 95, 80, 60, 50]
CLAIMS, NUMBERS = claims_of(sorting, "sorting"), numbers_of(sorting)


def llc(*curves, steps=STEPS, distributions=("lists",), error=None):
    """Return an LLC dataset of one seed, a curve per distribution."""
    dims = ("seed", "step", "distribution")
    values = np.asarray(curves, dtype=float).T[None]
    data = xr.Dataset(
        {"llc": (dims, values), "verdict": (dims, np.zeros(values.shape, np.int16))},
        {"seed": [0], "step": steps, "distribution": list(distributions)},
    )
    return data if error is None else data.assign(llc_se=(dims, np.full(values.shape, error)))


def datasets(steps=STEPS, **circuits):
    """Return the datasets of one seed: accuracy n/100 at the n-th checkpoint, and these curves of circuits."""
    accuracy = np.arange(len(steps)).reshape(1, -1, 1) / 100
    metrics = xr.Dataset(
        {"accuracy": (("seed", "step", "distribution"), accuracy)},
        {"seed": [0], "step": steps, "distribution": ["lists"]},
    )
    curves = {
        name: (("seed", "step"), np.asarray(values, dtype=float)[None]) for name, values in circuits.items()
    }
    return {"metrics": metrics, "circuits": xr.Dataset(curves, {"seed": [0], "step": steps})}


def run(data, *, task="sorting", text="lists", length=8000, name="sort"):
    return Run(Experiment(name, task, text=text, steps=length), data, 0)
