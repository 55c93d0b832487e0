"""The checkpoints of one seed in order, loaded one by one; the last few stay in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from rllc.models.model import Model
from rllc.store import manifest as manifests
from rllc.store.weights_of_entry import weights_of_entry


class Series:
    """Weights of checkpoints by step.

    manifests  of the chunk, and of earlier chunks
    earlier    number of checkpoints before each that are read too: with it, these stay in memory
    """

    def __init__(self, manifests_of: Sequence[Path], model: Model, *, earlier: int):
        found = [(entry["step"], file, entry) for file in manifests_of for entry in _entries(file)]
        self._entries = {step: (file, entry) for step, file, entry in sorted(found, key=lambda one: one[0])}
        self._model, self._earlier = model, earlier
        self._kept: dict[int, dict[str, Tensor]] = {}

    def weights(self, step: int) -> dict[str, Tensor]:
        """Return the weights of a checkpoint, float32 on the CPU, after a check of its files."""
        needed = {step, *self.steps_before(step, self._earlier)}
        self._kept = {known: weights for known, weights in self._kept.items() if known in needed}
        return self._loaded(step)

    def before(self, step: int, count: int) -> list[tuple[int, dict[str, Tensor]]]:
        """Return step and weights of the last ``count`` checkpoints before ``step``, the latest first."""
        return [(each, self._loaded(each)) for each in self.steps_before(step, count)]

    def digests_before(self, step: int) -> list[str]:
        """Return what the files of the earlier checkpoints hold, on which a result at ``step`` depends."""
        return [self._entries[each][1]["sha256"] for each in self.steps_before(step, self._earlier)]

    def steps_before(self, step: int, count: int) -> list[int]:
        """Return the steps of the last ``count`` checkpoints before ``step``, the latest first."""
        every = [each for each in self._entries if each < step]
        return every[len(every) - min(count, len(every)) :][::-1]

    def _loaded(self, step: int) -> dict[str, Tensor]:
        if step in self._kept:
            return self._kept[step]
        file, entry = self._entries[step]
        weights = weights_of_entry(file, entry, self._model)
        if self._earlier:
            self._kept[step] = weights
        return weights


def _entries(manifest: Path) -> list[dict[str, Any]]:
    return manifests.read(manifest)["checkpoints"]
