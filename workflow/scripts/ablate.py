"""Zero, mean and resample ablation of every head: one seed, one distribution, one chunk."""

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.ablation import ablations


def main(job: Measuring, ablation: dict) -> None:
    """Loss after minus loss before each head's output is replaced."""
    count, size = ablation["batches"], ablation["batch_size"]
    batches = job.batches("ablation", count=count, batch_size=size, scored=None)

    def measure(weights, model, step):
        return ablations(weights, batches, architecture=model.architecture, seed=job.seed(step))

    job.write(measure, ablation=ablation)


if __name__ == "__main__":
    run(main)
