"""How long a job may take where a study computes: on threads of a CPU, or on a GPU."""

from rllc.study.cost import Cost
from rllc.study.study import Study

# How many CPU threads a GPU is worth, and what a job takes there before it computes: of an NVIDIA H200 at the
# published size, benchmarks/gpu.md.
GPU = 130.0
GPU_START = 5.0


def seconds(cost: Cost, study: Study, rule: str) -> float:
    """Return the wall time of a job on what it is given."""
    if study.compute.on_gpu(rule):
        return GPU_START + cost.cpu_seconds / GPU
    return cost.cpu_seconds / study.compute.threads


def hours(cost: Cost, study: Study, rule: str) -> tuple[float, float]:
    """Return ``(CPU hours, GPU hours)``: a job with a GPU keeps its threads beside it."""
    gpu = seconds(cost, study, rule) / 3600
    return (
        (gpu * study.compute.threads, gpu) if study.compute.on_gpu(rule) else (cost.cpu_seconds / 3600, 0.0)
    )


def minutes(cost: Cost, study: Study, rule: str, attempt: int = 1) -> int:
    """Return a wall-time limit with room to spare: five times the estimate, ten minutes to ``longest_job``.

    attempt  1, 2, ...: a job that ran out of time is given as many times as much
    """
    limit = max(10, int(5 * seconds(cost, study, rule) / 60) + 1)
    return min(attempt * limit, study.compute.longest_job)
