"""Full QK and OV circuits of every head, and what is read off them: one seed, one chunk of checkpoints."""

from rllc.measures.circuits import circuits as full_circuits
from rllc.record.measuring import Measuring
from rllc.record.stage import run


def main(job: Measuring, circuits: dict) -> None:
    """Circuits of the first ``tokens`` ids: the numbers, which come before every other token."""
    settings = {"tokens": range(circuits["tokens"]), "tolerance": circuits.get("tolerance")}

    def measure(weights, architecture, _):
        return full_circuits(weights, architecture=architecture, **settings)

    job.write(measure, circuits=circuits)


if __name__ == "__main__":
    run(main)
