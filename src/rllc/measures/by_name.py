"""Measures by their names, on a model and data in memory: without a config, files or Snakemake."""

import importlib
import inspect
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from rllc import measures
from rllc.measures.data import InMemoryData, Measurement
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch, Examples


def measure(
    name: str,
    model: Model,
    weights: Weights,
    batches: np.ndarray | Sequence[Batch] | Examples | InMemoryData,
    *,
    step: int = 0,
    **settings: Any,
) -> xr.Dataset:
    """Return what one measure finds on one checkpoint.

    name      of the measure: of its dataset and of its section in a config, as "hessian"
    model     functions of the weights, as ``rllc.AttentionOnly``
    weights   the checkpoint, by name
    batches   contexts of tokens, integers [total, context], of which minibatches are drawn as in the
              workflow; or minibatches; or ``InMemoryData``, where a measure reads more than these
    step      of the checkpoint: its random numbers derive from it
    settings  keywords of the measure, those of its section in a config (config/README.md). ``batch_size`` may
              be left out where minibatches are given, ``context`` always.

    Returns the variables of the measure, without the dims seed, step and distribution. Raises ValueError
    where there is no such measure, or a setting is missing or unknown. Raises ImportError where it needs a
    package of the workflow.

    >>> import numpy as np, rllc
    >>> model = rllc.AttentionOnly(
    ...     rllc.Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=11)
    ... )
    >>> weights = model.initial_weights(seed=0)
    >>> contexts = np.random.default_rng(0).integers(0, 11, (32, 16))
    >>> found = rllc.measure("ablation", model, weights, contexts, contexts=16, batch_size=8)
    >>> dict(found["ablation"].sizes)
    {'head': 2, 'method': 3}
    """
    device = next(iter(weights.values())).device
    data = batches if isinstance(batches, InMemoryData) else InMemoryData(held_out=batches, device=device)
    make = _kernel(name)
    measurement: Measurement = make(data, **_settings(name, make, data, settings))
    return measurement(weights, model, step)


@cache
def names() -> tuple[str, ...]:
    """Return the names of all measures: folders of ``rllc.measures`` with a kernel of their own name.

    Nothing is imported: some measures need packages of the workflow.
    """
    files = sorted(Path(next(iter(measures.__path__))).glob("*/kernel.py"))
    sources = {file.parent.name: file.read_text(encoding="utf-8") for file in files}
    return tuple(
        name for name, text in sources.items() if re.search(rf"^def {name}\(\s*data: Data,", text, re.M)
    )


def _kernel(name: str) -> Any:
    if name not in (known := names()):
        raise ValueError(f"there is no measure {name!r}: expected one of {', '.join(known)}")
    try:
        return getattr(importlib.import_module(f"{measures.__name__}.{name}.kernel"), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"measure {name!r} needs the package {error.name}: pip install rllc[workflow]"
        ) from error


def _settings(name: str, kernel: Any, data: InMemoryData, given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a kernel: what is given, and what the data say."""
    parameters = list(inspect.signature(kernel).parameters.values())[1:]
    own = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters)
    if not open_ended and (unknown := [each for each in given if each not in own]):
        raise ValueError(
            f"measure {name!r} has no setting {', '.join(unknown)}: expected {', '.join(sorted(own))}"
        )
    known = _of_the_data(data)
    settings = {each: known[each] for each in own & known.keys()} | given
    needed = {
        each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty
    }
    if missing := sorted(needed - settings.keys()):
        raise ValueError(
            f"measure {name!r} needs {', '.join(missing)}: give {'it' if len(missing) == 1 else 'them'}"
        )
    return settings


def _of_the_data(data: InMemoryData) -> dict[str, int]:
    """Return the settings that the data say: the length of a context, the size of given minibatches."""
    held_out = data.held_out
    if isinstance(held_out, np.ndarray | Examples):
        shape = np.shape(held_out.contexts if isinstance(held_out, Examples) else held_out)
        return {"context": shape[1]} if len(shape) > 1 else {}
    if not len(held_out):
        return {}
    shape = held_out[0].contexts.shape
    return {"batch_size": shape[0], "context": shape[1]}
