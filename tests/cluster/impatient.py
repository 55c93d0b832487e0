"""Snakemake that asks Slurm every two seconds: the plugin waits longer and longer, up to three minutes.

Only the waiting differs. The test of the whole study runs Snakemake as it is.
"""

import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, value: None)

if __name__ == "__main__":
    sys.exit(main())
