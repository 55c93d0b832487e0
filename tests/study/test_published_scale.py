"""`config/paper.yaml` against what the papers print of their own model and heads."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.head_types import head_types
from rllc.analysis.kinds import THRESHOLDS
from rllc.models.attention_only import model
from rllc.models.weights import weight_norm
from rllc.study import defaults, parameters
from rllc.study.reading import read
from rllc.study.steps import steps

ROOT = Path(__file__).resolve().parents[2]


CHECKPOINTS = [0, 100, *range(200, 10_000, 200), *range(10_000, 20_001, 400), *range(21_000, 50_001, 1000)]
SGLD = {
    "step_size": 1e-3, "n_beta": 30, "localization": 200, "chains": 4, "draws": 200, "burn_in": 0, "batch_size": 32,
    "init_batches": 16, "thinning": 1, "scored_positions": None, "seeded": True,
}  # fmt: skip
# Values of arXiv 2410.02984, App. B, D and F, of arXiv 2402.02364, App. D.1, and of their authors' public code.
LANGUAGE: dict[str, Any] = {
    "model": {
        "n_layers": 2, "n_heads": 8, "d_model": 256, "d_head": 32, "n_ctx": 1024, "positions": "shortformer",
        "layer_norm": True,
    },
    "training": {
        "steps": 50_000, "batch_size": 100, "optimizer": "adamw", "learning_rate": 1e-3, "betas": [0.9, 0.999],
        "eps": 1e-8, "weight_decay": 0.05, "schedule": "constant", "warmup": 0, "gradient_clip": 1.0,
    },
    "sampling": {"heads": SGLD, "full": SGLD, "other": SGLD},
    "hessian": {"probes": 50, "batch_size": 100, "scored_positions": None},
    "hessian_rank": {"contexts": 3, "probes": 1, "bounds": [-1000, 6000], "threshold": 500},
    "fisher": {"probes": 5, "batch_size": 1},
    "attention_scores": {"sequences": 10_000, "length": 128},
    "tokens": {"checkpoints": [8500, 50_000], "searched": 100_000, "top": 1000},
    "metrics": {"icl_early": [48, 49], "icl_late": [498, 499]},
}  # fmt: skip
REGRESSION: dict[str, Any] = {
    "model": {"n_layers": 2, "n_heads": 4, "d_model": 64, "d_head": 16},
    "training": {
        "steps": 500_000, "batch_size": 256, "optimizer": "adam", "learning_rate": 3e-3, "betas": [0.9, 0.999],
        "weight_decay": 0.0, "warmup": 250_000, "schedule": "linear",
    },
    "sampling": {
        "full": {
            "step_size": 3e-4, "n_beta": 66.7, "localization": 66.7, "chains": 10, "draws": 5000, "burn_in": 1000,
            "batch_size": 1024,
        }
    },
    "seeds": [0, 1, 2, 3, 4],
}  # fmt: skip


def differences(section: Any, published: dict[str, Any], place: str = "") -> set[str]:
    """Keys whose value is not the published one."""
    found = set()
    for name, value in published.items():
        here, own = f"{place}{name}", getattr(section, name)
        if isinstance(value, dict):
            found |= differences(own, value, f"{here}.")
        elif own != value and list(np.ravel(own)) != list(np.ravel(value)):
            found.add(here)
    return found


def marked(file: str) -> set[str]:
    """Keys that a config says to depart from the published value."""
    return set(re.findall(r"# Departs in ([\w.]+): ", (ROOT / file).read_text()))


@pytest.fixture(scope="module")
def study():
    return read(defaults.load([ROOT / "config/paper.yaml"], ROOT))


def test_values_equal_the_published_ones_except_where_the_config_says_so(study):
    assert differences(study.experiments["language"], LANGUAGE) == marked("config/paper.yaml")
    assert steps(study.experiments["language"]) == CHECKPOINTS and len(CHECKPOINTS) == 107
    assert study.tokenizers["bpe"].vocabulary == 5000


def test_regression_values_equal_the_published_ones_except_where_the_config_says_so():
    files = ["config/regression.yaml", "config/regression_published.yaml"]
    regression = read(defaults.load(files, ROOT)).experiments["regression"]
    assert differences(regression, REGRESSION) == marked(files[1])
    assert len(steps(regression)) == 191  # 190, and the last step


def test_the_initial_weight_norm_is_the_published_one(study):
    """95.6 at step 0 of arXiv 2402.02364's language models: the norm of Gaussians hardly varies."""
    language = study.experiments["language"]
    facts = parameters.model(study, language)
    del facts["family"]
    weights = model(**facts).initial_weights(seed=1, **language.initial.model_dump())
    assert float(weight_norm(weights)) == pytest.approx(95.6, rel=2e-3)


