"""The whole config: experiments, figures, and how jobs compute."""

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import field_validator

from rllc.measures.ablation.spec import Ablation
from rllc.measures.attention_scores.spec import AttentionScores
from rllc.measures.circuits.spec import Circuits
from rllc.measures.eigenvalues.spec import Eigenvalues
from rllc.measures.fisher.spec import Fisher
from rllc.measures.hessian.spec import Hessian
from rllc.measures.hessian_rank.spec import HessianRank
from rllc.measures.induction_ablation.spec import InductionAblation
from rllc.measures.integrity.spec import Integrity
from rllc.measures.metrics.spec import Metrics
from rllc.measures.ngrams.spec import Ngrams
from rllc.measures.path_patching.spec import PathPatching
from rllc.measures.positions.spec import Positions
from rllc.measures.regression_predictions.spec import RegressionPredictions
from rllc.measures.structure.spec import Structure
from rllc.measures.token_losses.spec import Highlights
from rllc.measures.tokens.spec import Tokens
from rllc.study.analyses.classification import Classification
from rllc.study.analyses.clusters import Clusters, Transfer
from rllc.study.analyses.domains import Domains
from rllc.study.analyses.kcomposition import Kcomposition
from rllc.study.analyses.milestones import Milestones
from rllc.study.analyses.refinement import Refinement
from rllc.study.analyses.stages import HessianStages, Stages
from rllc.study.analyses.staggered import Staggered
from rllc.study.calibration import Calibration
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.roles import HeadTypes
from rllc.study.sampling import Samplings
from rllc.study.setup import Setup
from rllc.study.specs import MeasureSpec, Work
from rllc.study.table import ANALYSES, MEASURES
from rllc.study.tasks import Distribution, Tokenizer
from rllc.study.validation import Validation
from rllc.study.values import Count, Distinct, Name, Positive, Seed

# entries of the repository beside `results`, and folders of a system
OURS = (
    ".ci", ".git", ".github", ".snakemake", ".venv", "benchmarks", "config", "docs", "envs", "examples",
    "profiles", "slurm", "src", "tests", "workflow", "CHANGELOG.md", "LICENSE", "Makefile", "README.md",
    "Snakefile", "pyproject.toml",
)  # fmt: skip
SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr")

GPU_JOBS = ("train", *(spec.name for spec in MEASURES if spec.gpu))  # rules that can use a GPU
if TYPE_CHECKING:
    GpuJob = str
else:
    GpuJob = Literal[GPU_JOBS]
S = TypeVar("S", bound=ConfigModel)
Options = dict[str, Any]  # the drawing function documents each option


def _about() -> dict[str, str]:
    """Return key -> description of each section of an experiment, from the specs."""
    about = {}
    for spec in (*MEASURES, *ANALYSES):
        about[spec.name] = f"{spec.about}; makes {spec.pattern.partition('(')[0]}.nc"
        if isinstance(spec, MeasureSpec) and spec.finish:
            about[spec.finish.name] = f"{spec.finish.about}, in {spec.name}.nc; needs {spec.name}"
    return about


ABOUT = _about()


def measured(name: str) -> Any:
    """Return the key of a measure or analysis, which its spec describes."""
    return config_field(ABOUT[name], default=None)


class Experiment(Setup):
    """One model, its seeds, and what is measured on it. A measure left out is not computed."""

    sampling: Samplings | None = config_field(
        "the base setting; makes rllc.nc, llc.nc, components.nc", default=None
    )
    sampling_variants: dict[Name, Samplings] = config_field(
        "further settings by name; make rllc.<name>.nc, ...", default={}
    )
    calibration: Calibration | None = config_field(
        "sweeps of the sampler's settings; made by the target `calibrate`", default=None
    )
    hessian: Hessian | None = measured("hessian")
    eigenvalues: Eigenvalues | None = measured("eigenvalues")
    fisher: Fisher | None = measured("fisher")
    hessian_rank: HessianRank | None = measured("hessian_rank")
    ablation: Ablation | None = measured("ablation")
    attention_scores: AttentionScores | None = measured("attention_scores")
    head_types: HeadTypes | None = measured("head_types")
    circuits: Circuits | None = measured("circuits")
    tokens: Tokens | None = measured("tokens")
    path_patching: PathPatching | None = measured("path_patching")
    induction_ablation: InductionAblation | None = measured("induction_ablation")
    metrics: Metrics | None = measured("metrics")
    integrity: Integrity | None = measured("integrity")
    ngrams: Ngrams | None = measured("ngrams")
    positions: Positions | None = measured("positions")
    regression_predictions: RegressionPredictions | None = measured("regression_predictions")
    structure: Structure | None = measured("structure")
    clusters: Clusters | None = measured("clusters")
    transfer: Transfer | None = measured("transfer")
    refinement: Refinement | None = measured("refinement")
    kcomposition: Kcomposition | None = measured("kcomposition")
    classification: Classification | None = measured("classification")
    staggered: Staggered | None = measured("staggered")
    stages: Stages | None = measured("stages")
    hessian_stages: HessianStages | None = measured("hessian_stages")
    domains: Domains | None = measured("domains")
    highlights: Highlights | None = measured("highlights")
    milestones: Milestones | None = measured("milestones")

    @field_validator("sampling_variants", mode="before")
    @classmethod
    def _without_those_that_are_null(cls, variants: Any) -> Any:
        """Remove variants that are null: an overlay, or an experiment with ``like``, may remove them."""
        if variants is None:
            return {}
        if not isinstance(variants, dict):
            return variants
        return {name: entry for name, entry in variants.items() if entry is not None}


