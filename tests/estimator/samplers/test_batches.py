import pytest
import torch

from rllc.estimator.samplers.batches import check_batches, to_device
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Batch


def checked(count, *, thinning, draws):
    setting = SamplerConfig(n_beta=1, localization=1, step_size=1, chains=1, draws=draws, thinning=thinning)
    check_batches(setting, [torch.zeros(1)] * count, init_batches=None)


@pytest.mark.parametrize(
    ("thinning", "count", "every"), [(2, 4, 2), (2, 2, 2), (3, 6, 3), (6, 4, 2), (4, 8, 4)]
)
def test_draws_that_pass_over_batches_are_refused(thinning, count, every):
    """Of 3 draws, 2 thinning moves apart, the last sees batch 2 thinning % count."""
    with pytest.raises(
        ValueError, match=f"{thinning} and {count} batches, draws see only every {every}th batch"
    ):
        checked(count, thinning=thinning, draws=3)


@pytest.mark.parametrize(("thinning", "count"), [(1, 2), (1, 1), (2, 5), (3, 4), (2, 6), (3, 9)])
def test_draws_that_come_to_all_batches_and_batches_for_every_move_are_taken(thinning, count):
    checked(count, thinning=thinning, draws=3)


def test_every_tensor_of_a_batch_comes_to_the_device_in_the_batchs_own_shape():
    one = torch.ones(3)
    moved = to_device({"a": [one, (one, 3)], "b": Batch(one, one, one)}, torch.device("meta"))
    (first, (second, number)), batch = moved["a"], moved["b"]
    assert number == 3 and isinstance(batch, Batch)
    assert all(tensor.is_meta and tensor.shape == (3,) for tensor in (first, second, *batch))
