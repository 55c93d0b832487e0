"""Where and how precisely a job computes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Compute:
    """The section ``compute`` of the config, as it holds for one rule.

    device     auto, cpu or cuda
    precision  of matrix products on a GPU: fp32, tf32 or bf16
    threads    of the job
    """

    device: str
    precision: str
    threads: int
