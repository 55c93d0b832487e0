"""Refuse claims on stages where the chains of the LLC do not settle: ``stages.nc`` has no quality flags."""

from rllc.analysis.curves import NotJudged
from rllc.analysis.stages import BASE
from rllc.claims.columns import DOUBTED
from rllc.claims.run import Run
from rllc.quality import reliable


def require_settled(run: Run, setting: str) -> None:
    """Raise NotJudged if more than ``DOUBTED`` of the LLC's estimates at a setting have a fault.

    Nothing is raised where the dataset or its quality flags are absent, as of published curves.
    """
    name = "llc" if setting == BASE else f"llc.{setting}"
    if name not in run.datasets or "quality" not in run.datasets[name]:
        return
    data = run.dataset(name)
    sampled = data["llc"].notnull()
    cells = {"distribution": run.text} if "distribution" in data["llc"].dims else {}
    share = float((~reliable(data)).astype(float).where(sampled).sel(cells).mean())
    if share > DOUBTED:
        raise NotJudged(f"chains do not settle at this setting: {share:.0%} of the estimates have a fault")
