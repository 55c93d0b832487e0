import pytest
import torch

from rllc.estimator.samplers.admissible import check_mean, check_tensors
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.tasks.batch import Batch

WEIGHTS = {"w": torch.tensor([0.5, -1.0])}
X, Y = torch.arange(12.0).reshape(6, 2), torch.arange(6.0)
FORMS = {
    "tuple": (lambda b: b, (X, Y)),
    "list": (lambda b: b, [X, Y]),
    "dict": (lambda b: (b["x"], b["y"]), {"x": X, "y": Y}),
    "nested": (lambda b: (b[0]["x"], b[1]), ({"x": X}, Y)),
    "with a constant": (lambda b: b[:2], (X, Y, torch.ones(3), "label")),
}


def squares(read):
    return lambda w, batch: (read(batch)[0] @ w["w"] - read(batch)[1]).square()


@pytest.mark.parametrize("form", FORMS)
def test_a_sum_over_the_batch_is_named_and_a_mean_is_not(form):
    read, batch = FORMS[form]
    errors = squares(read)
    check_mean(lambda w, b: errors(w, b).mean(), WEIGHTS, batch)
    check_mean(lambda w, b: errors(w, b).mean() + w["w"].square().sum(), WEIGHTS, batch)
    check_mean(lambda w, b: -errors(w, b).mean(), WEIGHTS, batch)
    for total in (
        lambda w, b: errors(w, b).sum(),
        lambda w, b: errors(w, b).sum() / 6,
        lambda w, b: -errors(w, b).sum(),
    ):
        with pytest.raises(ValueError, match="it is a sum over the batch; return the mean"):
            check_mean(total, WEIGHTS, batch)


def test_what_cannot_be_repeated_is_not_checked():
    total = squares(FORMS["tuple"][0])
    check_mean(lambda w, b: total(w, b).sum(), {"w": torch.zeros(2)}, (X, 0 * Y))  # a loss of 0
    check_mean(lambda w, b: ((w["w"] - b) ** 2).sum(), WEIGHTS, torch.ones(2))  # a point, not examples
    check_mean(lambda w, b: b * w["w"].sum(), WEIGHTS, 2.0)
    check_mean(lambda w, b: w["w"].sum(), WEIGHTS, None)

    def of_six(w, batch):
        assert len(batch) == 6
        return batch.sum()

    check_mean(of_six, WEIGHTS, Y)


def test_the_loss_of_a_transformer_is_a_mean():
    architecture = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=11)
    random = torch.Generator().manual_seed(0)
    weights = {name: torch.randn(shape, generator=random) for name, shape in shapes(architecture).items()}
    tokens = torch.randint(11, (4, 6), generator=random)
    batch = Batch(tokens, torch.arange(5), tokens[:, 1:])
    loss = next_token_loss(architecture)
    check_mean(loss, weights, batch)
    with pytest.raises(ValueError, match="sum over the batch"):
        check_mean(lambda w, b: loss(w, b) * len(b.contexts), weights, batch)


def test_weights_of_integers_are_finite():
    check_tensors({"a": torch.ones(2), "n": torch.ones(1, dtype=torch.int64)})
