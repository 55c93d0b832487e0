"""Hutchinson traces of the Hessian, whole and of every head: one seed, one distribution, one chunk."""

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.hessian import hessian_traces


def main(job: Measuring, hessian: dict) -> None:
    """One Rademacher probe per minibatch gives the trace of the whole Hessian and of every head's block."""
    size, scored, probes = hessian["batch_size"], hessian["scored_positions"], hessian["probes"]
    batches = job.batches("hessian", count=probes, batch_size=size, scored=scored)

    def measure(weights, model, step):
        heads = {label: model.masks(label) for label in model.heads}
        return hessian_traces(model.loss, weights, batches, heads=heads, probes=probes, seed=job.seed(step))

    job.write(measure, hessian=hessian)


if __name__ == "__main__":
    run(main)
