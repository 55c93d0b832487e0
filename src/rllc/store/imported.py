"""Checkpoints made elsewhere: a folder of state dicts of an attention-only HookedTransformer.

    config.json        the fields of its HookedTransformerConfig
    <...step>.safetensors, .pt or .pth      one per step; the last number in the name is the step

Pickled files are read with ``weights_only=True``. What the functional model cannot express is refused
by name rather than ignored.
"""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.models.attention_only import AttentionOnly
from rllc.models.transformer import Architecture
from rllc.store.checkpoints import CheckpointError, fitting, load
from rllc.study.imported import imported_files

BUFFERS = (".attn.mask", ".attn.IGNORE")
SIZES = ("n_layers", "n_heads", "d_model", "d_head", "n_ctx", "d_vocab")
POSITIONS = ("standard", "shortformer")
NORMALIZATIONS = ("LN", "LNPre", None)
# Settings that change the function computed, and the values under which it is the one we compute.
REQUIRED: dict[str, tuple[Any, ...]] = {
    "attn_only": (True,),
    "attention_dir": ("causal",),
    "use_attn_scale": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "use_local_attn": (False,),
    "use_qk_norm": (False,),
    "clip_qkv": (None,),
    "use_logn_attn": (False,),
    "use_attention_sinks": (False,),
    "post_embedding_ln": (False,),
    "use_normalization_before_and_after": (False,),
    "relative_attention_num_buckets": (None,),
    "num_experts": (None,),
    "attn_scores_soft_cap": (-1.0, 0.0, None),
    "output_logits_soft_cap": (-1.0, 0.0, None),
}


class ImportedRun(NamedTuple):
    """The model of a folder, and the file of each step, ascending."""

    model: AttentionOnly
    files: dict[int, Path]


def imported_run(
    folder: str | Path, *, vocabulary: int | None = None, steps: Iterable[int] | None = None
) -> ImportedRun:
    """Look through a folder of checkpoints; no weights are read.

    vocabulary  size of the tokenizer that will be used, to compare with the model's
    steps       the steps needed; None: all there are

    Raises CheckpointError (a ValueError) where config.json is missing or describes a model that is not
    supported, the vocabulary differs, a step is missing or there twice, or a name has no step.
    """
    folder = Path(folder)
    architecture = imported_architecture(_config(folder / "config.json"))
    if vocabulary is not None and vocabulary != architecture.d_vocab:
        raise CheckpointError(
            f"the model in {folder} has a vocabulary of {architecture.d_vocab} tokens, the tokenizer "
            f"{vocabulary}: give the tokenizer the model was trained with"
        )
    files = imported_files(folder)
    wanted = sorted(files if steps is None else set(steps))
    missing = [step for step in wanted if step not in files]
    if missing:
        raise CheckpointError(
            f"{folder} has no checkpoint of step {', '.join(map(str, missing))}; it has "
            f"{', '.join(map(str, sorted(files)))}: add the files or ask for other steps"
        )
    return ImportedRun(AttentionOnly(architecture), {step: files[step] for step in wanted})


def imported_architecture(config: Mapping[str, Any]) -> Architecture:
    """The architecture that the fields of a HookedTransformerConfig describe.

    Fields left out have TransformerLens' defaults. Raises CheckpointError naming every field that the
    functional model cannot follow.
    """
    missing = [name for name in SIZES if not isinstance(config.get(name), int)]
    if missing:
        raise CheckpointError(f"config.json lacks {', '.join(missing)}: add them, as whole numbers")
    problems = [
        f"{name} is {config[name]!r} (supported: {' or '.join(map(repr, dict.fromkeys(values)))})"
        for name, values in REQUIRED.items()
        if name in config and config[name] not in values
    ]
    if "attn_only" not in config:
        problems.append("attn_only is not given (supported: True)")
    positions = config.get("positional_embedding_type", "standard")
    if positions not in POSITIONS:
        problems.append(f"positional_embedding_type is {positions!r} (supported: {', '.join(POSITIONS)})")
    normalization = config.get("normalization_type", "LN")
    if normalization not in NORMALIZATIONS:
        problems.append(f"normalization_type is {normalization!r} (supported: LN, LNPre, None)")
    for name, same in (("d_vocab_out", "d_vocab"), ("n_key_value_heads", "n_heads")):
        if config.get(name) not in (None, -1, config[same]):
            problems.append(f"{name} is {config[name]!r} (supported: {same}, {config[same]})")
    scale = config.get("attn_scale", -1.0)
    if scale != -1.0 and not math.isclose(scale, math.sqrt(config["d_head"]), rel_tol=1e-6):
        problems.append(f"attn_scale is {scale!r} (supported: sqrt(d_head))")
    if problems:
        raise CheckpointError(f"the model of config.json is not supported: {'; '.join(problems)}")
    return Architecture(
        **{name: config[name] for name in SIZES},
        positions=positions,
        layer_norm=normalization is not None,
        layer_norm_eps=float(config.get("eps", 1e-5)),
    )


def imported_weights(path: str | Path, model: AttentionOnly) -> dict[str, Tensor]:
    """The weights of one checkpoint, float32, in our names.

    Causal masks and other buffers are dropped. Layer norms without weights (LNPre) get w = 1, b = 0.
    Raises CheckpointError where the file is no flat dict of tensors, has MLPs, or does not fit.
    """
    path = Path(path)
    content = load(path) if path.suffix == ".safetensors" else _unpickled(path)
    weights = {name: w.to(torch.float32) for name, w in content.items() if not name.endswith(BUFFERS)}
    extra = sorted(name for name in weights if ".mlp." in name or ".ln2." in name)
    if extra:
        raise CheckpointError(
            f"{path} has MLPs ({', '.join(extra[:4])}{', ..' if len(extra) > 4 else ''}): "
            "only attention-only models can be studied"
        )
    architecture = model.architecture
    folded = not any(".ln1." in name or name.startswith("ln_final.") for name in weights)
    if architecture.layer_norm and folded:
        for norm in [f"blocks.{layer}.ln1" for layer in range(architecture.n_layers)] + ["ln_final"]:
            weights[f"{norm}.w"] = torch.ones(architecture.d_model)
            weights[f"{norm}.b"] = torch.zeros(architecture.d_model)
    fitting(weights, model.shapes(), path)
    return weights


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path} is missing: write the fields of the model's HookedTransformerConfig into it"
        ) from error
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON ({error})") from error
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} is not a table of fields: expected {{...}}")
    return config


def _unpickled(path: Path) -> dict[str, Tensor]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CheckpointError(f"{path} cannot be read without running code from it ({error})") from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        found = ", ".join(map(str, content)) if isinstance(content, dict) else f"a {type(content).__name__}"
        raise CheckpointError(f"{path} is not a flat state dict of tensors; it holds {found[:200]}")
    return content
