"""Hutchinson traces of the Hessian, whole and of every head: one seed, one distribution, one chunk."""

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.hessian import hessian_traces
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.vocabulary import head_labels


def main(job: Measuring, hessian: dict) -> None:
    """One Rademacher probe per minibatch gives the trace of the whole Hessian and of every head's block."""
    size, scored, probes = hessian["batch_size"], hessian["scored_positions"], hessian["probes"]
    batches = job.batches("hessian", count=probes, batch_size=size, scored=scored)

    def measure(weights, architecture, step):
        loss, seed = next_token_loss(architecture), job.seed(step)
        labels = head_labels(architecture.n_layers, architecture.n_heads)
        heads = {label: masks(label, architecture) for label in labels}
        return hessian_traces(loss, weights, batches, heads=heads, probes=probes, seed=seed)

    job.write(measure, hessian=hessian)


if __name__ == "__main__":
    run(main)
