from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from rllc.estimator import dispatch
from rllc.estimator.dispatch import estimator
from rllc.estimator.llc import estimate
from rllc.models.attention_only import AttentionOnly
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Batch

SETTING = SamplerConfig(n_beta=30.0, localization=200.0, step_size=1e-3, chains=4, draws=6)


@pytest.mark.parametrize("labels", [["0:0", "0:1"], ["0:0+0:1"], ["full", "0:0"]])
@pytest.mark.parametrize("changes", [{}, {"sampler": "rmsprop"}])
def test_components_of_any_kind_and_sampler_are_those_of_the_generic_path(labels, changes, monkeypatch):
    fast, heads = [], dispatch.estimate_heads
    monkeypatch.setattr(dispatch, "estimate_heads", lambda *a, **given: fast.append(1) or heads(*a, **given))
    architecture = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=11)
    random = torch.Generator().manual_seed(0)
    weights = {n: torch.randn(s, generator=random).double() for n, s in shapes(architecture).items()}
    tokens = torch.randint(11, (4, 6), generator=random)
    batches, loss = [Batch(tokens, torch.arange(5), tokens[:, 1:])], next_token_loss(architecture)
    setting = replace(SETTING, **changes)
    found = estimator(weights, AttentionOnly(architecture), labels, batches=batches)(setting=setting)
    assert bool(fast) == (labels == ["0:0", "0:1"])
    own = estimator(weights, AttentionOnly(architecture), labels, loss=lambda w, b: 2 * loss(w, b))
    count = len(fast)
    twice = own(batches=batches, setting=replace(setting, n_beta=setting.n_beta / 2))
    assert len(fast) == count  # another loss takes the generic path
    components = {label: masks(label, architecture) for label in labels}
    expected = estimate(loss, weights, batches, components=components, **asdict(setting))
    np.testing.assert_allclose(found["llc"], expected["llc"], rtol=1e-8)
    assert twice.sizes == found.sizes
