"""Refined LLC of every head: one seed, one distribution, one chunk of checkpoints."""

from functools import partial

from rllc.measures.refined import estimate_heads
from rllc.measures.rllc import by_head, with_control
from rllc.record.measuring import Measuring
from rllc.record.stage import run


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of one head at a time, all heads on the same minibatches, with the control."""
    kernel, extent = job.sampling(sampling)

    def measure(weights, architecture, step):
        estimate = partial(estimate_heads, weights, architecture, seed=job.seed(step), **kernel)
        return by_head(with_control(estimate, name="rllc", **extent))

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
