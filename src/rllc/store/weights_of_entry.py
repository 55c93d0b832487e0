"""The weights of an entry of a manifest of checkpoints, whoever trained them."""

from pathlib import Path
from typing import Any

from torch import Tensor

from rllc.models.model import Model
from rllc.store import manifest as manifests
from rllc.store.checkpoints import fitting, load


def weights_of_entry(manifest: Path, entry: dict[str, Any], model: Model) -> dict[str, Tensor]:
    """Return the weights of one checkpoint, float32, after comparing its files with the manifest.

    Raises CheckpointError or UnreadableResult where they are missing, changed, or those of another model.
    """
    if "folder" not in entry:
        return load(manifests.verified(manifest, entry), model.shapes())
    from rllc.store.registered import registered_weights  # imports transformers: seconds that others spare

    weights = registered_weights(entry)
    fitting(weights, model.shapes(), Path(entry["folder"]))
    return weights
