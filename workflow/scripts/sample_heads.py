"""Refined LLC of every head: one seed, one distribution, one chunk of checkpoints."""

from functools import partial

from rllc.measures.llc import estimate
from rllc.measures.refined import estimate_heads
from rllc.measures.rllc import by_head, step_at, with_control
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.record.measuring import Measuring
from rllc.record.stage import run
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
