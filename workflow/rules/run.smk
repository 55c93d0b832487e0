"""Around a run: what is checked before it, what is said, and what its jobs are told. No rules.

Read last, when all fingerprints are known.
"""

import atexit

from rllc.study.checks.labels import undrawable_labels

DRY = workflow.output_settings.dryrun
SCARCE = scarce(STUDY) if workflow.is_main_process else []
AT_WORK = any(Path(".snakemake/locks").glob("*"))  # another run, or one that was killed

if not workflow.output_settings.printshellcmds:
    make_readable(workflow.logger_manager.logger)

PICTURES_AND_TOKENIZERS = [
    *(
        AT.figure(name, suffix)
        for name in STUDY.figures
        for suffix in ("png", "pdf", "txt")
    ),
    *(AT.animation(name) for name in STUDY.animations),
    *(AT.tokenizer().format(tokenizer=name) for name in STUDY.tokenizers),
]

if workflow.is_main_process:
    # What rules ask for by wildcards: the plan is named by every fingerprint there is.
    for name, figure in STUDY.figures.items():
        code("draw", FIGURES[figure.draws or name].draws)
    for animation in STUDY.animations.values():
        code("animate", ANIMATIONS[animation.draws].draws)
    for row in MEASURES:
        code("gather", row.finish.function if row.finish else "")
    if not AT_WORK:
        results, plan_name = Path(STUDY.results), planned.name(config, CODES, root=ROOT)
        useless = broken_results(results, PICTURES_AND_TOKENIZERS)
        for problem in [
            *useless.values(),
            *drop_leftover(results, plan_name, dry=DRY),
        ]:
            logger.warning(f"{problem}: it will be made again where it is needed.")
        if DRY:  # removes nothing, and plans as the run will that does
            dag.without({str(file) for file in useless})
        else:
            try:
                for file in useless:
                    file.unlink()
            except OSError as error:
                raise WorkflowError(
                    f"{error.filename} cannot be removed ({error.strerror})"
                ) from None

for warning in [
    *SCARCE,
    *(undrawable_labels(STUDY) if workflow.is_main_process else []),
]:
    logger.warning(warning)


onstart:
    jobs = workflow._dag.needrun_jobs(exclude_finished=False)
    problem = unwritable(file for job in jobs for file in [*job.output, *job.log])
    if problem:
        raise WorkflowError(problem)
    on_slurm = workflow.executor_plugin.name == "slurm"
    plan_file = planned.keep(config, CODES, root=ROOT)
    try:
        if on_slurm:
            slurm.refuse_names([Path.cwd(), *workflow.overwrite_configfiles])
            asked = workflow.executor_settings
            source = slurm.status_source(
                asked.status_command, asked.init_seconds_before_status_checks
            )
            logger.info(source.sentence)
        of_the_study = {rule for rule, _ in about_to_run()} - set(PARTIAL)
        if of_the_study and "partial" in workflow.dag_settings.targets:
            raise WorkflowError(
                "`partial` starts no job of the study, but results changed while it was planned "
                f"({', '.join(sorted(of_the_study))}): run it again, and alone"
            )
        if of_the_study:
            slurm.refuse_orphans(Path.cwd())
            leftover.begin(plan_file.name)
        if on_slurm:  # the plugin is imported by such a run alone
            from rllc.run.executor import mend
            from rllc.run.signals import heed_signals

            mend(workflow.scheduler._executor, source)
            heed_signals()
        else:
            # Jobs here wait for cores. For its limit of submissions per second the scheduler would look at every
            # waiting job each second, while all cores are busy: 1 to 2 % of a core.
            workflow.scheduler.job_rate_limiter = None
    except slurm.SlurmError as error:
        raise WorkflowError(str(error)) from None
    announce(whole_table=on_slurm)
    say_how_long(
        workflow.logger_manager.logger,
        ToGo(
            {
                job: forecast.of(STUDY, job.rule.name, job.wildcards).cpu_seconds
                for job in jobs
                if job.output
            },
            lambda: workflow._dag.needrun_jobs(exclude_finished=True),
        ),
    )


onsuccess:
    for warning in scarce(STUDY):
        if warning not in SCARCE:
            logger.warning(warning)
    leftover.end()


onerror:
    try:
        if workflow.executor_plugin.name == "slurm" and leftover.ours():
            for done in slurm.cancel(Path.cwd()):
                logger.info(done)
        leftover.end()
    except slurm.SlurmError as error:  # what they make may outlive this run
        logger.warning(str(error))


# A dry run calls no onstart: it says what it would cost at its end, when the jobs are known.
if (
    workflow.is_main_process
    and DRY
    and Quietness.ALL not in (workflow.output_settings.quiet or ())
):
    atexit.register(lambda: workflow._dag is not None and announce(True, say=print))
