"""Datasets with the names and dims of the results contract, shaped like a small language study.

The curves are drawn, not measured: a previous-token head from step 600 on, an induction head from 1500.
"""

import json

import numpy as np
import xarray as xr

from rllc.quality import MASKS, quality_attributes
from rllc.vocabulary import STATUS, describe, head_coords, head_labels, status_attributes

DISTRIBUTIONS = ("mixture", "english", "code", "one_layer")
STEPS = (0, 10, 25, 50, 100, 180, 330, 600, 810, 1000, 1250, 1500, 1750, 2000, 2500, 3000)
SAMPLING = {
    "n_beta": 30.0, "localization": 200.0, "step_size": 1e-3,
    "chains": 4, "draws": 30, "burn_in": 10, "batch_size": 8,
}  # fmt: skip
LIKELIHOOD = SAMPLING | {"n_beta": 3e3, "localization": 1e3, "step_size": 1e-4}


def study(seeds=(0,), n_heads=4, steps=STEPS, distributions=DISTRIBUTIONS, missing=True):
    """All datasets of one experiment, by file stem."""
    coords = {"seed": list(seeds), "step": list(steps), **head_coords(head_labels(2, n_heads))}
    rllc = refined(coords, distributions, SAMPLING, missing)
    return {
        "rllc": rllc,
        "rllc.likelihood": refined(coords, distributions, LIKELIHOOD, missing, scale=9.0, off=1.7),
        "attention_scores": heads(coords),
        "hessian": hessian(rllc),
        "ablation": ablation(rllc),
        "llc": full(coords, distributions[:3]),
        "metrics": metrics(coords, distributions[:3]),
        "corpus": corpus(distributions[:3]),
    }


def rise(steps, onset, width=0.12):
    return 1 / (1 + np.exp(-(np.log1p(np.asarray(steps, float)) - np.log1p(onset)) / width))


