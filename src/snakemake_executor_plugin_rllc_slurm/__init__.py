"""Executor plugin `rllc-slurm` of Snakemake: the Slurm plugin, with ``rllc.slurm.executor.Executor``.

At every start, Snakemake imports the executor plugins of the environment, also for other workflows. So this
module must not fail, and imports no module of rllc: the Snakefile decides from which folder these come.
"""

import logging
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

try:
    from snakemake_executor_plugin_slurm import ExecutorSettings as ExecutorSettings
    from snakemake_executor_plugin_slurm import common_settings
except ImportError:  # rllc is here as a library
    common_settings = CommonSettings(
        non_local_exec=True, implies_no_shared_fs=False, job_deploy_sources=False
    )


class Executor(RemoteExecutor):
    """Name under which Snakemake finds the executor."""

    def __new__(cls, workflow: Any, logger: logging.Logger) -> RemoteExecutor:
        """Return an ``rllc.slurm.executor.Executor``."""
        try:
            from rllc.slurm import executor
        except ImportError as error:
            raise WorkflowError(f"rllc-slurm needs the environment that `make env` makes ({error})") from None
        return executor.Executor(workflow, logger)
