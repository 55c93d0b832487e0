"""Define the specifications of measures and analyses: everything that the workflow knows about them.

Snakemake rules, datasets, Slurm limits, forecasts, checks and documents are derived from these
specifications. A measure's specification stands beside its config section in ``rllc.measures.<name>.spec``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from rllc.study import cost
from rllc.study.config_model import ConfigModel
from rllc.study.cost import Cost
from rllc.study.distributions import Predictions
from rllc.study.families import family_of
from rllc.study.outputs import FigureSpec as FigureSpec
from rllc.study.outputs import Variable as Variable
from rllc.study.setup import Setup
from rllc.study.tasks import Distribution, Tokenizer

S_co = TypeVar("S_co", bound=ConfigModel, covariant=True)
CONTEXTS = 1000  # assumed number of contexts if neither the section nor the tokenizer gives one
EXTENT = {"checkpoints", "seeds", "distributions"}  # keys that say where to measure; kernels do not get them


@dataclass(frozen=True)
class Work(Generic[S_co]):
    """One job of a measure or an analysis, with the parts of the study that its specification may read.

    experiment     model, data and training; ``experiment.get(Metrics)`` is its section of that class
    distributions  the study's distributions, by name
    tokenizer_section  config section of the experiment's tokenizer; None: the study has none of that name
    section        config section of the measure or analysis
    steps          the checkpoints of the job
    """

    experiment: Setup
    distributions: Mapping[str, Distribution]
    tokenizer_section: Tokenizer | None
    section: S_co
    steps: list[int]

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the section of the tokenizer. Raises ValueError if the study has none of that name."""
        if self.tokenizer_section is None:
            raise ValueError(
                f"tokenizer is {self.experiment.tokenizer!r} here: expected a key of ``tokenizers``"
            )
        return self.tokenizer_section

    @property
    def heads(self) -> int:
        """Return the number of attention heads of the model."""
        return family_of(self.experiment.model).heads(self.experiment.model)

    @property
    def components(self) -> int:
        """Return the number of attention heads and MLPs of the model."""
        return self.heads + family_of(self.experiment.model).mlps(self.experiment.model)

    def forward(self, batch_size: int, scored: int | None, *, length: int | None = None) -> float:
        """Return the CPU seconds of a forward pass over one minibatch (``cost.forward``).

        batch_size  contexts
        scored      positions per context whose predictions are computed; None: all
        """
        return cost.forward(self.experiment.model, self.tokenizer, batch_size, scored, length=length)

    def logits(self, batch_size: int, scored: int | None) -> float:
        """Return the size in MB of the predictions (logits) of one minibatch (``cost.logits``)."""
        return cost.logits(self.experiment.model, self.tokenizer, batch_size, scored)

    def is_taught(self, distribution: str) -> bool:
        """Return whether the targets of a distribution are a teacher model's predictions."""
        return isinstance(self.distributions.get(distribution), Predictions)


@dataclass(frozen=True, kw_only=True)
class Finish:
    """A function that adds variables to a gathered dataset: ``function(dataset, **settings)``.

    function  ``module:function``
    name, section, about
              key, class and description of the config section that switches it on; section None: always on
    settings  section -> keyword arguments of the function
    dims      dims of the variables beside their own
    """

    function: str
    variables: Mapping[str, Variable]
    name: str = ""
    section: type[ConfigModel] | None = None
    about: str = ""
    settings: Callable[[Any], dict[str, Any]] = lambda section: {}
    dims: tuple[str, ...] = ("seed",)

    def asked(self, experiment: Setup) -> bool:
        """Return whether the experiment's config switches it on."""
        return self.section is None or getattr(experiment, self.name) is not None

    def keywords(self, experiment: Setup) -> dict[str, Any]:
        """Return the keyword arguments of the function for an experiment."""
        return {} if self.section is None else self.settings(getattr(experiment, self.name))


def two_passes(work: Work[Any]) -> Cost:
    """Return the cost of a job that runs two forward passes per checkpoint.

    The number of contexts is the section's ``contexts`` or ``sequences``; else that of the held-out blocks;
    else ``CONTEXTS``. Their length is the section's ``length``; else the tokenizer's. ``batch_size`` contexts
    are in memory at once (default: all). This overestimates a kernel with one pass.
    """
    section, tokenizer = work.section, work.tokenizer
    counts = (getattr(section, name, None) for name in ("contexts", "sequences"))
    contexts = next((count for count in counts if count), tokenizer.held_out_blocks or CONTEXTS)
    length = getattr(section, "length", None)
    seconds = 2 * len(work.steps) * work.forward(contexts, None, length=length)
    at_once = min(getattr(section, "batch_size", None) or contexts, contexts)
    return Cost(cost.START + seconds, cost.evaluating(work.logits(at_once, length)))


def _section_as_keywords(work: Work[ConfigModel]) -> dict[str, Any]:
    """Return the keys of the section, but for those that select where to measure."""
    return work.section.model_dump(exclude=EXTENT)


def _no_problems(place: str, work: Work[ConfigModel]) -> Iterator[str]:
    """Return no problems."""
    return iter(())


