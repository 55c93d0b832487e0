"""Models of transformers in the workflow sample their components by the faster losses."""

import numpy as np
import pytest
import torch
from tiny_transformers import tiny_model, tokens_of

from rllc.estimator.dispatch import estimator
from rllc.estimator.huggingface.family import model
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Batch

SETTING = SamplerConfig(n_beta=30.0, localization=200.0, step_size=1e-3, chains=2, draws=5)


@pytest.mark.parametrize("name", ["gpt_neox", "llama_groups"])
def test_estimates_of_the_family_are_those_of_the_plain_loss(name):
    module = tiny_model(name)
    plain, sampled = HuggingFaceModel(module), model(config=module.config.to_dict())
    tokens = tokens_of(module)
    batches = [Batch(tokens, torch.arange(8), tokens[:, 1:])]
    labels = [plain.heads[0], plain.heads[-1], "mlp:1", "embedding"]
    weights = plain.weights()
    _, losses = sampled.losses_around(weights, {label: plain.masks(label) for label in labels})
    assert set(losses) == set(labels) and losses["mlp:1"] != sampled.loss
    expected, found = (
        estimator(weights, each, labels, batches=batches)(setting=SETTING) for each in (plain, sampled)
    )
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-4)
