"""What a job costs: CPU time, memory and disk, estimated before anything runs.

Counted matrix products divided by a measured speed, what goes on between them, and a fixed cost per job.
``benchmarks/README.md`` has the measurements; the estimates are meant to be right within a factor of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rllc.study import texts
from rllc.study.distributions import Files, Hub, Installed, Mixture, TextTokens
from rllc.study.families import Load, family_of
from rllc.study.steps import chunks

if TYPE_CHECKING:
    from rllc.study.study import Experiment, Study

GPU = 50.0  # how many CPU threads a data-centre GPU is worth; a guess until benchmarks/ has measured it
START = 2.0  # CPU seconds until a job that imports torch computes
HEAD = 0.17  # share of a full forward and backward pass that one head costs, next to the others
MOVE = 1.5e-4  # CPU seconds of one move of a chain on a toy loss
CASE = 0.3  # CPU seconds of the diagnostics of one estimate
READ = 4.0e6  # characters of text read, cleaned or tokenized per CPU second
# Megabytes per byte of text, of the largest document and of all (benchmarks/large_text.md). Python may keep a
# text with four bytes per character.
OF_LARGEST, OF_ALL = 16e-6, 8e-6


@dataclass(frozen=True)
class Cost:
    """Of one job: CPU seconds, peak memory and bytes that stay on disk."""

    cpu_seconds: float
    megabytes: float = 700.0
    disk_bytes: float = 2e5

    def seconds(self, study: Study, rule: str) -> float:
        """Wall time of the job on what it is given."""
        return self.cpu_seconds / (GPU if on_gpu(study, rule) else study.compute.threads)

    def hours(self, study: Study, rule: str) -> tuple[float, float]:
        """``(CPU hours, GPU hours)``: a job with a GPU keeps its threads beside it."""
        gpu = self.seconds(study, rule) / 3600
        return (gpu * study.compute.threads, gpu) if on_gpu(study, rule) else (self.cpu_seconds / 3600, 0.0)

    def minutes(self, study: Study, rule: str, attempt: int = 1) -> int:
        """A wall-time limit with room to spare: five times the estimate, ten minutes to ``longest_job``.

        attempt  1, 2, ...: a job that ran out of time is given as many times as much
        """
        limit = max(10, int(5 * self.seconds(study, rule) / 60) + 1)
        return min(attempt * limit, study.compute.longest_job)


def on_gpu(study: Study, rule: str) -> bool:
    """Whether the config gives a rule a GPU."""
    return study.compute.device == "cuda" and rule in study.compute.gpu_jobs


def forward(
    study: Study, experiment: Experiment, batch_size: int, scored: int | None, *, length: int | None = None
) -> float:
    """CPU seconds of a forward pass over one minibatch; backward takes twice that.

    length  tokens of a sequence, where they are not the tokenizer's contexts
    """
    tokens = study.tokenizers[experiment.tokenizer]
    predictions = length or tokens.predictions
    load = Load(batch_size, length or tokens.context, predictions, scored or predictions)
    return family_of(experiment.model).forward(experiment.model, tokens, load)


def training(study: Study, experiment: Experiment, start: int) -> Cost:
    """One segment: from the last step of the chunk before to the last step of this one."""
    table = chunks(experiment)
    before = [steps[-1] for first, steps in table.items() if first < start]
    steps = table[start][-1] - (before[-1] if before else 0)
    section, tokens = experiment.training, study.tokenizers[experiment.tokenizer]
    seconds = steps * 3 * forward(study, experiment, section.batch_size, None)
    return Cost(
        START + seconds,
        900 + 8 * logits(study, experiment, section.batch_size, None),
        (len(table[start]) + 3) * family_of(experiment.model).weights(experiment.model, tokens) * 4.0,
    )


def validation(study: Study, family: str) -> Cost:
    """Every model of a family: toy losses cost what Python does, not what is computed."""
    section = getattr(study.validation, family)
    settings = len(section.n_beta)
    moves = section.draws * getattr(section, "thinning", 1)
    if family == "quadratic":
        cases = 4 * len(section.dimensions) * settings * len(section.localization)
    elif family == "potentials":
        cases = len(section.names) * settings * len(section.localization)
        moves = section.max_moves
    else:
        cases = section.models * settings
        cases += len(section.at_zero.sizes) * len(section.at_zero.n_beta) if family == "reduced_rank" else 0
    return Cost(START + cases * (CASE + MOVE * section.chains * moves), 900)


def heads(experiment: Experiment) -> int:
    """Number of attention heads."""
    return family_of(experiment.model).heads(experiment.model)


def corpus(study: Study, distribution: str) -> Cost:
    """Reading or mixing one distribution of text."""
    size, largest = text(study, distribution)
    return Cost(2 + size / READ, 1500 + OF_LARGEST * largest + OF_ALL * size, size)


@lru_cache(maxsize=256)
def text(study: Study, distribution: str) -> tuple[float, float]:
    """Return about how many bytes a distribution of text has, and how many its largest document has."""
    entry = study.distributions[distribution]
    if isinstance(entry, Mixture):
        total, largest = zip(*(text(study, part) for part in entry.weights), strict=True)
        return sum(total), max(largest)
    return texts.sizes(entry) if isinstance(entry, Installed | Files | Hub) else text(study, entry.contexts)


def blocks(study: Study, tokenizer: str, distribution: str) -> Cost:
    """Blocks of one distribution of text, whose documents are tokenized as a whole."""
    asked, (size, largest) = tokens(study, tokenizer), text(study, distribution)
    seconds = asked.cpu_seconds + 3 * largest / READ
    return Cost(seconds, 1500 + OF_LARGEST * largest + OF_ALL * size, asked.disk_bytes)


def tokens(study: Study, tokenizer: str) -> Cost:
    """Blocks of one distribution."""
    section = study.tokenizers[tokenizer]
    size = section.context * ((section.train_blocks or 0) + section.held_out_blocks)
    seconds = 3 * size / READ if isinstance(section, TextTokens) else size / READ
    return Cost(2 + seconds, 2000, 2.0 * size)


def logits(study: Study, experiment: Experiment, batch_size: int, scored: int | None) -> float:
    """Megabytes of the logits, or what else is predicted, of one minibatch."""
    tokens = study.tokenizers[experiment.tokenizer]
    outputs = family_of(experiment.model).outputs(experiment.model, tokens)
    return 4e-6 * batch_size * (scored or tokens.predictions) * outputs
