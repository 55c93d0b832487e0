"""The whole config: experiments, figures, and how jobs compute."""

import re
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import ValidationInfo, create_model, field_validator

from rllc.study.families import Initial, ModelSection, family_of
from rllc.study.measures.calibration import Calibration
from rllc.study.measures.sampling import Samplings
from rllc.study.measures.table import ANALYSES, MEASURES
from rllc.study.runs import Checkpoints, Training
from rllc.study.section import Section, key
from rllc.study.tasks import TASKS, Distribution, Tokenizer
from rllc.study.validation import Validation
from rllc.study.values import Count, Distinct, Name, Positive, Seed

# what lies beside `results`, and folders of a system
OURS = (
    ".ci", ".git", ".github", ".snakemake", ".venv", "benchmarks", "config", "docs", "envs", "examples",
    "profiles", "slurm", "src", "tests", "workflow", "CHANGELOG.md", "LICENSE", "Makefile", "README.md",
    "Snakefile", "pyproject.toml",
)  # fmt: skip
SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr")

# Rules that may ask for a GPU.
GpuJob = Literal[("train", *(row.name for row in MEASURES if row.gpu))]
Options = dict[str, Any]  # the drawing function says what each is


class _Experiment(Section):
    like: Name | None = key(
        "another experiment, whose keys this one takes but for those given here; `label`, `settings` and "
        "`calibration` are not taken",
        default=None,
    )
    label: str | None = key("name in figures; null: its name here", default=None)
    task: Literal[tuple(TASKS)] = key("which task module makes the data")
    seeds: Distinct[Seed] = key("one run per seed", min_length=1)
    model: ModelSection = key("family and shape of the model")
    tokenizer: Name = key("which of the tokenizers makes its tokens")
    initial: Initial | None = key("needed where checkpoints are trained here", default=None)
    training: Training | None = key("needed where checkpoints are trained here", default=None)
    checkpoints: Checkpoints = key("which steps are measured, and where they come from")
    distributions: Distinct[Name] = key("what every measure is taken on", default=[])
    sampling: Samplings | None = key("the base setting; makes rllc.nc, llc.nc, components.nc", default=None)
    settings: dict[Name, Samplings] = key("further settings; make rllc.<setting>.nc, ...", default={})
    calibration: Calibration | None = key(
        "sweeps of the sampler's settings; made by the target `calibrate`", default=None
    )

    @field_validator("initial", mode="before")
    @classmethod
    def _of_the_family(cls, initial: Any, info: ValidationInfo) -> Any:
        """Which section the law of the initial weights is, the model says."""
        model = info.data.get("model")  # absent where it is wrong itself
        if initial is None or model is None:
            return None
        return family_of(model).initial.model_validate(initial)

    @field_validator("settings", mode="before")
    @classmethod
    def _without_those_that_are_null(cls, settings: Any) -> Any:
        """An experiment that is like another, or an overlay, may take settings away."""
        if settings is None:
            return {}
        if not isinstance(settings, dict):
            return settings
        return {name: entry for name, entry in settings.items() if entry is not None}


def _measures() -> dict[str, Any]:
    """A key per row that has a section of its own."""
    fields = {}
    for row in (*MEASURES, *ANALYSES):
        if row.section:
            fields[row.name] = (row.section | None, key(f"{row.about}; makes {row.name}.nc", default=None))
        finish = getattr(row, "finish", None)
        if finish and finish.section:
            about = f"{finish.about}, in {row.name}.nc; needs {row.name}"
            fields[finish.name] = (finish.section | None, key(about, default=None))
    return fields


Experiment = create_model("Experiment", __base__=_Experiment, **_measures())
Experiment.__doc__ = "One model, its seeds, and what is measured on it. A measure left out is not computed."


class Compute(Section):
    """How jobs compute. Results depend on `threads`, `device` and `precision`, never on `--cores`."""

    device: Literal["auto", "cpu", "cuda"] = key(
        "cuda: on the rules of gpu_jobs; others run on the CPU. auto: all rules on CUDA where there is one"
    )
    precision: Literal["fp32", "tf32", "bf16"] = key(
        "of matrix products on a GPU; state is always fp32; bf16 is of training alone: measures take tf32"
    )
    threads: Count = key("threads of a job")
    gpu_jobs: Distinct[GpuJob] = key("rules that ask Slurm for a GPU")
    longest_job: Count = key("Slurm time limits are never longer than this", unit="minutes", default=1440)


class Figure(Section):
    """One figure. Its name in the table is its file name."""

    draws: str | None = key(
        "which figure of the table in rllc.study.figures; null: the one of this name", default=None
    )
    experiment: Name | None = key(
        "whose datasets it reads; left out for figures of the validation and of the claims", default=None
    )
    beside: Distinct[Name] = key(
        "further experiments, which a figure of several experiments draws too", min_length=1, default=[]
    )
    options: Options = key("options of the drawing function: docs/figures.md lists them", default={})


class Animation(Section):
    """One animation. Its name in the table is its file name: <name>.gif."""

    draws: str = key("which animation of the table in rllc.study.figures")
    experiment: Name = key("whose datasets it reads")
    rate: Positive = key("checkpoints per second", unit="frames/s", default=2.0)
    options: Options = key("options of the drawing function: docs/figures.md lists them", default={})


class Study(Section):
    """The whole config."""

    __hash__ = object.__hash__  # so that what is worked out of a study can be kept by it

    results: str = key(
        "folder of all results, relative to the repository root", pattern=r"^[A-Za-z0-9_./-]+$"
    )

    @field_validator("results")
    @classmethod
    def _of_nothing_else(cls, results: str) -> str:
        """Normalised. Raises ValueError where it is the system's, the project's, or outside by ``..``."""
        parts = PurePosixPath(re.sub("/+", "/", results)).parts
        if ".." in parts or any(part.startswith("-") for part in parts):
            raise ValueError("no part may be `..` or start with a dash")
        if not parts or parts[0] in OURS or (parts[:1] == ("/",) and (len(parts) == 1 or parts[1] in SYSTEM)):
            raise ValueError("the folder holds other things; give one of its own, as results/mine")
        return str(PurePosixPath(*parts))

    seed: Seed = key("seed of the study: every random stream derives from it, its purpose and the run's seed")
    compute: Compute = key("how jobs compute")
    distributions: dict[Name, Distribution] = key("named distributions; only those that are used are made")
    tokenizers: dict[Name, Tokenizer] = key("named tokenizers; only those that are used are made")
    experiments: dict[Name, Experiment] = key("named experiments", min_length=1)
    validation: Validation | None = key(
        "the estimator against exact truths; made by the target `validation`", default=None
    )
    figures: dict[Name, Figure] = key(
        "named figures; all are drawn by default but those of the targets `calibrate` and `validation`"
    )
    animations: dict[Name, Animation] = key("named animations, drawn by default", default={})
    claims: Distinct[str] = key(
        "claims to judge: heads, stages, regression, sorting (works whose claims rllc brings), and "
        "Python files of "
        "your own, relative to the working directory; they make claims.nc",
        default=[],
    )
