"""Folders with checkpoints of other formats, which `source: import` does not read. Imports no torch."""

import json
import re
from pathlib import Path
from typing import Any

SIZES = ("n_layers", "n_heads", "d_model", "d_head", "n_ctx", "d_vocab")  # of a HookedTransformerConfig
HUGGING_FACE = ("architectures", "model_type", "transformers_version")  # fields of other formats only
WEIGHTS = re.compile(
    r"(pytorch_|flax_|tf_)?model(-\d+-of-\d+)?\.(safetensors|bin|msgpack|h5)(\.index\.json)?"
)
ADAPTER = "adapter_config.json"  # of PEFT
BELOW = ("*", "snapshots/*")  # checkpoint-500 of a Trainer, step1000 of a revision; the cache of the hub
EXPECTED = (
    "expected an attention-only HookedTransformer of TransformerLens: its fields in config.json and one "
    "state dict per step; docs/own_models.md ('Attention-only models') has the lines that write them"
)
INSTEAD = (
    "set checkpoints.source: huggingface and model.family: huggingface "
    "(docs/own_models.md, 'In the workflow')"
)


def foreign(folder: Path) -> str:
    """Return which other format a folder holds, and what to do; "" if it is not recognised."""
    own = (folder / "config.json").exists()  # then no file in a folder below is the model
    below = (path for pattern in BELOW for path in sorted(folder.glob(pattern)) if path.is_dir())
    for place in (folder, *(() if own else below)):
        if kind := _kind(place):
            within = "" if place == folder else f" in {place.relative_to(folder)}"
            said = f"{folder} holds {kind}{within}, which `source: import` does not read"
            return f"{said}: {INSTEAD}; else {EXPECTED}"
    return ""


def hugging_face(config: Any) -> str:
    """Return the type in a config of Hugging Face, as "model_type 'gpt2'"; "" if it is another config."""
    if not isinstance(config, dict) or not any(name in config for name in HUGGING_FACE):
        return ""
    if all(config.get(name) is not None for name in SIZES):
        return ""
    kinds = [f"{name} {config[name]!r}" for name in ("model_type", "architectures") if name in config]
    return ", ".join(kinds) or "transformers_version"


def _kind(folder: Path) -> str:
    config = _json(folder / "config.json")
    if said := hugging_face(config):
        return f"a Hugging Face checkpoint ({said})"
    if (adapter := _json(folder / ADAPTER)) is not None:
        base = adapter.get("base_model_name_or_path") if isinstance(adapter, dict) else None
        return f"an adapter of Hugging Face's PEFT (of {base!r})"
    names = sorted(path.name for path in folder.iterdir() if WEIGHTS.fullmatch(path.name))
    if config is None and names:
        return (
            f"files named as those of a Hugging Face checkpoint ({', '.join(names[:3])}) without config.json"
        )
    return ""


def _json(path: Path) -> Any:
    """Return the content of a JSON file; None if it is missing or not readable."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
