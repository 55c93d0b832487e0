"""The executor that a run names, and settings that this executor would not read."""

from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import MISSING, fields
from io import StringIO

from rllc.run.options import is_snakemake
from rllc.slurm.queue import SlurmError

EXECUTOR = "rllc-slurm"  # in profiles and after --executor; its settings begin with it
PLAIN = "slurm"  # the plugin that it builds on


def refuse_plain(executor: str, command: Sequence[str]) -> None:
    """Raise SlurmError if a run names the executor `slurm`.

    executor  name of the run's executor
    command   ``sys.argv``; the profiles that it names are read, too
    """
    if executor != PLAIN:
        return
    keys = ", ".join(_unread(command))
    raise SlurmError(
        "the executor slurm forgets running jobs when Slurm does not answer, and lets two jobs write the "
        f"same files: write `executor: {EXECUTOR}` in your profile, or --executor {EXECUTOR} in the call. "
        f"Its settings begin with {EXECUTOR}, too{keys and f'. Rename these: {keys}'}. profiles/slurm is an "
        "example"
    )


def refuse_unread(command: Sequence[str]) -> None:
    """Raise SlurmError if a run by ``EXECUTOR`` gives settings that only the executor `slurm` reads."""
    if keys := ", ".join(_unread(command)):
        raise SlurmError(
            f"the executor {EXECUTOR} reads no settings of the executor slurm. Put rllc- before these, in "
            f"your profile or in the call: {keys}"
        )


def _unread(command: Sequence[str]) -> list[str]:
    """Return the settings of the executor `slurm` that ``EXECUTOR`` is not given."""
    if not is_snakemake(command):
        return []
    from snakemake.cli import parse_args
    from snakemake_executor_plugin_slurm import ExecutorSettings

    with redirect_stderr(StringIO()):  # Snakemake has said which profiles it reads
        _, given = parse_args(list(command[1:]))

    def has(executor: str, setting: str) -> bool:
        return getattr(given, f"{executor}_{setting}".replace("-", "_"), MISSING) is not MISSING

    settings = [field.name for field in fields(ExecutorSettings)]
    unread = [name for name in settings if has(PLAIN, name) and not has(EXECUTOR, name)]
    return [f"{PLAIN}-{name}".replace("_", "-") for name in unread]
