"""Datasets of a small study of sorting transformers, with the names and dims of the results contract.

Circuits are drawn, not trained: bands beside the diagonal in QK, a diagonal in OV that the heads divide
among themselves after the peak of the LLC. What describes them is computed from them.
"""

import json

import numpy as np
import xarray as xr

from rllc.quality import MASKS, quality_attributes
from rllc.vocabulary import STATUS, head_coords, head_labels, status_attributes

STEPS = (0, 10, 30, 60, 100, 140, 200, 300, 450, 700, 1000, 1600, 2500, 4000, 8000)
SAMPLING = {
    "n_beta": 12586.0, "localization": 100.0, "step_size": 1e-6,
    "chains": 2, "draws": 240, "burn_in": 160, "batch_size": 64,
}  # fmt: skip


def study(seeds=(0, 1), n_heads=2, vocabulary=24, steps=STEPS, controls=True, fall=0.18):
    """All datasets of one experiment, by file stem."""
    steps = np.asarray(steps)
    qk, ov = bands(seeds, n_heads, vocabulary, steps)
    given = {
        "metrics": metrics(seeds, steps),
        "llc": estimates("llc", seeds, steps, fall=fall),
        "rllc": estimates("rllc", seeds, steps, heads=n_heads, fall=fall),
        "circuits": circuits(qk, ov, seeds, steps),
    }
    if controls:
        given["llc.long"] = estimates("llc", seeds, steps, fall=0.8 * fall, scale=1.6)
        given["llc.scaled"] = estimates("llc", seeds, steps, fall=1.2 * fall, scale=0.7)
    return given


def rise(steps, onset, width=0.2):
    return 1 / (1 + np.exp(-(np.log1p(np.asarray(steps, float)) - np.log1p(onset)) / width))


