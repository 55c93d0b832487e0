"""Sweeps of the sampler's settings: spec."""

from collections.abc import Iterator
from typing import Any

from rllc.study import sampling
from rllc.study.calibration import Calibration, head_or_full
from rllc.study.config_model import ConfigModel
from rllc.study.cost import HEAD, START, Cost
from rllc.study.families import missing_capabilities
from rllc.study.recommendation import KINDS
from rllc.study.setup import Setup
from rllc.study.specs import Finish, MeasureSpec, Work


def _swept(experiment: Setup) -> dict[str, ConfigModel | None]:
    return {"calibration": experiment.get(Calibration)}


def _settings(work: Work[Calibration]) -> dict[str, Any]:
    """The sweeps, without the rule that reads them. A chain has diverged where it has at the base setting."""
    settings = work.section.model_dump(include={*KINDS, "probes"})
    for kind in KINDS:
        if settings[kind]:
            base = sampling.setting(work.experiment, sampling.BASE_SETTING, kind)
            factor = base.divergence_factor if base else sampling.DIVERGENCE_FACTOR
            settings[kind]["divergence_factor"] = factor
    return settings


def _cost(work: Work[Calibration]) -> Cost:
    """Every setting of the sweeps, their controls, and the curvature of every component."""
    section, steps = work.section, len(work.steps)
    seconds, largest = 0.0, 0.0
    for kind in KINDS:
        sweep = getattr(section, kind)
        if sweep is None:
            continue
        size = (sweep.batch_size, sweep.scored_positions)
        pairs = sum(a * b < 4 for a in sweep.step_size for b in sweep.localization)
        count = len(sweep.components or range(work.heads)) if kind == "heads" else 1
        each = 3 * len(sweep.n_beta) * (sweep.chains + sweep.control_chains + 1) + sweep.control_chains
        passes = sweep.draws * pairs * each
        curvature = 8 * section.probes * 2 * count + sweep.draws
        share = HEAD if kind == "heads" else 1.0
        seconds += steps * (passes * count * share + curvature) * work.forward(*size)
        largest = max(largest, work.logits(*size))
    return Cost(START + seconds, 1200 + 20 * largest, 1e6 * steps)


def _checks(place: str, work: Work[Calibration]) -> Iterator[str]:
    for reason in missing_capabilities(work.experiment.model, ("heads",)) if work.section.heads else ():
        yield f"{place}.heads: {reason}; set it to null"
    for kind in KINDS:
        sweep = getattr(work.section, kind)
        for component in (sweep.components or []) if sweep else []:
            yield from head_or_full(f"{place}.{kind}.components", component, work.experiment, "heads")


MEASURE = MeasureSpec(
    name="calibration",
    about="a grid of sampling settings with its controls, and the curvature at the checkpoint",
    kernel="rllc.measures.calibration.kernel:calibration",
    variables={},
    sections=_swept,
    settings=_settings,
    cost=_cost,
    checks=_checks,
    stream="sgld",
    target="calibrate",
    finish=Finish(function="rllc.analysis.regime:quantities", variables={}),
)
