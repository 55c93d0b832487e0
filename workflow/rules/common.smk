"""Common parts of all rules: the checked config, paths, fingerprints, settings of jobs, threads, resources."""

import sys
from functools import cache, partial

from snakemake.exceptions import WorkflowError
from snakemake.settings.enums import Quietness

from rllc.job_settings.checkpoints import TrainingLoss
from rllc.job_settings.figures import Animate, Draw
from rllc.job_settings.functions import NamedFunction
from rllc.job_settings.text import SummariseCorpora
from rllc.job_settings.validation import Validate
from rllc.run import (
    dag,
    early_cutoff,
    forecast,
    orphans,
    plan,
    recorded,
    targets,
    trash,
)
from rllc.run.check_inputs import missing_files
from rllc.run.check_revisions import equal_checkpoints
from rllc.run.command import command
from rllc.run.console import ToGo, make_readable, say_how_long
from rllc.run.contents import Contents
from rllc.run.download import download, write_record
from rllc.run.environment import forget_secrets, prepare
from rllc.run.fingerprint import Source
from rllc.run.held_out import scarce
from rllc.run.hub_errors import DownloadError
from rllc.run.options import options
from rllc.run.settings_files import SettingsFiles
from rllc.run.unusable import Unusable
from rllc.run.writable import unwritable
from rllc.seeds import derive
from rllc.slurm import profile, queue
from rllc.slurm.signals import heed_signals
from rllc.study import claims, parameters
from rllc.study.datasets import (
    TRACES,
    TRAINING_LOSS,
    contexts,
    datasets,
    is_text,
    measured,
    traced,
    trained_on,
    used_texts,
    validated,
)
from rllc.study.figures import ANIMATIONS, FIGURES, OF_CLAIMS, PAGES, asked_by
from rllc.study.huggingface.folders import input_files, planned_folders
from rllc.study.huggingface.wanted import wanted
from rllc.study.imported import input_files as imported_files_of
from rllc.study.layout import Layout
from rllc.study.table import ANALYSES, MEASURES
from rllc.study.reading import ConfigError, read
from rllc.study.steps import chunks, steps
from rllc.study.tasks import GENERATORS, TASKS

ROOT = Path(workflow.basedir)

OPTIONS = options(sys.argv if workflow.is_main_process else ["job"])
if OPTIONS.repeated:
    raise WorkflowError("\n".join(OPTIONS.repeated))

if OPTIONS.targets and {*OPTIONS.targets} <= {"download", "components"}:
    # They need no number of cores, which Snakemake asks for.
    workflow.resource_settings.cores = workflow.resource_settings.cores or 1

try:  # a job of a cluster may start long after the main process read the config
    PLAN = None if workflow.is_main_process else plan.kept(root=ROOT)
    if not PLAN:
        defaults.refuse(workflow.configfiles)
        defaults.read_values(config, workflow.config_settings.config_args)
    WANTED = []
    if (
        "download" in OPTIONS.targets
    ):  # the config can be read only where its models are
        WANTED = wanted(config)
        download(WANTED, dry=workflow.output_settings.dryrun, say=logger.info)
    STUDY = read(PLAN["config"] if PLAN else config, checked=bool(PLAN))
    Layout(STUDY.results).refuse_unusable(STUDY.experiments)
    if WANTED and not workflow.output_settings.dryrun:
        write_record(WANTED, Path(Layout(STUDY.results).downloads()))
except (ConfigError, DownloadError, plan.Changed) as error:
    raise WorkflowError(str(error)) from None

CODES = PLAN["codes"] if PLAN else {}
SOURCE = Source(ROOT)

# With --sdm conda; otherwise the running one. Snakemake takes braces in a path for wildcards.
ENVIRONMENT = f"{workflow.basedir}/envs/environment.yaml"
ENVIRONMENT = ENVIRONMENT.replace("{", "{{").replace("}", "}}")
CONTENTS = Contents()  # of the user's own files
# The main process looked.
problems = [] if PLAN else [*missing_files(STUDY), *equal_checkpoints(STUDY, CONTENTS)]
if problems:
    raise WorkflowError(
        "the config cannot be used:\n"
        + "\n".join(f"  - {problem}" for problem in problems)
    )

