"""The claims about regression, judged by the numbers of the authors: our statistics of their curves.

What each statistic comes to stands under ``published`` beside its claim in config/regression.yaml; here it is
computed, by the config's own statistics, from what the authors measured.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from rllc.analysis.hessian_stages import hessian_stages
from rllc.analysis.stages import stages
from rllc.analysis.statistics import summarise
from rllc.measures.structure import TOP, shares
from rllc.study import defaults
from rllc.study.parameters import statistics
from rllc.study.reading import read

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NAME = "regression"
ONE = {"distribution": ["pairs"]}
# Seed 1: singular values of the embeddings at some of the checkpoints; at the end the layer norms' mean weights.
TOKENS = {
    0: [2.32994, 2.14896, 2.11936, 1.95836, 1.68693],
    1124: [2.33325, 2.14748, 2.11765, 1.95814, 1.68815],
    40292: [1.79552, 1.69375, 1.68198, 1.67953, 0.61581],
    499999: [12.8089, 12.7279, 12.7092, 12.2044, 3.12253],
}
POSITIONS = {
    0: [1.66273, 1.54349, 1.5247, 1.40435, 1.33455, 1.27314, 1.18289, 1.15075, 1.05357, 1.02854, 0.94468,
        0.8823, 0.85767, 0.72144, 0.6593, 0.58965],
    499999: [46.6539, 28.0984, 23.0456, 17.7774, 14.9196, 13.0831, 12.5689, 10.5914, 9.65722, 8.85325,
             8.58582, 7.09934, 6.42981, 4.72229, 1.73209, 0.86213],
}  # fmt: skip
NORMS = {"blocks.0.ln1": 0.1623, "blocks.0.ln2": 0.4863, "blocks.1.ln1": 0.4007, "blocks.1.ln2": 1.3015,
         "ln_final": 0.0856}  # fmt: skip


def measured():
    """The authors' curves in our variables."""
    rows = pd.read_csv(HERE / "published_llc.csv", comment="#")
    rows = rows[rows["curve"].str.startswith("lr")]
    rows["seed"] = rows.pop("curve").str.removeprefix("lr").astype(int)
    both = rows.set_index(["seed", "step"]).to_xarray()
    data = pd.read_csv(HERE / "published_regression.csv", comment="#").set_index(["seed", "step"]).to_xarray()
    loss = [(data[f"mse_8_x{g}"] - data[f"mse_1_x{g}"]) / g**2 for g in (3, 5, 10)]
    far = xr.concat(loss, xr.DataArray([3.0, 5.0, 10.0], dims="scale", name="scale"))
    behaviour = xr.Dataset(
        {
            "delta_zero": data["mean_square"],
            "icl_early": data["mse_4"] - data["mse_1"],
            "icl_late": data["mse_8"] - data["mse_4"],
            "icl_score": data["mse_8"] - data["mse_1"],
            "far_icl": far.expand_dims(change=["inputs"]),
        }
    )
    llc = both.rename(loss="init_loss").expand_dims(ONE)
    return {
        "llc": llc.assign_attrs(sampling=json.dumps({"n_beta": 0.02 / 3e-4, "seeded": True})),
        "metrics": both[["loss"]].expand_dims(ONE),
        "in_context": behaviour,
        "hessian": data[["hessian_trace"]].sel(seed=[1]).expand_dims(ONE),
        "eigenvalues": data[["hessian_eigenvalue"]].sel(seed=[1]).expand_dims(ONE | {"rank": [1]}),
        "structure": weights(),
    }


def weights():
    tokens = [shares(torch.diag(torch.tensor(values))) for values in TOKENS.values()]
    top = [shares(torch.diag(torch.tensor(values)))[:TOP].sum() for values in POSITIONS.values()]
    parts = [
        xr.Dataset({"embedding_share": (("step", "direction"), tokens)}, {"step": [*TOKENS]}),
        xr.Dataset({"position_top": ("step", top)}, {"step": [*POSITIONS]}),
        xr.Dataset(
            {"norm_weight_mean": (("step", "norm"), [[*NORMS.values()]])},
            {"step": [499999], "norm": [*NORMS]},
        ),
    ]
    return xr.merge(parts, join="outer").expand_dims(seed=[1])


