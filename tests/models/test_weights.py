import pytest
import torch

from rllc.models.weights import check_weights

SHAPES = {"a": (2, 3), "b": (4,)}


def test_weights_of_the_model_pass():
    check_weights({name: torch.zeros(shape) for name, shape in SHAPES.items()}, SHAPES, "it")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("b"), "it does not hold the weights of the model: b is missing"),
        (lambda w: w.update(c=torch.zeros(1)), "c is unknown"),
        (lambda w: w.update(a=torch.zeros(3, 2)), r"a is \[3, 2\] instead of \[2, 3\]"),
        (lambda w: w.update({f"x{i}": torch.zeros(1) for i in range(7)}), "x4 is unknown and 2 more"),
    ],
)
def test_weights_of_another_model_are_refused(change, message):
    weights = {name: torch.zeros(shape) for name, shape in SHAPES.items()}
    change(weights)
    with pytest.raises(ValueError, match=message):
        check_weights(weights, SHAPES, "it")
