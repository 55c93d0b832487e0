"""Device, precision and threads of a job."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Compute:
    """The config section ``compute``, applied to one rule.

    device     auto, cpu or cuda
    precision  of matrix products on a GPU: fp32, tf32 or bf16
    threads    of the job
    """

    device: str
    precision: str
    threads: int
