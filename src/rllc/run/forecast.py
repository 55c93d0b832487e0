"""Forecast of a run: jobs, CPU and GPU hours, disk; per rule and in one line.

Times come from the cost model. If jobs of a rule have finished, the model's times are scaled by theirs.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from rllc.study import cost_of_inputs, limits
from rllc.study.cost import HASHED, MEGABYTE, MEGABYTES, START, Cost
from rllc.study.datasets import Dataset, measured
from rllc.study.families import family_of
from rllc.study.limits import GPU
from rllc.study.specs import MeasureSpec
from rllc.study.steps import chunks
from rllc.study.study import Study, work
from rllc.study.table import MEASURES

SMALL = Cost(cpu_seconds=2.0)  # imports matplotlib or scipy, and little else
GATHER = Cost(cpu_seconds=0.5)
COPIES = 4  # of a model's weights in a job that measures it: module, checkpoint, gradient, file
MARGIN = 2  # the limit of a job, over the slowest recorded one


class Pace(NamedTuple):
    """Recorded over forecast time of finished jobs, the start of a job left out.

    typical  median of the jobs
    slowest  largest of the jobs
    jobs     number of jobs
    """

    typical: float
    slowest: float
    jobs: int


Paces = Mapping[tuple[str, str], Pace]  # (rule, experiment); experiment "": all jobs of the rule
NONE: Paces = MappingProxyType({})


@lru_cache(maxsize=8)
def _planned(study: Study, name: str) -> tuple[dict[str, Dataset], dict[int, list[int]]]:
    """Return datasets and chunks of an experiment. Cached, since Snakemake asks for the cost of every job."""
    experiment = study.experiments[name]
    return measured(experiment), chunks(experiment)


def _measure(spec: MeasureSpec) -> Callable[[Study, Any], Cost]:
    def cost_of(study: Study, w: Any) -> Cost:
        datasets, starts = _planned(study, w.experiment)
        dataset = datasets[getattr(w, "dataset", spec.name)]
        steps = dataset.among(starts[int(w.start)])
        cost = spec.cost(work(study, study.experiments[w.experiment], dataset.section, steps))
        weights = _megabytes_of_weights(study, w.experiment, COPIES + spec.earlier)
        return replace(cost, megabytes=cost.megabytes + weights)

    return cost_of


def _megabytes_of_weights(study: Study, name: str, copies: int = COPIES) -> float:
    """Return the memory that a job needs for the weights of a model and their copies."""
    experiment = study.experiments[name]
    tokens = study.tokenizers[experiment.tokenizer]
    return copies * MEGABYTE * family_of(experiment.model).weights(experiment.model, tokens)


def _register(study: Study, w: Any) -> Cost:
    """Return the cost of reading every checkpoint of a chunk twice: its digest, and its numbers."""
    _, starts = _planned(study, w.experiment)
    megabytes = _megabytes_of_weights(study, w.experiment)
    seconds = len(starts[int(w.start)]) * megabytes / COPIES / HASHED
    return Cost(2 * START + seconds, MEGABYTES + megabytes)


COSTS: dict[str, Callable[[Study, Any], Cost]] = {
    "read_corpus": lambda study, w: cost_of_inputs.corpus(study, w.distribution),
    "mix_corpora": lambda study, w: cost_of_inputs.corpus(study, w.distribution),
    "make_blocks": lambda study, w: cost_of_inputs.blocks(study, w.tokenizer, w.distribution),
    "generate_blocks": lambda study, w: cost_of_inputs.tokens(study, w.tokenizer),
    "train": lambda study, w: cost_of_inputs.training(study, study.experiments[w.experiment], int(w.start)),
    "register_checkpoints": _register,
    "gather": lambda study, w: GATHER,
    "validate": lambda study, w: cost_of_inputs.validation(study, w.family),
    **{spec.name: _measure(spec) for spec in MEASURES},
}


def of(study: Study, rule: str, wildcards: Any, paces: Paces = NONE) -> Cost:
    """Return the estimated cost of one job: by the cost model and the pace of finished jobs, if known."""
    model = COSTS[rule](study, wildcards) if rule in COSTS else SMALL
    pace = _pace(paces, rule, wildcards)
    return _scaled(model, pace.typical) if pace else model


def ratio(study: Study, rule: str, wildcards: Any, taken: float) -> float:
    """Return the pace with which the forecast of a job is ``taken`` seconds: recorded over forecast work."""
    model = of(study, rule, wildcards)
    more = limits.cpu_seconds(taken, study, rule) - model.cpu_seconds
    return max(1 + more / _work(model), 0.0)


def minutes(study: Study, rule: str, wildcards: Any, attempt: int, paces: Paces = NONE) -> int:
    """Return the wall-time limit of one job, which is never shorter than that of the cost model.

    It is at least five times the estimate by the pace of finished jobs, and twice the slowest of them.
    """
    costs = [of(study, rule, wildcards)]
    if pace := _pace(paces, rule, wildcards):
        paced = pace.typical, pace.slowest * MARGIN / limits.TIMES
        costs += [_scaled(costs[0], each) for each in paced]
    longest = max(costs, key=lambda cost: cost.cpu_seconds)
    return limits.minutes(longest, study, rule, attempt)


def _pace(paces: Paces, rule: str, wildcards: Any) -> Pace | None:
    """Return the pace of the jobs of the same experiment; if none has finished, of all jobs of the rule."""
    return paces.get((rule, getattr(wildcards, "experiment", ""))) or paces.get((rule, ""))


def _work(cost: Cost) -> float:
    """Return the CPU seconds of a cost without the start of the job.

    They are never less than a start: less work than that cannot be told from a start that takes longer.
    """
    return max(cost.cpu_seconds - START, START)


def _scaled(cost: Cost, ratio: float) -> Cost:
    return replace(cost, cpu_seconds=max(cost.cpu_seconds + (ratio - 1) * _work(cost), 0.0))


class Row(NamedTuple):
    """Number and cost of all jobs of one rule.

    recorded  number of finished jobs that the times come from; 0: they come from the cost model
    """

    jobs: int
    cpu_hours: float
    gpu_hours: float
    longest: float  # hours that the longest job takes
    disk_bytes: float
    recorded: int = 0


def by_rule(study: Study, jobs: Iterable[tuple[str, Any]], paces: Paces = NONE) -> dict[str, Row]:
    """Return rule -> its jobs and their cost, the most expensive rule first."""
    rows: dict[str, Row] = {}
    for rule, wildcards in jobs:
        one = of(study, rule, wildcards, paces)
        cpu, gpu = limits.hours(one, study, rule)
        row = rows.get(rule, Row(0, 0, 0, 0, 0))
        rows[rule] = Row(
            row.jobs + 1, row.cpu_hours + cpu, row.gpu_hours + gpu,
            max(row.longest, limits.seconds(one, study, rule) / 3600), row.disk_bytes + one.disk_bytes,
            paces[rule, ""].jobs if (rule, "") in paces else 0,
        )  # fmt: skip
    return dict(sorted(rows.items(), key=lambda item: -item[1].cpu_hours - GPU * item[1].gpu_hours))


def table(rows: dict[str, Row]) -> str:
    """Return a table of the jobs of every rule: number, hours, longest job, disk; what times come from."""
    head = f"{'rule':<24}{'jobs':>7}{'CPU h':>10}{'GPU h':>10}{'longest':>10}{'disk':>11}"
    lines = [
        f"{rule:<24}{row.jobs:>7}{row.cpu_hours:>10.2f}{row.gpu_hours:>10.2f}{_time(row.longest):>10}"
        f"{_size(row.disk_bytes):>11}"
        for rule, row in rows.items()
    ]
    if any(row.recorded for row in rows.values()):
        head += f"{'times from':>20}"
        sources = [finished(row.recorded) if row.recorded else "cost model" for row in rows.values()]
        lines = [f"{line}{source:>20}" for line, source in zip(lines, sources, strict=True)]
    return "\n".join([head, *lines])


def forecast(study: Study, jobs: Iterable[tuple[str, Any]], paces: Paces = NONE) -> str:
    """Return ``N jobs to run: about H CPU hours, G GPU hours and D MB of disk, under results/. Times ...``"""
    rows = by_rule(study, jobs, paces).values()
    count, cpu, gpu = (sum(row[field] for row in rows) for field in range(3))
    minutes = round(60 * cpu)
    hours = f"{minutes} CPU minute{'' if minutes == 1 else 's'}" if cpu < 2 else f"{cpu:,.1f} CPU hours"
    time = "under a CPU minute" if 60 * cpu < 1 else f"about {hours}"
    time += f", {gpu:,.1f} GPU hours (of an H200)" if gpu else ""
    number = "1 job" if count == 1 else f"{count:,} jobs"
    size = _size(max(sum(row.disk_bytes for row in rows), 1e6))
    return f"{number} to run: {time} and {size} of disk, under {study.results}/. {_source(rows)}"


def _source(rows: Collection[Row]) -> str:
    """Return a sentence that says what the times of these rows come from."""
    recorded = [row for row in rows if row.recorded]
    if not recorded:
        return "Times come from the cost model."
    jobs = finished(sum(row.recorded for row in recorded))
    number, every = (sum(row.jobs for row in some) for some in (recorded, rows))
    if number == every:
        return f"Times come from {jobs}."
    return f"Times of {number:,} come from {jobs}, others from the cost model."


def finished(number: int) -> str:
    """Return ``N finished jobs``."""
    return f"{number:,} finished job{'' if number == 1 else 's'}"


def _time(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 2 else f"{hours:.1f} h"


def _size(number: float) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e10 else f"{number / 1e6:,.0f} MB"
