"""Time limits of jobs, on threads of a CPU or on a GPU."""

from rllc.study.cost import Cost
from rllc.study.study import Study

# Speed of a GPU in CPU threads, and start-up time of a job there: an NVIDIA H200 at the published size,
# benchmarks/gpu.md.
GPU = 130.0
GPU_START = 5.0
TIMES = 5  # the limit of a job, over its estimate


def seconds(cost: Cost, study: Study, rule: str) -> float:
    """Return the wall time of a job on its threads or GPU, in seconds."""
    if study.compute.on_gpu(rule):
        return GPU_START + cost.cpu_seconds / GPU
    return cost.cpu_seconds / study.compute.threads


def cpu_seconds(taken: float, study: Study, rule: str) -> float:
    """Return the CPU seconds of a job that takes ``taken`` seconds: the inverse of ``seconds``."""
    if study.compute.on_gpu(rule):
        return max(taken - GPU_START, 0.0) * GPU
    return taken * study.compute.threads


def hours(cost: Cost, study: Study, rule: str) -> tuple[float, float]:
    """Return ``(CPU hours, GPU hours)``. A job with a GPU occupies its CPU threads too."""
    gpu = seconds(cost, study, rule) / 3600
    return (
        (gpu * study.compute.threads, gpu) if study.compute.on_gpu(rule) else (cost.cpu_seconds / 3600, 0.0)
    )


def minutes(cost: Cost, study: Study, rule: str, attempt: int = 1) -> int:
    """Return the wall-time limit: five times the estimate, at least 10 minutes, at most ``longest_job``.

    attempt  1, 2, ...: the limit is multiplied by it, for a job that ran out of time
    """
    limit = max(10, int(TIMES * seconds(cost, study, rule) / 60) + 1)
    return min(attempt * limit, study.compute.longest_job)
