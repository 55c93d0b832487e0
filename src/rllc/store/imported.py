"""Imported checkpoints: a folder of state dicts of an attention-only HookedTransformer.

    config.json        the fields of its HookedTransformerConfig (rllc.study.transformer_lens)
    <...step>.safetensors, .pt or .pth      one per step; the last number in the name is the step

Pickled files are read with ``weights_only=True``. Features that the functional model cannot express are
refused by name, not ignored.
"""

import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.models.attention_only import AttentionOnly
from rllc.models.transformer import Architecture
from rllc.store.checkpoints import CheckpointError, fitting, load
from rllc.study.imported import imported_files
from rllc.study.transformer_lens import described, differences

BUFFERS = (".attn.mask", ".attn.IGNORE")
# Prefixes that torch.compile, DataParallel and FSDP add to names of weights.
WRAPPERS = {"_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
NAMED = 4  # at most so many tensors are named in an error


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
    files = imported_files(folder)
    wanted = sorted(files if steps is None else set(steps))
    missing = [step for step in wanted if step not in files]
    if missing:
        raise CheckpointError(
            f"{folder} has no checkpoint of step {', '.join(map(str, missing))}; it has "
            f"{', '.join(map(str, sorted(files)))}: add the files or ask for other steps"
        )
    chosen = {step: files[step] for step in wanted}
    return ImportedRun(AttentionOnly(Architecture(**facts)), chosen, folded)


def imported_weights(path: str | Path, model: AttentionOnly, *, folded: bool = False) -> dict[str, Tensor]:
    """Return the weights of one checkpoint, float32, under rllc's names.

    folded  layer norms have no weights in the file (LNPre); they get w = 1, b = 0

    Causal masks, other buffers and prefixes of wrappers (``WRAPPERS``) are dropped. Raises CheckpointError,
    which names file and tensors, unless the file is a flat dict of dense, finite, floating-point tensors that
    fit the model. Files with MLPs are refused too.
    """
    path = Path(path)
    content = _safetensors(path) if path.suffix.lower() == ".safetensors" else _unpickled(path)
    weights = {name: w for name, w in _unwrapped(content, path).items() if not name.endswith(BUFFERS)}
    extra = sorted(name for name in weights if ".mlp." in name or ".ln2." in name)
    if extra:
        raise CheckpointError(f"{path} has MLPs ({_list(extra)}): only attention-only models can be studied")
    _refuse(path, {name: _strange(w) for name, w in weights.items()}, "save dense floating-point weights")
    expected = model.shapes()
    norms = [name for name in expected if ".ln1." in name or name.startswith("ln_final.")] if folded else []
    _refuse_prefix(path, weights.keys(), expected.keys())
    fitting(weights, {name: shape for name, shape in expected.items() if name not in norms}, path)
    weights = {name: w.detach().to(torch.float32) for name, w in weights.items()}
    _refuse(path, {name: _infinite(w) for name, w in weights.items()}, "leave this step out, or save it anew")
    fill = {"w": torch.ones, "b": torch.zeros}
    return weights | {name: fill[name.rpartition(".")[2]](expected[name]) for name in norms}


def _unwrapped(content: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return the tensors, with ``WRAPPERS`` removed anywhere in their names."""
    found: dict[str, Tensor] = {}
    origins: dict[str, str] = {}
    for name, tensor in content.items():
        plain = ".".join(part for part in name.split(".") if part not in WRAPPERS)
        if plain in origins:
            raise CheckpointError(
                f"{path} has the weight {plain} twice, as {origins[plain]} and as {name}: save one of them"
            )
        found[plain], origins[plain] = tensor, name
    return found


def _refuse_prefix(path: Path, names: Collection[str], expected: Collection[str]) -> None:
    """Raise CheckpointError if the model is nested in another module, as in ``model.embed.W_E``."""
    prefixes = {name.partition(".")[0] for name in names}
    if len(prefixes) == 1 and {name.partition(".")[2] for name in names} <= set(expected):
        raise CheckpointError(
            f"{path} has names that all begin with '{prefixes.pop()}.': expected those of the model, as "
            "embed.W_E. Save the state dict of the model within the module"
        )


def _strange(w: Tensor) -> str:
    """Return why a tensor is not a dense array of real numbers; "" if it is one."""
    if w.is_meta:
        return "without values (device meta)"
    if w.is_nested or w.layout != torch.strided:
        return "nested" if w.is_nested else f"sparse ({w.layout})"
    if w.dtype not in DTYPES:
        return f"{'quantised, ' if w.is_quantized else ''}of {w.dtype}"
    return ""


def _infinite(w: Tensor) -> str:
    """Return in words how many values are not finite in float32; "" if none."""
    bad = int((~torch.isfinite(w)).sum())
    return f"NaN or infinite in {bad} of {w.numel()} values" if bad else ""


def _refuse(path: Path, reasons: Mapping[str, str], cure: str) -> None:
    wrong = [f"{name} is {reason}" for name, reason in reasons.items() if reason]
    if wrong:
        raise CheckpointError(
            f"{path} cannot be used: {_list(wrong, '; ')}. Expected dense, finite floating-point weights: "
            f"{cure}"
        )


def _list(every: list[str], separator: str = ", ") -> str:
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return separator.join(every[:NAMED]) + more


def _safetensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file.

    Raises CheckpointError, which says what the file is instead.
    """
    try:
        return load(path)
    except CheckpointError as error:
        if path.is_file() and (kind := _kind(path)):
            raise CheckpointError(f"{path} {kind}") from error
        raise


def _unpickled(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a pickled state dict, without running code from it. Raises CheckpointError."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (FileNotFoundError, PermissionError) as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror})") from error
    except Exception as error:  # torch's own message advises the user to run the code
        unsafe = "cannot be read without running code from it: save model.state_dict(), and nothing else"
        raise CheckpointError(f"{path} {_kind(path) or unsafe}") from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        found = ", ".join(map(str, content)) if isinstance(content, dict) else f"a {type(content).__name__}"
        raise CheckpointError(
            f"{path} is not a flat state dict of tensors; it holds {found[:200]}: save model.state_dict(), "
            "and nothing else"
        )
    if strange := [name for name in content if not isinstance(name, str)]:
        raise CheckpointError(f"{path} has tensors without a name ({strange[:NAMED]}): expected a state dict")
    return content


def _kind(path: Path) -> str:
    """Return what is wrong with a file that cannot be read, and a remedy; "" if it is not recognised."""
    with path.open("rb") as file:
        head = file.read(64)
    table = head[8:9] == b"{"  # safetensors: eight bytes of length, then JSON
    pickled = path.suffix.lower() != ".safetensors"
    kinds = {
        "is empty: save it again": not head,
        "is a pointer of Git LFS: fetch the file itself": head.startswith(b"version https://git-lfs"),
        "is a web page: download the file itself": not table and head.lstrip().startswith(b"<"),
        "is compressed: unpack it": head.startswith(b"\x1f\x8b"),
        "is a pickle: rename it to end in .pt": not pickled and head[:1] in (b"P", b"\x80"),
        "is a safetensors file: rename it to end in .safetensors": pickled and table,
        "is cut short or damaged: save it again": head.startswith(b"PK") and not zipfile.is_zipfile(path),
    }
    return next((kind for kind, holds in kinds.items() if holds), "")
