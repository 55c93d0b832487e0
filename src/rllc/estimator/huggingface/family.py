"""Models of transformers as the workflow samples them: with faster losses of single components."""

from collections.abc import Mapping
from typing import Any

from rllc.estimator.huggingface.paths import losses_around
from rllc.estimator.samplers.admissible import Loss
from rllc.models.huggingface.build import module_of
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.weights import Masks, Weights


class SampledModel(HuggingFaceModel):
    """One module of transformers, which knows faster losses of its components."""

    def losses_around(
        self, weights: Weights, components: Mapping[str, Masks | None]
    ) -> tuple[Loss, dict[str, Loss]]:
        """Return ``rllc.estimator.huggingface.paths.losses_around`` of this model."""
        return losses_around(self, weights, components)


def model(*, config: Mapping[str, Any]) -> SampledModel:
    """Return the model of a config, as ``rllc.models.huggingface.build.model`` does."""
    return SampledModel(module_of(config))
