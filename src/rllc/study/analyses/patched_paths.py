"""What of path patching is left, and when it begins: spec."""

from rllc.measures.path_patching.spec import PathPatching
from rllc.study.specs import AnalysisSpec, Variable
from rllc.units import NATS

ANALYSIS = AnalysisSpec(
    name="patched_paths",
    of=lambda experiment: experiment.get(PathPatching),
    about="what of patching is left, when it begins and whether it passes, for claims",
    function="rllc.analysis.patched_paths:patched_paths",
    settings=lambda work: {},
    variables={
        "ablated_least": Variable(
            "loss that ablating the bracket head adds, the smaller of both kinds", NATS, ("step",)
        ),
        "path": Variable("loss that patching adds", NATS, ("step", "brackets")),
        "path_onset": Variable(
            "path on nested brackets where induction begins, divided by path at the step",
            "1",
            ("step",),
        ),
        "path_share": Variable(
            "path divided by the loss that ablating the bracket head adds", "1", ("step", "brackets")
        ),
        "path_transient": Variable(
            "largest path up to the step, divided by path at the step", "1", ("step", "brackets")
        ),
        "ablated_least_se": Variable("standard error of ablated_least", NATS, ("step",)),
        "path_se": Variable("standard error of path", NATS, ("step", "brackets")),
        "path_onset_se": Variable("standard error of path_onset", "1", ("step",)),
        "path_share_se": Variable("standard error of path_share", "1", ("step", "brackets")),
        "path_transient_se": Variable("standard error of path_transient", "1", ("step", "brackets")),
    },
    reads=("path_patching", "attention_scores"),
    local=True,
)
