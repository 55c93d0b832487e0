"""Claims about in-context regression: every number against plain numpy on a small made-up run."""

import json

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.stats import spearmanr

from rllc.analysis.curves import NotJudged
from rllc.claims import regression
from rllc.claims.claim import claims_of
from rllc.claims.experiment import Experiment
from rllc.claims.judging.evaluate import evaluate
from rllc.claims.run import Run
from rllc.claims.selection import Absent
from rllc.measures.regression_predictions.kernel import regression_predictions
from rllc.models.regression import model
from rllc.tasks.regression.sequences import draw

CLAIMS = {each.name: each for each in claims_of(regression, "regression")}
PAPER = np.array([0, 50, 100, 1_000, 1_500, 5_000, 12_000, 23_000, 40_000, 60_000, 126_000, 320_000, 499_999])
SHORT = np.array([0, 20, 100, 250, 270, 300, 1_000, 1_300, 2_000, 5_000, 24_000])
SEEDS = [0, 1, 2]
DEPENDENT = [3, 6, 8, 12]  # indices of the paper's checkpoints
NORMS = ["blocks.0.ln1", "blocks.0.ln2", "blocks.1.ln1", "blocks.1.ln2", "ln_final"]
KINDS = ["any", "end", "peak", "trough", "saddle"]


class Made:
    """Datasets of random curves, and the numbers that they are made of: [seed, step, ...]."""

    def __init__(self, steps):
        random = np.random.default_rng(0)
        size = len(SEEDS), len(steps)
        self.steps = steps
        self.numbers = {
            "llc": 5 + 50 * random.random(size),
            "loss": 2 + random.random(size),
            "trace": 50 + random.random(size),
            "eigenvalue": 5 + random.random((*size, 3)),
            "zero": 0.01 + random.random(size),
            "prior": 0.01 + random.random(size),
            "early": -random.random(size),
            "late": -random.random(size),
            "score": -random.random(size),
            "far": -0.1 - random.random((*size, 2, 4)),
            "share": -np.sort(-random.dirichlet(np.ones(5), size)),
            "position": random.random(size),
            "alignment": random.random((*size, 2)),
            "small": random.random((*size, 5)),
            "mean": random.random((*size, 5)),
            "hard": random.integers(0, 5, size).astype(float),
            "correlation": random.random(size),
            "boundary": random.integers(0, 3, (2, *size, 5)).astype(float),
            "published": random.integers(0, 2, (2, *size)).astype(float),
            "curvature": random.integers(0, 3, (*size, 5)).astype(float),
        }
        few = len(SEEDS), len(DEPENDENT)
        self.dependent = {
            "llc": random.random(few),
            "llc_likelihood": random.random(few),
            "llc_by_dataset_size": 1 + random.random((*few, 4)),
            "llc_by_batch_size": 1 + random.random((*few, 2, 3)),
            "llc_by_noise_seed": random.random((*few, 2, 2)),
            "llc_by_noise_seed_se": 0.1 + random.random((*few, 2, 2)),
        }

    def datasets(self):
        n, both = self.numbers, ("seed", "step")
        coords = {"seed": SEEDS, "step": self.steps}

        def made(variables, **more):
            named = {name: ((*both, *dims), values) for name, (values, *dims) in variables.items()}
            return xr.Dataset(named, {**coords, **more})

        def pairs(**variables):
            return made(variables).expand_dims(distribution=["pairs"])

        found = {
            "llc": pairs(llc=[n["llc"]]),
            "metrics": pairs(loss=[n["loss"]]),
            "hessian": pairs(hessian_trace=[n["trace"]]),
            "eigenvalues": pairs(hessian_eigenvalue=[n["eigenvalue"], "rank"]).assign_coords(rank=[1, 2, 3]),
            "regression_predictions": made(
                {
                    "delta_zero": [n["zero"]],
                    "delta_prior": [n["prior"]],
                    "icl_early": [n["early"]],
                    "icl_late": [n["late"]],
                    "icl_score": [n["score"]],
                    "far_icl": [n["far"], "change", "scale"],
                },
                change=["inputs", "tasks"],
                scale=[1.0, 3.0, 5.0, 10.0],
            ),
            "structure": made(
                {
                    "embedding_share": [n["share"], "direction"],
                    "position_top": [n["position"]],
                    "alignment_mean": [n["alignment"], "subspace"],
                    "norm_weight_small": [n["small"], "norm"],
                    "norm_weight_mean": [n["mean"], "norm"],
                    "hard_patterns": [n["hard"]],
                    "hard_correlation": [n["correlation"]],
                },
                subspace=[4, 16],
                norm=NORMS,
            ),
            "stages": xr.Dataset(
                {
                    "at_boundary": (("setting", *both, "kind"), n["boundary"]),
                    "published": (("setting", *both), n["published"]),
                },
                {**coords, "setting": ["local", "sampling"], "kind": KINDS},
            ).expand_dims(distribution=["pairs"]),
            "hessian_stages": pairs(at_boundary=[n["curvature"], "kind"]).assign_coords(kind=KINDS),
        }
        if len(self.steps) == len(PAPER):
            found["dependence"] = self._dependence()
        return found

    def _dependence(self):
        dims = {
            "llc": [], "llc_likelihood": [], "llc_by_dataset_size": ["dataset_size"],
            "llc_by_batch_size": ["evaluation", "batch_size"], "llc_by_noise_seed": ["seeding", "noise_seed"],
            "llc_by_noise_seed_se": ["seeding", "noise_seed"],
        }  # fmt: skip
        made = xr.Dataset(
            {name: (("seed", "step", *dims[name]), values) for name, values in self.dependent.items()},
            {
                "seed": SEEDS, "step": self.steps[DEPENDENT], "dataset_size": [1024, 4096, 16384, 65536],
                "evaluation": ["new", "same"], "batch_size": [256, 1024, 8192], "seeding": ["fresh", "shared"],
                "noise_seed": [3, 5],
            },
        )  # fmt: skip
        return made.expand_dims(distribution=["pairs"], component=["full"])


