"""The executor plugin by which Snakemake finds ``rllc.slurm.executor``."""

import subprocess
import sys

import snakemake_executor_plugin_slurm as plugin
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

import snakemake_executor_plugin_rllc_slurm as found
from rllc.slurm import executor
from rllc.slurm.profile import EXECUTOR


def python(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_snakemake_finds_the_executor_under_the_name_of_the_profile():
    made = ExecutorPluginRegistry().get_plugin(EXECUTOR)
    assert made.executor is found.Executor
    assert made.get_cli_arg("status_command") == f"--{EXECUTOR}-status-command"
    assert made.settings_cls is plugin.ExecutorSettings and made.common_settings is plugin.common_settings


def test_the_executor_found_is_that_of_rllc(monkeypatch):
    given = []
    monkeypatch.setattr(executor.Executor, "__init__", lambda _, *arguments: given.extend(arguments))
    assert type(found.Executor("workflow", "logger")) is executor.Executor
    assert given == ["workflow", "logger"]


def test_the_import_of_the_plugin_does_not_decide_where_rllc_comes_from():
    """Snakemake imports it before the Snakefile, which puts its own clone first in the path."""
    said = python(
        "import sys, snakemake_executor_plugin_rllc_slurm\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'rllc'])"
    )
    assert said == "[]\n"


def test_snakemake_works_for_others_where_the_slurm_plugin_is_missing():
    said = python(
        "import sys\n"
        "sys.modules['snakemake_executor_plugin_slurm'] = None\n"
        "import snakemake_executor_plugin_rllc_slurm as found\n"
        "from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry as Registry\n"
        "Registry.collect_plugins = lambda self: self.__dict__.update(plugins={})\n"
        "Registry().register_plugin(found.__name__, found)\n"
        "print(Registry().get_registered_plugins())\n"
        "try:\n    found.Executor(None, None)\nexcept Exception as error:\n    print(error)"
    )
    assert said.startswith(f"['{EXECUTOR}']\n")
    assert "rllc-slurm needs the environment that `make env` makes" in said
