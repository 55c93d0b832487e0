"""Checks before a run, its messages, and the plan for its jobs. No rules.

This file is read last, when all fingerprints are known.
"""

import atexit

from rllc.study.checks.labels import undrawable_labels

DRY = workflow.output_settings.dryrun
SCARCE = scarce(STUDY) if workflow.is_main_process else []
UNUSABLE = Unusable(Path(STUDY.results))

if not workflow.output_settings.verbose:
    make_readable(
        workflow.logger_manager.logger,
        brief=workflow.is_main_process and not DRY,
        commands=workflow.output_settings.printshellcmds,
    )

if workflow.is_main_process:
    # Fingerprints that depend on wildcards: the name of the plan depends on all fingerprints.
    for name, figure in STUDY.figures.items():
        code("draw", FIGURES[figure.draws or name].draws)
    for animation in STUDY.animations.values():
        code("animate", ANIMATIONS[animation.draws].draws)
    for spec in MEASURES:
        code("gather", spec.finish.function if spec.finish else "")
    UNUSABLE.hide()
    try:
        orphans.serve()
    except orphans.UnreadableNote as error:
        raise WorkflowError(str(error)) from None
    if not (DRY or workflow.touch):  # neither makes files to compare
        early_cutoff.install(
            ["read_corpus", "mix_corpora", "make_tokenizer", "make_blocks"],
            lambda jobs: spare(jobs),
        )


TO_GO = []  # after the start of a run: the remaining time of its jobs


def spare(jobs):
    """Stop counting jobs that turned out not to be needed."""
    for to_go in TO_GO:
        to_go.spare(workflow._dag.jobid(job) for job in jobs)
    logger.info(
        f"Jobs not needed any more, since a text that was made again is the same: {len(jobs)}"
    )


def in_the_way(jobs):
    """Return file -> reason, for files at the paths of outputs that are not results of this workflow."""
    outputs = [file for job in jobs for file in job.output]
    record = workflow.persistence.metadata
    recorded = {str(f) for f in outputs if orphans.is_of(record(f), Path(f))}
    return UNUSABLE.in_the_way(map(str, outputs), recorded)


def move_away(files):
    """Move files that are in the way of jobs, and say so."""
    for reason in files.values():
        logger.warning(f"{reason}: it will be made again")
    try:
        if said := trash.move(files, Path(STUDY.results)):
            logger.warning(said)
    except OSError as error:
        raise WorkflowError(
            f"{error.filename} cannot be moved away ({error.strerror}): move it yourself, or make its folder "
            "writable"
        ) from None


for warning in [
    *SCARCE,
    *(undrawable_labels(STUDY) if workflow.is_main_process else []),
]:
    logger.warning(warning)


onstart:
    jobs = list(workflow._dag.needrun_jobs(exclude_finished=False))
    problem = unwritable(file for job in jobs for file in [*job.output, *job.log])
    if problem:
        raise WorkflowError(problem)
    on_slurm = workflow.executor_plugin.name == profile.EXECUTOR
    plan.keep(config, CODES, root=ROOT)
    told_jobs = [job for job in jobs if "settings" in job.params.keys()]
    SETTINGS.write(job.params.settings for job in told_jobs)
    try:
        profile.refuse_plain(workflow.executor_plugin.name, sys.argv)
        if on_slurm:
            queue.refuse_names([Path.cwd(), *workflow.overwrite_configfiles])
        of_the_study = {rule for rule, _ in about_to_run()} - set(PARTIAL)
        if of_the_study and "partial" in workflow.dag_settings.targets:
            raise WorkflowError(
                "`partial` starts no job of the study, but results changed while it was planned "
                f"({', '.join(sorted(of_the_study))}): run it again, and alone"
            )
        if of_the_study:
            queue.refuse_orphans(Path.cwd())
        if not workflow.touch:
            move_away(in_the_way(jobs))
        if of_the_study:
            orphans.hand_over(workflow.persistence)
            if not workflow.local_exec:
                orphans.note(jobs, workflow.persistence)
        if on_slurm:
            heed_signals()
        else:
            # Jobs here wait for cores. With a limit of submissions per second, the scheduler would look at every
            # waiting job each second while all cores are busy, which costs 1 to 2 % of a core.
            workflow.scheduler.job_rate_limiter = None
    except queue.SlurmError as error:
        raise WorkflowError(str(error)) from None
    announce(whole_table=on_slurm)
    seconds = {
        workflow._dag.jobid(job): forecast.of(
            STUDY, job.rule.name, job.wildcards, paces()
        ).cpu_seconds
        for job in jobs
        if job.output
    }
    TO_GO.append(ToGo(seconds))
    say_how_long(workflow.logger_manager.logger, TO_GO[0], submits=on_slurm)


onsuccess:
    for warning in scarce(STUDY):
        if warning not in SCARCE:
            logger.warning(warning)
    if orphans.ours():
        orphans.hand_over(workflow.persistence)


onerror:
    try:
        if orphans.ours():
            if workflow.executor_plugin.name == profile.EXECUTOR:
                for done in queue.cancel(Path.cwd()):
                    logger.info(done)
            orphans.hand_over(workflow.persistence)
    except queue.SlurmError as error:  # such jobs may outlive this run
        logger.warning(str(error))


def foretell():
    """Print the cost of the run and the files it would move away, at the end of a dry run."""
    if workflow._dag is not None:
        jobs = workflow._dag.needrun_jobs(exclude_finished=False)
        for reason in in_the_way(jobs).values():
            print(f"{reason}: it will be moved away and made again")
        announce(True, say=print)


# A dry run calls no onstart.
if (
    workflow.is_main_process
    and DRY
    and Quietness.ALL not in (workflow.output_settings.quiet or ())
):
    atexit.register(foretell)