def bands(seeds, heads, vocabulary, steps):
    """``qk``, ``ov`` [seed, step, head, token, other_token] with bands and noise that training removes."""
    random = np.random.default_rng(3)
    i, j = np.arange(vocabulary)[:, None], np.arange(vocabulary)[None, :]
    shape = (len(seeds), len(steps), heads, vocabulary, vocabulary)
    learned, settled = rise(steps, 60)[:, None, None], rise(steps, 1000)[:, None, None]
    noise = random.normal(0, 1, (len(seeds), 1, heads, vocabulary, vocabulary))
    noise = noise * (1 - 0.85 * rise(steps, 1200))[None, :, None, None, None]
    qk, ov = np.empty(shape), np.empty(shape)
    ahead = np.exp(-(((j - i) - 3) ** 2) / 8) - np.exp(-(((j - i) + 3) ** 2) / 8)
    diagonal = np.exp(-((j - i) ** 2) / 1.5) - 0.25 * np.exp(-((np.abs(j - i) - 5) ** 2) / 4)
    for s in range(len(seeds)):
        width = max(vocabulary // 6, 1)
        holder = ((np.arange(vocabulary) + 2 * s) // width) % min(heads, 2)
        for h in range(heads):
            mine = np.where(holder == h, 1.0, 0.15) if h < 2 else np.full(vocabulary, -0.5)
            if heads == 1:
                mine = np.ones(vocabulary)
            share = 1 - settled * (1 - mine[:, None])
            qk[s, :, h] = 60 * learned * ahead * (1 - 0.3 * h / heads) + 6 * noise[s, :, h]
            ov[s, :, h] = 9 * learned * diagonal * share + 0.9 * noise[s, :, h]
    return qk, ov


def circuits(qk, ov, seeds, steps):
    """The measures of given circuits [seed, step, head, token, other_token]."""
    heads, vocabulary = qk.shape[2], qk.shape[3]
    labels, tokens = head_labels(1, heads), np.arange(vocabulary)
    both = np.stack([qk, ov], axis=3)  # [seed, step, head, circuit, token, other_token]
    singular = np.linalg.svd(both, compute_uv=False)
    rank = (singular > singular[..., :1] * vocabulary * 1e-3).sum(-1)
    share = singular / np.maximum(singular.sum(-1, keepdims=True), 1e-12)
    effective = np.exp(-(share * np.log(np.maximum(share, 1e-12))).sum(-1))
    middle = both[..., 1:-1, 1:-1]
    across = np.abs(middle - (both[..., :-2, 2:] + both[..., 2:, :-2]) / 2)
    along = np.abs(middle - (both[..., :-2, :-2] + both[..., 2:, 2:]) / 2)
    symmetry = (across - along).mean((-1, -2)) / np.abs(both).mean((-1, -2))
    pairs = [(k, m) for k in range(heads) for m in range(k + 1, heads)]
    parts = [
        1
        - np.abs(both[:, :, k] - both[:, :, m]).sum((-1, -2))
        / (np.abs(both[:, :, k]) + np.abs(both[:, :, m])).sum((-1, -2))
        for k, m in pairs
    ]
    overlap = np.stack(parts, axis=2) if parts else np.empty((*qk.shape[:2], 0, 2))
    holder = np.diagonal(ov, axis1=-2, axis2=-1).argmax(2)
    regions = 1 + (np.diff(holder, axis=-1) != 0).sum(-1)
    anti = np.full(ov.shape[:3], np.nan)
    if heads > 1:
        flat = ov.reshape(*ov.shape[:3], -1)
        anti = np.stack([_correlation(flat[:, :, h], flat.sum(2) - flat[:, :, h]) for h in range(heads)], 2)
    common = ("seed", "step")
    between = {"overlap": ((*common, "pair", "circuit"), overlap)} if parts else {}
    named = {"pair": [f"{labels[k]}+{labels[m]}" for k, m in pairs]} if parts else {}
    return xr.Dataset(
        between
        | {
            "qk": ((*common, "head", "token", "other_token"), qk.astype(np.float32)),
            "ov": ((*common, "head", "token", "other_token"), ov.astype(np.float32)),
            "rank": ((*common, "head", "circuit"), rank),
            "effective_rank": ((*common, "head", "circuit"), effective),
            "rank_sum": (common, rank.sum((2, 3))),
            "effective_rank_sum": (common, effective.sum((2, 3))),
            "translational_symmetry": (common, symmetry.sum((2, 3))),
            "translational_symmetry_mean": (common, symmetry.mean((2, 3))),
            "head_overlap": (common, overlap.mean((2, 3)) if parts else np.full(qk.shape[:2], np.nan)),
            "regions": (common, regions),
            "regions_min3": (common, np.minimum(regions, vocabulary // 3)),
            "token_head": ((*common, "token"), holder),
            "vocabulary_share": (
                (*common, "head"),
                np.stack([(holder == h).mean(-1) for h in range(heads)], axis=2),
            ),
            "anti_state": ((*common, "head"), anti),
        },
        coords={
            "seed": list(seeds),
            "step": np.asarray(steps),
            **head_coords(labels),
            "circuit": ["qk", "ov"],
            "token": tokens,
            "other_token": tokens,
            **named,
        },
    )


def _correlation(a, others):
    a, b = a - a.mean(-1, keepdims=True), -(others - others.mean(-1, keepdims=True))
    return (a * b).sum(-1) / np.sqrt((a**2).sum(-1) * (b**2).sum(-1))


def estimates(name, seeds, steps, *, heads=None, fall=0.18, scale=1.0):
    """``llc`` or ``rllc``: a rise, a peak at step 700, and a fall; some cells missing or in doubt."""
    random = np.random.default_rng(11)
    dims = ("seed", "step", *(("head",) if heads else ()), "distribution")
    shape = (len(seeds), len(steps), *((heads,) if heads else ()), 1)
    curve = 190 * rise(steps, 90, 0.6) * (1 - fall * rise(steps, 1800, 0.3))
    values = np.empty(shape)
    for s in range(len(seeds)):
        one = scale * curve * (1 + 0.04 * s) + random.normal(0, 1.0 * scale, len(steps))
        values[s] = one[:, None, None] * (0.4 - 0.08 * np.arange(heads))[:, None] if heads else one[:, None]
    error = 1.5 * scale + 0.01 * np.abs(values)
    quality = np.zeros(shape, np.int32)
    quality[0, 2] |= MASKS["drifting"]
    quality[:, -1] |= MASKS["negative"]
    status = np.zeros((*shape, 2), np.int8)
    if len(steps) > 6:
        values[0, 1] = error[0, 1] = np.nan
        status[0, 1] = STATUS.index("diverged")
        quality[0, 1] = MASKS["all_chains_failed"]
    return xr.Dataset(
        {
            name: (dims, values),
            f"{name}_se": (dims, error),
            f"{name}_prior_only": (dims, 1.3 * values),
            "status": ((*dims, "chain"), status, status_attributes()),
            "quality": (dims, quality, quality_attributes()),
        },
        coords={"seed": list(seeds), "step": np.asarray(steps), "distribution": ["lists"]}
        | (head_coords(head_labels(1, heads)) if heads else {}),
        attrs={"sampling": json.dumps(SAMPLING | {"n_beta": SAMPLING["n_beta"] * scale})},
    )


def metrics(seeds, steps):
    dims, shape = ("seed", "step", "distribution"), (len(seeds), len(steps), 1)
    learned = rise(steps, 60, 0.25)
    values = {
        "loss": 3.95 * (1 - learned) + 0.01,
        "accuracy": 0.02 + 0.979 * learned,
        "sequence_accuracy": 0.985 * rise(steps, 90, 0.2),
    }
    given = {name: (dims, np.broadcast_to(v[None, :, None], shape).copy()) for name, v in values.items()}
    norm = 22.8 - 12.5 * rise(steps, 900, 0.6)
    given["weight_norm"] = (dims[:2], np.broadcast_to(norm, shape[:2]).copy())
    return xr.Dataset(
        given, coords={"seed": list(seeds), "step": np.asarray(steps), "distribution": ["lists"]}
    )


ROWS = (
    ("sort_1head", "Token accuracy is at least 99 % by step 200.", "accuracy_by_200", 0.99, np.nan),
    ("sort_1head", "The LLC peaks near step 1,000.", "llc_peak_step", 500, 1300),
    ("sort_1head", "After its peak the LLC falls.", "llc_fall", 0.05, np.nan),
    ("sort_2head_baseline", "The LLC peaks near step 1,000.", "llc_peak_step", 500, 1300),
    ("sort_2head_baseline", "After its peak the LLC falls.", "llc_fall", 0.05, np.nan),
    (
        "sort_2head_baseline",
        "The heads' circuits overlap most where the LLC is largest: the checkpoint of the largest overlap is "
        "within a factor of 1.5 of the LLC's.",
        "overlap_peak_ratio",
        0.67,
        1.5,
    ),
    (
        "sort_2head_baseline",
        "The OV circuits split the vocabulary in few regions.",
        "final_regions",
        np.nan,
        12,
    ),
    ("sort_2head_noise", "With perturbed lists the LLC does not fall.", "llc_fall", np.nan, 0.05),
    ("sort_4head", "A fourth head ends as an anti-state.", "anti_state_largest", 0.5, np.nan),
    ("cumsum", "For cumulative sums the LLC does not fall.", "llc_fall", np.nan, 0.05),
)


def claims(rows=ROWS, seeds=(0, 1), repeat=1):
    """Made-up results of the claims table, with the statistics it is of."""
    random = np.random.default_rng(5)
    rows = [row for row in rows for _ in range(repeat)]
    experiments = list(dict.fromkeys(row[0] for row in rows))
    value, passes, verdict = np.empty((len(rows), len(seeds))), np.empty((len(rows), len(seeds)), bool), []
    for n, (_, _, _, low, high) in enumerate(rows):
        middle = np.nanmean([low, high])
        value[n] = middle * (1 + random.normal(0, 0.15, len(seeds)))
        passes[n] = (np.nan_to_num(value[n]) >= np.nan_to_num(low, nan=-np.inf)) & (
            value[n] <= np.nan_to_num(high, nan=np.inf)
        )
        verdict.append("holds" if passes[n].all() else "half" if passes[n].any() else "does not")
    value[-1], passes[-1], verdict[-1] = np.nan, False, "not reached"
    shape = (len(experiments), len(seeds))
    overlap_fall = 0.3 + 0.05 * random.random(shape)
    overlap_fall[0] = np.nan
    dims = ("experiment", "seed")
    return xr.Dataset(
        {
            "value": (("claim", "seed"), value),
            "passes": (("claim", "seed"), np.where(np.isfinite(value), passes, -1).astype(np.int8)),
            "versus": ("claim", np.array([""] * (len(rows) - 2) + ["sort_2head_baseline", ""], object)),
            "comparison": ("claim", np.array([""] * (len(rows) - 2) + ["difference", ""], object)),
            "verdict": ("claim", np.array(verdict, object)),
            "text": ("claim", np.array([row[1] for row in rows], object)),
            "experiment_of_claim": ("claim", np.array([row[0] for row in rows], object)),
            "statistic": ("claim", np.array([row[2] for row in rows], object)),
            "label": ("claim", np.array([row[2].replace("_", " ") for row in rows], object)),
            "unit": ("claim", np.array(["1"] * len(rows), object)),
            "family": ("claim", np.array([row[0] for row in rows], object)),
            "work": ("claim", np.array(["sorting"] * len(rows), object)),
            "at_least": ("claim", np.array([row[3] for row in rows], float)),
            "at_most": ("claim", np.array([row[4] for row in rows], float)),
            "llc_peak_step": (
                dims,
                700 + 150 * random.normal(0, 1, shape),
                {
                    "long_name": "step of the LLC's peak",
                    "units": "steps",
                },
            ),
            "llc_fall": (dims, 0.12 + 0.04 * random.normal(0, 1, shape)),
            "overlap_fall": (dims, overlap_fall),
            "final_regions": (dims, random.integers(4, 9, shape).astype(float)),
            "accuracy_by_200": (dims, 0.995 + 0.004 * random.random(shape)),
            "final_accuracy": (dims, 0.996 + 0.003 * random.random(shape)),
        },
        coords={
            "seed": list(seeds),
            "experiment": experiments,
            "claim": [f"{row[0]}_{row[2]}_{n}" for n, row in enumerate(rows)],
        },
    )
