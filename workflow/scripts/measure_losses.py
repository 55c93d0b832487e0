"""Loss, loss by position, weight norm, ICL score, accuracy: one seed, one distribution, one chunk."""

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.metrics import behaviour


def main(job: Measuring, metrics: dict) -> None:
    """Losses on held-out contexts, every position scored."""
    count, size = metrics["batches"], metrics["batch_size"]
    batches = job.batches("metrics", count=count, batch_size=size, scored=None)

    def measure(weights, model, _):
        asked = {name: metrics[name] for name in ("early", "late", "accuracy")}
        return behaviour(weights, batches, model=model, **asked)

    job.write(measure, metrics=metrics)


if __name__ == "__main__":
    run(main)
