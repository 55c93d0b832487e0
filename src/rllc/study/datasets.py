"""The datasets of an experiment by the specs of measures and analyses, with steps and distributions."""

from typing import Any, NamedTuple

from rllc.study.distributions import Files, Hub, Installed, Mixture
from rllc.study.sampling import BASE_SETTING, DATASETS, setting
from rllc.study.specs import MeasureSpec, Variable
from rllc.study.study import Experiment, Study
from rllc.study.table import ANALYSES, MEASURES
from rllc.study.tasks import GENERATORS, TASKS, Distribution
from rllc.units import NATS

TRACES = "traces"
TRAINING_LOSS = "training_loss"


class Dataset(NamedTuple):
    """A dataset that a measure makes: its spec, its config section, and its cells.

    distributions  in config order; empty if the measure has no distribution
    steps          None: every checkpoint
    """

    spec: MeasureSpec
    section: Any
    distributions: list[str]
    seeds: list[int]
    steps: list[int] | None

    def among(self, chunk: list[int]) -> list[int]:
        """Return the steps of a chunk of checkpoints that the dataset has."""
        return [step for step in chunk if self.steps is None or step in self.steps]


def measured(experiment: Experiment) -> dict[str, Dataset]:
    """Return an experiment's datasets that measures make, by name (``rllc``, ``rllc.likelihood``, ...)."""
    return {
        name: Dataset(
            spec, section, _subset(experiment, section) if spec.per_distribution else [],
            getattr(section, "seeds", None) or list(experiment.seeds), getattr(section, "checkpoints", None),
        )
        for spec in MEASURES
        for name, section in spec.declared(experiment).items()
    }  # fmt: skip


def words(experiment: Experiment, spec: MeasureSpec) -> dict[str, Variable]:
    """Return the variables of a measure's dataset. Losses have the unit of the experiment's task."""
    unit = TASKS[experiment.task].unit
    return {
        name: variable._replace(unit=unit) if variable.unit == NATS else variable
        for name, variable in spec.all_variables.items()
    }


def _subset(experiment: Experiment, section: Any) -> list[str]:
    """Return the distributions that a section names, or all of the experiment's."""
    chosen = getattr(section, "distributions", None)
    return [name for name in experiment.distributions if chosen is None or name in chosen]


def traced(experiment: Experiment) -> list[str]:
    """Return the datasets of the base setting that keep traces."""
    kept = {name: setting(experiment, BASE_SETTING, kind) for kind, name in DATASETS.items()}
    return [name for name, section in kept.items() if section and section.keep_traces]


def datasets(experiment: Experiment, target: str = "all") -> list[str]:
    """Return the names of the datasets of an experiment that a target asks for."""
    names = [name for name, dataset in measured(experiment).items() if dataset.spec.target == target]
    if target == "all":
        # an unmeasured training, such as a teacher's, has it only if the user names it
        names += [TRAINING_LOSS] if names and experiment.checkpoints.source == "train" else []
        names += [TRACES] if traced(experiment) else []
    return names + [spec.name for spec in ANALYSES if spec.target == target and spec.section_of(experiment)]


def distributions(experiment: Experiment, dataset: str) -> list[str]:
    """Return the distributions of a dataset, in config order; all of the experiment's if it names none."""
    made = measured(experiment).get(dataset)
    return made.distributions if made and made.spec.per_distribution else list(experiment.distributions)


def validated(study: Study) -> list[str]:
    """Return the families of models of the target ``validation``. Each makes a dataset of its name."""
    families = type(study.validation).model_fields if study.validation else ()
    return [name for name in families if getattr(study.validation, name) is not None]


def used_texts(study: Study) -> dict[str, str]:
    """Return text -> its tokenizer, for text that is trained on, measured on, or read by a teacher."""
    used: dict[str, str] = {}
    for experiment in study.experiments.values():
        names = [contexts(study, name) for name in experiment.distributions]
        names += [experiment.training.distribution] if experiment.training else []
        for name in names:
            used.setdefault(name, experiment.tokenizer)
    return {
        name: used[name] for name, entry in study.distributions.items() if name in used and is_text(entry)
    }


def is_text(distribution: Distribution) -> bool:
    """Return whether a distribution is read from a source, not generated."""
    return distribution.source not in GENERATORS


def trained_on(study: Study, measured_on: str) -> list[str]:
    """Return the training texts that may contain documents which ``measured_on`` holds out.

    A document is held out if its hash is below the fraction. So only a text with a smaller fraction can train
    on it. If there is none, a further training changes no held-out text, and nothing is made again.
    """
    names = {e.training.distribution for e in study.experiments.values() if e.training}
    most = max(_fractions(study, measured_on))
    return [
        name
        for name, entry in study.distributions.items()
        if name in names and is_text(entry) and min(_fractions(study, name)) < most
    ]


def _fractions(study: Study, text: str) -> list[float]:
    """Return the fractions that a distribution of text holds out; for a mixture, those of its parts."""
    entry = study.distributions[text]
    if isinstance(entry, Mixture):
        return [fraction for part in entry.weights for fraction in _fractions(study, part)]
    if not isinstance(entry, Installed | Files | Hub):
        raise TypeError(f"distribution '{text}' is not read from a source: expected text")
    return [entry.held_out]


def contexts(study: Study, distribution: str) -> str:
    """Return the distribution whose contexts are read: itself, or for predictions of a model, their input."""
    entry = study.distributions[distribution]
    return entry.contexts if entry.source == "model" else distribution