LONG, CUT = Made(PAPER), Made(SHORT)


def run_of(made, *, seed=1, name="regression", **datasets):
    steps = 500_000 if made is LONG else 24_000
    experiment = Experiment(name, "regression", 2, text="pairs", steps=steps)
    return Run(experiment, made.datasets() | datasets, seed)


def number(name, run):
    return float(CLAIMS[name].statistic.function(run))


def expected_of(made, *, peak, second, first_end, read_at):
    """All numbers of seed 1 that both trainings have, by the checkpoints at which they are read."""
    n, step = {name: values[1] for name, values in made.numbers.items()}, made.steps
    one_percent = step >= (5_000 if made is LONG else 240)
    rising = (step >= peak[0]) & (step <= peak[1])
    late = n["llc"][step >= second[0]]
    stage = n["late"][(step >= second[0]) & (step <= second[1])]
    boundaries, plateaus = made.numbers["boundary"][1, 1, :, 0], made.numbers["published"][1, 1]
    return {
        "lr_stages": (boundaries >= 1).sum(),
        "smooth_auto": plateaus[step >= 900].sum(),
        "lr_seed_sd": made.numbers["llc"].std(0, ddof=1).mean(),
        "llc_not_loss_early": np.corrcoef(n["llc"][rising], n["loss"][rising])[0, 1],
        "llc_not_loss": np.corrcoef(n["llc"][one_percent], n["loss"][one_percent])[0, 1],
        "lr_falls": 1 - late[late.argmax() :].min() / late.max(),
        "prior_min": step[n["zero"].argmin()],
        "prior_level": n["zero"].min(),
        "prior_loss": n["loss"][first_end] - (n["loss"][0] - n["zero"][0]),
        "icl_emerges": n["score"][read_at],
        "icl_late_worse": stage.max() - stage[0],
        "ood_falls_3": n["far"][-1, 0, 1] / n["far"][:, 0, 1].min(),
        "ood_falls_5": n["far"][-1, 0, 2] / n["far"][:, 0, 2].min(),
        "ood_falls_10": n["far"][-1, 0, 3] / n["far"][:, 0, 3].min(),
        "ood_tasks_ok": n["far"][-1, 1, 3] / n["far"][:, 1, 3].min(),
        "embed_collapse": n["share"][-1].min(),
        "pos_collapse": n["position"][-1] / n["position"][0],
        "align": n["alignment"][-1, 0] - n["alignment"][0, 0],
        "ln_collapse": n["small"][-1, 4],
        "ln_spreads": n["small"][-1, 0],
        "ln_less": n["small"][-1, 0] - n["small"][-1, 4],
        "ln_not_mlp2": n["mean"][-1, 3],
        "heads_hard": n["hard"][-1],
        "hard_constant": n["correlation"][-1],
        "curv_trace": step[n["trace"].argmax()],
        "curv_eigenvalue": step[n["eigenvalue"][:, 0].argmax()],
    }


SHORT_NUMBERS = expected_of(CUT, peak=(20, 1_300), second=(260, 2_000), first_end=5, read_at=-1)
PAPER_NUMBERS = expected_of(LONG, peak=(100, 41_000), second=(1_000, 40_000), first_end=3, read_at=8)


