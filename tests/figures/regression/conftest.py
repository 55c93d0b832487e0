"""A small run of in-context regression and its figures, each drawn once."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit
from tests.figures.regression.small import (
    FLAT,
    LAW,
    SEEDS,
    SETTING,
    STEPS,
    Held,
    drawn_by,
    grid,
    on_pairs,
)

from rllc.analysis.stages import stages
from rllc.measures.regression_predictions.kernel import regression_predictions
from rllc.measures.structure.kernel import structure
from rllc.models.regression import model
from rllc.models.weights import weight_norm


@pytest.fixture(scope="session")
def study():
    shape = model(n_layers=2, n_heads=2, d_model=8, d_head=4, context=16, d_vector=5)
    behaviour = regression_predictions(
        Held(), sequences=60, middle=4, scales=[1.0, 3.0, 10.0], law=LAW, schedule=FLAT
    )
    random = np.random.default_rng(0)
    size = (len(SEEDS), len(STEPS), 1)
    x = np.log(np.maximum(STEPS, 1))
    falls = 4.4 - 1.2 * expit((x - np.log(60)) / 0.2) - 1.2 * expit((x - np.log(1500)) / 0.2)
    falling = falls[None, :, None] + 0.005 * random.standard_normal(size)
    sampled = 66.7 * (4.44 - falling)
    norms = [
        [float(weight_norm(shape.initial_weights(seed=s))) * 0.9**i for i in range(len(STEPS))] for s in SEEDS
    ]
    llc = on_pairs(
        {
            "llc": sampled,
            "llc_se": np.full(size, 2.0),
            "llc_prior_only": 1.5 * sampled,
            "init_loss": falling,
        },
        sampling=SETTING,
    )
    status = xr.zeros_like(llc["llc"].astype(int)).expand_dims(chain=2)
    llc = llc.assign(status=status, quality=xr.zeros_like(llc["llc"]).astype(int))
    local = (llc / 10).assign_attrs(sampling=json.dumps(SETTING | {"localization": 1000, "step_size": 2e-4}))
    local = local.assign(status=status, init_loss=llc["init_loss"])
    made = stages(
        {"llc": llc, "llc.local": local},
        tolerance=8.0,
        chance=4.125,
        guess="predictions of 0",
        unit="squared error",
    )
    return {
        "stages": made,
        "regression_predictions": grid(behaviour, shape).assign_attrs(
            regression_predictions=json.dumps({"sequences": 60, "middle": 4, "law": LAW})
        ),
        "structure": grid(structure(Held(), sequences=20, law=LAW), shape),
        "metrics": on_pairs(
            {"loss": falling, "weight_norm": np.array(norms)[:, :, None]},
            metrics={"contexts": 2048, "batch_size": 512},
        ),
        "llc": llc,
        "llc.local": local,
        "hessian": on_pairs({"hessian_trace": 100 + sampled**2, "hessian_trace_se": np.full(size, 3.0)}),
        "eigenvalues": on_pairs({"hessian_products": np.full(size, 30)}).assign(
            hessian_eigenvalue=abs(llc["llc"].expand_dims(rank=[1, 2, 3], axis=-1)) + 1.0
        ),
    }


@pytest.fixture(scope="session")
def made(study, once):
    """A figure by its name, and what it asked for; drawn once. Read only."""
    return once(drawn_by, study)


@pytest.fixture(scope="session")
def drawn(made):
    """The figure alone."""
    return lambda name: made(name)[0]
