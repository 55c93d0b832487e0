"""What every measure needs of a model, whatever its family."""

from typing import Any, Protocol

from torch import Tensor

from rllc.models.weights import Weights


class Model(Protocol):
    """A model of one family at one shape: functions of a dict of weights.

    A family may offer more, which its row in ``rllc.study.families`` names and measures ask for there.
    """

    @property
    def heads(self) -> list[str]:
        """Labels ``"layer:head"`` of all attention heads, layer by layer; empty where there are none."""

    def facts(self) -> dict[str, Any]:
        """The shape as plain data: what manifests and headers of checkpoints record."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every weight."""

    def initial_weights(self, *, seed: int, **initial: Any) -> dict[str, Tensor]:
        """Weights before training, float32; ``initial`` is the config section of that name."""

    def loss(self, weights: Weights, batch: Any) -> Tensor:
        """Mean loss of a batch, a scalar with two derivatives."""

    def masks(self, component: str) -> dict[str, Tensor] | None:
        """Boolean masks of a component's coordinates by weight name; None: every weight.

        Raises ValueError where the model has no such component.
        """
