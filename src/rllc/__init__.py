"""Refined local learning coefficients of the parts of a neural network, with errors, controls and warnings.

The public names are listed below. Each is imported on first use. The workflow is in ``rllc.study``,
``rllc.run``, ``rllc.job`` and ``rllc.store``. These need ``pip install rllc[workflow]``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rllc.estimator.heads import estimate_heads as estimate_heads
    from rllc.estimator.llc import estimate as estimate
    from rllc.measures.by_name import measure as measure
    from rllc.measures.data import InMemoryData as InMemoryData
    from rllc.models.attention_only import AttentionOnly as AttentionOnly
    from rllc.models.transformer import Architecture as Architecture
    from rllc.quality import reasons as reasons
    from rllc.quality import reliable as reliable
    from rllc.sampler_config import SamplerConfig as SamplerConfig
    from rllc.store.datasets import open_results as open_results
    from rllc.tasks.batch import Batch as Batch

# Where each public name is defined.
_MODULES = {
    "Architecture": "rllc.models.transformer",
    "AttentionOnly": "rllc.models.attention_only",
    "Batch": "rllc.tasks.batch",
    "InMemoryData": "rllc.measures.data",
    "SamplerConfig": "rllc.sampler_config",
    "estimate": "rllc.estimator.llc",
    "estimate_heads": "rllc.estimator.heads",
    "measure": "rllc.measures.by_name",
    "open_results": "rllc.store.datasets",
    "reasons": "rllc.quality",
    "reliable": "rllc.quality",
}
__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
