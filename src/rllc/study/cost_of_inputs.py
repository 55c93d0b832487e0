"""Costs of the jobs before measures: text and blocks, trainings, and the validation of the estimator."""

from functools import lru_cache

from rllc.study import texts
from rllc.study.cost import START, Cost, evaluating, forward, logits
from rllc.study.distributions import Files, Hub, Installed, Mixture, Predictions, TextTokens
from rllc.study.families import family_of
from rllc.study.steps import chunks
from rllc.study.study import Experiment, Study

MOVE = 1.5e-4  # CPU seconds of one step of a chain on a toy loss
CASE = 0.3  # CPU seconds of the diagnostics of one estimate
READ = 4.0e6  # characters of text read, cleaned or tokenized per CPU second
# Megabytes per byte, for the largest document and for the whole text (benchmarks/large_text.md). Python may
# store a text with four bytes per character.
OF_LARGEST, OF_ALL = 16e-6, 8e-6


def training(study: Study, experiment: Experiment, start: int) -> Cost:
    """Return the cost of a segment, from the last step of the previous chunk to the last step of this one."""
    table = chunks(experiment)
    before = [steps[-1] for first, steps in table.items() if first < start]
    steps = table[start][-1] - (before[-1] if before else 0)
    section, model, tokens = experiment.own_training, experiment.model, study.tokenizers[experiment.tokenizer]
    seconds = steps * 3 * forward(model, tokens, section.batch_size, None)
    return Cost(
        START + seconds,
        evaluating(logits(model, tokens, section.batch_size, None)),
        (len(table[start]) + 3) * family_of(model).weights(model, tokens) * 4.0,
    )


def validation(study: Study, family: str) -> Cost:
    """Return the cost of sampling every model of a family. For toy losses this is Python's overhead."""
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


def corpus(study: Study, distribution: str) -> Cost:
    """Return the cost of reading or mixing one distribution of text."""
    size, largest = text(study, distribution)
    return Cost(2 + size / READ, 1500 + OF_LARGEST * largest + OF_ALL * size, size)


@lru_cache(maxsize=256)
def text(study: Study, distribution: str) -> tuple[float, float]:
    """Return the approximate bytes of a distribution of text, and of its largest document."""
    entry = study.distributions[distribution]
    if isinstance(entry, Mixture):
        total, largest = zip(*(text(study, part) for part in entry.weights), strict=True)
        return sum(total), max(largest)
    if isinstance(entry, Predictions):
        return text(study, entry.contexts)
    if not isinstance(entry, Installed | Files | Hub):
        raise TypeError(f"distribution '{distribution}' is generated: expected text")
    return texts.sizes(entry)


def blocks(study: Study, tokenizer: str, distribution: str) -> Cost:
    """Return the cost of the blocks of one distribution of text. Each document is tokenized as a whole."""
    asked, (size, largest) = tokens(study, tokenizer), text(study, distribution)
    seconds = asked.cpu_seconds + 3 * largest / READ
    return Cost(seconds, 1500 + OF_LARGEST * largest + OF_ALL * size, asked.disk_bytes)


def tokens(study: Study, tokenizer: str) -> Cost:
    """Return the cost of the blocks of one distribution, whatever it is."""
    section = study.tokenizers[tokenizer]
    size = section.context * ((section.train_blocks or 0) + section.held_out_blocks)
    seconds = 3 * size / READ if isinstance(section, TextTokens) else size / READ
    return Cost(2 + seconds, 2000, 2.0 * size)