@dataclass(frozen=True, kw_only=True)
class MeasureSpec:
    """Specification of a measure. It runs as one job per seed, distribution and chunk of checkpoints.

    name        name of the config section, the Snakemake rule and the dataset
    about       what it measures, in one line
    kernel      ``module:function``; ``function(data, **settings)`` gives ``measure(weights, model, step)``
    variables   variables of its dataset, by name
    section     class of the config section; None: use ``sections``
    sections    experiment -> {dataset: config section or None}; for a measure that makes several datasets, or
                whose section has another name
    datasets    regular expression of its dataset names; "": the measure's name
    cost        job -> its cost. The default suits kernels with at most two forward passes and no gradients
    settings    job -> keyword arguments of the kernel: plain data, all settings that results depend on
    checks      (config key, job) -> problems of the section, one sentence each
    requires    capabilities of the model's family that it needs (``rllc.study.families``); with ``heads`` a
                kernel may read the functions of ``rllc.models.model.ModelWithHeads``
    reads       inputs beside checkpoints and blocks: ``tokenizer``
    after       measures without distributions that it depends on (for example, types of heads). It
                reads their part for the same seed and the last chunk of checkpoints
    after_where  section -> whether this config needs ``after``
    reads_contexts_of  without ``per_distribution``: (experiment, section) -> (distribution, ``train`` or
                ``held_out``) of the contexts that it reads; None: it reads none
    earlier     number of checkpoints before each that the kernel reads too (``data.before``), also those of
                earlier chunks
    per_distribution  True: one job and one dataset entry per distribution, and the kernel may read
                minibatches. False: one for all, without minibatches
    stream      name of its random stream; "": it uses no random numbers except for minibatches
    stream_of_seed  whether each training seed has its own stream
    gpu         whether the config may request a GPU
    priority    job priority; higher starts first
    target      Snakemake target that builds it: ``all`` or ``calibrate``
    recorded_as  attribute of the results that records its settings; "": the measure's name
    finish      post-processing of the gathered dataset
    figures     its figures, by name
    """

    name: str
    about: str
    kernel: str
    variables: Mapping[str, Variable]
    section: type[ConfigModel] | None = None
    sections: Callable[[Setup], Mapping[str, ConfigModel | None]] | None = None
    datasets: str = ""
    cost: Callable[[Work[Any]], Cost] = two_passes
    settings: Callable[[Work[Any]], dict[str, Any]] = _section_as_keywords
    checks: Callable[[str, Work[Any]], Iterator[str]] = _no_problems
    requires: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    after_where: Callable[[Any], bool] = lambda section: True
    reads_contexts_of: Callable[[Setup, Any], tuple[str, str]] | None = None
    earlier: int = 0
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
        """Return dataset name -> config section, for the datasets that an experiment asks for."""
        every = self.sections(experiment) if self.sections else {self.name: getattr(experiment, self.name)}
        return {name: section for name, section in every.items() if section is not None}

    def finish_of(self, experiment: Setup) -> Finish | None:
        """Return the post-processing that an experiment switches on; None if there is none."""
        return self.finish if self.finish and self.finish.asked(experiment) else None

    def before(self, section: ConfigModel) -> tuple[str, ...]:
        """Return the measures whose results it reads under this config section."""
        return self.after if self.after_where(section) else ()

    @property
    def pattern(self) -> str:
        """Return a regular expression that matches its dataset names."""
        return self.datasets or self.name

    @property
    def all_variables(self) -> dict[str, Variable]:
        """Return its variables, with those of the post-processing."""
        return {**self.variables, **(self.finish.variables if self.finish else {})}

    @property
    def attribute(self) -> str:
        """Return the name of the attribute in which results record the settings."""
        return self.recorded_as or self.name


@dataclass(frozen=True, kw_only=True)
class AnalysisSpec:
    """Specification of an analysis: a dataset computed from other datasets of an experiment, in one job.

    name       name of the rule and the dataset, and of the config section unless ``of`` is given
    about      what it computes, in one line
    function   ``module:function``; ``function(datasets, random_seed=, **settings)`` returns the dataset
    variables  variables of the dataset, by name
    reads      required datasets
    uses       optional datasets; shell patterns are allowed
    requires   capabilities of the model's family that it needs beside those of the datasets
    section    class of the config section; None: ``of`` gives a section that another specification declares
    of         experiment -> its config section; None: the section with the analysis's name
    settings   job -> keyword arguments of the function
    checks     (config key, job) -> problems of the section, one sentence each
    stream     name of its random stream; "": it uses no random numbers
    local      whether it runs on the machine that runs Snakemake, because it takes seconds
    megabytes  memory of the job, MB
    target     Snakemake target that builds it
    """

    name: str
    about: str
    function: str
    variables: Mapping[str, Variable]
    reads: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    section: type[ConfigModel] | None = None
    of: Callable[[Setup], ConfigModel | None] | None = None
    settings: Callable[[Work[Any]], dict[str, Any]] = lambda work: work.section.model_dump()
    checks: Callable[[str, Work[Any]], Iterator[str]] = _no_problems
    stream: str = ""
    local: bool = False
    megabytes: int = 1500
    target: str = "all"
    # Fields of ``MeasureSpec`` that code for both kinds reads: an analysis makes one dataset.
    datasets: ClassVar[str] = ""
    per_distribution: ClassVar[bool] = False

    @property
    def pattern(self) -> str:
        """Return a regular expression that matches its dataset name."""
        return self.name

    def section_of(self, experiment: Setup) -> ConfigModel | None:
        """Return its config section in an experiment; None if the experiment has none."""
        return self.of(experiment) if self.of else getattr(experiment, self.name)
