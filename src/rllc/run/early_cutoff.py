"""Equal bytes start nothing: what depends on a text that was made again is judged again.

Snakemake compares the contents of small inputs (the manifests of texts are small), but only between runs.
Within a run, all that depends on a job runs after it. So where a text is made again, by other code or another
Python, and is the same to the byte, a whole study would follow.
"""

from collections.abc import Callable, Collection
from typing import Any


def install(rules: Collection[str], spared: Callable[[list[Any]], None] = lambda jobs: None) -> None:
    """Have Snakemake, in this process, judge again what depends on a job of these rules once it has ended.

    Only jobs that make an output again count: on a first run there is nothing to spare.

    spared  is called with the jobs that are not needed any more, where there are any
    """
    from snakemake.dag import DAG

    finish = DAG.finish
    made_again: dict[
        Any, set[Any]
    ] = {}  # of each plan, the jobs of these rules whose output was there before

    async def finish_and_judge_again(self: Any, job: Any, update_checkpoint_dependencies: bool = True) -> Any:
        # By the reasons that jobs started with: the output of one that runs is away, and counts as missing.
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
        retried = self._ready_jobs & self._running  # failed, and to be tried again: Snakemake would lose them
        await self.postprocess()
        self._ready_jobs |= retried
        if dropped := [one for one in waiting if not self.needrun(one)]:
            spared(dropped)
        return True

    DAG.finish = finish_and_judge_again


async def _keep_changed_inputs(dag: Any, waiting: list[Any]) -> None:
    """Of the reason "input made by another job" leave, for each job, the inputs that are made and changed.

    Every other reason stays. Snakemake adds the inputs that are still to be made.
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
