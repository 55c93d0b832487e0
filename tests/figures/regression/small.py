"""A small run of in-context regression, and what figures draw of it."""

import json
from importlib import import_module

import numpy as np
import xarray as xr

from rllc.study.figures import FIGURES

LAW = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
FLAT = {"learning_rate": 0.5, "steps": 4000, "warmup": 0, "schedule": "constant", "end_rate": 0.0}
STEPS, SEEDS = [0, *np.geomspace(20, 4000, 19).astype(int).tolist()], [0, 1]
SETTING = {"step_size": 3e-4, "n_beta": 66.7, "localization": 66.7, "chains": 2, "draws": 150, "burn_in": 50,
           "thinning": 1, "batch_size": 128, "control_chains": 1, "scored_positions": None}  # fmt: skip
NAMES = [name for name, row in FIGURES.items() if row.draws.startswith("rllc.figures.regression.")]


class Held:
    stream = 5


def grid(measure, shape):
    """The measure of weights that shrink from step to step, over steps and seeds."""
    seeds = []
    for seed in SEEDS:
        start = shape.initial_weights(seed=seed)
        cells = [
            measure({n: w * 0.9**i for n, w in start.items()}, shape, step) for i, step in enumerate(STEPS)
        ]
        seeds.append(xr.concat([c.expand_dims(step=[s]) for c, s in zip(cells, STEPS, strict=True)], "step"))
    return xr.concat([c.expand_dims(seed=[s]) for c, s in zip(seeds, SEEDS, strict=True)], "seed")


def on_pairs(variables, **attrs):
    coords = {"seed": SEEDS, "step": STEPS, "distribution": ["pairs"]}
    dims = tuple(coords)
    data = xr.Dataset({n: (dims, v) for n, v in variables.items()}, coords=coords)
    data = data.assign_coords(distribution_label=("distribution", ["linear regressions"]))
    return data.assign_attrs({name: json.dumps(value) for name, value in attrs.items()})


def drawn_by(name):
    module, _, function = FIGURES[name].draws.partition(":")
    return getattr(import_module(module), function)


def line(ax, values):
    """The line of ``ax`` that draws ``values`` (step); fails where there is none."""
    found = [a for a in ax.get_lines() if np.array_equal(a.get_ydata(), values.values, equal_nan=True)]
    assert found, f"{ax.get_title('left')} does not draw {values.name}"
    np.testing.assert_array_equal(found[0].get_xdata(), values["step"])


def panel(drawing, title):
    return next(ax for ax in drawing.figure.axes if ax.get_title("left") == title)
