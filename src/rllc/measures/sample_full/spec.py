"""LLC of the whole model: spec."""

from rllc.study.sampling import estimates, sampling_spec

MEASURE = sampling_spec(
    "full",
    "LLC of the whole model, with the control",
    estimates("llc"),
    priority=5,  # next to the longest jobs of a small study, those of sample_heads
)
