import pytest
import torch

from rllc.models.weights import check_masks, check_weights

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
        (lambda w: w.update({f"x{i}": torch.zeros(1) for i in range(5)}), "x4 is unknown$"),
    ],
)
def test_weights_of_another_model_are_refused(change, message):
    weights = {name: torch.zeros(shape) for name, shape in SHAPES.items()}
    change(weights)
    with pytest.raises(ValueError, match=message):
        check_weights(weights, SHAPES, "it")


def test_a_mask_is_of_a_weight_and_fits_it():
    weights = {name: torch.zeros(shape) for name, shape in SHAPES.items()}
    fits = {"b": torch.ones(4, dtype=torch.bool)}
    check_masks(fits, weights, "1:0")
    for name, mask, message in (
        ("c", fits["b"], "component '1:0' has a mask for the unknown weight 'c': expected one of a, b"),
        ("b", torch.ones(4), "the mask of 'b' is torch.float32, expected torch.bool"),
        ("a", fits["b"], r"the mask of 'a' has shape \[4\], the weight \[2, 3\]"),
    ):
        with pytest.raises(ValueError, match=message):
            check_masks(fits | {name: mask}, weights, "1:0")
