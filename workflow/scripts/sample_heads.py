"""Refined LLC of every head: one seed, one distribution, one chunk of checkpoints."""

from functools import partial

from rllc.estimator.llc import estimate
from rllc.estimator.refined import estimate_heads
from rllc.estimator.rllc import by_head, step_at, with_control
from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.vocabulary import head_labels


def main(job: Measuring, sampling: dict) -> None:
    """SGLD in the weights of one head at a time, all heads on the same minibatches, with the control."""
    kernel, extent = job.sampling(sampling)
    size = {name: sampling[name] for name in ("step_size", "reference_norm")}

    def measure(weights, architecture, step):
        if sampling["sampler"] == "sgld":
            of_heads = partial(estimate_heads, weights, architecture)
        else:  # the fast path has plain SGLD only
            labels = head_labels(architecture.n_layers, architecture.n_heads)
            loss, heads = next_token_loss(architecture), {head: masks(head, architecture) for head in labels}
            of_heads = partial(estimate, loss, weights, components=heads, sampler=sampling["sampler"])
        here = {"seed": job.seed(step, seeded=sampling["seeded"]), "step_size": step_at(weights, **size)}
        estimator = partial(of_heads, **{**kernel, **here})
        return by_head(with_control(estimator, name="rllc", **extent))

    job.write(measure, sampling=sampling)


if __name__ == "__main__":
    run(main)
