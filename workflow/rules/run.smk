"""Around a run: what is checked before it, what is said, and what its jobs are told. No rules.

Read last, when all fingerprints are known.
"""

import atexit

DRY = workflow.output_settings.dryrun
AT_WORK = any(Path(".snakemake/locks").glob("*"))  # another run, or one that was killed

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
        for problem in [
            *drop_broken(results, dry=DRY),
            *drop_leftover(results, plan_name, dry=DRY),
        ]:
            logger.warning(f"{problem}: it will be made again.")


onstart:
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
        if any(rule not in PARTIAL for rule, _ in about_to_run()):
            slurm.refuse_orphans(Path.cwd())
            leftover.begin(plan_file.name)
        if on_slurm:  # the plugin is imported by such a run alone
            from rllc.run.executor import mend
            from rllc.run.signals import heed_signals

            mend(workflow.scheduler._executor, source)
            heed_signals()
    except slurm.SlurmError as error:
        raise WorkflowError(str(error)) from None
    announce(whole_table=on_slurm)


onsuccess:
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
