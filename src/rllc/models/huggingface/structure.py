"""Find the layers of a transformers model, and the attention, the MLP and the norms of each."""

from typing import Any, NamedTuple

from torch import nn

# Names that transformers gives to these modules of a layer. An MLP can be several modules (OPT).
ATTENTION = ("self_attn", "attn", "attention", "self_attention")
MLP = ("mlp", "ffn", "feed_forward", "block_sparse_moe", "fc1", "fc2")
MIXERS = ("linear_attn", "mamba", "conv")  # in the place of attention in layers of hybrid models


class LayerModules(NamedTuple):
    """The modules of one layer.

    module     the layer itself
    attention  its attention; None where the layer has none (as in hybrid models)
    mlp        the modules of its MLP, mixture of experts included
    norms      its norms, without those inside the attention
    others     names of further modules with weights, which rllc does not know
    """

    module: nn.Module
    attention: nn.Module | None
    mlp: tuple[nn.Module, ...]
    norms: tuple[nn.Module, ...]
    others: tuple[str, ...]


def text_config(model: nn.Module) -> Any:
    """Return the config of the language model. Raises ValueError where ``model`` is not of transformers."""
    config = getattr(model, "config", None)
    if not hasattr(config, "model_type") or not hasattr(config, "get_text_config"):
        raise ValueError(
            f"model is a {type(model).__name__}: expected a causal language model of transformers; for any "
            "other module use rllc.estimate (examples/own_model.py)"
        )
    return config.get_text_config()  # pyright: ignore[reportOptionalMemberAccess]


def is_norm(module: nn.Module) -> bool:
    """Return whether a module is a norm, by the name of its class."""
    return "norm" in type(module).__name__.lower()


def is_rotary(model: nn.Module) -> bool:
    """Return whether queries and keys rotate with their positions."""
    rotary = any("rotary" in type(module).__name__.lower() for module in model.modules())
    return rotary or bool(getattr(text_config(model), "rotary_dim", None))


def position_embedding(model: nn.Module, longest: int | None) -> str | None:
    """Return the name of the weights of learned positions; None where there is no such table.

    longest  number of positions; the table may have a few more rows before them (OPT)
    """
    if longest is None:
        return None
    tokens = model.get_input_embeddings()  # pyright: ignore[reportCallIssue]
    tables = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding)
        and module is not tokens
        and 0 <= len(module.weight) - longest <= 2
    ]
    return f"{tables[0]}.weight" if len(tables) == 1 else None


def find_layers(model: nn.Module) -> list[LayerModules]:
    """Return the modules of every layer, in order.

    The layers are the one list of modules that has as many entries as the config has layers, with an
    attention in at least one. Raises ValueError where there is no such list, or several.
    """
    count = text_config(model).num_hidden_layers
    found = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count and any(map(_attention, module))
    ]
    if len(found) != 1:
        names = ", ".join(name for name, _ in found) or "none"
        raise ValueError(
            f"lists of {count} layers with attention in {type(model).__name__}: {names}; expected one, with "
            f"attention modules named {', '.join(ATTENTION)}; only full, embedding and unembedding can "
            "be sampled"
        )
    return [_modules(layer) for layer in found[0][1]]


def _attention(layer: nn.Module) -> nn.Module | None:
    return next((module for name, module in layer.named_children() if name in ATTENTION), None)


def _modules(layer: nn.Module) -> LayerModules:
    attention = _attention(layer)
    mlp, norms, others = [], [], []
    for name, module in layer.named_children():
        if module is attention or next(module.parameters(), None) is None:
            continue
        if name in MLP:
            mlp.append(module)
        elif is_norm(module):
            norms.append(module)
        elif name not in MIXERS:
            others.append(name)
    return LayerModules(layer, attention, tuple(mlp), tuple(norms), tuple(others))