def paper_alone():
    """The numbers that speak of steps that a short training does not reach, and those of `dependence`."""
    n, d = (
        {name: values[1] for name, values in LONG.numbers.items()},
        {k: v[1] for k, v in LONG.dependent.items()},
    )
    # The paper's boundaries 1k, 40k, 126k and 320k: checkpoints within a factor of 1.4 of each.
    near = [[3], [8], [10], [11]]
    apart = abs((d["llc_by_noise_seed"][:, 1, 0] - d["llc_by_noise_seed"][:, 0, 0]).mean())
    sizes, batches = d["llc_by_dataset_size"], d["llc_by_batch_size"][:, 1]
    return {
        "lr_boundaries": sum((LONG.numbers["boundary"][1, 1, each, 0] >= 1).any() for each in near),
        "hess_misses": sum((n["curvature"][each, 0] >= 1).any() for each in near),
        "icl48_stops": n["late"][-1] - n["late"][7],
        "icl14_goes_on": n["early"][-1] - n["early"][7],
        "embed_halves": n["share"][-1, 4] / n["share"][8, 4],
        "embed_start": n["share"][3, 4],
        "curv_turn": PAPER[8:][n["eigenvalue"][8:, 0].argmin()],
        "curv_turn_trace": PAPER[8:][n["trace"][8:].argmin()],
        "likelihood_same": spearmanr(d["llc"], d["llc_likelihood"]).statistic,
        "data_size": abs(sizes[:, 2] / sizes[:, 3] - 1).max(),
        "batch_size": abs(batches[:, 0] / batches[:, 2] - 1).max(),
        "seeding": apart / np.hypot(*d["llc_by_noise_seed_se"][:, :, 0].T).mean(),
    }


ALONE = paper_alone()


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", [*PAPER_NUMBERS, *ALONE])
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx((PAPER_NUMBERS | ALONE)[name], rel=1e-12)


@pytest.mark.parametrize("tasks", [1, 4, 16, 256, 65536])
def test_ratio_of_distances_leaves_out_step_0(tasks):
    datasets = CUT.datasets()
    nearest = datasets["regression_predictions"]["delta_zero"].where(
        datasets["regression_predictions"]["step"] > 0, 1e-6
    )
    datasets["regression_predictions"] = datasets["regression_predictions"].assign(delta_zero=nearest)
    claim = CLAIMS[f"prior_universal_{tasks}"]
    run = run_of(CUT, name=claim.experiment, **datasets)
    assert claim.applies(run.experiment)
    expected = CUT.numbers["prior"][1, 1:].min() / CUT.numbers["zero"][1, 1:].min()
    assert number(claim.name, run) == pytest.approx(expected, rel=1e-12)


def test_every_claim_has_an_expected_number():
    universal = {name for name in CLAIMS if name.startswith("prior_universal")}
    assert {*SHORT_NUMBERS, *ALONE} | universal == set(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_claim_is_complete(claim):
    assert claim.text and claim.source and claim.statistic.label and claim.statistic.unit
    assert claim.at_least is not None or claim.at_most is not None
    assert claim.given is None or claim.given in CLAIMS
    assert claim.versus is None
    assert claim.experiment in {"regression", *(f"regression_{n}" for n in (1, 4, 16, 256, 65536))}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("icl48_stops", "training ends at step 24,000, before 499,999"),
        ("embed_halves", "training ends at step 24,000, before 40,000"),
        ("curv_turn", "eigenvalues.hessian_eigenvalue has no value from step 40,000"),
    ],
)
def test_short_training_is_not_judged_by_late_steps(name, reason):
    with pytest.raises(NotJudged, match=reason):
        number(name, run_of(CUT))


def test_one_seed_has_no_spread_between_seeds():
    with pytest.raises(NotJudged, match="needs two seeds, has 1"):
        number("lr_seed_sd", run_of(CUT, llc=CUT.datasets()["llc"].sel(seed=[1])))


def test_spread_between_seeds_reads_checkpoints_that_two_have():
    llc = CUT.datasets()["llc"]
    kept = llc.where((llc["seed"] == 1) | (llc["step"] > 1_000))
    run = run_of(CUT, llc=kept.where((llc["seed"] != 0) | (llc["step"] < 24_000)))
    values = CUT.numbers["llc"]
    sds = [*values[:, 7:10].std(0, ddof=1), values[1:, 10].std(ddof=1)]
    assert number("lr_seed_sd", run) == pytest.approx(np.mean(sds), rel=1e-12)


