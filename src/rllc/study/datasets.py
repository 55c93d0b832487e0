"""What each experiment declares: its datasets, by the rows of measures and analyses, and what they cover."""

from typing import Any, NamedTuple

from rllc.study.distributions import Files, Hub, Installed, Mixture
from rllc.study.rows import Measure, Variable
from rllc.study.sampling import BASE_SETTING, DATASETS, setting
from rllc.study.study import Experiment, Study
from rllc.study.table import ANALYSES, MEASURES
from rllc.study.tasks import GENERATORS, TASKS, Distribution
from rllc.units import NATS

TRACES = "traces"
TRAINING_LOSS = "training_loss"


class Dataset(NamedTuple):
    """A dataset that a measure makes: its row, its config section, and the cells it has.

    distributions  in config order; none where the measure has no distribution
    steps          None: every checkpoint
    """

    row: Measure
    section: Any
    distributions: list[str]
    seeds: list[int]
    steps: list[int] | None

    def among(self, chunk: list[int]) -> list[int]:
        """The steps of a chunk of checkpoints that the dataset has."""
        return [step for step in chunk if self.steps is None or step in self.steps]


def measured(experiment: Experiment) -> dict[str, Dataset]:
    """Every dataset that a measure makes for an experiment, by name (``rllc``, ``rllc.likelihood``, ...)."""
    return {
        name: Dataset(
            row, section, _subset(experiment, section) if row.per_distribution else [],
            getattr(section, "seeds", None) or list(experiment.seeds), getattr(section, "checkpoints", None),
        )
        for row in MEASURES
        for name, section in row.declared(experiment).items()
    }  # fmt: skip


def words(experiment: Experiment, row: Measure) -> dict[str, Variable]:
    """The variables of a measure's dataset: losses have the unit of the experiment's task."""
    unit = TASKS[experiment.task].unit
    return {
        name: variable._replace(unit=unit) if variable.unit == NATS else variable
        for name, variable in row.words.items()
    }


def _subset(experiment: Experiment, section: Any) -> list[str]:
    """All of the experiment's distributions, or those that a section names."""
    chosen = getattr(section, "distributions", None)
    return [name for name in experiment.distributions if chosen is None or name in chosen]


def traced(experiment: Experiment) -> list[str]:
    """The datasets of the base setting whose sampling keeps its traces."""
    kept = {name: setting(experiment, BASE_SETTING, kind) for kind, name in DATASETS.items()}
    return [name for name, section in kept.items() if section and section.keep_traces]


def datasets(experiment: Experiment, target: str = "all") -> list[str]:
    """Names of the datasets of an experiment that a target asks for."""
    names = [name for name, dataset in measured(experiment).items() if dataset.row.target == target]
    if target == "all":
        # of a training that nothing measures, as a teacher's, it is made where it is asked for by name
        names += [TRAINING_LOSS] if names and experiment.checkpoints.source == "train" else []
        names += [TRACES] if traced(experiment) else []
    return names + [row.name for row in ANALYSES if row.target == target and row.declared(experiment)]


def distributions(experiment: Experiment, dataset: str) -> list[str]:
    """The distributions of a dataset, in config order; all of the experiment's where it names none."""
    made = measured(experiment).get(dataset)
    return made.distributions if made and made.row.per_distribution else list(experiment.distributions)


def validated(study: Study) -> list[str]:
    """The families of models that the target ``validation`` samples; each makes one dataset of its name."""
    families = type(study.validation).model_fields if study.validation else ()
    return [name for name in families if getattr(study.validation, name) is not None]


def used_texts(study: Study) -> dict[str, str]:
    """Text that is trained on, measured on or read by a teacher -> a tokenizer that it is read with."""
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
    """Whether a distribution is read from somewhere, rather than generated."""
    return distribution.source not in GENERATORS


def trained_on(study: Study, measured_on: str) -> list[str]:
    """Distributions of text that some experiment is trained on and that may train on what another holds out.

    A document is held out where its hash is below the fraction, so only one that holds out less can. Where
    none does, a further training changes no held-out text, and nothing is made again for it.
    """
    names = {e.training.distribution for e in study.experiments.values() if e.training}
    most = max(_fractions(study, measured_on))
    return [
        name
        for name, entry in study.distributions.items()
        if name in names and is_text(entry) and min(_fractions(study, name)) < most
    ]


def _fractions(study: Study, text: str) -> list[float]:
    """The fractions that a distribution of text holds out; those of its parts, where it is a mixture."""
    entry = study.distributions[text]
    if isinstance(entry, Mixture):
        return [fraction for part in entry.weights for fraction in _fractions(study, part)]
    if not isinstance(entry, Installed | Files | Hub):
        raise TypeError(f"distribution '{text}' is no text that is read")
    return [entry.held_out]


def contexts(study: Study, distribution: str) -> str:
    """The distribution of text whose contexts a distribution reads: itself, unless a model speaks over it."""
    entry = study.distributions[distribution]
    return entry.contexts if entry.source == "model" else distribution
