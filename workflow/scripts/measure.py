"""One measure of every checkpoint of a chunk: one seed and, where it has any, one distribution."""

from collections.abc import Callable

from rllc.job.measuring import Measuring
from rllc.job.stage import run


def main(job: Measuring, kernel: Callable, settings: dict, attribute: str, steps: list[int]) -> None:
    """Call the kernel; results record its settings as ``attribute``."""
    measure = kernel(job, **settings)
    job.write(measure, steps=steps, **{attribute: settings})


if __name__ == "__main__":
    run(main)