class Compute(ConfigModel):
    """How jobs compute. Results depend on `threads`, `device` and `precision`, never on `--cores`."""

    device: Literal["auto", "cpu", "cuda"] = config_field(
        "cuda: on the rules of gpu_jobs; others run on the CPU. auto: all rules on CUDA where there is one"
    )
    precision: Literal["fp32", "tf32", "bf16"] = config_field(
        "of matrix products on a GPU; state is always fp32; bf16 is of training alone: measures take tf32"
    )
    threads: Count = config_field("threads of a job")
    gpu_jobs: Distinct[GpuJob] | None = config_field(
        "rules that ask Slurm for a GPU; null: all that can use one", default=None
    )
    longest_job: Count = config_field(
        "Slurm time limits are never longer than this", unit="minutes", default=1440
    )

    def on_gpu(self, rule: str) -> bool:
        """Return whether the config gives a rule a GPU."""
        return self.device == "cuda" and rule in (GPU_JOBS if self.gpu_jobs is None else self.gpu_jobs)


class Figure(ConfigModel):
    """One figure. Its name in the table is its file name."""

    draws: str | None = config_field(
        "which figure of the table in rllc.study.figures; null: the one of this name", default=None
    )
    experiment: Name | None = config_field(
        "whose datasets it reads; left out for figures of the validation and of the claims", default=None
    )
    beside: Distinct[Name] = config_field(
        "further experiments, which a figure of several experiments draws too", min_length=1, default=[]
    )
    stages: bool = config_field(
        "whether the stages of the whole model's LLC are drawn behind the panels of a figure of heads; "
        "the LLC is then made for it",
        default=False,
    )
    options: Options = config_field("options of the drawing function: docs/figures.md lists them", default={})


class Animation(ConfigModel):
    """One animation. Its name in the table is its file name: <name>.gif."""

    draws: str = config_field("which animation of the table in rllc.study.figures")
    experiment: Name = config_field("whose datasets it reads")
    rate: Positive = config_field("checkpoints per second", unit="frames/s", default=2.0)
    options: Options = config_field("options of the drawing function: docs/figures.md lists them", default={})


class Study(ConfigModel):
    """The whole config."""

    def __hash__(self) -> int:  # hashed by identity, so that functions of a study can be cached
        return object.__hash__(self)

    results: str = config_field(
        "folder of all results, relative to the repository root", pattern=r"^[A-Za-z0-9_./-]+$"
    )

    @field_validator("results")
    @classmethod
    def _of_nothing_else(cls, results: str) -> str:
        """Return the normalised path. Raises ValueError for folders of the system or project, and ``..``."""
        parts = PurePosixPath(re.sub("/+", "/", results)).parts
        if ".." in parts or any(part.startswith("-") for part in parts):
            raise ValueError("no part may be `..` or start with a dash")
        if not parts or parts[0] in OURS or (parts[:1] == ("/",) and (len(parts) == 1 or parts[1] in SYSTEM)):
            raise ValueError("the folder has other contents; give a separate one, as results/mine")
        return str(PurePosixPath(*parts))

    seed: Seed = config_field(
        "seed of the study: every random stream derives from it, its purpose and the run's seed"
    )
    compute: Compute = config_field("how jobs compute")
    distributions: dict[Name, Distribution] = config_field(
        "named distributions; only those that are used are made"
    )
    tokenizers: dict[Name, Tokenizer] = config_field("named tokenizers; only those that are used are made")
    experiments: dict[Name, Experiment] = config_field("named experiments", min_length=1)
    validation: Validation | None = config_field(
        "the estimator against exact truths; made by the target `validation`", default=None
    )
    figures: dict[Name, Figure] = config_field(
        "named figures; all are drawn by default but those of the targets `calibrate` and `validation`"
    )
    animations: dict[Name, Animation] = config_field("named animations, drawn by default", default={})
    claims: Distinct[str] = config_field(
        "claims to judge: heads, stages, regression, sorting (works whose claims rllc brings), and "
        "Python files of "
        "your own, relative to the working directory; they make claims.nc",
        default=[],
    )


def work(study: Study, experiment: Experiment, section: S, steps: list[int]) -> Work[S]:
    """Return one job of a measure or analysis: the part of a study that its spec may use."""
    tokens = study.tokenizers.get(experiment.tokenizer)
    return Work(experiment, study.distributions, tokens, section, steps)
