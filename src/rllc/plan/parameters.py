"""What each script is told: sections of the config as plain numbers, in the kernels' own names."""

import json
from typing import Any

from rllc.config.sampling import Sampling
from rllc.config.study import Experiment, Study
from rllc.plan.steps import chunks


def as_json(value: Any) -> str:
    """JSON in the order given: order is information (parts of a mixture, distributions of a figure)."""
    return json.dumps(value)


def architecture(study: Study, experiment: Experiment) -> dict[str, Any]:
    """Fields of ``rllc.models.transformer.Architecture``."""
    return {**experiment.model.model_dump(), "d_vocab": study.tokenizers[experiment.tokenizer].vocabulary}


def training(experiment: Experiment) -> dict[str, Any]:
    """Arguments of ``rllc.models.training.train``, and the batch size: what the weights depend on."""
    return experiment.training.model_dump(exclude={"distribution", "steps", "keep_state_every"})


def segment(name: str, experiment: Experiment, start: int) -> dict[str, Any]:
    """Which steps one segment of a training keeps, of how many."""
    training = experiment.training
    facts = {"of": training.steps, "keep_state_every": training.keep_state_every} if training else {}
    return {"experiment": name, "chunk": chunks(experiment)[start], **facts}


def sampling(section: Sampling) -> dict[str, Any]:
    """One sampling setting; which distributions it is used on is not the sampler's business."""
    return section.model_dump(exclude={"distributions"})


def hessian(experiment: Experiment) -> dict[str, Any]:
    return experiment.hessian.model_dump(exclude={"distributions"})


def ablation(experiment: Experiment) -> dict[str, Any]:
    section = experiment.ablation
    return {"batches": section.contexts // section.batch_size, "batch_size": section.batch_size}


def metrics(experiment: Experiment) -> dict[str, Any]:
    section = experiment.metrics
    return {
        "batches": section.contexts // section.batch_size,
        "batch_size": section.batch_size,
        "early": list(range(*section.icl_early)),
        "late": list(range(*section.icl_late)),
    }


def compute(study: Study, rule: str) -> dict[str, Any]:
    """Where and how precisely a rule computes; with ``cuda``, only those of ``gpu_jobs`` leave the CPU."""
    section = study.compute
    here = section.device == "cuda" and rule not in section.gpu_jobs
    return {
        "device": "cpu" if here else section.device,
        "precision": "fp32" if here else section.precision,
        "threads": section.threads,
    }


def labels(study: Study, names: list[str]) -> dict[str, str]:
    """Distribution -> its name in figures, in config order."""
    return {name: study.distributions[name].label for name in names}
