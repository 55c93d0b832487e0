"""Toy potentials with known learning coefficients (arXiv 2402.02364, App. A.1, and normal crossings).

A potential is plain arithmetic on its coordinates, so the same function can be integrated (arrays) and
sampled (tensors).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rllc.validation.truths import quadrature
from rllc.validation.truths.monomials import Coefficient, monomial, separable_sum


class Potential(NamedTuple):
    """A loss of a few coordinates: a sum of ``parts`` in separate coordinates.

    parts        elementwise functions of one or two coordinates, which they take in order
    center       the point of the coefficient
    coefficient  the coefficient at the centre
    label        label in figures (mathtext)
    ridges       per coordinate, other values where the loss is small along a line; quadrature is finer there
    """

    parts: tuple[tuple[Callable[..., Any], int], ...]
    center: tuple[float, ...]
    coefficient: Coefficient
    label: str
    ridges: tuple[tuple[float, ...], ...]

    def value(self, *w: Any) -> Any:
        """Return the loss at coordinates w1, w2, ... (arrays or tensors of one shape)."""
        return sum(function(*w[here]) for function, here in self._placed())

    def mean_loss(self, **law: float) -> float:
        """Return n_beta E[loss] under the localized posterior; ``law``: n_beta and localization."""
        return sum(self._each(quadrature.mean_loss, **law))

    def curvature(self, **law: float) -> float:
        """Return the largest curvature of a part, below which lies all but 0.1 % of the posterior."""
        return max(self._each(quadrature.curvature_quantile, **law))

    def _each(self, function: Callable[..., float], **law: float) -> Iterator[float]:
        for part, here in self._placed():
            yield function(part, self.center[here], ridges=self.ridges[here], **law)

    def _placed(self) -> Iterator[tuple[Callable[..., Any], slice]]:
        first = 0
        for part, count in self.parts:
            yield part, slice(first, first + count)
            first += count


def power_sum(*powers: int) -> Potential:
    """Return the potential sum_i w_i^power_i; a power of 0 is a direction with flat loss."""
    parts = tuple((lambda w, power=power: w**power if power else 0 * w, 1) for power in powers)
    coefficient = separable_sum(monomial([power]) for power in powers if power)
    label = "+".join(f"w_{i}^{power}" if power else f"0\\,w_{i}" for i, power in enumerate(powers, 1))
    return Potential(parts, (0.0,) * len(powers), coefficient, f"${label}$", ((),) * len(powers))


def crossing(first: int, second: int) -> Potential:
    """Return the potential w_1^first w_2^second."""
    parts = ((lambda x, y: x**first * y**second, 2),)
    label = f"$w_1^{first}w_2^{second}$"
    return Potential(parts, (0.0, 0.0), monomial([first, second]), label, ((), ()))


def _two_wells(center: float, coefficient: Coefficient) -> Potential:
    parts = ((lambda x, y: (x - 1) ** 2 * (x**2 + y**2) ** 4, 2),)
    label = f"$(w_1-1)^2(w_1^2+w_2^2)^4$ at ({center:g}, 0)"
    return Potential(parts, (center, 0.0), coefficient, label, ((1.0 - center,), ()))


POTENTIALS = {
    "sum_2_2_2": power_sum(2, 2, 2),
    "sum_2_2_0": power_sum(2, 2, 0),
    "sum_2_4_4": power_sum(2, 4, 4),
    "sum_2_2": power_sum(2, 2),
    "sum_4_4": power_sum(4, 4),
    "crossing_2_2": crossing(2, 2),
    "crossing_2_4": crossing(2, 4),
    "crossing_4_4": crossing(4, 4),
    "crossing_2_6": crossing(2, 6),
    # |w|^8 has density |w| d|w| at 0, where (w1 - 1)^2 is a constant; at (1, 0) it is the other way round
    "two_wells_at_0": _two_wells(0.0, monomial([8], [1])),
    "two_wells_at_1": _two_wells(1.0, monomial([2])),
}
