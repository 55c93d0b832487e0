"""``rllc.estimator.llc`` by the name that notebooks know: ``from rllc.measures.llc import estimate``."""

from rllc.estimator.llc import estimate

__all__ = ["estimate"]