def test_published_heads_get_their_types(study):
    """The final scores of the published previous-token and induction heads, and of one that is neither."""
    scores = {
        "previous_token": [0.289, 0.225, 0.02, 0.03, 0.05],
        "current_token": [0.03, 0.02, 0.04, 0.02, 0.05],
        "prefix_matching": [0.001, 0.001, 0.055, 0.079, 0.002],
    }
    heads = ["0:1", "0:4", "1:6", "1:7", "1:0"]
    data = xr.Dataset(
        {name: (("seed", "step", "head"), [[spec]]) for name, spec in scores.items()},
        coords={"seed": [1], "step": [50000], "head": heads},
    )
    types = head_types(data, thresholds=study.experiments["language"].head_types.model_dump())
    expected = ["previous-token"] * 2 + ["induction"] * 2 + ["multigram"]
    assert types.sel(seed=1).values.tolist() == expected


def test_the_whole_model_is_also_sampled_as_its_figure_was(study):
    """arXiv 2402.02364, App. D.1.4: batches of 100 at beta = 1 / ln 100, 20 chains of 200 steps, 1e-3 and 100."""
    full = study.experiments["language"].sampling_variants["stagewise"].full
    assert full.n_beta == pytest.approx(100 / np.log(100), abs=0.01)
    assert (full.chains, full.draws, full.burn_in, full.batch_size) == (20, 200, 0, 100)
    assert (full.step_size, full.localization) == (1e-3, 100)
    assert study.figures["stage_fig1a_lm"].options["setting"] == "stagewise"


def test_all_checkpoints_share_their_noise_as_published(study):
    language = study.experiments["language"]
    samplings = [language.sampling, *language.sampling_variants.values()]
    kinds = [kind for sampling in samplings for kind in (sampling.heads, sampling.full) if kind]
    assert len(kinds) == 4 and all(kind.seeded for kind in kinds)


@pytest.fixture(scope="module")
def staged():
    files = ("config/paper.yaml", "config/stages_published.yaml")
    return read(defaults.load([ROOT / file for file in files], ROOT))


def test_claims_on_stages_have_what_they_read_at_the_published_scale(staged):
    """Two layers by the setting of arXiv 2402.02364, one layer with its own, at the same checkpoints."""
    two, one = (staged.experiments[name] for name in ("language", "language_1layer"))
    assert staged.claims == ["stages"] and two.milestones.setting == "stagewise"
    assert steps(one) == steps(two) == CHECKPOINTS
    published = {"n_beta": 21.71, "chains": 20, "draws": 200, "burn_in": 0, "batch_size": 100}
    own = {"step_size": 3e-3, "localization": 300}
    assert differences(one.sampling.full, published | own) == set()
    assert differences(two.sampling_variants["stagewise"].full, published | {"step_size": 1e-3}) == set()
    for section in ("metrics", "ngrams", "positions", "stages"):
        assert getattr(one, section) is not None and getattr(two, section) is not None


def test_one_layer_of_the_cut_study_has_the_published_step_and_localization():
    study = read(defaults.load([ROOT / "config/stages.yaml"], ROOT))
    one = study.experiments["language_1layer"].sampling_variants["published"].full
    assert (one.step_size, one.localization, one.n_beta) == (3e-3, 300, 21.7)
    two = study.experiments["language"].sampling_variants["published"].full
    assert (two.step_size, two.localization, two.n_beta) == (1e-3, 100, 21.7)


def test_the_default_study_and_the_published_scale_share_the_thresholds_of_types(study):
    every = [read(defaults.load([])).experiments["language"], study.experiments["language"]]
    assert [each.head_types.model_dump() for each in every] == [THRESHOLDS, THRESHOLDS]
