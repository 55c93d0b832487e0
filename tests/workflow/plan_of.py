"""Which jobs would run: prints them as JSON. Usage: plan_of.py CONFIG_OVERLAY [TARGET ...]; from a checkout."""

import json
import sys
from pathlib import Path

from snakemake.api import (
    ConfigSettings,
    DAGSettings,
    OutputSettings,
    ResourceSettings,
    SnakemakeApi,
    StorageSettings,
    WorkflowSettings,
)
from snakemake.settings.enums import Quietness


def plan(overlays: list[str], targets: list[str]) -> list[list[object]]:
    """``[rule, wildcards]`` of every job that a run of ``targets`` would start."""
    output = OutputSettings(dryrun=True, quiet={Quietness.ALL})
    with SnakemakeApi(output) as api:
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=2),
            config_settings=ConfigSettings(configfiles=[Path(overlay) for overlay in overlays]),
            storage_settings=StorageSettings(),
            workflow_settings=WorkflowSettings(),
            snakefile=Path("Snakefile"),
        )
        dag = workflow.dag(DAGSettings(targets=set(targets)))
        dag.execute_workflow(executor="dryrun")
        jobs = dag.workflow_api._workflow.dag.needrun_jobs(exclude_finished=False)
        return sorted(([job.rule.name, dict(job.wildcards_dict)] for job in jobs), key=str)


if __name__ == "__main__":
    overlays = sys.argv[1].split(",")
    print("PLAN " + json.dumps(plan(overlays, sys.argv[2:])))
