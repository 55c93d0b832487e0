"""The functions that a statistic of the config can name; its options are their keyword-only arguments."""

import inspect
from collections.abc import Callable, Sequence

import numpy as np

from rllc.analysis import curves, two_curves
from rllc.analysis.curves import Numbers

STATISTICS: dict[str, Callable[..., Numbers]] = {
    f.__name__: f
    for f in (
        curves.peak_step, curves.maximum, curves.minimum_step, curves.minimum, curves.last, curves.fall,
        curves.fall_to_minimum, curves.rise, curves.value_at, curves.change, curves.ratio_at,
        curves.first_step_reaching, curves.count_reaching, curves.places_reaching, curves.growth,
        curves.relative_range, two_curves.step_lead, two_curves.correlation, curves.climb,
        curves.kept_of_minimum, two_curves.minimum_ratio, two_curves.rank_correlation,
        two_curves.mean_ratio, two_curves.share_within, curves.mean, two_curves.largest_change,
        two_curves.difference_in_errors, two_curves.last_difference, curves.log2_ratio, curves.log2_gain,
        curves.mean_departure, curves.roughness, two_curves.roughness_ratio, two_curves.last_ratio,
    )
}  # fmt: skip
OPTIONS = {name: tuple(inspect.signature(f).parameters)[1:] for name, f in STATISTICS.items()}
STEPS = ("from_step", "to_step", "step", "until")  # keys that may name a statistic, whose number is the step

# Of numbers that other statistics are (``among``): one of them all.
COMBINATIONS: dict[str, Callable[[Sequence[np.ndarray]], np.ndarray]] = {
    "mean_of": lambda numbers: np.mean(numbers, axis=0),
    "largest_of": lambda numbers: np.max(numbers, axis=0),
    "difference_of": lambda numbers: numbers[0] - numbers[1],
}
