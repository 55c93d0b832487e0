"""State dicts that others saved: read without running code, and checked tensor by tensor.

Pickled files are read with ``weights_only=True``. What is not a flat dict of dense, finite, floating-point
tensors is refused, with file and tensor.
"""

import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from rllc.store.checkpoints import CheckpointError, load

# Prefixes that torch.compile, DataParallel and FSDP add to names of weights.
WRAPPERS = {"_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
NAMED = 4  # at most so many tensors are named in an error


def chosen_files(folder: Path, files: Mapping[int, Path], steps: Iterable[int] | None) -> dict[int, Path]:
    """Return the files of the steps needed, ascending; None: all. Raises CheckpointError for missing ones."""
    wanted = sorted(files if steps is None else set(steps))
    missing = [step for step in wanted if step not in files]
    if missing:
        raise CheckpointError(
            f"{folder} has no checkpoint of step {', '.join(map(str, missing))}; it has "
            f"{', '.join(map(str, sorted(files)))}: add the files or ask for other steps"
        )
    return {step: files[step] for step in wanted}


def state_dict(path: Path, *, nested: Collection[str] = ()) -> dict[str, Tensor]:
    """Return the tensors of a file, with ``WRAPPERS`` removed anywhere in their names.

    nested  keys under which the file of a training may hold its state dict; the rest of it is left out

    Raises CheckpointError unless the file holds a flat state dict.
    """
    content = _safetensors(path) if path.suffix.lower() == ".safetensors" else _unpickled(path, nested)
    return _unwrapped(content, path)


def as_float32(weights: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return weights as float32. Raises CheckpointError where one is not dense and finite."""
    check_dense(weights, path)
    ready = {name: w.detach().to(torch.float32) for name, w in weights.items()}
    _refuse(path, {name: _infinite(w) for name, w in ready.items()}, "leave this step out, or save it anew")
    return ready


def check_dense(weights: Mapping[str, Tensor], path: Path) -> None:
    """Raise CheckpointError where a tensor is no dense array of floating-point numbers."""
    _refuse(path, {name: _strange(w) for name, w in weights.items()}, "save dense floating-point weights")


def refuse_prefix(path: Path, names: Collection[str], expected: Collection[str]) -> None:
    """Raise CheckpointError if the model is nested in another module, as in ``model.embed.W_E``."""
    prefixes = {name.partition(".")[0] for name in names}
    if len(prefixes) == 1 and {name.partition(".")[2] for name in names} <= set(expected):
        raise CheckpointError(
            f"{path} has names that all begin with '{prefixes.pop()}.': expected those of the model, as "
            f"{next(iter(expected))}. Save the state dict of the model within the module"
        )


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
            f"{path} cannot be used: {listed(wrong, '; ')}. Expected dense, finite floating-point weights: "
            f"{cure}"
        )


def listed(every: list[str], separator: str = ", ") -> str:
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


def _unpickled(path: Path, nested: Collection[str]) -> dict[str, Tensor]:
    """Return the tensors of a pickled state dict, without running code from it. Raises CheckpointError."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (FileNotFoundError, PermissionError) as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror})") from error
    except Exception as error:  # torch's own message advises the user to run the code
        unsafe = "cannot be read without running code from it: save model.state_dict(), and nothing else"
        raise CheckpointError(f"{path} {_kind(path) or unsafe}") from error
    if isinstance(content, dict):
        content = next((content[key] for key in nested if isinstance(content.get(key), dict)), content)
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
