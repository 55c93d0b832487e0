"""What a spec of the tables of measures and analyses says: all that the workflow must know of one.

Rules, datasets, limits of Slurm, forecasts, checks and documents are derived from specs; nothing else names a
measure. The spec of a measure stands beside its config section in ``rllc.measures.<name>.spec``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from rllc.study import cost
from rllc.study.config_model import ConfigModel
from rllc.study.cost import Cost
from rllc.study.distributions import Predictions
from rllc.study.families import family_of
from rllc.study.setup import Setup
from rllc.study.tasks import Distribution, Tokenizer

S_co = TypeVar("S_co", bound=ConfigModel, covariant=True)
CONTEXTS = 1000  # that a measure reads, where neither its section nor the tokenizer says how many
EXTENT = {"checkpoints", "seeds", "distributions"}  # keys of a section that say where, not how, it measures


class Variable(NamedTuple):
    """A variable of a dataset: its long name, its unit, and its dims beside seed, step and distribution.

    No long name: the kernel gives both itself, as the estimator does, which users call without the workflow.
    optional  when an experiment has it, if not always
    over      of a standard error: the key of the section that says over how many independent units it is, as
              ``probes``. The dataset records their number less one, the degrees of freedom of an interval
    """

    long_name: str
    unit: str
    dims: tuple[str, ...] = ()
    optional: str = ""
    over: str = ""


class FigureSpec(NamedTuple):
    """What draws a figure (``module:function``), the datasets it needs, and those it uses if there.

    ``category`` is the heading of the figure in the documents, as ``baselines``, ``stages`` or ``tokens``.

    ``target`` is the rule that asks for it, so that the figures of long studies are not part of ``all``.

    A name in ``uses`` may be a pattern, as ``rllc.*``: every further sampling setting.
    ``several``: what it needs may be of further experiments too, as ``<dataset>@<experiment>``.
    ``seeds``: the training seeds of the experiment must be so many.
    """

    draws: str
    needs: tuple[str, ...]
    uses: tuple[str, ...] = ()
    category: str = "heads"
    target: str = "all"
    several: bool = False
    seeds: int = 1


@dataclass(frozen=True)
class Work(Generic[S_co]):
    """One job of a measure or analysis, and all that its spec sees of a study.

    experiment     model, data and training; ``experiment.get(Metrics)`` is its section of that class
    distributions  those of the study, by name
    known_tokens   section of the experiment's tokenizer; None: the study has none of that name
    section        of the measure or analysis: of the class that its spec names
    steps          the checkpoints of the job
    """

    experiment: Setup
    distributions: Mapping[str, Distribution]
    known_tokens: Tokenizer | None
    section: S_co
    steps: list[int]

    @property
    def tokens(self) -> Tokenizer:
        """Return the section of the tokenizer. Raises ValueError where the study has none of that name."""
        if self.known_tokens is None:
            raise ValueError(f"no tokenizer is called '{self.experiment.tokenizer}'")
        return self.known_tokens

    @property
    def heads(self) -> int:
        """Return the number of attention heads of the model."""
        return family_of(self.experiment.model).heads(self.experiment.model)

    def forward(self, batch_size: int, scored: int | None, *, length: int | None = None) -> float:
        """Return the CPU seconds of a forward pass over one minibatch (``cost.forward``)."""
        return cost.forward(self.experiment.model, self.tokens, batch_size, scored, length=length)

    def logits(self, batch_size: int, scored: int | None) -> float:
        """Return the megabytes of what is predicted on one minibatch (``cost.logits``)."""
        return cost.logits(self.experiment.model, self.tokens, batch_size, scored)

    def is_taught(self, distribution: str) -> bool:
        """Whether the targets of a distribution are a model's predictions."""
        return isinstance(self.distributions.get(distribution), Predictions)


@dataclass(frozen=True, kw_only=True)
class Finish:
    """What is added to a gathered dataset: ``function(dataset, **settings)``, named as ``module:function``.

    name, section, about  of the section of the experiment that asks for it; None: it is always added
    settings              keywords of the function, made of the section
    """

    function: str
    variables: Mapping[str, Variable]
    name: str = ""
    section: type[ConfigModel] | None = None
    about: str = ""
    settings: Callable[[Any], dict[str, Any]] = lambda section: {}

    def asked(self, experiment: Setup) -> bool:
        """Whether it is added to the experiment's dataset."""
        return self.section is None or getattr(experiment, self.name) is not None

    def keywords(self, experiment: Setup) -> dict[str, Any]:
        """Keywords of the function."""
        return {} if self.section is None else self.settings(getattr(experiment, self.name))


def two_passes(work: Work[Any]) -> Cost:
    """Return the cost of two forward passes at each checkpoint over the contexts of a section.

    The section's ``contexts`` or ``sequences`` says how many there are, its ``length`` how long they are. A
    section without these keys reads all held-out contexts. ``batch_size`` of them are in memory at once; all,
    where the section does not say. This is generous for a kernel that passes over its contexts once.
    """
    section, tokens = work.section, work.tokens
    extent = (getattr(section, name, None) for name in ("contexts", "sequences"))
    contexts = next((each for each in extent if each), tokens.held_out_blocks or CONTEXTS)
    seconds = 2 * len(work.steps) * work.forward(contexts, None, length=getattr(section, "length", None))
    at_once = getattr(section, "batch_size", None) or contexts
    return Cost(cost.START + seconds, 900 + 8 * work.logits(at_once, None))


