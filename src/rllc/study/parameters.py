"""What each script is told: sections of the config as plain numbers, in the kernels' own names."""

import json
from typing import Any

from rllc.study import datasets as products
from rllc.study.families import family_of
from rllc.study.layout import BASE_SETTING
from rllc.study.sampling import DIVERGENCE_FACTOR, Sampling
from rllc.study.steps import chunks
from rllc.study.study import Experiment, Study


def as_json(value: Any) -> str:
    """JSON in the order given: order is information (parts of a mixture, distributions of a figure)."""
    return json.dumps(value)


def model(study: Study, experiment: Experiment) -> dict[str, Any]:
    """The family of a model, and the facts that it is built from."""
    facts = family_of(experiment.model).facts(experiment.model, study.tokenizers[experiment.tokenizer])
    return {**experiment.model.model_dump(), **facts}


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
        "early": list(range(*section.icl_early)) if section.icl_early else None,
        "late": list(range(*section.icl_late)) if section.icl_late else None,
        "accuracy": section.accuracy,
    }


def calibration(experiment: Experiment) -> dict[str, Any]:
    """The sweeps, without where they are made and without the rule that reads them.

    A chain has diverged where it has at the base setting.
    """
    told = experiment.calibration.model_dump(include={"heads", "full", "probes"})
    for kind in ("heads", "full"):
        if told[kind]:
            base = products.sampling(experiment, BASE_SETTING, kind)
            told[kind]["divergence_factor"] = base.divergence_factor if base else DIVERGENCE_FACTOR
    return told


def dependence(experiment: Experiment) -> dict[str, Any]:
    """What is varied, and the base setting of each kind of component that it is varied around."""
    section = experiment.calibration.dependence
    base = ("step_size", "n_beta", "localization", "batch_size", "scored_positions", "divergence_factor")
    kinds = {"full" if component == "full" else "heads" for component in section.components}
    samplings = {kind: getattr(experiment.sampling, kind) for kind in sorted(kinds)}
    return section.model_dump(exclude={"checkpoints", "distributions"}) | {
        "settings": {kind: {name: getattr(each, name) for name in base} for kind, each in samplings.items()}
    }


def known_settings(experiment: Experiment) -> dict[str, dict[str, dict[str, float]]]:
    """Kind of component -> setting -> where it lies on the grid of a sweep."""
    grid = ("step_size", "n_beta", "localization")
    return {
        kind: {
            name: {part: getattr(section, part) for part in grid}
            for name in products.settings(experiment)
            if (section := products.sampling(experiment, name, kind)) is not None
        }
        for kind in ("heads", "full")
    }


def listed_steps(experiment: Experiment, dataset: str, start: int) -> dict[str, list[int]]:
    """Which checkpoints of a chunk ``calibration`` or ``dependence`` takes."""
    wanted = products.calibration_steps(experiment, dataset)
    return {"steps": [step for step in chunks(experiment)[start] if step in wanted]}


def statistics(study: Study, experiment: Experiment) -> dict[str, Any]:
    """The statistics of one experiment."""
    return {name: entry.model_dump() for name, entry in products.statistics(study, experiment).items()}


def claims(study: Study) -> dict[str, Any]:
    """Every claim."""
    return {name: entry.model_dump() for name, entry in study.claims.items()}


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
