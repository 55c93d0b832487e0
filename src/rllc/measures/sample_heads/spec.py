"""Refined LLC of every head: spec."""

from rllc.study.sampling import estimates, sampling_spec

MEASURE = sampling_spec(
    "heads",
    "refined LLC of every head, with the prior-only control",
    estimates("rllc", "head"),
    priority=6,  # the longest jobs of a small study come first, so that none is left over at its end
    requires=("heads",),
)
