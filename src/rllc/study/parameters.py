"""What each script is told: sections of the config as plain numbers, in the kernels' own names."""

import json
import re
from typing import Any

from rllc.study.claims import WORKS, judged
from rllc.study.families import family_of
from rllc.study.measures.sampling import BASE_SETTING
from rllc.study.measures.table import ANALYSES
from rllc.study.steps import chunks, steps
from rllc.study.study import Experiment, Study, work

# Analyses that depend on types of heads: claims on them are judged with shuffled types too
# (rllc.claims.repeat).
REPEATED = ("classification", "kcomposition", "refinement", "staggered")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON


def as_json(value: Any) -> str:
    """JSON in the order given: order is information (parts of a mixture, distributions of a figure).

    Braces in texts are escaped: Snakemake takes a word in braces for a wildcard.
    """
    return TEXT.sub(lambda text: text[0].replace("{", r"\u007b").replace("}", r"\u007d"), json.dumps(value))


def model(study: Study, experiment: Experiment) -> dict[str, Any]:
    """The family of a model, and the facts that it is built from."""
    facts = family_of(experiment.model).facts(experiment.model, study.tokenizers[experiment.tokenizer])
    return {**experiment.model.model_dump(), **facts}


def training(experiment: Experiment) -> dict[str, Any]:
    """Arguments of ``rllc.models.training.train``, and the batch size: what the weights depend on."""
    return experiment.own_training.model_dump(exclude={"distribution", "steps", "keep_state_every"})


def segment(study: Study, name: str, start: int) -> dict[str, Any]:
    """Which steps one segment of a training keeps, of how many, and the length of a context.

    ``of`` is the length of the whole training where its schedule depends on it. Where the rate is constant it
    is the segment's last step, so that a longer training runs no earlier segment again.
    """
    experiment = study.experiments[name]
    training, chunk = experiment.training, chunks(experiment)[start]
    facts = {"experiment": name, "chunk": chunk, "context": study.tokenizers[experiment.tokenizer].context}
    if training is None:
        return facts
    return {**facts, "of": chunk[-1] if training.schedule == "constant" else training.steps}


def claims(study: Study) -> dict[str, Any]:
    """Which claims are judged: works, and what claims may ask of each experiment beside its curves."""
    return {
        "works": [entry for entry in study.claims if entry in WORKS],
        "experiments": {name: _of_claims(study, study.experiments[name], name) for name in judged(study)},
    }


def _of_claims(study: Study, experiment: Experiment, name: str) -> dict[str, Any]:
    """The keywords of ``rllc.claims.Experiment``."""
    settings = {
        row.name: row.settings(work(study, experiment, section, []))
        for row in ANALYSES
        if (section := row.declared(experiment)) is not None and row.name in REPEATED
    }
    milestones = experiment.milestones
    trained_on = experiment.training.distribution if experiment.training else ""
    compared = (experiment.refinement, "distribution"), (experiment.classification, "code_distribution")
    codes = [
        getattr(section, key)
        for section, key in (*compared, (experiment.staggered, "distribution"))
        if section
    ]
    alike = [each for each in study.experiments.values() if each.task == experiment.task]
    return {
        "name": name,
        "task": experiment.task,
        "label": experiment.label or name,
        "layers": experiment.model.n_layers,
        "text": trained_on if trained_on in experiment.distributions else experiment.distributions[0],
        "code": next((each for each in codes if each is not None), None),
        "setting": milestones.setting if milestones else BASE_SETTING,
        "steps": steps(experiment)[-1],
        "shortest": min(steps(each)[-1] for each in alike),
        "settings": settings,
    }


def compute(study: Study, rule: str) -> dict[str, Any]:
    """Where and how precisely a rule computes; with ``cuda``, only those of ``gpu_jobs`` leave the CPU.

    bf16 is of training alone: what is measured beside it is multiplied as TF32.
    """
    section = study.compute
    here = section.device == "cuda" and rule not in section.gpu_jobs
    lowest = section.precision if rule == "train" or section.precision != "bf16" else "tf32"
    return {
        "device": "cpu" if here else section.device,
        "precision": "fp32" if here else lowest,
        "threads": section.threads,
    }


def labels(study: Study, names: list[str]) -> dict[str, str]:
    """Distribution -> its name in figures, in config order."""
    return {name: study.distributions[name].label for name in names}