@pytest.fixture(scope="module")
def study():
    files = [ROOT / "config/regression.yaml", ROOT / "config/regression_published.yaml"]
    return read(defaults.load(files, ROOT))


@pytest.fixture(scope="module")
def summary(study):
    datasets = measured()
    experiment = study.experiments[NAME]
    datasets["hessian_stages"] = hessian_stages(datasets, from_step=experiment.hessian_stages.from_step)
    curves = {"llc": datasets["llc"]}
    datasets["stages"] = stages(curves, from_step=100, tolerance=experiment.stages.tolerance)
    return summarise(statistics(study, experiment), datasets)


# claim -> what the statistic must come to in seed 1, or in seeds 0 to 4, as read off these data by other means
EXPECTED = {
    "lr_stages": [2, 5, 2, 4, 3],
    "lr_boundaries": [2, 4, 2, 4, 3],
    "smooth_auto": 10,
    "lr_seed_sd": 4.24,
    "llc_not_loss_early": [-0.99998] * 5,
    "lr_falls": [0.30, 0.34, 0.26, 0.27, 0.30],
    "prior_min": [1465, 1673, 1465, 1673, 1465],
    "prior_level": 0.013,
    "prior_loss": 4.153,
    "icl_emerges": -3.48,
    "icl_late_worse": 0.09,
    "icl48_stops": -0.04,
    "icl14_goes_on": -0.27,
    "ood_falls_10": 0.17,
    "ood_falls_5": 0.45,
    "ood_falls_3": 0.93,
    "ln_not_mlp2": 1.30,
    "embed_collapse": 0.015,
    "embed_halves": 0.015 / 0.031,
    "embed_start": 0.134,
    "pos_collapse": 0.72 / 0.35,
    "curv_trace": 12221,
    "curv_eigenvalue": 13954,
    "curv_turn": 116161,
    "curv_turn_trace": 171717,
    "hess_misses": 0,
}


def of(study, summary, name):
    """The statistic of a claim in every seed that has one."""
    return summary[study.claims[name].statistic].dropna("seed")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_published_curves_give_the_published_numbers(study, summary, name):
    values, expected = of(study, summary, name), EXPECTED[name]
    values = values.sel(seed=1) if np.isscalar(expected) else values
    np.testing.assert_allclose(values, expected, rtol=0.03, atol=0.005)


def test_the_loss_is_all_there_is_to_the_early_llc(study, summary):
    values = of(study, summary, "llc_not_loss_early")
    np.testing.assert_allclose(values, -0.99998, atol=1.5e-5)


def test_the_config_says_what_they_give(study, summary):
    """The first number of every ``published``, to its last digit; where there is none, none can be had."""
    claims = {n: c for n, c in study.claims.items() if c.experiment == NAME and c.published}
    assert set(EXPECTED) <= set(claims)
    for name, claim in claims.items():
        number = re.match(r"-?[\d,]+(?:\.\d+)?", claim.published)
        if number is None:
            assert claim.statistic not in summary, name
            continue
        digits = number[0].replace(",", "").rstrip(".")
        places = len(digits.partition(".")[2])
        value = float(of(study, summary, name).sel(seed=1))
        assert f"{value:.{places}f}" == digits, (name, value)


def test_seeds_differ_by_as_much_as_the_paper_says(study, summary):
    """What is said of the other seeds beside seed 1's value: the smallest and the largest of all."""
    for name, words in {"prior_level": "0.0066 to 0.0182", "prior_loss": "4.140 to 4.162"}.items():
        values = of(study, summary, name)
        assert words in study.claims[name].published
        low, high = map(float, words.split(" to "))
        np.testing.assert_allclose([values.min(), values.max()], [low, high], atol=6e-4)
