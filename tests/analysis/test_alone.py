"""Analyses of several seeds: each is what it is alone, whatever order dims and labels are in."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.classification import NUMBERS, classification
from rllc.analysis.head_types import head_types
from rllc.analysis.highlights import highlights
from rllc.analysis.milestones import milestones
from rllc.analysis.patched_paths import patched_paths
from rllc.analysis.refinement import refinement
from rllc.analysis.stages import stages
from rllc.analysis.staggered import staggered
from rllc.tasks.language.patterns import PATTERNS
from rllc.vocabulary import head_coords, head_labels

SEEDS, STEPS, DISTRIBUTIONS = [3, 0, 5], [0, 20, 60, 150, 400, 1000, 2500], ["mixture", "code"]
HEADS = head_labels(2, 4)
RANDOM = np.random.default_rng(0)
TYPES = [
    "previous-token",
    "multigram",
    "multigram",
    "multigram",
    "induction",
    "induction",
    "multigram",
    "multigram",
]


def table(names, low=0.0, **dims):
    """Variables of random numbers along labelled dims."""
    shape = tuple(map(len, dims.values()))
    coords = {dim: labels for dim, labels in dims.items() if dim != "head"}
    if "head" in dims:
        coords |= head_coords(HEADS)
    return xr.Dataset({name: (tuple(dims), low + RANDOM.random(shape)) for name in names.split()}, coords)


SCORES = {"seed": SEEDS, "step": STEPS, "head": HEADS}
LATER = xr.DataArray(
    np.outer(*(np.char.startswith(HEADS, layer) for layer in "01")), [("head", HEADS), ("later_head", HEADS)]
)
HEAD_TYPE = xr.Dataset(
    {"head_type": (("seed", "head"), np.asarray([TYPES, TYPES[::-1], TYPES], dtype=object))},
    {"seed": SEEDS, **head_coords(HEADS)},
)
SCORED = xr.merge(
    [
        table("previous_token prefix_matching current_token", **SCORES),
        table("k_composition", **SCORES, later_head=HEADS).where(LATER),
        HEAD_TYPE,
    ],
    compat="no_conflicts",
)
RLLC = table("rllc rllc_se", 0.5, **SCORES, distribution=DISTRIBUTIONS).merge(
    table("rllc_chain", 0.5, **SCORES, distribution=DISTRIBUTIONS, chain=range(4)), compat="no_conflicts"
)
RLLC["rllc_prior_only"], RLLC["rllc_prior_only_se"] = 1.1 * RLLC["rllc"], RLLC["rllc_se"] / 2
RLLC["quality"] = (RLLC["rllc"] > 1.4).astype(np.int16) * 16
PLACES = {"context": range(3), "position": range(30)}
TEXT = {"text": RANDOM.choice(list("abc"), (3, 30)).astype(object), "joined": np.tile(np.arange(30), (3, 1)),
        "second": RANDOM.integers(0, 2, (3, 30)), "repeated": RANDOM.integers(0, 2, (3, 30))}  # fmt: skip
LOSSES = table("loss logit", seed=SEEDS, step=STEPS, **PLACES).assign_coords(
    {name: (("context", "position"), values) for name, values in TEXT.items()}
)
CELL = {"setting": ["sampling"], "distribution": DISTRIBUTIONS, "seed": SEEDS, "boundary": range(3)}
BOUNDARIES = table("boundary_determined", **CELL).round()
BOUNDARIES["boundary_step"] = (
    tuple(CELL),
    RANDOM.permuted(np.broadcast_to(STEPS[1:6], (1, 2, 3, 5)), axis=3)[..., :3] + 0.0,
)
BOUNDARIES["boundary_kind"] = xr.full_like(BOUNDARIES["boundary_step"], "peak", dtype=object)
CHOICES = ["none", "1:0+1:1", *HEADS, "all"]
ICL = table(
    "icl_score icl_left icl_left_se",
    -1.0,
    seed=SEEDS,
    step=STEPS,
    distribution=DISTRIBUTIONS,
    ablated=CHOICES,
)
RANKED = {"seed": SEEDS, "step": STEPS[-2:], "head": HEADS}
TOKENS = xr.merge(
    [
        table("share share_chance unique letterless at_matched", **RANKED, pattern=list(PATTERNS)),
        table("attention_max", **RANKED, rank=range(4)),
        table("multigrams multigrams_chance", **RANKED),
        table("tokens", 40.0, **RANKED),
        table("multigrams_half", **RANKED, half=range(20)),
    ],
    compat="no_conflicts",
)
LLC = table("llc init_loss", seed=SEEDS, step=STEPS, distribution=["code"]).assign_attrs(
    sampling=json.dumps({"n_beta": 30})
)

ANALYSES = {
    "refinement": (
        {"rllc": RLLC, "attention_scores": HEAD_TYPE}, lambda of: refinement(of, distribution="code", against=["mixture"])
    ),
    "patched_paths": (
        {
            "path_patching": table(
                "rise rise_se", seed=SEEDS, step=STEPS, condition=["ablated", "patched"],
                brackets=["unnested", "nested"], closers=["all", "("],
            ),
            "attention_scores": SCORED[["prefix_matching"]] / 12,
        },
        patched_paths,
    ),
    "staggered": (
        {"induction_ablation": ICL, "rllc": RLLC[["rllc"]], "attention_scores": HEAD_TYPE}, lambda of: staggered(of, distribution="code")
    ),
    "milestones": (
        {
            "ngrams": xr.merge(
                [
                    table("bigram_score", seed=SEEDS, step=STEPS, distribution=DISTRIBUTIONS),
                    table("ngram_score", seed=SEEDS, step=STEPS, distribution=DISTRIBUTIONS, n=[2, 3, 4]),
                ],
                compat="no_conflicts",
            ),
            "attention_scores": SCORED.drop_vars("head_type"),
            "stages": BOUNDARIES,
        },
        lambda of: milestones(of, distribution="code", setting="sampling"),
    ),
    "highlights": (
        {"token_losses": LOSSES, "stages": BOUNDARIES},
        lambda of: highlights(of, distribution="code", setting="sampling", length=9),
    ),
    "classification": (
        {"tokens": TOKENS, "rllc": RLLC[["rllc", "rllc_se"]], "attention_scores": HEAD_TYPE},
        lambda of: classification(of, random_seed=0, distribution="mixture", code_distribution="code")[
            [*NUMBERS, "token_class", "explained", "multigram_spearman"]
        ],
    ),
    "stages": ({"llc": LLC}, lambda of: stages(of, tolerance=2.0)),
    "head_types": (
        {"attention_scores": SCORED},
        lambda of: head_types(
            of["attention_scores"], thresholds={"previous_token": 0.9, "current_token": 0.8, "prefix_matching": 0.7}
        ).to_dataset(),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("rllc.analysis.multigrams.DRAWS", 10)


def same(found, expected):
    """Equal, in any order of dims and labels; padded where another seed has more."""
    for name, one in expected.items():
        order = {dim: one[dim] for dim in one.dims if dim in one.coords}
        xr.testing.assert_allclose(found[name].sel(order).transpose(*one.dims), one, rtol=1e-9)


@pytest.mark.parametrize("name", ANALYSES)
def test_a_seed_is_what_it_is_alone(name):
    datasets, analysis = ANALYSES[name]
    whole = analysis(datasets)
    assert not whole.isel(seed=0, drop=True).equals(whole.isel(seed=1, drop=True))
    for seed in SEEDS:
        same(whole.sel(seed=[seed]), analysis({key: each.sel(seed=[seed]) for key, each in datasets.items()}))


@pytest.mark.parametrize("name", ANALYSES)
def test_the_order_of_dims_seeds_and_heads_changes_nothing(name):
    datasets, analysis = ANALYSES[name]
    turned = {
        key: each.transpose(*reversed([*each.dims])).isel(seed=[2, 0, 1]) for key, each in datasets.items()
    }
    turned = {
        key: each.isel(head=slice(None, None, -1)) if "head" in each.dims else each
        for key, each in turned.items()
    }
    same(analysis(turned), analysis(datasets))
