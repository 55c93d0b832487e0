"""Imported checkpoints: a folder of state dicts of an attention-only HookedTransformer.

    config.json        the fields of its HookedTransformerConfig (rllc.study.transformer_lens)
    <...step>.safetensors, .pt or .pth      one per step; the last number in the name is the step

Pickled files are read with ``weights_only=True``. Features that the functional model cannot express are
refused by name, not ignored.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.models.attention_only import AttentionOnly
from rllc.models.transformer import Architecture
from rllc.store.checkpoints import CheckpointError, fitting
from rllc.store.state_dicts import as_float32, check_dense, chosen_files, listed, refuse_prefix, state_dict
from rllc.study.imported import imported_files
from rllc.study.transformer_lens import described, differences

BUFFERS = (".attn.mask", ".attn.IGNORE")


class ImportedRun(NamedTuple):
    """The model of a folder, the file of each step (ascending), and whether layer norms are folded."""

    model: AttentionOnly
    files: dict[int, Path]
    folded: bool

    def weights(self, step: int) -> dict[str, Tensor]:
        return imported_weights(self.files[step], self.model, folded=self.folded)


def imported_run(
    folder: str | Path, *, model: Mapping[str, Any] | None = None, steps: Iterable[int] | None = None
) -> ImportedRun:
    """Return model and files of a folder of checkpoints. Weights are not read.

    model  facts of the study's model, to compare with config.json; None: no comparison
    steps  the steps needed; None: all steps of the folder

    Raises ValueError if config.json is missing, or its model is not supported or differs from ``model``. Also
    if a step is missing or occurs twice, or a file name has no step.
    """
    folder = Path(folder)
    facts, folded = described(folder / "config.json")
    differ = {} if model is None else differences(facts, model)
    if differ:
        said = "; ".join(f"{name}: {values}" for name, values in differ.items())
        raise CheckpointError(f"the study's model is not that of {folder}: {said}")
    chosen = chosen_files(folder, imported_files(folder), steps)
    return ImportedRun(AttentionOnly(Architecture(**facts)), chosen, folded)


def imported_weights(path: str | Path, model: AttentionOnly, *, folded: bool = False) -> dict[str, Tensor]:
    """Return the weights of one checkpoint, float32, under rllc's names.

    folded  layer norms have no weights in the file (LNPre); they get w = 1, b = 0

    Causal masks, other buffers and prefixes of wrappers (``WRAPPERS``) are dropped. Raises CheckpointError,
    which names file and tensors, unless the file is a flat dict of dense, finite, floating-point tensors that
    fit the model. Files with MLPs are refused too.
    """
    path = Path(path)
    weights = {name: w for name, w in state_dict(path).items() if not name.endswith(BUFFERS)}
    extra = sorted(name for name in weights if ".mlp." in name or ".ln2." in name)
    if extra:
        raise CheckpointError(f"{path} has MLPs ({listed(extra)}): only attention-only models can be studied")
    check_dense(weights, path)
    expected = model.shapes()
    norms = [name for name in expected if ".ln1." in name or name.startswith("ln_final.")] if folded else []
    refuse_prefix(path, weights.keys(), expected.keys())
    fitting(weights, {name: shape for name, shape in expected.items() if name not in norms}, path)
    weights = as_float32(weights, path)
    fill = {"w": torch.ones, "b": torch.zeros}
    return weights | {name: fill[name.rpartition(".")[2]](expected[name]) for name in norms}
