"""rllc: how the inside of a transformer forms, as a workflow. A table of contents; see README.md."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")
if not Path.cwd().samefile(workflow.basedir):
    raise WorkflowError(
        f"rllc runs in its own folder, not in {Path.cwd()}: `cd {workflow.basedir}`, without --directory. "
        "The key `results` in an overlay puts results elsewhere"
    )
sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from rllc.run.bytecode import check_by_content

if workflow.is_main_process:
    check_by_content(Path(workflow.basedir) / "src")

from rllc.study import defaults

for file in defaults.FILES:

    configfile: file


resource_scopes:
    gpu="local",


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/figure_inputs.smk"


rule all:
    """Every dataset and every figure that the config declares."""
    default_target: True
    input:
        DATASETS,
        FIGURE_FILES,


include: "workflow/rules/corpora.smk"
include: "workflow/rules/generated.smk"
include: "workflow/rules/checkpoints.smk"
include: "workflow/rules/measures.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/animations.smk"
include: "workflow/rules/calibration.smk"
include: "workflow/rules/validation.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/partial.smk"
include: "workflow/rules/targets.smk"
include: "workflow/rules/run.smk"