def test_error_of_the_spread_between_seeds_has_the_errors_of_all_seeds():
    """Of one checkpoint to first order: sqrt(sum ((v - mean) e)^2) / ((n - 1) sd)."""
    values, errors = np.array([10.0, 20.0, 40.0]), np.array([0.1, 0.2, 0.3])
    llc = xr.Dataset(
        {"llc": (("seed", "step"), values[:, None]), "llc_se": (("seed", "step"), errors[:, None])},
        {"seed": SEEDS, "step": [24_000]},
    )
    found = evaluate(CLAIMS["lr_seed_sd"].statistic, run_of(CUT, llc=llc.expand_dims(distribution=["pairs"])))
    assert found.value == pytest.approx(values.std(ddof=1))
    first_order = np.sqrt((((values - values.mean()) * errors) ** 2).sum()) / (2 * values.std(ddof=1))
    assert found.error == pytest.approx(first_order, rel=0.1)


def test_error_of_the_fall_is_the_spread_of_redraws():
    """Checkpoints with independent errors far smaller than their distances: 1 - low / high to first order."""
    rows = np.array([[0.0, 50.0, 20.0, 30.0]])
    llc = xr.Dataset(
        {"llc": (("seed", "step"), rows), "llc_se": (("seed", "step"), np.full_like(rows, 0.2))},
        {"seed": [1], "step": [100, 1_000, 5_000, 24_000]},
    )
    found = evaluate(CLAIMS["lr_falls"].statistic, run_of(CUT, llc=llc.expand_dims(distribution=["pairs"])))
    assert found.value == pytest.approx(0.6)
    assert found.error == pytest.approx(0.2 * np.hypot(1 / 50, 20 / 50**2), rel=0.1)


def test_loss_of_the_zero_predictor_needs_the_untrained_model():
    late = CUT.datasets()["metrics"].sel(step=slice(1, None))
    with pytest.raises(NotJudged, match=r"needs the untrained model, metrics\.loss begins at step 20"):
        number("prior_loss", run_of(CUT, metrics=late))


@pytest.mark.parametrize("seed", [0, 1])
def test_untrained_loss_gives_the_loss_of_the_zero_predictor(seed):
    """What `prior_loss` takes it for, within the 0.1 that the claim allows, on the sequences that are measured."""

    class Held:
        stream = 5

    law = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
    flat = {"learning_rate": 0.5, "steps": 100, "warmup": 0, "schedule": "constant", "end_rate": 0.0}
    shape = model(n_layers=2, n_heads=4, d_model=64, d_head=16, context=16, d_vector=5)
    measure = regression_predictions(Held(), sequences=2048, middle=4, scales=[1.0], law=law, schedule=flat)
    with torch.no_grad():
        made = measure(shape.initial_weights(seed=seed), shape, 0)
    zero = (draw(2048, seed=Held.stream, **law).y ** 2).mean()
    assert float(made["mse"].mean() - made["delta_zero"]) == pytest.approx(zero, abs=0.08)


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("lr_stages", "stages"),
        ("likelihood_same", "dependence"),
        ("prior_loss", "regression_predictions"),
        ("lr_seed_sd", "llc"),
    ],
)
def test_claim_is_absent_without_its_dataset(name, dataset):
    run = run_of(LONG)
    run.datasets = {key: data for key, data in run.datasets.items() if key != dataset}
    with pytest.raises(Absent, match=f"has no {dataset}"):
        number(name, run)


def test_claim_is_absent_without_its_scale():
    near = CUT.datasets()["regression_predictions"].sel(scale=[1.0])
    with pytest.raises(Absent, match="has no scale 10"):
        number("ood_falls_10", run_of(CUT, regression_predictions=near))


def test_seeding_is_in_errors_that_are_not_redrawn():
    """The error of the number is that of the mean difference over the mean error of one difference."""
    found = evaluate(CLAIMS["seeding"].statistic, run_of(LONG))
    errors = LONG.dependent["llc_by_noise_seed_se"][1, :, :, 0]
    each = np.hypot(*errors.T)
    of_mean = np.sqrt((each**2).sum()) / len(each)
    signed = LONG.dependent["llc_by_noise_seed"][1, :, 1, 0] - LONG.dependent["llc_by_noise_seed"][1, :, 0, 0]
    folded = abs(np.random.default_rng(1).normal(signed.mean(), of_mean, 100_000)).std()
    assert found.error == pytest.approx(folded / each.mean(), rel=0.1)


def test_shared_noise_never_makes_the_spread_between_seeds_surer():
    """The error is the larger of that with independent noise and that with one number per seed."""
    llc = CUT.datasets()["llc"]
    noisy = llc.assign(llc_se=xr.full_like(llc["llc"], 0.5))
    shared = noisy.assign_attrs(sampling=json.dumps({"seeded": True}))
    alone, together = (
        evaluate(CLAIMS["lr_seed_sd"].statistic, run_of(CUT, llc=each)) for each in (noisy, shared)
    )
    assert together.value == alone.value
    assert together.error >= alone.error
