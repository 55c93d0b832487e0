"""Full circuits of every head and what is read off them: one seed, one chunk of checkpoints."""

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.circuits import circuits as measure_circuits


def main(job: Measuring, tokens: int, circuits: dict) -> None:
    """Circuits of the numbers, the first ``tokens`` tokens: separators and answers are left out."""

    def measure(weights, model, _):
        architecture, tolerance = model.architecture, circuits["rank_tolerance"]
        return measure_circuits(weights, architecture=architecture, tokens=range(tokens), tolerance=tolerance)

    job.write(measure, circuits=circuits)


if __name__ == "__main__":
    run(main)
