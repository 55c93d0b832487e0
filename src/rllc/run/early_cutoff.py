"""Equal bytes start nothing: what depends on a text that was made again is looked at again.

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

    async def finish_and_judge_again(dag: Any, job: Any, update_checkpoint_dependencies: bool = True) -> Any:
        again = any(one.rule.name in rules and not dag.reason(one).missing_output for one in _members(job))
        ready = await finish(dag, job, update_checkpoint_dependencies)
        if not again:
            return ready
        running = {one for each in dag._running for one in _members(each)}
        for waiting in dag.jobs:
            if waiting not in running and not dag.finished(waiting):
                dag.reason(waiting).updated_input_run.clear()  # every other reason holds as before
        before = [one for one in dag.jobs if dag.needrun(one)]
        await dag.postprocess()
        if dropped := [one for one in before if not dag.needrun(one)]:
            spared(dropped)
        return True

    DAG.finish = finish_and_judge_again  # type: ignore[method-assign]


def _members(job: Any) -> list[Any]:
    return list(job) if job.is_group() else [job]
