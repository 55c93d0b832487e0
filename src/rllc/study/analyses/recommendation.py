"""The setting that the rule of the calibration chooses: spec."""

from typing import Any

from rllc.study import sampling
from rllc.study.calibration import Calibration
from rllc.study.recommendation import GRID, KINDS, Rule
from rllc.study.setup import Setup
from rllc.study.specs import AnalysisSpec, Work


def _rule(experiment: Setup) -> Rule | None:
    calibration = experiment.get(Calibration)
    return calibration and calibration.rule


def _settings(work: Work[Rule]) -> dict[str, Any]:
    """The thresholds, and where the experiment's own settings lie on the grid: kind -> setting -> values."""
    known = {
        kind: {
            name: {part: getattr(each, part) for part in GRID}
            for name in sampling.settings(work.experiment)
            if (each := sampling.setting(work.experiment, name, kind)) is not None
        }
        for kind in KINDS
    }
    return {"rule": work.section.model_dump(), "known": known}


ANALYSIS = AnalysisSpec(
    name="recommendation",
    about="the setting that the rule chooses for each kind of component, or that none is good",
    function="rllc.analysis.calibration:recommendation",
    variables={},
    reads=("calibration",),
    of=_rule,
    settings=_settings,
    local=True,
    megabytes=1000,
    target="calibrate",
)
