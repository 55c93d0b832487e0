"""All measures and analyses, in the order in which datasets are listed."""

from rllc.study.measures import (
    behaviour,
    calibration,
    clusters,
    curvature,
    domains,
    heads,
    hessian_rank,
    highlights,
    interventions,
    milestones,
    regression,
    sampling,
    stages,
    tokens,
)
from rllc.study.rows import Analysis, Measure

MEASURES: tuple[Measure, ...] = (
    *sampling.ROWS,
    *curvature.ROWS,
    *hessian_rank.ROWS,
    *heads.ROWS,
    *tokens.ROWS,
    *interventions.ROWS,
    *behaviour.ROWS,
    *highlights.ROWS,
    *regression.ROWS,
    *calibration.ROWS,
)
ANALYSES: tuple[Analysis, ...] = (
    *clusters.ANALYSES,
    *heads.ANALYSES,
    *tokens.ANALYSES,
    *interventions.ANALYSES,
    *stages.ANALYSES,
    *domains.ANALYSES,
    *highlights.ANALYSES,
    *milestones.ANALYSES,
    *calibration.ANALYSES,
)
