"""Loss, loss by position, ICL score and weight norm: one seed, one distribution, one chunk."""

from rllc.measures.behaviour import behaviour
from rllc.record.measuring import Measuring
from rllc.record.stage import run


def main(job: Measuring, metrics: dict) -> None:
    """Losses on held-out contexts, every position scored."""
    count, size = metrics["batches"], metrics["batch_size"]
    batches = job.batches("metrics", count=count, batch_size=size, scored=None)

    def measure(weights, architecture, _):
        early, late = metrics["early"], metrics["late"]
        return behaviour(weights, batches, architecture=architecture, early=early, late=late)

    job.write(measure, metrics=metrics)


if __name__ == "__main__":
    run(main)
