import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rllc.estimator.samplers.coordinates import coordinates


@settings(deadline=None, max_examples=25)
@given(st.lists(st.booleans(), min_size=8, max_size=8).filter(any))
def test_gather_and_insert_are_inverse(selection):
    weights = {"v": torch.arange(4.0), "u": torch.arange(4.0, 8.0).reshape(2, 2)}
    masks = {"v": torch.tensor(selection[:4]), "u": torch.tensor(selection[4:]).reshape(2, 2)}
    selected = coordinates(weights, masks, component="x")
    flat = selected.gather(weights)
    assert flat.tolist() == weights["u"][masks["u"]].tolist() + weights["v"][masks["v"]].tolist()
    back = selected.insert(weights, flat + 10)
    for name in weights:
        assert torch.equal(back[name], weights[name] + 10 * masks[name])


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"v": torch.ones(2, dtype=torch.bool)}, "expected one of h, n, w"),
        ({"w": torch.ones(3, dtype=torch.bool)}, r"shape \[3\], the weight \[2\]"),
        ({"w": torch.ones(2)}, "expected torch.bool"),
        ({"w": torch.zeros(2, dtype=torch.bool)}, "selects no coordinate"),
        ({"n": torch.ones(1, dtype=torch.bool)}, "floating-point"),
        (
            {"h": torch.ones(1, dtype=torch.bool)},
            "torch.bfloat16: expected .* torch.float32 or torch.float64",
        ),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks, message):
    weights = {
        "w": torch.zeros(2),
        "n": torch.zeros(1, dtype=torch.int64),
        "h": torch.zeros(1, dtype=torch.bfloat16),
    }
    with pytest.raises(ValueError, match=message):
        coordinates(weights, masks, component="x")


def test_weights_of_different_dtypes_are_refused():
    weights = {"a": torch.zeros(2), "b": torch.zeros(2, dtype=torch.float64)}
    with pytest.raises(ValueError, match=r"torch.float32, torch.float64: expected one"):
        coordinates(weights, None, component="x")