def refined(coords, distributions, sampling, missing, scale=1.0, off=1.02):
    steps, heads, seeds = np.asarray(coords["step"]), coords["head"][1], coords["seed"]
    random = np.random.default_rng(7)
    shape = (len(seeds), len(steps), len(heads), len(distributions))
    values = np.empty(shape)
    for s, h, d in np.ndindex(shape[0], shape[2], shape[3]):
        factor = {"code": 1.15, "one_layer": 0.7}.get(distributions[d], 0.95)
        curve = 0.6 + (0.5 + 0.25 * ((h * 7 + s) % 5)) * rise(steps, 40 + 20 * h, 0.9)
        if h == s % 2:
            curve = curve + 1.6 * rise(steps, 600)
        if h == len(heads) // 2 + 1 + s % 2:
            curve = (
                curve
                + (3.6 if distributions[d] == "code" else 2.9) * rise(steps, 1400)
                - 0.8 * rise(steps, 2600)
            )
            curve = curve - 0.4 if distributions[d] != "one_layer" else curve * 0.5
        values[s, :, h, d] = scale * factor * curve + random.normal(0, 0.04 * scale, len(steps))
    error = scale * (0.03 + 0.03 * values / values.max() + 0.02 * random.random(shape))
    common = random.normal(0, 2, (*shape[:3], 1, 4))  # the same on all distributions
    own = random.normal(0, 2, (*shape, 4))
    chains = values[..., None] + error[..., None] * (0.8 * common + 0.6 * own)
    status = np.zeros(chains.shape, np.int8)
    if missing:
        status[0, 3, 2, 0, 1] = STATUS.index("diverged")
        status[0, 5, -1, 0] = STATUS.index("nonfinite")
        chains[status > 0] = np.nan
        values[0, 5, -1, 0] = error[0, 5, -1, 0] = np.nan
    quality = np.full(shape, MASKS["prior_dominated"] if off < 1.1 else 0, np.int32)
    if missing:
        quality[0, 3, 2, 0] |= MASKS["chain_failed"]
        quality[0, 5, -1, 0] = MASKS["all_chains_failed"]
        quality[0, 8:10, 1, 0] |= MASKS["drifting"]
        quality[0, 9, 1, 0] |= MASKS["not_mixed"]
        quality[0, 10, -2, 0] |= MASKS["drifting"]
        quality[0, 12:14, len(heads) // 2 + 1, -2] |= MASKS["not_mixed"]
    dims = ("seed", "step", "head", "distribution")
    labels = {"one_layer": "one-layer model", "mixture": "training mixture"}
    dataset = xr.Dataset(
        {
            "rllc": (dims, values),
            "rllc_se": (dims, error),
            "rllc_prior_only": (dims, values * off + random.normal(0, 0.01 * scale, shape)),
            "rllc_prior_only_se": (dims, np.full(shape, 0.01 * scale)),
            "rllc_chain": ((*dims, "chain"), chains),
            "status": ((*dims, "chain"), status, status_attributes()),
            "quality": (dims, quality, quality_attributes()),
        },
        coords={
            **coords,
            "distribution": list(distributions),
            "distribution_label": ("distribution", [labels.get(name, name) for name in distributions]),
        },
        attrs={"sampling": json.dumps(sampling)},
    )
    return describe(dataset, {"rllc": ("refined LLC", "1")})


def heads(coords):
    steps, labels, seeds = np.asarray(coords["step"]), coords["head"][1], coords["seed"]
    random = np.random.default_rng(8)
    shape = (len(seeds), len(steps), len(labels))
    scores = {name: 0.02 + 0.01 * random.random(shape) for name in ("previous_token", "prefix_matching")}
    scores["current_token"] = 0.05 + 0.02 * random.random(shape)
    k_composition = np.full((*shape, len(labels)), np.nan)
    half = len(labels) // 2
    k_composition[:, :, :half, half:] = 0.088 + 0.004 * random.random((len(seeds), len(steps), half, half))
    for s in range(len(seeds)):
        previous, induction = s % 2, half + 1 + s % 2
        scores["previous_token"][s, :, previous] += 0.75 * rise(steps, 600)
        scores["current_token"][s, :, 2] += 0.3 * rise(steps, 100, 0.4)
        scores["prefix_matching"][s, :, induction] += 0.25 * rise(steps, 1800)
        k_composition[s, :, previous, induction] += 0.12 * rise(steps, 1600, 0.2)
        k_composition[s, :, 2, half] += 0.04 * rise(steps, 300, 0.5)
    return xr.Dataset(
        {name: (("seed", "step", "head"), value) for name, value in scores.items()}
        | {"k_composition": (("seed", "step", "head", "later_head"), k_composition)},
        coords={**coords, "later_head": labels},
    )


def hessian(rllc):
    random = np.random.default_rng(9)
    trace = rllc["rllc"] * (2 * 200 / 30) * 0.93 + random.normal(0, 0.5, rllc["rllc"].shape)
    total = trace.sum("head") * 3.0
    return xr.Dataset(
        {
            "hessian_trace_head": trace,
            "hessian_trace_head_se": 0.4 + 0.0 * trace,
            "hessian_trace": total,
            "hessian_trace_se": 0.05 * total,
        }
    )


def ablation(rllc):
    methods = xr.DataArray([1.4, 1.0, 0.8], dims="method", coords={"method": ["zero", "mean", "resample"]})
    rise = rllc["rllc"] * 0.02 * methods
    return xr.Dataset(
        {"ablation": rise, "ablation_se": 0.01 + 0.1 * abs(rise)},
        attrs={"ablation": json.dumps({"batch_size": 16, "contexts": 32})},
    )


def full(coords, distributions):
    steps = np.asarray(coords["step"])
    dims = ("seed", "step", "distribution")
    shape = (len(coords["seed"]), len(steps), len(distributions))
    curve = 60 + 30 * rise(steps, 30, 0.8) + 20 * rise(steps, 1500, 0.3)
    values = np.broadcast_to(curve[None, :, None] + 4 * np.arange(shape[2]), shape).copy()
    quality = np.zeros(shape, np.int32)
    quality[:, -2:, 0] = MASKS["drifting"]
    return xr.Dataset(
        {
            "llc": (dims, values),
            "llc_se": (dims, 1.5 + 0 * values),
            "status": ((*dims, "chain"), np.zeros((*shape, 2), np.int8), status_attributes()),
            "quality": (dims, quality, quality_attributes()),
        },
        coords={"seed": coords["seed"], "step": coords["step"], "distribution": list(distributions)},
        attrs={"sampling": json.dumps(SAMPLING | {"chains": 2})},
    )


def metrics(coords, distributions):
    steps = np.asarray(coords["step"])
    dims = ("seed", "step", "distribution")
    shape = (len(coords["seed"]), len(steps), len(distributions))
    curve = 6.93 - 3.2 * rise(steps, 60, 0.8) - 0.5 * rise(steps, 1600, 0.3)
    loss = np.broadcast_to(curve[None, :, None] - 0.3 * np.arange(shape[2]), shape).copy()
    icl = np.broadcast_to((-0.02 - 0.35 * rise(steps, 1700, 0.2))[None, :, None], shape).copy()
    return xr.Dataset(
        {"loss": (dims, loss), "icl_score": (dims, icl), "icl_score_se": (dims, np.full(shape, 0.012))},
        coords={"seed": coords["seed"], "step": coords["step"], "distribution": list(distributions)},
    )


def corpus(distributions):
    numbers = {
        "documents": ([1250, 3310, 2200], "1"),
        "held_out_documents": ([125, 331, 220], "1"),
        "characters": ([1.65e7, 5.1e6, 1.02e7], "1"),
        "tokens": ([6.1e6, 1.6e6, 3.9e6], "1"),
        "held_out_tokens": ([3.1e5, 8.2e4, 2.0e5], "1"),
        "characters_per_token": ([2.71, 3.12, 2.62], "characters/token"),
        "unigram_entropy": ([5.61, 5.72, 5.34], "nats/token"),
        "repeated_share": ([0.61, 0.48, 0.66], "1"),
    }
    names = list(distributions)
    return xr.Dataset(
        {
            key: ("distribution", np.asarray(v[: len(names)], float), {"units": u})
            for key, (v, u) in numbers.items()
        },
        coords={"distribution": names},
    )
