"""All measures and analyses, in the order in which datasets are listed."""

from rllc.study.measures import behaviour, calibration, curvature, heads, recommendation, sampling, stages
from rllc.study.rows import Analysis, Measure

MEASURES: tuple[Measure, ...] = (
    *sampling.ROWS,
    *curvature.ROWS,
    *heads.ROWS,
    *behaviour.ROWS,
    *calibration.ROWS,
)
ANALYSES: tuple[Analysis, ...] = (*heads.ANALYSES, *stages.ANALYSES, *recommendation.ANALYSES)
