"""Samplers by name. Each is a module with a function ``advance`` and a flag ``CONTROL_READS_GRADIENT``."""

from functools import partial

from rllc.estimator.samplers import rmsprop, sgld
from rllc.estimator.samplers.chains import Advance
from rllc.sampler_config import SamplerConfig

SAMPLERS = {"sgld": sgld, "rmsprop": rmsprop}


def advance_of(setting: SamplerConfig) -> Advance:
    """Return the function that moves chains (``chains.Advance``)."""
    return partial(SAMPLERS[setting.sampler].advance, setting)


def reads_gradient(setting: SamplerConfig) -> bool:
    """Return whether chains need gradients: for their moves, or for their preconditioner."""
    return setting.gradient or SAMPLERS[setting.sampler].CONTROL_READS_GRADIENT
