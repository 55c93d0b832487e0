"""The ``config.json`` of imported checkpoints: fields of a HookedTransformerConfig. Imports no torch."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rllc.study.foreign import EXPECTED, INSTEAD, SIZES, hugging_face

POSITIONS = ("standard", "shortformer")
NORMALIZATIONS = ("LN", "LNPre", None)
# Fields that change the model's function, and the values that rllc supports.
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
    "final_rms": (False,),
    "load_in_4bit": (False,),
    "relative_attention_num_buckets": (None,),
    "num_experts": (None,),
    "attn_scores_soft_cap": (-1.0, 0.0, None),
    "output_logits_soft_cap": (-1.0, 0.0, None),
}


class Described(NamedTuple):
    """The model of a config.json.

    facts   arguments of ``rllc.models.attention_only.model``
    folded  the weights of layer norms are folded into the next weights (LNPre), so the files have none
    """

    facts: dict[str, Any]
    folded: bool


def described(path: Path) -> Described:
    """Return the model of a config.json. Missing fields have TransformerLens' defaults.

    Raises ValueError if the file cannot be read, or has fields that the functional model does not support.
    The message names the file or the fields.
    """
    config = _fields(path)
    sizes = {name: config.get(name) for name in SIZES}
    absent = [name for name, size in sizes.items() if size is None]
    if said := hugging_face(config):
        raise ValueError(
            f"{path} is a config of Hugging Face ({said}), which `source: import` does not read: {INSTEAD}; "
            f"else {EXPECTED}"
        )
    if absent:
        raise ValueError(f"{path} lacks {', '.join(absent)}: add them, as whole numbers")
    if problems := list(_problems(config, sizes)):
        raise ValueError(f"the model of {path} is not supported: {'; '.join(problems)}")
    normalization = config.get("normalization_type", "LN")
    facts = {
        **sizes,
        "positions": config.get("positional_embedding_type", "standard"),
        "layer_norm": normalization is not None,
        "layer_norm_eps": float(config.get("eps", 1e-5)),
    }
    return Described(facts, normalization == "LNPre")


def differences(facts: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, str]:
    """Return fact -> both values in words, for the facts in which ``model`` differs."""
    ignored = () if facts["layer_norm"] else ("layer_norm_eps",)
    return {
        name: f"{model[name]!r}, config.json {fact!r}"
        for name, fact in facts.items()
        if model[name] != fact and name not in ignored
    }


def _problems(config: Mapping[str, Any], sizes: Mapping[str, Any]) -> Iterator[str]:
    wrong = [name for name, size in sizes.items() if type(size) is not int or size < 1]
    for name in wrong:
        yield f"{name} is {_short(sizes[name])} (expected a whole number above 0)"
    for name, values in REQUIRED.items():
        if name in config and config[name] not in values:
            expected = " or ".join(map(repr, dict.fromkeys(values)))
            mlps = ": the model has MLPs" if name == "attn_only" else ""
            yield f"{name} is {_short(config[name])} (supported: {expected}){mlps}"
    if "attn_only" not in config:
        yield "attn_only is not given (supported: True)"
    positions = config.get("positional_embedding_type", "standard")
    if positions not in POSITIONS:
        yield f"positional_embedding_type is {_short(positions)} (supported: {', '.join(POSITIONS)})"
    normalization = config.get("normalization_type", "LN")
    if normalization not in NORMALIZATIONS:
        yield f"normalization_type is {_short(normalization)} (supported: LN, LNPre, None)"
    for name, same in (("d_vocab_out", "d_vocab"), ("n_key_value_heads", "n_heads")):
        if config.get(name) not in (None, -1, sizes[same]):
            yield f"{name} is {_short(config[name])} (supported: {same}, {sizes[same]})"
    scale, eps = config.get("attn_scale", -1.0), config.get("eps", 1e-5)
    if not _number(scale):
        yield f"attn_scale is {_short(scale)} (expected a number)"
    elif scale != -1.0 and not wrong and not math.isclose(scale, math.sqrt(sizes["d_head"]), rel_tol=1e-6):
        yield f"attn_scale is {scale!r} (supported: sqrt(d_head))"
    if not _number(eps) or not 0 < eps < math.inf:
        yield f"eps is {_short(eps)} (expected a number above 0)"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _fields(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_each_once)
    except FileNotFoundError:
        raise ValueError(
            f"{path} is missing: write the fields of the model's HookedTransformerConfig into it (README.md, "
            "'Your own checkpoints')"
        ) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply: expected a table of fields, {{...}}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error})") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} is not a table of fields: expected {{...}}")
    return config


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields as a table. Raises ValueError for repeated ones: readers differ in what they keep."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"{name} is there twice")
        fields[name] = value
    return fields
