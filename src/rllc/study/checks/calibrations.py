"""The calibration of an experiment: what it sweeps must be what the experiment has."""

import re
from collections.abc import Iterator
from typing import Any

from rllc.study.checks.names import in_model, refer
from rllc.study.steps import steps
from rllc.study.study import Experiment


def calibration_problems(place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    section, dependence = experiment.calibration, experiment.calibration.dependence
    for seed in section.seeds or []:
        if seed not in experiment.seeds:
            yield f"{place}.seeds: there is no seed {seed}; the experiment has {experiment.seeds}"
    parts = {place: section} | ({f"{place}.dependence": dependence} if dependence else {})
    known = _scheduled(experiment)
    for where, part in parts.items():
        for distribution in part.distributions or []:
            yield from refer(
                f"{where}.distributions", distribution, experiment.distributions,
                "distribution of this experiment",
            )  # fmt: skip
        for step in part.checkpoints if known else []:
            if step not in known:
                near = min(known, key=lambda each: abs(each - step))
                yield (
                    f"{where}.checkpoints: step {step} is not measured; the nearest that is: {near} "
                    "(without a calibration, set `calibration: null`)"
                )
    for kind in ("heads", "full"):
        base = getattr(experiment.sampling, kind, None)
        if dependence and base and (base.sampler != "sgld" or base.thinning > 1):
            yield (
                f"{place}.dependence: it varies plain SGLD without thinning; sampling.{kind} has sampler "
                f"{base.sampler} and thinning {base.thinning}. Set `dependence: null`, or change these"
            )
        sweep = getattr(section, kind)
        for component in (sweep.components or []) if sweep else []:
            yield from _sampled(f"{place}.{kind}.components", component, experiment, "heads")
        if sweep and tokenizer and (sweep.scored_positions or 0) > tokenizer.predictions:
            yield (
                f"{place}.{kind}.scored_positions: {sweep.scored_positions} of the {tokenizer.predictions} "
                "predictions of a context; null scores them all"
            )
    for component in dependence.components if dependence else []:
        where = f"{place}.dependence.components"
        yield from _sampled(where, component, experiment, "heads", "full")
        kind = "full" if component == "full" else "heads"
        base = getattr(experiment.sampling, kind) if experiment.sampling else None
        if base is None:
            yield f"{place}.dependence: '{component}' is varied around sampling.{kind}, which is missing"
            continue
        for size in dependence.dataset_sizes:
            if size % base.batch_size:
                yield (
                    f"{place}.dependence.dataset_sizes: {size} is no multiple of sampling.{kind}.batch_size, "
                    f"{base.batch_size}"
                )
            elif size > dependence.draws * base.batch_size:
                yield (
                    f"{place}.dependence.dataset_sizes: {size} contexts are more than "
                    f"{dependence.draws} draws of {base.batch_size} see"
                )


def _scheduled(experiment: Experiment) -> list[int]:
    """The steps that have checkpoints; none where that is not known (others say why)."""
    if experiment.checkpoints.source == "train" and experiment.training is None:
        return []
    try:
        return steps(experiment)
    except ValueError:
        return []


def _sampled(place: str, component: str, experiment: Experiment, *kinds: str) -> Iterator[str]:
    """A head or ``full``, as far as ``kinds`` allows, that the model has."""
    kind = "full" if component == "full" else "heads"
    if kind not in kinds or not (kind == "full" or re.fullmatch(r"\d+:\d+", component)):
        told = " or ".join({"heads": "a head L:H", "full": "full"}[each] for each in kinds)
        yield f"{place}: '{component}' is not {told}"
    else:
        yield from in_model(place, component, experiment)
