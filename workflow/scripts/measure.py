"""One measure of every checkpoint of a chunk: one seed and, where it has any, one distribution."""

from rllc.job.measuring import Measuring
from rllc.job.stage import by_name, run


def main(job: Measuring, kernel: str, settings: dict, attribute: str, steps: list[int]) -> None:
    """Call the kernel, ``module:function``; results record its settings as ``attribute``."""
    measure = by_name(kernel)(job, **settings)
    job.write(measure, steps=steps, **{attribute: settings})


if __name__ == "__main__":
    run(main, modules=("kernel",))
