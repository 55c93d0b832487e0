"""Checks of measures and analyses: their distributions, seeds and steps must exist. Rows add checks."""

from collections.abc import Iterator
from typing import Any

from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel
from rllc.study.datasets import Dataset, measured
from rllc.study.families import missing_capabilities
from rllc.study.sampling import BASE_SETTING
from rllc.study.steps import steps
from rllc.study.study import Experiment, Study, work
from rllc.study.table import ANALYSES, MEASURES

HELD_OUT = ("batch_size", "contexts", "dataset_sizes", "batch_sizes")  # keys that count held-out contexts


def measure_problems(study: Study, place: str, experiment: Experiment) -> Iterator[str]:
    """Yield the problems of every measure and analysis that the experiment declares."""
    known = _scheduled(experiment)
    datasets = measured(experiment)
    for name, dataset in datasets.items():
        where = f"{place}.{_section(name, dataset)}"
        if reasons := missing_capabilities(experiment.model, dataset.spec.requires):
            yield from (f"{where}: {reason}; set it to null" for reason in reasons)
            continue
        yield from (
            f"{where}: it reads what {other}.nc says of the last checkpoint; give {other}"
            for other in dataset.spec.before(dataset.section)
            if other not in datasets
        )
        yield from _extent(where, experiment, dataset, known)
        if tokens := study.tokenizers.get(experiment.tokenizer):
            yield from _too_many(where, dataset.section, tokens)
        yield from dataset.spec.checks(where, work(study, experiment, dataset.section, []))
    for spec in ANALYSES:
        if section := spec.section_of(experiment):
            if reasons := missing_capabilities(experiment.model, spec.requires):
                yield from (f"{place}.{spec.name}: {reason}; set it to null" for reason in reasons)
                continue
            yield from spec.checks(f"{place}.{spec.name}", work(study, experiment, section, []))
    for spec in MEASURES:
        if (
            spec.finish
            and spec.finish.section
            and spec.finish.asked(experiment)
            and not spec.declared(experiment)
        ):
            yield f"{place}.{spec.finish.name}: {spec.finish.about} need {spec.name}.nc; give {spec.name}"
    needing = dict.fromkeys(d.spec.attribute for d in datasets.values() if d.spec.per_distribution)
    if needing and not experiment.distributions:
        yield f"{place}.distributions: {', '.join(needing)} need at least one"


def _too_many(place: str, section: ConfigModel, tokens: Any) -> Iterator[str]:
    """Yield the problems of keys that ask for more positions or contexts than exist, at any depth."""
    for name, value in section:
        largest = max(value, default=0) if isinstance(value, list) else value or 0
        if isinstance(value, ConfigModel):
            yield from _too_many(f"{place}.{name}", value, tokens)
        elif name == "scored_positions" and largest > tokens.predictions:
            yield (
                f"{place}.{name}: {value} of the {tokens.predictions} predictions of a context; null scores "
                "them all"
            )
        elif name in HELD_OUT and largest > tokens.held_out_blocks:
            yield (
                f"{place}.{name}: {largest} of at most {tokens.held_out_blocks} different held-out contexts; "
                "lower it, or raise the tokenizer's held_out_blocks"
            )


def _section(name: str, dataset: Dataset) -> str:
    """Return the key of a dataset's section in its experiment."""
    kind = dataset.spec.name.removeprefix("sample_")
    if dataset.spec.attribute == BASE_SETTING:
        setting = name.partition(".")[2]
        return f"sampling_variants.{setting}.{kind}" if setting else f"{BASE_SETTING}.{kind}"
    return "calibration.dependence" if name == "dependence" else dataset.spec.attribute


def _extent(place: str, experiment: Experiment, dataset: Dataset, known: list[int]) -> Iterator[str]:
    """Yield the problems of distributions, seeds and steps that the experiment does not have."""
    for distribution in getattr(dataset.section, "distributions", None) or []:
        yield from refer(
            f"{place}.distributions",
            distribution,
            experiment.distributions,
            "distribution of this experiment",
        )
    for seed in dataset.seeds:
        if seed not in experiment.seeds:
            yield f"{place}.seeds: there is no seed {seed}; the experiment has {experiment.seeds}"
    for step in (dataset.steps or []) if known else []:
        if step not in known:
            near = min(known, key=lambda each: abs(each - step))
            yield (
                f"{place}.checkpoints: step {step} is not measured; the nearest that is: {near} "
                f"(without this measure, set `{place.rpartition('.')[2]}: null`)"
            )


def _scheduled(experiment: Experiment) -> list[int]:
    """Return the steps that have checkpoints; none if they are unknown, which other checks report."""
    if experiment.checkpoints.source == "train" and experiment.training is None:
        return []
    try:
        return steps(experiment)
    except ValueError:
        return []
