"""Build a model of transformers from the fields of its config."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from rllc.models.huggingface.model import HuggingFaceModel


def model(*, config: Mapping[str, Any]) -> HuggingFaceModel:
    """Return the model of a config: float32, eval mode, eager attention. Its own weights are random.

    Raises ValueError where transformers does not know the architecture, or cannot build it. Raises
    ImportError where the package transformers is missing.
    """
    return HuggingFaceModel(module_of(config))


def module_of(fields: Mapping[str, Any]) -> nn.Module:
    """Return the module of transformers of a config. Random numbers of the process are not used."""
    try:
        from transformers import CONFIG_MAPPING, AutoModelForCausalLM
    except ImportError as error:
        raise ImportError("models of Hugging Face need: pip install rllc[huggingface]") from error
    model_type = str(fields.get("model_type"))
    if model_type not in CONFIG_MAPPING:
        raise ValueError(
            f"the model_type {model_type!r} is unknown to the installed transformers: expected an "
            "architecture of transformers, such as gpt_neox"
        )
    given = {name: value for name, value in fields.items() if name != "model_type"}
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            found = AutoModelForCausalLM.from_config(
                CONFIG_MAPPING[model_type](**given), dtype=torch.float32, attn_implementation="eager"
            )
    except Exception as error:  # of the code of the architecture
        reason = " ".join(str(error).split())[:300]
        raise ValueError(
            f"transformers cannot build a {model_type} of this config: {type(error).__name__}: {reason}"
        ) from error
    return with_eager_experts(found).eval()


def with_eager_experts(module: Any) -> Any:
    """Return the module, with mixtures of experts computed so that forward-mode derivatives exist."""
    if hasattr(module, "set_experts_implementation") and module._can_set_experts_implementation():
        module.set_experts_implementation("eager")
    return module
