"""Imported checkpoints of a user's module: a folder of state dicts, one per step.

Names are those of the module's ``state_dict()``, after the prefixes of wrappers are dropped. The file of a
training may hold the state dict under ``model`` or ``state_dict``, as nanoGPT's does.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.models.module.build import model as model_of
from rllc.models.module.model import ModuleModel
from rllc.models.weights import Weights
from rllc.store.checkpoints import CheckpointError, fitting
from rllc.store.state_dicts import (
    as_float32,
    check_dense,
    chosen_files,
    listed,
    refuse_prefix,
    state_dict,
)
from rllc.study.imported import state_dict_files

NESTED = ("model", "state_dict")  # where the file of a training holds its state dict


class ModuleRun(NamedTuple):
    """The model of a folder, and the file of each step, ascending."""

    model: ModuleModel
    files: dict[int, Path]

    def weights(self, step: int) -> dict[str, Tensor]:
        """Return the weights of a step, float32, under the module's names."""
        return module_weights(self.files[step], self.model)


def module_run(
    folder: str | Path, *, model: Mapping[str, Any], steps: Iterable[int] | None = None
) -> ModuleRun:
    """Return model and files of a folder of checkpoints. Weights are not read.

    model  facts of the model: arguments of ``rllc.models.module.build.model``, and the family
    steps  the steps needed; None: all steps of the folder

    Raises ValueError if the module is not what the config says, or a step is missing or occurs twice.
    """
    folder = Path(folder)
    files = chosen_files(folder, state_dict_files(folder), steps)
    return ModuleRun(model_of(**{name: fact for name, fact in model.items() if name != "family"}), files)


def module_weights(path: str | Path, model: ModuleModel) -> dict[str, Tensor]:
    """Return the weights of one checkpoint, float32; tied weights once.

    Buffers of the module are accepted if they hold what the module itself puts there. Raises CheckpointError,
    which names file and tensors, where weights are missing, unknown or misshapen, and where tied ones differ.
    """
    path = Path(path)
    content = state_dict(path, nested=NESTED)
    buffers = dict(model.module.named_buffers())
    _check_buffers(path, {name: (content[name], own) for name, own in buffers.items() if name in content})
    given = {name: w for name, w in content.items() if name not in buffers}
    refuse_prefix(path, given.keys(), [*model.names, *model.aliases, *buffers])
    check_dense(given, path)
    weights = _untied(path, given, model.aliases)
    fitting(weights, model.shapes(), path)
    ready = as_float32(weights, path)
    return {name: ready[name] for name in model.names}


def _untied(path: Path, given: Weights, aliases: Mapping[str, str]) -> dict[str, Tensor]:
    """Return tied weights once, under their first name. Raises CheckpointError where they differ."""
    found = {name: w for name, w in given.items() if name not in aliases}
    for alias, name in aliases.items():
        if alias in given and not torch.equal(found.setdefault(name, given[alias]), given[alias]):
            raise CheckpointError(
                f"{path} holds {name} and {alias}, which differ and are tied in the module: expected the "
                "same weight; build the module without tying, or save the right file"
            )
    return found


def _check_buffers(path: Path, pairs: Mapping[str, tuple[Tensor, Tensor]]) -> None:
    """Raise CheckpointError where a stored buffer is not the module's own, and its loss so another."""
    differ = [name for name, (stored, own) in pairs.items() if not _alike(stored, own)]
    if differ:
        raise CheckpointError(
            f"{path} holds buffers that differ from those that build gives: {listed(differ)}. Expected masks "
            "and tables that no training changes; let build set them, or make them parameters"
        )


def _alike(stored: Tensor, own: Tensor) -> bool:
    """Return whether two buffers are equal up to the rounding of the stored type."""
    if stored.shape != own.shape:
        return False
    if not (stored.is_floating_point() and own.is_floating_point()):
        return torch.equal(stored.to(own.dtype), own)
    rounding = 2 * torch.finfo(stored.dtype).eps
    return torch.allclose(
        stored.double(), own.to(stored.dtype).double(), rtol=rounding, atol=rounding, equal_nan=True
    )
