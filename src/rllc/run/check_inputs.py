"""Check the user's own files that a config names, before anything is planned.

Snakemake asks for the inputs of a job only if it considers running the job. With a mistyped glob, an old
result would therefore pass for the new one. A model that differs from the imported one would show only
minutes later.
"""

from collections.abc import Iterator
from pathlib import Path

from rllc.module_source import source_files
from rllc.study import claims, parameters, texts
from rllc.study.datasets import used_texts
from rllc.study.distributions import Files, Hub, TextTokens
from rllc.study.imported import planned_files
from rllc.study.inputs import is_utf8
from rllc.study.local import tokenizer_files
from rllc.study.module.sections import Module
from rllc.study.study import Experiment, Study
from rllc.study.tokenizer_files import tokenizer_size
from rllc.study.transformer_lens import described, differences

PADDED = 0.75  # an embedding may have more rows than there are tokens, up to a round number


def missing_files(study: Study) -> list[str]:
    """Return the problems of files that used distributions, tokenizers and imported checkpoints need.

    A working directory whose name is not UTF-8 is a problem too: Snakemake cannot write it.
    """
    here = str(Path.cwd())
    problems = [] if is_utf8(here) else [f"the working directory {here!r} is not UTF-8: rename it"]
    problems += [*_of_texts(study), *_of_tokenizers(study), *_of_claims(study)]
    for name, experiment in study.experiments.items():
        place = f"experiments.{name}"
        own = [*_of_modules(place, experiment)]
        problems += own
        if experiment.checkpoints.source == "import" and not own:
            problems += _of_imports(study, place, experiment)
    return problems


def _of_claims(study: Study) -> Iterator[str]:
    """Yield the problems of the user's own files of claims. Each file is imported for the check."""
    own = claims.files(study)
    if not own:
        return
    from rllc.claims.claim import load  # a second that a study without such files is spared

    for entry in own:
        try:
            load(Path(entry))
        except ValueError as error:
            yield str(error)


def _of_texts(study: Study) -> Iterator[str]:
    used = {*used_texts(study), *(tokens.corpus for tokens in _used_tokenizers(study).values())}
    for name in list(used & set(study.distributions)):
        used |= set(getattr(study.distributions[name], "weights", {}))
    for name, entry in sorted(study.distributions.items()):
        if name in used and isinstance(entry, Files | Hub):
            try:
                texts.files(entry)
            except (ValueError, OSError) as error:
                yield f"distributions.{name}.{'path' if isinstance(entry, Files) else 'name'}: {error}"


def _of_tokenizers(study: Study) -> Iterator[str]:
    for name, tokens in _used_tokenizers(study).items():
        place = f"tokenizers.{name}.pretrained"
        try:
            if not tokens.vocabulary:
                yield (
                    f"tokenizers.{name}.vocabulary: missing; {tokens.pretrained} is not here, so its number "
                    "of tokens is unknown: give it, or call `snakemake download` where there is a network"
                )
            for file in tokenizer_files(tokens):
                size = tokenizer_size(file)
                if not PADDED * tokens.vocabulary <= size <= tokens.vocabulary:
                    place = f"tokenizers.{name}.vocabulary"
                    yield f"{place}: {tokens.vocabulary} tokens, and {file} has {size}: expected its number"
        except (ValueError, OSError) as error:
            yield f"{place}: {error}"


def _of_modules(place: str, experiment: Experiment) -> Iterator[str]:
    """Yield the problem of the file that builds the user's module. It is read, and not imported."""
    if isinstance(experiment.model, Module):
        try:
            source_files(experiment.model.build)
        except (ValueError, OSError) as error:
            yield f"{place}.model.build: {error}"


def _of_imports(study: Study, place: str, experiment: Experiment) -> Iterator[str]:
    """Yield the problems of imported checkpoints: folders, steps that differ by seed, and the wrong model."""
    checkpoints = experiment.checkpoints
    assert checkpoints.source == "import"
    first = experiment.seeds[0]
    model = parameters.model(study, experiment)
    steps: dict[int, set[int]] = {}
    for seed in experiment.seeds:
        folder = checkpoints.folder(seed)
        try:
            steps[seed] = set(planned_files(folder, experiment.model.family))
            # The files of a user's module are compared with it in the job.
            of_lens = not isinstance(experiment.model, Module)
            differ = differences(described(folder / "config.json").facts, model) if of_lens else {}
        except (ValueError, OSError) as error:
            yield f"{place}.checkpoints.path: {error}"
            continue
        for fact, values in differ.items():
            at = f"{place}.model.{fact}"
            if fact == "d_vocab":
                at = f"tokenizers.{experiment.tokenizer}.vocabulary"
            yield f"{at}: {values}, in {folder}: give what the checkpoints were trained with"
        if odd := sorted(steps[seed] ^ steps.get(first, steps[seed])):
            yield (
                f"{place}.checkpoints.path: seeds {first} and {seed} have not the same steps; only one has "
                f"{', '.join(map(str, odd[:5]))}: add or remove files"
            )


def _used_tokenizers(study: Study) -> dict[str, TextTokens]:
    used = {experiment.tokenizer for experiment in study.experiments.values()}
    return {n: each for n, each in study.tokenizers.items() if n in used and isinstance(each, TextTokens)}
