"""What the specs of measures that read contexts share."""

from pydantic import model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.specs import Variable
from rllc.study.values import Count, Distinct, Name


def in_whole_batches(contexts: int, batch_size: int, key: str = "contexts") -> None:
    """Raise ValueError where contexts, the value of ``key``, do not fill minibatches."""
    if contexts % batch_size:
        multiple = max(1, (contexts + batch_size // 2) // batch_size) * batch_size
        raise ValueError(
            f"{key} {contexts} is no multiple of batch_size {batch_size}; the nearest is {multiple}"
        )


class OnContexts(ConfigModel):
    """Held-out contexts, the first of those that ``metrics`` reads."""

    contexts: Count = config_field(
        "held-out contexts, a multiple of batch_size; those of metrics, if as many"
    )
    batch_size: Count = config_field("contexts at once")
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )

    @model_validator(mode="after")
    def _whole_batches(self) -> "OnContexts":
        in_whole_batches(self.contexts, self.batch_size)
        return self


def by_block(
    what: str, unit: str, dims: tuple[str, ...] = (), *, of: str = "contexts", optional: str = ""
) -> Variable:
    """Return the specification of ``<name>_by_block``: a number on each block of its contexts.

    Claims make the errors of differences from it (``rllc.claims.run``), because checkpoints and heads share
    the contexts.
    """
    return Variable(f"{what}, on each of 16 blocks of {of}", unit, (*dims, "block"), optional)
