"""Load a causal language model from a folder that ``save_pretrained`` or a ``Trainer`` wrote.

Weights come as float32, whatever the files hold. A folder is refused where transformers would load something
else than the trained weights: where tensors are missing or misshapen (it fills them with random numbers),
where a shard is lost, or where the files hold an adapter or quantised numbers. Of a Trainer's folder, only
the config and the weights are read.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rllc.huggingface_files import config_fields, weight_files
from rllc.models.huggingface.build import with_eager_experts

# Buffers that old files hold: masks of the attention, frequencies of rotary positions.
BUFFERS = re.compile(
    r"(^|\.)(attn|attention|self_attn|self_attention)(\.attention)?\.(bias|masked_bias)$|(^|\.)inv_freq$"
)
# Parts of names that only quantised files have.
QUANTISED = re.compile(
    r"\.(qweight|qzeros|g_idx|scales|SCB|absmax|quant_map|nested_absmax|quant_state\..*|weight_scale(_inv)?)$"
)
FLOATS = {"F64", "F32", "F16", "BF16", "float64", "float32", "float16", "bfloat16"}


def load(folder: str | Path) -> nn.Module:
    """Return the model of a folder: float32, eval mode, eager attention (which has second derivatives).

    Raises ValueError, with the folder, where it does not hold exactly the weights of a causal language model
    of transformers. Raises ImportError where the package transformers is missing.
    """
    try:
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging
    except ImportError as error:
        raise ImportError("models of Hugging Face need: pip install rllc[huggingface]") from error
    folder = Path(folder)
    config = _config(folder)
    shards = weight_files(folder)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=torch.float32, attn_implementation="eager", trust_remote_code=False,
            local_files_only=True, output_loading_info=True, ignore_mismatched_sizes=True,
        )  # fmt: skip
    except Exception as error:  # of transformers, safetensors or pickle: the file is not what it should be
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"{folder} cannot be loaded: {type(error).__name__}: {reason}") from error
    finally:
        if shown:
            logging.enable_progress_bar()
    model, report = loaded
    _check_report(folder, report)
    _check_stored(folder, shards, {name for name, _ in model.named_parameters(remove_duplicate=False)})
    return with_eager_experts(model).eval()


def _config(folder: Path) -> Any:
    """Return the config of a folder. Raises ValueError where it is not that of a plain model."""
    from transformers import CONFIG_MAPPING, AutoConfig

    fields = config_fields(folder)
    if (model_type := fields["model_type"]) not in CONFIG_MAPPING:
        own = "needs code of its own (trust_remote_code), which is not run"
        code = own if "auto_map" in fields else "is unknown to the installed transformers"
        raise ValueError(
            f"{folder / 'config.json'}: the model_type {model_type!r} {code}; expected an architecture of "
            "transformers"
        )
    return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _check_report(folder: Path, report: dict[str, Any]) -> None:
    """Raise ValueError where the files do not hold exactly the weights; buffers of old files are accepted."""
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    shapes = [
        f"{name} {list(stored)} instead of {list(own)}" for name, stored, own in report["mismatched_keys"]
    ]
    unknown = [name for name in unexpected if not BUFFERS.search(name)]
    for what, names in (
        ("lacks the weights", missing), ("has other shapes than its config:", shapes),
        ("holds unknown weights", unknown),
    ):  # fmt: skip
        if names:
            raise ValueError(
                f"{folder} {what} {_some(names)}: expected exactly the weights of its config; transformers "
                "would fill them with random numbers or leave them out"
            )


def _check_stored(folder: Path, shards: Iterable[Path], parameters: set[str]) -> None:
    """Raise ValueError where files hold quantised numbers, by their names or as types of the parameters."""
    wrong = [
        f"{name} ({dtype})"
        for shard in shards
        for name, dtype in stored(shard)
        if QUANTISED.search(name) or (dtype not in FLOATS and name in parameters)
    ]
    if wrong:
        raise ValueError(
            f"{folder} holds quantised weights, {_some(wrong)}: expected float32, float16 or bfloat16"
        )


def stored(shard: Path) -> Iterator[tuple[str, str]]:
    """Yield name and type of the tensors of a file, without reading their numbers."""
    if shard.suffix == ".safetensors":
        with shard.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        yield from ((name, entry["dtype"]) for name, entry in header.items() if name != "__metadata__")
        return
    held = torch.load(shard, map_location="meta", weights_only=True)
    yield from ((name, str(tensor.dtype).removeprefix("torch.")) for name, tensor in held.items())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
