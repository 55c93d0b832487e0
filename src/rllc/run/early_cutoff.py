"""Early cutoff: a text that is made again with the same bytes starts no further jobs.

Snakemake compares the contents of small inputs (the manifests of texts are small), but only between runs.
Within a run, every job that depends on another runs after it. If other code or another Python makes a text
again, and its bytes are the same, the whole study would otherwise run.
"""

from collections.abc import Callable, Collection
from typing import Any


def install(rules: Collection[str], spared: Callable[[list[Any]], None] = lambda jobs: None) -> None:
    """Make Snakemake, in this process, re-check the dependents of jobs of these rules when such a job ends.

    Only jobs that make an output again count: on a first run no job can be saved.

    spared  called with the jobs that are no longer needed, if there are any
    """
    from snakemake.dag import DAG

    finish = DAG.finish
    made_again: dict[Any, set[Any]] = {}  # plan -> its jobs whose output existed before

    async def finish_and_judge_again(self: Any, job: Any, update_checkpoint_dependencies: bool = True) -> Any:
        # Use the reasons that jobs started with: while a job runs, its output is absent and counts as
        # missing.
        if self not in made_again:
            of_rules = (one for one in self.jobs if one.rule.name in rules)
            made_again[self] = {one for one in of_rules if not self.reason(one).missing_output}
        again = not made_again[self].isdisjoint(_members(job))
        ready = await finish(self, job, update_checkpoint_dependencies)
        if not again:
            return ready
        running = {one for each in self._running for one in _members(each)}
        waiting = [
            one
            for one in self.jobs
            if self.needrun(one) and not self.finished(one) and one not in running and one.output
        ]
        await _keep_changed_inputs(self, waiting)
        retried = self._ready_jobs & self._running  # failed jobs to retry: Snakemake would lose them
        await self.postprocess()
        self._ready_jobs |= retried
        if dropped := [one for one in waiting if not self.needrun(one)]:
            spared(dropped)
        return True

    DAG.finish = finish_and_judge_again


async def _keep_changed_inputs(dag: Any, waiting: list[Any]) -> None:
    """Drop unchanged inputs from the reason "input made by another job" of each waiting job.

    Every other reason stays. Snakemake adds the inputs that are not made yet.
    """
    for job in waiting:
        reason = dag.reason(job)
        reason.updated_input_run.clear()
        for maker, files in dag.dependencies[job].items():
            if dag.finished(maker):
                changed = [file for file in files if not await _is_same(dag, job, file)]
                reason.updated_input_run.update(changed)


async def _is_same(dag: Any, job: Any, file: Any) -> bool:
    """Return whether an input has the bytes that it had when the job's outputs were made."""
    if not await file.is_checksum_eligible(dag.max_checksum_file_size):
        return False
    known = dag.workflow.persistence.input_checksums(job, file)
    if len(known) != 1 or None in known:
        return False
    return await file.is_same_checksum(known.pop(), dag.max_checksum_file_size)


def _members(job: Any) -> list[Any]:
    return list(job) if job.is_group() else [job]
