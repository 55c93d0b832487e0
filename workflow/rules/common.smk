"""What all rules share: the checked config, paths, fingerprints, threads, and the line before a run."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from rllc.plan import cost, parameters, products
from rllc.plan.command import command
from rllc.plan.environment import prepare
from rllc.plan.figures import FIGURES, asked_by
from rllc.plan.fingerprint import fingerprint
from rllc.plan.forecast import forecast
from rllc.plan.layout import BASE_SETTING, Layout
from rllc.plan.parameters import as_json
from rllc.plan.sidecars import drop_broken
from rllc.plan.imported import imported_files
from rllc.plan.presence import missing_files
from rllc.plan.steps import chunks
from rllc.plan.study import ConfigError, read
from rllc.seeds import derive

try:
    STUDY = read(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

ENVIRONMENT = f"{workflow.basedir}/envs/environment.yaml"  # with --sdm conda; otherwise the running one
problems = missing_files(STUDY)
if problems:
    raise WorkflowError(
        "the config cannot be used:\n"
        + "\n".join(f"  - {problem}" for problem in problems)
    )

AT = Layout(STUDY.results)
EXPERIMENTS = STUDY.experiments
LISTED = {
    name: products.datasets(experiment) for name, experiment in EXPERIMENTS.items()
}
DATASETS = [
    AT.dataset(name, dataset) for name, listed in LISTED.items() for dataset in listed
] + [AT.corpora()]
CALIBRATED = {
    name: products.calibrated(experiment) for name, experiment in EXPERIMENTS.items()
}
VALIDATED = products.validated(STUDY)
FIGURE_FILES = [AT.figure(name) for name in asked_by("all", STUDY.figures)]

prepare(Path(workflow.basedir), threads=STUDY.compute.threads)


wildcard_constraints:
    experiment="|".join(EXPERIMENTS),
    distribution="|".join(STUDY.distributions),
    tokenizer="|".join(STUDY.tokenizers),
    setting="|".join(
        sorted({BASE_SETTING, *(s for e in EXPERIMENTS.values() for s in e.settings)})
    ),
    kind="heads|full|other",
    dataset="|".join(
        sorted({d.replace(".", "[.]") for listed in LISTED.values() for d in listed})
    )
    or "(?!)",
    figure="|".join(STUDY.figures) or "(?!)",
    family="|".join(VALIDATED) or "(?!)",
    seed=r"\d+",
    start=r"\d+",


def any_of(names):
    """A constraint that matches these names, or nothing."""
    return "|".join(names) or "(?!)"


def code(script, *modules):
    """Fingerprint of a script and of all it imports; part of every rule's params."""
    return fingerprint(f"workflow/scripts/{script}.py", *modules, root=workflow.basedir)


def experiment(wildcards):
    return EXPERIMENTS[wildcards.experiment]


def stream(purpose):
    """The random stream of one seed's work, by what it is for."""
    return lambda wildcards: derive(STUDY.seed, int(wildcards.seed), purpose)


def megabytes(function):
    """Memory of a job, from the cost model, which names what it needs of the wildcards."""
    return lambda wildcards: int(function(wildcards).megabytes)


def minutes(rule_name, function):
    """Wall-time limit of a job."""
    return lambda wildcards: function(wildcards).minutes(STUDY, rule_name)


def gpus(rule_name):
    """1 for rules that the config gives a GPU, else 0."""
    return int(STUDY.compute.device == "cuda" and rule_name in STUDY.compute.gpu_jobs)


def compute(rule_name):
    """Device, precision and threads of a rule."""
    return as_json(parameters.compute(STUDY, rule_name))


if workflow.is_main_process:
    for problem in drop_broken(
        Path(STUDY.results), dry=workflow.output_settings.dryrun
    ):
        logger.warning(f"{problem}: it will be made again.")


onstart:
    logger.info(
        forecast(
            STUDY,
            [
                (job.rule.name, job.wildcards)
                for job in workflow._dag.needrun_jobs()
                if job.output  # targets make nothing
            ],
        )
    )
