"""What each script is told: sections of the config as plain numbers, in the kernels' own names."""

import json
from typing import Any

from rllc.config.sections import Experiment, Sampling, Study
from rllc.plan.steps import chunks

JSON = str


def as_json(value: Any) -> JSON:
    """JSON in the order given: order is information (parts of a mixture, distributions of a figure)."""
    return json.dumps(value)


def architecture(study: Study, experiment: Experiment) -> dict[str, Any]:
    """Fields of ``rllc.models.transformer.Architecture``."""
    return {**experiment.model.model_dump(), "d_vocab": study.tokenizers[experiment.tokenizer].vocabulary}


def training(experiment: Experiment) -> dict[str, Any]:
    """Arguments of ``rllc.models.training.train``, and the batch size and how often state is kept."""
    return experiment.training.model_dump(exclude={"distribution", "steps"})


def segment(name: str, experiment: Experiment, start: int) -> dict[str, Any]:
    """Which steps one segment of a training keeps, of how many."""
    last = experiment.training.steps if experiment.training else 0
    return {"experiment": name, "of": last, "chunk": chunks(experiment)[start]}


def sampling(section: Sampling) -> dict[str, Any]:
    """One sampling setting; which distributions it is used on is not the sampler's business."""
    return section.model_dump(exclude={"distributions"})


def hessian(experiment: Experiment) -> dict[str, Any]:
    return experiment.hessian.model_dump(exclude={"distributions"})


def ablation(experiment: Experiment) -> dict[str, Any]:
    section = experiment.ablation
    return {"batches": max(section.contexts // section.batch_size, 1), "batch_size": section.batch_size}


def metrics(experiment: Experiment) -> dict[str, Any]:
    section = experiment.metrics
    return {
        "batches": max(section.contexts // section.batch_size, 1),
        "batch_size": section.batch_size,
        "early": list(range(*section.icl_early)),
        "late": list(range(*section.icl_late)),
    }


def device(study: Study) -> dict[str, Any]:
    """Where and how precisely jobs compute."""
    return study.compute.model_dump(include={"device", "precision"})


def labels(study: Study, names: list[str]) -> dict[str, str]:
    """Distribution -> its name in figures, in config order."""
    return {name: study.distributions[name].label for name in names}
