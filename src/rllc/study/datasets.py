"""What each experiment declares: its datasets, by the rows of measures and analyses, and what they cover."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rllc.study.claims import Claim, Statistic
from rllc.study.measures.sampling import BASE_SETTING, DATASETS, setting
from rllc.study.measures.table import ANALYSES, MEASURES
from rllc.study.rows import Measure, Variable
from rllc.study.study import Experiment, Study
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


def with_curves(experiment: Experiment) -> list[str]:
    """Names of the datasets that statistics of an experiment can read, whatever target asks for them.

    One that only ``calibrate`` asks for is then made for the statistic.
    """
    return [*datasets(experiment), *datasets(experiment, "calibrate")]


def distributions(experiment: Experiment, dataset: str) -> list[str]:
    """The distributions of a dataset, in config order; all of the experiment's where it names none."""
    made = measured(experiment).get(dataset)
    return made.distributions if made and made.row.per_distribution else list(experiment.distributions)


def statistics(study: Study, experiment: Experiment) -> dict[str, Statistic]:
    """The statistics whose curves an experiment has: one per seed, so of one distribution or of one named.

    A statistic that names an experiment is of no other; one that names statistics needs all of them.
    """
    made = with_curves(experiment)
    on = {  # of an analysis, or a measure of the model alone: None
        name: dataset.distributions if dataset.row.per_distribution else None
        for name, dataset in measured(experiment).items()
    }

    def has(read: str, at: Mapping[str, Any]) -> bool:
        if read not in made or (known := on.get(read)) is None:
            return read in made
        return at["distribution"] in known if "distribution" in at else len(known) <= 1

    def readable(entry: Statistic) -> bool:
        if entry.by_type and not ("heads" in made and experiment.head_types):
            return False
        return all(has(read, at) for (read, _), at in zip(curves(entry), labels(entry), strict=True))

    kept = {
        name: entry
        for name, entry in study.statistics.items()
        if (entry.experiment is None or study.experiments.get(entry.experiment) is experiment)
        and readable(entry)
    }
    while short := [name for name, entry in kept.items() if not {*entry.named} <= {*kept}]:
        kept = {name: entry for name, entry in kept.items() if name not in short}
    return kept


def judged(study: Study) -> dict[str, Claim]:
    """The claims whose experiments have the statistic, and what they presuppose: the others are left out."""
    has = {name: statistics(study, experiment) for name, experiment in study.experiments.items()}
    kept = {
        name: claim
        for name, claim in study.claims.items()
        if all(claim.statistic in has[of] for of in (claim.experiment, claim.versus) if of)
    }
    return {name: claim for name, claim in kept.items() if claim.given is None or claim.given in kept}


def curves(statistic: Statistic) -> list[tuple[str, str]]:
    """Dataset and variable of each curve that a statistic reads: of "llc.long.llc" llc.long and llc."""
    read = [statistic.of, statistic.against, statistic.divided_by and statistic.of]
    parts = [curve.rpartition(".") for curve in read if curve]
    return [(dataset, variable) for dataset, _, variable in parts]


def labels(statistic: Statistic) -> list[dict[str, str | int]]:
    """Labels along the dims of each of these curves."""
    other = statistic.at if statistic.against_at is None else statistic.against_at
    found = [statistic.at] if statistic.of else []
    found += [other] if statistic.against else []
    return found + ([{**statistic.at, **statistic.divided_by}] if statistic.divided_by else [])


def summarised(study: Study) -> dict[str, list[str]]:
    """Experiments that have statistics -> the datasets that these read, in the order of the experiment's."""
    table = {}
    for name, experiment in study.experiments.items():
        entries = statistics(study, experiment).values()
        read = {each for entry in entries for each, _ in curves(entry)}
        read |= {"heads"} if any(entry.by_type for entry in entries) else set()
        if read:
            table[name] = [dataset for dataset in with_curves(experiment) if dataset in read]
    return table


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
    if entry.source != "mixture":
        return [entry.held_out]
    return [fraction for part in entry.weights for fraction in _fractions(study, part)]


def contexts(study: Study, distribution: str) -> str:
    """The distribution of text whose contexts a distribution reads: itself, unless a model speaks over it."""
    entry = study.distributions[distribution]
    return entry.contexts if entry.source == "model" else distribution
