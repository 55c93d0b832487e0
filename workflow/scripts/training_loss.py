"""Write the training loss of an experiment at every update of every seed."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job.training_loss import by_step
from rllc.job_settings.checkpoints import TrainingLoss
from rllc.store import manifest
from rllc.store.datasets import write_dataset
from rllc.store.provenance import attributes, stamp


def main(settings: TrainingLoss, code: str, output: Path) -> None:
    """Read the losses that the last segment of each seed kept."""
    inputs = {str(seed): manifest.sha256(file) for seed, file in settings.checkpoints.items()}
    made = by_step(settings.checkpoints, unit=settings.unit)
    write_dataset(made.assign_attrs(attributes(code=code, inputs=inputs), **stamp()), output)


if __name__ == "__main__":
    run(main)
