"""The pass at w* that chains of a minibatch share."""

import torch
from tiny_transformers import tiny_model, tokens_of

from rllc.estimator.huggingface.centered_loss import CenteredLoss, Path
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.tasks.batch import Batch


def counted(module):
    """Count the calls of the module's embedding and of its last layer."""
    counts = {"embedding": 0, "last": 0}
    for name, part in (("embedding", module.gpt_neox.embed_in), ("last", module.gpt_neox.layers[1])):
        part.register_forward_hook(lambda *_, name=name: counts.update({name: counts[name] + 1}))
    return counts


def batch_of(module, seed=0):
    tokens = tokens_of(module, seed=seed)
    return Batch(tokens, torch.arange(8), tokens[:, 1:])


def test_pass_at_the_centre_is_made_once_per_batch_and_again_after_another():
    module = tiny_model("gpt_neox")
    loss = CenteredLoss(
        HuggingFaceModel(module), HuggingFaceModel(module).weights(), blocked=True, record=[0]
    )
    assert loss.model.keeps_logits  # checked before counting
    one, other, counts = batch_of(module), batch_of(module, 1), counted(module)
    loss(loss.weights, one)
    kept = loss.at_center(one)
    assert loss.at_center(one) is kept
    assert counts["embedding"] == 1
    assert not torch.equal(loss.at_center(other).output, kept.output)
    assert counts["embedding"] == 2
    loss(loss.weights, other)  # the loss of random numbers must not be that of the last time
    assert counts["embedding"] == 3
    torch.testing.assert_close(loss.at_center(one).output, kept.output)


def test_loss_of_other_weights_is_not_that_of_the_centre():
    module = tiny_model("gpt_neox")
    model = HuggingFaceModel(module)
    weights, batch = model.weights(), batch_of(module)
    loss = CenteredLoss(model, weights, blocked=True, record=[])
    other = {name: weight * 1.1 for name, weight in weights.items()}
    torch.testing.assert_close(loss(other, batch), model.loss(other, batch))
    assert abs(loss(other, batch) - loss(weights, batch)) > 1e-3
    again = {name: weight.detach() for name, weight in weights.items()}  # the same numbers, other tensors
    torch.testing.assert_close(loss(again, batch), loss(weights, batch))


def test_layers_below_a_path_are_not_read():
    module = tiny_model("gpt_neox")
    model = HuggingFaceModel(module)
    weights, batch = model.weights(), batch_of(module)
    loss = CenteredLoss(model, weights, blocked=True, record=[0])
    own = loss.along(Path(1, True), weights, batch)
    broken = {
        name: weight * (float("nan") if ".layers.0." in name else 1) for name, weight in weights.items()
    }
    torch.testing.assert_close(loss.along(Path(1, True), broken, batch), own)
    assert loss.along(Path(0, True), broken, batch).isnan()
