"""Propose chunks of checkpoints whose jobs take about a given time, for a user to paste into a config.

``make chunks CONFIG=config/paper.yaml MINUTES=30``. The longest job of a chunk decides its length. The time
of a measuring job grows with the number of checkpoints, that of a training segment with the steps between
them. Times come from the cost model, scaled by finished jobs if there are any. Chunks are values in the
config, so a checkpoint that is added later moves no other to another job.
"""

import argparse
import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from rllc.run import forecast
from rllc.run.dag import dag
from rllc.run.forecast import NONE, Paces
from rllc.study import defaults, steps
from rllc.study.datasets import measured
from rllc.study.limits import seconds
from rllc.study.reading import ConfigError, read
from rllc.study.study import Experiment, Study


def balanced(count: int, longest: Callable[[int, int], float], limit: float) -> list[int]:
    """Return the first index of each run when ``range(count)`` is cut into as few runs as the limit allows.

    longest  ``longest(first, last)``: cost of a run, both ends included; a longer run never costs less
    limit    largest cost of a run; a single entry may exceed it

    Among the cuts with the fewest runs, the one with the smallest sum of squared costs is taken.
    """
    best: list[tuple[int, float, list[int]]] = [(0, 0.0, [])]  # of the first 0, 1, ... entries
    for last in range(count):
        options = []
        for first in range(last, -1, -1):
            cost = longest(first, last)
            if cost > limit and first < last:
                break
            runs, squares, starts = best[first]
            options.append((runs + 1, squares + cost**2, [*starts, first]))
        best.append(min(options))
    return best[-1][2]


def jobs(experiment: Experiment) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield rule and dataset of the jobs of a chunk. A measure that lists its steps skips some chunks."""
    if experiment.checkpoints.source == "train":
        yield "train", {}
    for name, dataset in measured(experiment).items():
        if dataset.steps is None:
            yield dataset.spec.name, {"dataset": name}


def slowest(study: Study, name: str, chunk: int, paces: Paces = NONE) -> tuple[float, str]:
    """Return minutes and rule of the longest job of a chunk, which its first step names."""
    wildcards = {"experiment": name, "start": chunk}
    costs = (
        (rule, forecast.of(study, rule, SimpleNamespace(**wildcards, **more), paces))
        for rule, more in jobs(study.experiments[name])
    )
    return max(((seconds(cost, study, rule) / 60, rule) for rule, cost in costs), default=(0.0, ""))


def proposed(study: Study, name: str, minutes: float, paces: Paces = NONE) -> list[int]:
    """Return ``checkpoints.chunks`` of an experiment such that jobs take at most about ``minutes``."""
    every = steps.steps(study.experiments[name])

    @cache
    def longest(first: int, last: int) -> float:
        edges = {0, every[first] if first else 0, *every[last + 1 : last + 2]}
        chunk = every[first] if first else 0
        return slowest(with_chunks(study, name, sorted(edges)), name, chunk, paces)[0]

    return [every[first] if first else 0 for first in balanced(len(every), longest, minutes)]


def with_chunks(study: Study, name: str, edges: list[int]) -> Study:
    """Return the study with other chunks in one experiment."""
    experiment = study.experiments[name]
    checkpoints = experiment.checkpoints.model_copy(update={"chunks": edges})
    changed = experiment.model_copy(update={"checkpoints": checkpoints})
    return study.model_copy(update={"experiments": {**study.experiments, name: changed}})


def overlay(study: Study, minutes: float, paces: Paces = NONE) -> str:
    """Return YAML with the proposed chunks of every experiment. Comments compare them with those of now."""
    lines = [f"# {_source(study, paces)}", "experiments:"]
    for name in study.experiments:
        edges = proposed(study, name, minutes, paces)
        said = [_range(study, name, paces), _range(with_chunks(study, name, edges), name, paces)]
        lines += [
            f"  # now {said[0]}",
            f"  # here {said[1]}",
            f"  {name}: {{checkpoints: {{chunks: {edges}}}}}",
        ]
    return "\n".join(lines)


def _range(study: Study, name: str, paces: Paces) -> str:
    found = [slowest(study, name, chunk, paces) for chunk in steps.chunks(study.experiments[name])]
    shortest, (most, rule) = min(found)[0], max(found)
    number = "1 chunk" if len(found) == 1 else f"{len(found)} chunks"
    return f"{number}, whose longest jobs take {shortest:.1f} to {most:.1f} min ({rule})"


def _source(study: Study, paces: Paces) -> str:
    """Return what the times come from."""
    rules = {rule for experiment in study.experiments.values() for rule, _ in jobs(experiment)}
    number = sum(paces[rule, ""].jobs for rule in rules if (rule, "") in paces)
    if not number:
        return "times come from the cost model"
    return f"times come from {forecast.finished(number)}, those of rules without one from the cost model"


def recorded(study: Study, overlays: Sequence[Path]) -> Paces:
    """Return how fast the finished jobs of a study were; nothing if Snakemake makes no plan of the study."""
    if not (Path(study.results) / "benchmarks").is_dir():
        return NONE  # a plan takes seconds
    from snakemake.exceptions import RuleException, WorkflowError

    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), dag(overlays) as planned:
            return planned.workflow.globals["paces"]()
    except (WorkflowError, RuleException):
        return NONE


def main() -> None:
    """Print the chunks of every experiment of a config."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m rllc.run.chunks", description=__doc__.partition("\n")[0])
    parser.add_argument("overlays", nargs="*", type=Path, help="as given to --configfile")
    parser.add_argument("--minutes", type=float, required=True, help="that a job should take, about")
    given = parser.parse_args()
    if not 0 < given.minutes < float("inf"):
        sys.exit(f"--minutes {given.minutes:g}: a job cannot take that long; give more than 0")
    try:
        study = read(defaults.load(given.overlays))
        print(overlay(study, given.minutes, recorded(study, given.overlays)))
    except (ConfigError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
