"""The curves that the authors of arXiv 2402.02364 measured, as experiments that claims are judged on.

The files in ``data`` name their source and hold numbers alone. The authors' step 0 is after one update.
"""

import json
from collections.abc import Collection
from math import log
from pathlib import Path

import pandas as pd
import xarray as xr

from rllc.analysis.hessian_stages import hessian_stages
from rllc.analysis.published_stages import TOLERANCE
from rllc.analysis.stages import stages
from rllc.claims.experiment import Experiment
from rllc.claims.run import Datasets

DATA = Path(__file__).with_name("data")
CURVATURE_FROM = 100  # checkpoints before it are left out of stages by the Hessian
# Checkpoints of config/paper.yaml. The stages of the authors' language models are found on them, as are those
# of our models at the published scale.
GRID = (100, *range(200, 10_000, 200), *range(10_000, 20_001, 400), *range(21_000, 50_001, 1_000))
SCALES = (3, 5, 10)  # of inputs out of distribution
TOP = 3  # shares of W_pos that are called its largest, as in rllc.measures.structure
WORKS = ("regression", "stages")  # that have curves here
SEED = 1  # model seed of the paper's figures
REGRESSION, LANGUAGE = "pairs", "mixture"  # distributions trained on, as the config calls them


def published(works: Collection[str] = WORKS) -> dict[str, list[tuple[Experiment, Datasets]]]:
    """Return the authors' experiments with their datasets, by work: of those of these works that have any.

    "regression" has seeds 0 to 4: LLC, loss and mean squared prediction of all of them, the rest of seed
    1 alone. "stages" has one seed of the two-layer and of the one-layer language model, with LLC and loss
    alone. Stages are found by the rule and from the step that are the default of our own studies.
    """
    made = {}
    if "regression" in works:
        experiment = Experiment("regression", "regression", 2, text=REGRESSION, steps=500_000)
        made["regression"] = [(experiment, _regression())]
    if "stages" in works:
        made["stages"] = [
            (_language("language", 2), _llc_and_loss("lm2")),
            (_language("language_1layer", 1), _llc_and_loss("lm1")),
        ]
    return made


def published_llc(curve: str) -> xr.DataArray:
    """Return the LLC (step) of one of the authors' curves: lm2, lm1, lr0 to lr4."""
    rows = _read("llc")
    own = rows[rows["curve"] == curve]
    if own.empty:
        known = ", ".join(rows["curve"].unique())
        raise ValueError(f"there is no published curve '{curve}': expected one of {known}")
    return own.set_index("step")["llc"].to_xarray()


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(DATA / f"published_{name}.csv", comment="#")


def _language(name: str, layers: int) -> Experiment:
    return Experiment(name, "language", layers, text=LANGUAGE, setting="published", steps=50_000)


def _llc_and_loss(curve: str) -> Datasets:
    """Return the LLC at the authors' setting, the loss, and the stages of a language model."""
    rows = _read("llc")
    own = rows[rows["curve"] == curve].drop(columns="curve").assign(seed=SEED)
    both = own.set_index(["seed", "step"]).to_xarray().expand_dims(distribution=[LANGUAGE])
    llc = both.rename(loss="init_loss").assign_attrs(sampling=_sampling(n_beta=100 / log(100)))
    found = stages({"llc.published": llc.sel(step=llc["step"].isin(GRID))}, tolerance=TOLERANCE)
    return {"llc.published": llc, "metrics": both[["loss"]], "stages": found}


def _regression() -> Datasets:
    """Return what the authors measured of in-context linear regression, and the stages by our rules."""
    rows = _read("llc")
    rows = rows.loc[rows["curve"].str.startswith("lr")]
    seeds = rows["curve"].str.removeprefix("lr").astype(int)
    both = rows.drop(columns="curve").assign(seed=seeds).set_index(["seed", "step"]).to_xarray()
    both = both.expand_dims(distribution=[REGRESSION])
    more = _read("regression").set_index(["seed", "step"]).to_xarray()
    curvature = more[["hessian_trace", "hessian_eigenvalue"]].sel(seed=[SEED])
    curvature = curvature.expand_dims(distribution=[REGRESSION])
    llc = both.rename(loss="init_loss").assign_attrs(sampling=_sampling(n_beta=0.02 / 3e-4))
    datasets = {
        "llc": llc,
        "metrics": both[["loss"]],
        "regression_predictions": _behaviour(more),
        "hessian": curvature[["hessian_trace"]],
        "eigenvalues": curvature[["hessian_eigenvalue"]].expand_dims(rank=[1]),
        "structure": _weights(),
    }
    datasets["stages"] = stages({"llc": llc}, tolerance=TOLERANCE)
    datasets["hessian_stages"] = hessian_stages(datasets, from_step=CURVATURE_FROM)
    return datasets


def _behaviour(measured: xr.Dataset) -> xr.Dataset:
    """Return mean squared prediction and in-context learning scores; those of far inputs over scale^2."""
    far = [(measured[f"mse_8_x{g}"] - measured[f"mse_1_x{g}"]) / g**2 for g in SCALES]
    return xr.Dataset(
        {
            "delta_zero": measured["mean_square"],
            "icl_early": measured["mse_4"] - measured["mse_1"],
            "icl_late": measured["mse_8"] - measured["mse_4"],
            "icl_score": measured["mse_8"] - measured["mse_1"],
            "far_icl": xr.concat(far, pd.Index(SCALES, name="scale", dtype=float)).expand_dims(
                change=["inputs"]
            ),
        }
    )


def _weights() -> xr.Dataset:
    """Return the shares of the embeddings' squared singular values, and the mean weights of layer norms."""
    measured = _read("weights").set_index(["quantity", "label", "step"])["value"]
    tokens, positions = (
        measured.loc[name].rename_axis(["direction", "step"]).to_xarray() ** 2 for name in ("W_E", "W_pos")
    )
    largest = positions.sel(direction=[str(number) for number in range(1, TOP + 1)])
    norms = measured.loc["norm"].rename_axis(["norm", "step"]).to_xarray()
    parts = {
        "embedding_share": tokens / tokens.sum("direction"),
        "position_top": largest.sum("direction") / positions.sum("direction"),
        "norm_weight_mean": norms,
    }
    made = [values.to_dataset(name=name) for name, values in parts.items()]
    return xr.merge(made, join="outer").expand_dims(seed=[SEED])


def _sampling(*, n_beta: float) -> str:
    """Return the authors' sampling as datasets record it: all checkpoints share their noise."""
    return json.dumps({"n_beta": n_beta, "seeded": True})


__all__ = ["DATA", "published", "published_llc"]
