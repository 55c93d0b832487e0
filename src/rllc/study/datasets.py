"""What each experiment declares: its datasets, the parts they are gathered from, the distributions."""

from collections.abc import Collection, Iterator

from rllc.study.claims import Statistic
from rllc.study.layout import BASE_SETTING
from rllc.study.sampling import Sampling
from rllc.study.study import Experiment, Study
from rllc.study.tasks import GENERATORS, Distribution

# dataset name -> kind of component sampled for it
SAMPLED = {"rllc": "heads", "llc": "full", "components": "other"}
TRACES = "traces"
OF_ALL = ("heads", "circuits")  # datasets that have no distribution


def sampling(experiment: Experiment, setting: str, kind: str) -> Sampling | None:
    """The sampling section of a setting (``sampling`` or a name under ``settings``) and kind of component."""
    samplings = experiment.sampling if setting == BASE_SETTING else experiment.settings.get(setting)
    return getattr(samplings, kind) if samplings else None


def settings(experiment: Experiment) -> list[str]:
    """Names of all sampling settings that the experiment declares."""
    return ([BASE_SETTING] if experiment.sampling else []) + list(experiment.settings)


def dataset_name(dataset: str, setting: str) -> str:
    """``rllc`` for the base setting, ``rllc.<setting>`` for others."""
    return dataset if setting == BASE_SETTING else f"{dataset}.{setting}"


def sampled_dataset(name: str) -> tuple[str, str] | None:
    """``(setting, kind)`` of a dataset's name, or None where it is no dataset of samples."""
    dataset, _, setting = name.partition(".")
    return (setting or BASE_SETTING, SAMPLED[dataset]) if dataset in SAMPLED else None


def datasets(experiment: Experiment) -> list[str]:
    """Every dataset that the experiment declares, by name (``rllc``, ``rllc.likelihood``, ``heads``, ...)."""
    return list(_datasets(experiment))


def _datasets(experiment: Experiment) -> Iterator[str]:
    for setting in settings(experiment):
        for dataset, kind in SAMPLED.items():
            if sampling(experiment, setting, kind):
                yield dataset_name(dataset, setting)
    if traced(experiment):
        yield TRACES
    for dataset, section in (
        ("hessian", experiment.hessian),
        ("ablation", experiment.ablation),
        ("heads", experiment.patterns),
        ("circuits", experiment.circuits),
        ("metrics", experiment.metrics),
        ("clusters", experiment.clustering),
    ):
        if section:
            yield dataset


def statistics(study: Study, experiment: Experiment) -> dict[str, Statistic]:
    """The statistics whose curves an experiment has: one per seed, so of one distribution or of one named."""
    made = datasets(experiment)

    def has(read: str, at: Collection[str]) -> bool:
        return read in made and ("distribution" in at or len(distributions(experiment, read)) <= 1)

    return {
        name: entry
        for name, entry in study.statistics.items()
        if all(has(read, entry.at) for read in _read_by(entry))
    }


def _read_by(statistic: Statistic) -> list[str]:
    """The datasets that a statistic reads: of "llc.long.llc" it is llc.long."""
    return [curve.rpartition(".")[0] for curve in (statistic.of, statistic.against) if curve]


def summarised(study: Study) -> dict[str, list[str]]:
    """Experiments that have statistics -> the datasets that these read, in the order of the experiment's."""
    table = {}
    for name, experiment in study.experiments.items():
        read = {each for entry in statistics(study, experiment).values() for each in _read_by(entry)}
        if read:
            table[name] = [dataset for dataset in datasets(experiment) if dataset in read]
    return table


def validated(study: Study) -> list[str]:
    """The families of models that the target ``validation`` samples; each makes one dataset of its name."""
    families = type(study.validation).model_fields if study.validation else ()
    return [name for name in families if getattr(study.validation, name) is not None]


def calibrated(experiment: Experiment) -> list[str]:
    """The datasets that the target ``calibrate`` makes: of no other target."""
    if experiment.calibration is None:
        return []
    measured = ["dependence"] if experiment.calibration.dependence else []
    return ["calibration", *measured, "recommendation"]


def calibration_distributions(experiment: Experiment, dataset: str) -> list[str]:
    """The distributions of ``calibration`` (and ``recommendation``) or ``dependence``, in config order."""
    section = experiment.calibration
    own = section.dependence.distributions if dataset == "dependence" and section.dependence else None
    subset = section.distributions if own is None else own
    return [name for name in experiment.distributions if subset is None or name in subset]


def calibration_steps(experiment: Experiment, dataset: str) -> list[int]:
    """The checkpoints that ``calibration`` or ``dependence`` is measured at."""
    section = experiment.calibration
    return section.dependence.checkpoints if dataset == "dependence" else section.checkpoints


def parts(dataset: str) -> str:
    """Name of the parts that a dataset is gathered from: ``sampling.heads`` for ``rllc``, else its own."""
    sampled = sampled_dataset(dataset)
    return ".".join(sampled) if sampled else dataset


def traced(experiment: Experiment) -> list[str]:
    """The datasets of the base setting whose sampling keeps its traces."""
    kept = {name: sampling(experiment, BASE_SETTING, kind) for name, kind in SAMPLED.items()}
    return [name for name, section in kept.items() if section and section.keep_traces]


def distributions(experiment: Experiment, dataset: str) -> list[str]:
    """The distributions of a dataset, in config order: all of the experiment's, or the subset it names."""
    sampled = sampled_dataset(dataset)
    section = sampling(experiment, *sampled) if sampled else getattr(experiment, dataset, None)
    subset = getattr(section, "distributions", None)
    return [name for name in experiment.distributions if subset is None or name in subset]


def texts(study: Study) -> dict[str, str]:
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


def trained_on(study: Study) -> list[str]:
    """Distributions of text that some experiment is trained on."""
    names = {e.training.distribution for e in study.experiments.values() if e.training}
    return [name for name, entry in study.distributions.items() if name in names and is_text(entry)]


def contexts(study: Study, distribution: str) -> str:
    """The distribution of text whose contexts a distribution reads: itself, unless a model speaks over it."""
    entry = study.distributions[distribution]
    return entry.contexts if entry.source == "model" else distribution
