"""The load of a forward pass, which the cost of a model depends on."""

from typing import NamedTuple


class Load(NamedTuple):
    """A forward pass over one minibatch.

    length       tokens or vectors of a context
    predictions  of a context
    scored       number of them that are computed
    """

    batch_size: int
    length: int
    predictions: int
    scored: int
