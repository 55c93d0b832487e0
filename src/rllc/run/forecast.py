"""Forecast of a run: jobs, CPU and GPU hours, disk; per rule and in one line."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from rllc.study import cost_of_inputs, limits
from rllc.study.cost import Cost
from rllc.study.datasets import Dataset, measured
from rllc.study.limits import GPU
from rllc.study.specs import MeasureSpec
from rllc.study.steps import chunks
from rllc.study.study import Study, work
from rllc.study.table import MEASURES

SMALL = Cost(cpu_seconds=2.0)  # imports matplotlib or scipy, and little else
GATHER = Cost(cpu_seconds=0.5)


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
        return spec.cost(work(study, study.experiments[w.experiment], dataset.section, steps))

    return cost_of


COSTS: dict[str, Callable[[Study, Any], Cost]] = {
    "read_corpus": lambda study, w: cost_of_inputs.corpus(study, w.distribution),
    "mix_corpora": lambda study, w: cost_of_inputs.corpus(study, w.distribution),
    "make_blocks": lambda study, w: cost_of_inputs.blocks(study, w.tokenizer, w.distribution),
    "generate_blocks": lambda study, w: cost_of_inputs.tokens(study, w.tokenizer),
    "train": lambda study, w: cost_of_inputs.training(study, study.experiments[w.experiment], int(w.start)),
    "gather": lambda study, w: GATHER,
    "validate": lambda study, w: cost_of_inputs.validation(study, w.family),
    **{spec.name: _measure(spec) for spec in MEASURES},
}


def of(study: Study, rule: str, wildcards: Any) -> Cost:
    """Return the estimated cost of one job."""
    return COSTS[rule](study, wildcards) if rule in COSTS else SMALL


class Row(NamedTuple):
    """Number and cost of all jobs of one rule."""

    jobs: int
    cpu_hours: float
    gpu_hours: float
    longest: float  # hours that the longest job takes
    disk_bytes: float


def by_rule(study: Study, jobs: Iterable[tuple[str, Any]]) -> dict[str, Row]:
    """Return rule -> its jobs and their cost, the most expensive rule first."""
    rows: dict[str, Row] = {}
    for rule, wildcards in jobs:
        one = of(study, rule, wildcards)
        cpu, gpu = limits.hours(one, study, rule)
        row = rows.get(rule, Row(0, 0, 0, 0, 0))
        rows[rule] = Row(
            row.jobs + 1, row.cpu_hours + cpu, row.gpu_hours + gpu,
            max(row.longest, limits.seconds(one, study, rule) / 3600), row.disk_bytes + one.disk_bytes,
        )  # fmt: skip
    return dict(sorted(rows.items(), key=lambda item: -item[1].cpu_hours - GPU * item[1].gpu_hours))


def table(rows: dict[str, Row]) -> str:
    """Return a table of the jobs of every rule: number, hours, longest job, disk."""
    head = f"{'rule':<24}{'jobs':>7}{'CPU h':>10}{'GPU h':>10}{'longest':>10}{'disk':>11}"
    lines = [
        f"{rule:<24}{row.jobs:>7}{row.cpu_hours:>10.2f}{row.gpu_hours:>10.2f}{_time(row.longest):>10}"
        f"{_size(row.disk_bytes):>11}"
        for rule, row in rows.items()
    ]
    return "\n".join([head, *lines])


def forecast(study: Study, jobs: Iterable[tuple[str, Any]]) -> str:
    """Return ``N jobs to run: about H CPU hours, G GPU hours and D MB of disk, under results/.``"""
    rows = by_rule(study, jobs).values()
    count, cpu, gpu = (sum(row[field] for row in rows) for field in range(3))
    minutes = round(60 * cpu)
    hours = f"{minutes} CPU minute{'' if minutes == 1 else 's'}" if cpu < 2 else f"{cpu:,.1f} CPU hours"
    time = "under a CPU minute" if 60 * cpu < 1 else f"about {hours}"
    time += f", {gpu:,.1f} GPU hours (of an H200)" if gpu else ""
    number = "1 job" if count == 1 else f"{count:,} jobs"
    size = _size(max(sum(row.disk_bytes for row in rows), 1e6))
    return f"{number} to run: {time} and {size} of disk, under {study.results}/."


def _time(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 2 else f"{hours:.1f} h"


def _size(number: float) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e10 else f"{number / 1e6:,.0f} MB"
