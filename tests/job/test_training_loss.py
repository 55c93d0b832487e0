import numpy as np
import pytest
import torch

from rllc.job.segments import losses_file
from rllc.job.training_loss import by_step
from rllc.store import manifest
from rllc.store.checkpoints import save


def trained(folder, losses):
    folder.mkdir()
    file = losses_file(folder, len(losses))
    save({"losses": torch.tensor(losses)}, file, {})
    manifest.write(folder / "from0.json", training_loss=manifest.file_entry(file, step=len(losses)))
    return folder / "from0.json"


def test_loss_is_of_every_update_of_every_seed(tmp_path):
    last = {5: trained(tmp_path / "a", [3.0, 2.5, 2.25]), 7: trained(tmp_path / "b", [3.5, 3.0, 1.0])}
    found = by_step(last, unit="nats/token")
    assert found["loss"].dims == ("seed", "step") and found["loss"].dtype == np.float32
    assert found["seed"].values.tolist() == [5, 7]
    assert found["step"].values.tolist() == [0, 1, 2]
    assert found["loss"].sel(seed=7, step=2).item() == 1.0
    assert found["loss"].attrs["units"] == "nats/token"


def test_loss_of_checkpoints_without_training_is_refused(tmp_path):
    manifest.write(tmp_path / "from0.json", checkpoints=[])
    with pytest.raises(ValueError, match=r"from0\.json"):
        by_step({0: tmp_path / "from0.json"}, unit="1")
