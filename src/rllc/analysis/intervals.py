"""Student intervals: the degrees of freedom of a standard error, and how far a band of it reaches."""

import numpy as np
import xarray as xr
from scipy.special import ndtr, stdtrit

from rllc.vocabulary import FREEDOM, PRECISE_AT, PRECISE_FREEDOM

ESTIMATES = ("llc", "rllc")  # whose errors are of the draws of chains
FEW = 30  # units; of as many, Student's band is under 2 % wider than one standard error


def degrees_of_freedom(data: xr.Dataset, variable: str) -> xr.DataArray | float:
    """Return the degrees of freedom of ``<variable>_se``.

    They are the attribute ``degrees_of_freedom`` of the error, and at the steps ``precise_at`` of the error,
    where there are more, ``precise_degrees_of_freedom``. An estimate of chains has those of its
    effective draws, ``ess`` - 1, at least 1. But where ``<variable>_se_control`` says that its error comes
    from differences between chains, the error is widened already and they are infinite. All others are
    infinite: nothing is known of them.
    """
    error = data[f"{variable}_se"]
    if FREEDOM in error.attrs:
        return _stated(error)
    if variable not in ESTIMATES or "ess" not in data:
        return float("inf")
    plain = (data["ess"] - 1).clip(min=1).fillna(np.inf)
    widened = data.get(f"{variable}_se_control")
    return plain if widened is None else plain.where(widened.isnull(), np.inf)


def half_width(error: xr.DataArray) -> xr.DataArray:
    """Return half the width of a band that holds as much as one standard error of a normal number: 68 %.

    It is the error itself where it is over ``FEW`` units or more, or they are not known.
    """
    return error if few(error) is None else error * stdtrit(_stated(error), ndtr(1.0))


def student_half_width(
    error: xr.DataArray, freedom: xr.DataArray | float, confidence: float = 0.95
) -> xr.DataArray:
    """Return half the width of the Student interval of an error; with infinite freedom, the normal one."""
    return error * xr.apply_ufunc(stdtrit, freedom, (1 + confidence) / 2)


def few(error: xr.DataArray) -> float | None:
    """Return the degrees of freedom of an error over fewer than ``FEW`` units; None: more, or unknown.

    Of an error with more units at some steps they are those at the others: the smaller number.
    """
    freedom = error.attrs.get(FREEDOM)
    return None if freedom is None or freedom >= FEW - 1 else float(freedom)


def _stated(error: xr.DataArray) -> xr.DataArray | float:
    """Return the degrees of freedom that an error states: one number, or one for each of its labels."""
    fewer = float(error.attrs[FREEDOM])
    if PRECISE_AT not in error.attrs or "step" not in error.coords:
        return fewer
    precise = error["step"].isin(np.atleast_1d(error.attrs[PRECISE_AT]))
    return xr.full_like(error, fewer, dtype=float).where(~precise, float(error.attrs[PRECISE_FREEDOM]))
