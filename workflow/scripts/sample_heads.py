"""Refined LLC of every head: one seed, one distribution, one chunk of checkpoints."""

from functools import partial

from rllc.estimator.llc import estimate
from rllc.estimator.refined import estimate_heads
from rllc.estimator.rllc import by_head, step_at, with_control
from rllc.job.measuring import Measuring
from rllc.job.stage import run


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of one head at a time, all heads on the same minibatches, with the control."""
    kernel, extent = job.sampling(sampling)
    size = {name: sampling[name] for name in ("step_size", "reference_norm")}

    def measure(weights, model, step):
        if sampling["sampler"] == "sgld":
            of_heads = partial(estimate_heads, weights, model.architecture)
        else:  # the fast path has plain SGLD only
            heads = {head: model.masks(head) for head in model.heads}
            of_heads = partial(estimate, model.loss, weights, components=heads, sampler=sampling["sampler"])
        here = {"seed": job.seed(step, seeded=sampling["seeded"]), "step_size": step_at(weights, **size)}
        estimator = partial(of_heads, **{**kernel, **here})
        return by_head(with_control(estimator, name="rllc", **extent))

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
