"""`config/paper.yaml` against what the papers print of their own model and heads."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.head_types import head_types
from rllc.models.attention_only import model
from rllc.models.weights import weight_norm
from rllc.study import defaults, parameters
from rllc.study.reading import read

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def study():
    return read(defaults.load([ROOT / "config/paper.yaml"], ROOT))


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
