"""Print the progress of a study, while it runs or afterwards: python workflow/status.py [OVERLAY ...].

From the repository root. It reads Snakemake's own plan, Slurm's queue and the logs, and may be called at
any time.
"""

import contextlib
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from rllc.run import status
from rllc.run.dag import dag
from rllc.slurm import queue

FOLDER = Path(".snakemake")


def jobs(overlays: list[str]) -> list[status.PlannedJob]:
    """Return every job of the study, whether or not it needs to run."""
    with dag(overlays) as planned:
        needed = set(planned.needrun_jobs(exclude_finished=False))
        figures = planned.workflow.globals["STUDY"].figures
        order = {rule.name: number for number, rule in enumerate(planned.workflow.rules)}
        ordered = sorted(planned.jobs, key=lambda job: order[job.rule.name])
        return [_job(job, job in needed, figures) for job in ordered if job.output]


def _job(job, needed: bool, figures) -> status.PlannedJob:
    wildcards = job.wildcards_dict
    values = [str(value) for value in wildcards.values()]
    drawn = figures[wildcards["figure"]].experiment if "figure" in wildcards else None
    return status.PlannedJob(
        rule=job.rule.name,
        experiment=wildcards.get("experiment") or drawn or status.SHARED,
        wildcards=" ".join(f"{name}={value}" for name, value in wildcards.items() if name != "experiment"),
        comment=status.comment(job.rule.name, values),
        needed=needed,
        started=needed and _marked(job),
        log=Path(job.log[0]) if job.log else None,
    )


def _marked(job) -> bool:
    """Return whether Snakemake has marked the job's output as incomplete."""
    persistence = job.dag.workflow.persistence
    return bool(persistence._filter_incomplete_keys([persistence._get_key(file) for file in job.output]))


def main() -> None:
    """Print the report. Of Snakemake's own output, only the text of an error is shown."""
    try:
        on_slurm = {job.comment: (job.number, job.state.lower()) for job in queue.jobs_here(Path.cwd())}
    except queue.Unanswered as error:
        on_slurm = {}
        print(f"Slurm does not answer ({error}): what is queued or running there is not known.\n")
    locked = any((FOLDER / "locks").glob("*"))
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            listed = jobs(sys.argv[1:])
    except Exception as error:
        sys.exit(f"{said.getvalue()}\n{error}")
    standings = [status.stand(job, on_slurm, FOLDER / "slurm_logs", locked=locked) for job in listed]
    standings.sort(key=lambda s: (s.job.experiment != status.SHARED, s.job.experiment))
    print(status.report(standings))


if __name__ == "__main__":
    main()
