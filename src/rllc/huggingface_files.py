"""Folders of Hugging Face: the config and the files of the weights. Imports no torch."""

import json
from pathlib import Path
from typing import Any

# Fields of a config that say how it was saved, and nothing of the model.
OF_SAVING = ("_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version", "use_cache")

SINGLE = (
    "model.safetensors",
    "pytorch_model.bin",
)  # the file of all weights; the first that is there is read


def index_of(single: str) -> str:
    """Return the name of the index of shards that stand in the place of one file of weights."""
    return f"{single}.index.json"


def config_fields(folder: Path) -> dict[str, Any]:
    """Return the fields of a folder's config.json that describe the model, without those of saving.

    Raises ValueError where the folder holds no model, an adapter or quantised weights.
    """
    path = folder / "config.json"
    if (folder / "adapter_config.json").exists():
        raise ValueError(
            f"{folder} holds a LoRA adapter (adapter_config.json): merge it into its model by "
            "merge_and_unload() of peft, and save that"
        )
    if not path.is_file():
        raise ValueError(
            f"{folder} has no config.json: expected a folder that save_pretrained wrote; a model of the hub "
            "is downloaded first"
        )
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        model_type = fields.get("model_type")
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is not the config of a model: {error}; save the model again") from error
    if not isinstance(model_type, str):
        raise ValueError(f"{path} has no model_type: expected the config of a model of transformers")
    if "quantization_config" in fields:
        raise ValueError(
            f"{folder} holds quantised weights (quantization_config in config.json): expected float32, "
            "float16 or bfloat16"
        )
    return {name: value for name, value in fields.items() if name not in OF_SAVING}


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a folder's weights, without an index. Other files beside them are not read.

    Raises ValueError where there are none, or one is lost.
    """
    for single in SINGLE:
        index = folder / index_of(single)
        if (folder / single).is_file():
            return [folder / single]
        if index.is_file():
            return _shards(index)
    raise ValueError(
        f"{folder} has no weights: expected model.safetensors or pytorch_model.bin, or shards with an index"
    )


def shard_names(index: Path) -> list[str]:
    """Return the names of the shards that an index lists. Raises ValueError where it is no index."""
    try:
        return sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"{index} is no index of shards ({error}): copy the folder again") from error


def _shards(index: Path) -> list[Path]:
    """Return the shards of an index. Raises ValueError where one is lost."""
    names = shard_names(index)
    lost = [name for name in names if not (index.parent / name).is_file()]
    if lost:
        raise ValueError(
            f"{index.parent} lacks {', '.join(lost)} of the {len(names)} shards that {index.name} names: "
            "copy the folder again"
        )
    return [index.parent / name for name in names]
