"""Snakemake's own plan of a study, asked for without running anything."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def dag(overlays: Sequence[str | Path], targets: Collection[str] = ()) -> Iterator[Any]:
    """Context manager: yield Snakemake's planned DAG of ``targets`` (none: the whole study) in this folder.

    Jobs that an earlier run left half done need to run. So do jobs that another run is working on.
    """
    from snakemake import api
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import SharedFSUsage

    with api.SnakemakeApi(api.OutputSettings(dryrun=True, quiet={Quietness.ALL})) as snakemake:
        workflow = snakemake.workflow(
            resource_settings=api.ResourceSettings(cores=1),
            config_settings=api.ConfigSettings(configfiles=[Path(overlay) for overlay in overlays]),
            # without the source cache, which would lie in HOME
            storage_settings=api.StorageSettings(
                shared_fs_usage=SharedFSUsage.all() - {SharedFSUsage.SOURCE_CACHE}
            ),
            workflow_settings=api.WorkflowSettings(),
            snakefile=Path("Snakefile"),
        )
        planned = workflow.dag(api.DAGSettings(targets=set(targets), force_incomplete=True))
        planned.execute_workflow(executor="dryrun")
        yield planned.workflow_api._workflow.dag


def current(config: dict[str, Any]) -> set[str]:
    """Return the existing results of a study that Snakemake would not make again under this config.

    A second process makes the plan, because Snakemake cannot make two in one process. Raises ValueError with
    the error text of that process if it makes no plan.
    """
    with tempfile.TemporaryDirectory() as folder:
        overlay = Path(folder) / "config.json"
        overlay.write_text(json.dumps(config, default=str), encoding="utf-8")
        asked = [sys.executable, "-m", "rllc.run.dag", str(overlay)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(
            f"Snakemake made no plan, so the finished results are unknown: {done.stderr.strip()}"
        )
    return set(json.loads(done.stdout))


def main() -> None:
    """Print the files that no job would make again as JSON."""
    said = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            dag(sys.argv[1:]) as planned,
        ):
            needed = set(planned.needrun_jobs(exclude_finished=False))
            files = {str(file) for job in planned.jobs if job not in needed for file in job.output}
    except Exception as error:
        sys.exit(f"{said.getvalue()}\n{error}")
    print(json.dumps(sorted(file for file in files if Path(file).is_file())))


if __name__ == "__main__":
    main()
