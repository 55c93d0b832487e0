"""Run one measure on every checkpoint of a chunk, for one seed and at most one distribution."""

from rllc.job.measuring import Files, Measuring
from rllc.job.stage import run
from rllc.job_settings.measures import Measure


def main(settings: Measure, files: Files, seed: int, distribution: str | None, code: str) -> None:
    """Call the kernel; results record its keywords."""
    job = Measuring(settings, files, seed, distribution, code)
    measure = settings.kernel.load()(job, **settings.keywords)
    job.write(measure, steps=settings.steps, **{settings.attribute: settings.keywords})


if __name__ == "__main__":
    run(main)
