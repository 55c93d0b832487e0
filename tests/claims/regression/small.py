"""Two made-up runs of in-context regression, one as long as the paper's, and how tests read them."""

import numpy as np
import xarray as xr

from rllc.claims import regression
from rllc.claims.claim import claims_of
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run

CLAIMS = {each.name: each for each in claims_of(regression, "regression")}
PAPER = np.array([0, 50, 100, 1_000, 1_500, 5_000, 12_000, 23_000, 40_000, 60_000, 126_000, 320_000, 499_999])
SHORT = np.array([0, 20, 100, 250, 270, 300, 1_000, 1_300, 2_000, 5_000, 24_000])
SEEDS = [0, 1, 2]
DEPENDENT = [3, 6, 8, 12]  # indices of the paper's checkpoints
NORMS = ["blocks.0.ln1", "blocks.0.ln2", "blocks.1.ln1", "blocks.1.ln2", "ln_final"]
# The paper's boundaries 1k, 40k, 126k and 320k: indices of its checkpoints within a factor of 1.4 of each.
NEAREST = [[3], [8], [10], [11]]
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
            "far": -0.1 - random.random((*size, 2, 5)),
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
            "far_loss": 1 + random.random((*size, 2, 5)),
            "far_prediction": 1 + random.random((*size, 2, 5)),
            "entropy": random.random((*size, 2, 4)),
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
                    "far_loss": [n["far_loss"], "change", "scale"],
                    "far_prediction": [n["far_prediction"], "change", "scale"],
                },
                change=["inputs", "tasks"],
                scale=[1.0, 3.0, 5.0, 10.0, 100.0],
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
                    "attention_entropy": [n["entropy"], "head", "query"],
                },
                subspace=[4, 16],
                norm=NORMS,
                head=["0:0", "0:1"],
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


def seed_1(numbers):
    """The numbers of the seed that is judged."""
    return {name: values[1] for name, values in numbers.items()}