def _as_written(work: Work[ConfigModel]) -> dict[str, Any]:
    return work.section.model_dump(exclude=EXTENT)


def _nothing(place: str, work: Work[ConfigModel]) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True, kw_only=True)
class MeasureSpec:
    """What is measured at every checkpoint: one job per seed, distribution and chunk of checkpoints.

    name       of the config section of an experiment, the rule and the dataset
    about      what it measures, in one line
    kernel     ``module:function``; ``function(data, **settings)`` gives ``measure(weights, model, step)``
    variables  of its dataset
    section    of the config; None: ``sections`` says where it is
    cost       estimate of one job; a kernel that differentiates, or passes more often than twice over its
               contexts, needs one of its own
    sections   experiment -> dataset: its section, where they are not one section of the spec's name
    datasets   pattern of the names of its datasets, where they are not the spec's name
    settings   keywords of the kernel, on which its results depend: plain data
    checks     what is wrong with the section in this experiment, sentence by sentence
    requires   capabilities of the model's family that it needs (``rllc.study.families``); with ``heads`` a
               kernel may read ``model.architecture``
    reads      inputs beside checkpoints and blocks: ``tokenizer``
    after      measures without distributions whose part of the same seed and the last checkpoints it reads,
               as which heads play a part
    after_where  section -> whether it does
    contexts   (experiment, section) -> distribution and side (``train``, ``held_out``) of the contexts that a
               measure without a cell per distribution reads; None: it reads none
    per_distribution  one job and one cell per distribution; else the measure reads no batches
    stream     purpose of its random stream; "": nothing in it is random but the batches
    stream_of_seed    each training seed has a stream of its own
    gpu        the config may give it a GPU
    priority   of its jobs: higher ones start first
    target     that asks for its datasets: ``all`` or ``calibrate``
    recorded_as       name of its settings in the attributes of results, where it is not the spec's
    finish     what is added to the gathered dataset
    figures    those that draw it, by name
    """

    name: str
    about: str
    kernel: str
    variables: Mapping[str, Variable]
    section: type[ConfigModel] | None = None
    sections: Callable[[Setup], Mapping[str, ConfigModel | None]] | None = None
    datasets: str = ""
    cost: Callable[[Work[Any]], Cost] = two_passes
    settings: Callable[[Work[Any]], dict[str, Any]] = _as_written
    checks: Callable[[str, Work[Any]], Iterator[str]] = _nothing
    requires: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    after_where: Callable[[Any], bool] = lambda section: True
    contexts: Callable[[Setup, Any], tuple[str, str]] | None = None
    per_distribution: bool = True
    stream: str = ""
    stream_of_seed: bool = True
    gpu: bool = True
    priority: int = 0
    target: str = "all"
    recorded_as: str = ""
    finish: Finish | None = None
    figures: Mapping[str, FigureSpec] = field(default_factory=dict)

    def declared(self, experiment: Setup) -> dict[str, ConfigModel]:
        """The datasets of this measure that an experiment asks for, by name, with their sections."""
        every = self.sections(experiment) if self.sections else {self.name: getattr(experiment, self.name)}
        return {name: section for name, section in every.items() if section is not None}

    def added(self, experiment: Setup) -> Finish | None:
        """Return what is added to its gathered dataset in an experiment; None: nothing is."""
        return self.finish if self.finish and self.finish.asked(experiment) else None

    def before(self, section: ConfigModel) -> tuple[str, ...]:
        """The measures after which it comes, with this section."""
        return self.after if self.after_where(section) else ()

    @property
    def pattern(self) -> str:
        """Regular expression of the names of its datasets."""
        return self.datasets or self.name

    @property
    def words(self) -> dict[str, Variable]:
        """Its variables and those that are added at the end."""
        return {**self.variables, **(self.finish.variables if self.finish else {})}

    @property
    def attribute(self) -> str:
        """Name under which results record their settings."""
        return self.recorded_as or self.name


@dataclass(frozen=True, kw_only=True)
class AnalysisSpec:
    """A dataset that is made of others of its experiment, in one job.

    name      of the rule and the dataset, and of the section of an experiment unless ``of`` is given
    function  ``module:function``; ``function(datasets by name, random_seed=, **settings)`` gives it
    reads     the datasets that it is made of
    uses      patterns of those that it is also made of, where its experiment has them
    settings  keywords of the function
    of        experiment -> the section, where it is not one of the spec's name
    stream    purpose of its random stream; "": nothing in it is random
    local     it takes seconds, and runs beside Snakemake rather than on a cluster
    megabytes it may take
    """

    name: str
    about: str
    function: str
    variables: Mapping[str, Variable]
    reads: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    section: type[ConfigModel] | None = None
    of: Callable[[Setup], ConfigModel | None] | None = None
    settings: Callable[[Work[Any]], dict[str, Any]] = lambda work: work.section.model_dump()
    checks: Callable[[str, Work[Any]], Iterator[str]] = _nothing
    stream: str = ""
    local: bool = False
    megabytes: int = 1500
    target: str = "all"
    datasets: ClassVar[str] = ""  # what a measure has beside it: an analysis makes one dataset ...
    per_distribution: ClassVar[bool] = False  # ... whose variables say whether they have distributions

    @property
    def pattern(self) -> str:
        """Of the names of its datasets, as a measure has one."""
        return self.name

    def declared(self, experiment: Setup) -> ConfigModel | None:
        """Its section in an experiment; None where there is none."""
        return self.of(experiment) if self.of else getattr(experiment, self.name)