AT = Layout(STUDY.results)
SETTINGS = SettingsFiles(writes=not workflow.is_main_process)
EXPERIMENTS = STUDY.experiments
MEASURED = {name: measured(entry) for name, entry in EXPERIMENTS.items()}
CHUNKS = {name: chunks(entry) for name, entry in EXPERIMENTS.items()}
LISTED = {name: datasets(entry) for name, entry in EXPERIMENTS.items()}
DATASETS = [
    AT.dataset(name, dataset) for name, listed in LISTED.items() for dataset in listed
]
TEXTS = [name for name, entry in STUDY.distributions.items() if is_text(entry)]
JUDGED = {
    name: {dataset: AT.dataset(name, dataset) for dataset in listed}
    for name, listed in claims.judged(STUDY).items()
}
DATASETS += [AT.corpora()] if used_texts(STUDY) else []
DATASETS += [AT.claims(), AT.claims_page()] if JUDGED else []
VALIDATED = validated(STUDY)
FIGURE_FILES = [AT.figure(name) for name in asked_by("all", STUDY.figures)]
FIGURE_FILES += [AT.animation(name) for name in STUDY.animations]
FIGURE_FILES += [
    AT.page(name, page)
    for name, listed in LISTED.items()
    for page, spec in PAGES.items()
    if set(spec.needs) <= set(listed)
]

prepare(Path(workflow.basedir), threads=STUDY.compute.threads)
if workflow.remote_exec:
    forget_secrets()


def any_of(names):
    """Return a wildcard constraint that matches exactly these names."""
    return "|".join(names) or "(?!)"


wildcard_constraints:
    experiment=any_of(EXPERIMENTS),
    distribution=any_of(STUDY.distributions),
    tokenizer=any_of(STUDY.tokenizers),
    dataset=any_of(
        sorted({d.replace(".", "[.]") for made in MEASURED.values() for d in made})
    ),
    figure=any_of(STUDY.figures),
    animation=any_of(STUDY.animations),
    page=any_of(PAGES),
    family=any_of(VALIDATED),
    seed=r"\d+",
    start=r"\d+",


def code(script, *functions):
    """Return the planned fingerprint of a script and of all that it imports, a param of every rule.

    functions  ``module:function`` that it imports by name; "": none
    """
    modules = [function.partition(":")[0] for function in functions if function]
    key = " ".join((script, *modules))
    if key not in CODES:
        CODES[key] = SOURCE.fingerprint(f"workflow/scripts/{script}.py", *modules)
    return CODES[key]


def told(settings):
    """Return the param with the file of a job's settings: a function of the wildcards, or the same for all jobs."""
    if callable(settings):
        return lambda wildcards: SETTINGS.name(settings(wildcards))
    return SETTINGS.name(settings)


def experiment(wildcards):
    return EXPERIMENTS[wildcards.experiment]


def fixed(megabytes=2000, minutes=10):
    """Return memory and wall time of a small job, with more for a retry."""
    return {
        "mem_mb": lambda wildcards, attempt: attempt * megabytes,
        "runtime": lambda wildcards, attempt: attempt * minutes,
    }


@cache
def paces():
    """Return how fast finished jobs were. Snakemake's plan must be complete; a job of a cluster knows none."""
    if not workflow.is_main_process:
        return forecast.NONE
    return recorded.paces(STUDY, workflow._dag, workflow.persistence)


def forecasted(rule_name):
    """Return memory and wall time by the forecast, and a GPU if the config gives the rule one.

    Snakemake asks for them after its plan is complete, and reruns no job for a change of them.
    """
    cost_of = partial(forecast.of, STUDY, rule_name)
    return {
        "mem_mb": lambda wildcards, attempt: attempt
        * int(cost_of(wildcards).megabytes),
        "runtime": lambda wildcards, attempt: forecast.minutes(
            STUDY, rule_name, wildcards, attempt, paces()
        ),
        "gpu": int(STUDY.compute.on_gpu(rule_name)),
    }


def about_to_run():
    """Yield rule and wildcards of every job. Targets make nothing and are left out."""
    jobs = workflow._dag.needrun_jobs(exclude_finished=False)
    return [(job.rule.name, job.wildcards) for job in jobs if job.output]


def announce(whole_table, say=logger.info):
    """Return the forecast of a run: one line, or a row per rule and the line."""
    jobs = about_to_run()
    if whole_table and jobs:
        say(forecast.table(forecast.by_rule(STUDY, jobs, paces())))
    if jobs:
        say(forecast.forecast(STUDY, jobs, paces()))
