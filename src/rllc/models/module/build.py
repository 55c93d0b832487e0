"""Build a module by the user's function, and confirm that it is what the config says.

The function ``build(**options)`` returns a ``torch.nn.Module``. A function ``logits(module, tokens)`` beside
it, if there is one, computes the logits. nanoGPT needs it: ``model(tokens, tokens)[0]``, since without
targets it returns the logits of the last position alone.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rllc import module_source
from rllc.models.module.model import Logits, ModuleModel

TOLERANCE = 1e-5  # relative difference of logits that counts as rounding


def model(
    *, build: str, options: Mapping[str, Any], vocabulary: int, context: int, source: str | None = None
) -> ModuleModel:
    """Return the model that ``build`` names: float32, eval mode, on the CPU. Its own weights are random.

    vocabulary  number of logits of a prediction
    context     tokens of the longest context
    source      digest of the user's files when the job was planned; None: not compared

    Raises ValueError, with the key, where the function cannot be called, or its module is not as described.
    """
    if source is not None and source != (now := module_source.source_digest(build)):
        raise ValueError(
            f"model.build: the source of {build} is not that which this was made with ({source}, now {now}): "
            "expected the same; run snakemake again, which makes it anew"
        )
    with module_source.imported(build) as (_, own):
        logits: Logits | None = getattr(own, "logits", None)
    found = ModuleModel(
        _built(build, options, seed=0),
        logits=logits if callable(logits) else None,
        initially=lambda seed: _built(build, options, seed=seed),
    )
    confirm(found, vocabulary=vocabulary, context=context)
    return found


@torch.no_grad()
def confirm(found: ModuleModel, *, vocabulary: int, context: int) -> None:
    """Raise ValueError, with the key, unless a module reads the contexts and gives logits of this shape.

    Two calls must agree, and the first logits must not depend on later tokens.
    """
    tokens = torch.linspace(0, vocabulary - 1, context).long()[None]  # the last one of the vocabulary too
    weights = found.weights()
    try:
        first, second = (found.logits(weights, tokens) for _ in range(2))
        other = found.logits(weights, _with_other_end(tokens, vocabulary))
    except Exception as error:  # of the user's code
        raise ValueError(
            f"model.context: the module cannot read {context} tokens of {vocabulary}: "
            f"{type(error).__name__}: {error}. Expected logits for tokens int64 [batch, length]; correct "
            "context, vocabulary or build"
        ) from error
    _check_shape(first, vocabulary=vocabulary, context=context)
    if not torch.allclose(first, second, rtol=TOLERANCE, atol=TOLERANCE * float(first.abs().max())):
        raise ValueError(
            "model.build: two calls of the module in eval mode differ: expected the same logits for the same "
            "tokens; take dropout and other random numbers out of its forward pass"
        )
    before, after = first[:, :-1], other[:, :-1]
    if context > 1 and not torch.allclose(
        before, after, rtol=TOLERANCE, atol=TOLERANCE * float(first.abs().max())
    ):
        raise ValueError(
            "model.build: logits depend on later tokens: expected a model that predicts the next token from "
            "those before it; add the causal mask"
        )


def _check_shape(logits: object, *, vocabulary: int, context: int) -> None:
    if not isinstance(logits, Tensor):
        raise ValueError(
            f"model.build: the module returns a {type(logits).__name__}: expected logits, an object with "
            "`logits`, or a tuple that begins with them; else put a function logits(module, tokens) beside "
            "build"
        )
    shape = list(logits.shape)
    if shape == [1, context, vocabulary]:
        return
    if len(shape) == 3 and shape[:2] == [1, context]:
        raise ValueError(
            f"model.vocabulary: the module gives {shape[2]} logits, the config says {vocabulary}: expected "
            f"the number of rows of its unembedding, padding included; write {shape[2]}"
        )
    raise ValueError(
        f"model.build: the module gives logits {shape} for tokens [1, {context}]: expected [1, {context}, "
        f"{vocabulary}], one prediction at every position; put a function logits(module, tokens) beside "
        "build (nanoGPT: return module(tokens, tokens)[0])"
    )


def _with_other_end(tokens: Tensor, vocabulary: int) -> Tensor:
    """Return the tokens with another last one."""
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % vocabulary
    return changed


def _built(build: str, options: Mapping[str, Any], *, seed: int) -> nn.Module:
    """Return the module, in eval mode and float32. Random numbers of the process are not used."""
    with module_source.imported(build) as (function, _), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            module = function(**options)
        except Exception as error:  # of the user's code
            raise ValueError(
                f"model.build: {build} cannot be called with the options {dict(options)}: "
                f"{type(error).__name__}: {error}. Expected a torch.nn.Module; correct model.options or build"
            ) from error
    if not isinstance(module, nn.Module) or next(module.parameters(), None) is None:
        kind = type(module).__name__
        raise ValueError(
            f"model.build: {build} returned a {kind}{' without weights' * isinstance(module, nn.Module)}: "
            "expected a torch.nn.Module with weights; return one"
        )
    return module.cpu().float().eval()
