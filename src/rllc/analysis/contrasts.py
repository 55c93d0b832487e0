"""Differences of estimates between heads, distributions or steps, with errors.

Errors shared by two estimates cancel in their difference. Only a paired error takes this into account:

- **Noise** is the same in chain c of a head at a step on every distribution, and at every step if the
  sampling is ``seeded``. It is paired chain by chain.
- **A control** with independent pairs (``rllc.estimator.control_variate``) removes from every chain the
  variation that it shares with its prior-only run. These reduced chains are compared where they exist
  (``by_chain``). The error of the control's mean and coefficient is common to all chains of an estimate. It
  is added as if independent between two estimates. On two distributions the normals are the same, so the
  error tends to be too large.
- **Minibatches** are the same in draw t of every chain, head and step of a distribution. *All* chains share
  them, so an error from chains is **given these minibatches**, with or without pairing. The effect of other
  minibatches on the difference can only be estimated draw by draw, from traces (``batch_variance``).

Let a_c, b_c be the estimates of chain c. Given the minibatches B, the chains are independent and identically
distributed. By the law of total variance, for the mean difference D over C chains of T draws::

    Var D = E Var(D | B) + Var E(D | B)
    E Var(D | B) = E[(var a_c + var b_c - 2 cov(a_c, b_c)) / C]      the covariance is 0 without shared noise
                   + those of the two controls
"""

import json
from collections.abc import Hashable, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.intervals import student_half_width
from rllc.vocabulary import describe

VARIABLES = {
    "contrast": ("difference of two estimates", "1"),
    "contrast_se": ("standard error of the difference, paired by what the two share", "1"),
    "unpaired_se": ("standard error of the difference as if the two shared nothing", "1"),
    "degrees_of_freedom": ("degrees of freedom of the standard error of the difference", "1"),
    "half_width": ("half of the Student-t interval of the difference", "1"),
    "lead": ("value of the head less the highest other head", "1"),
    "lead_se": ("standard error of the lead over chains, given these minibatches", "1"),
    "rival": ("the highest other head", "1"),
}
# The variables of heads that ``by_chain`` reads.
BY_CHAIN = ("rllc_chain", "rllc_reduced_chain", "rllc_se_control")
DIMS = ("head", "distribution", "step")
SHARED_NOISE = ("distribution",)  # dims along which chain c has the same noise at every label


def contrast(
    dataset: xr.Dataset,
    *,
    dim: str,
    a: Hashable,
    b: Hashable,
    name: str = "rllc",
    traces: xr.DataArray | None = None,
    shared_noise: bool | None = None,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Return ``a - b`` along ``dim`` ("head", "distribution" or "step"), with its paired standard error.

    dataset       with the variables that ``by_chain`` reads
    traces        (..., chain, draw), in units of the estimate: n_beta times the paired loss, kept draws only.
                  With traces, the errors include the choice of minibatches
    shared_noise  whether chain c has the same noise in both; default: as the dataset was sampled

    Returns, in the other dims::

        contrast            mean a_c - mean b_c
        contrast_se^2       with shared noise     var(a_c - b_c) / C, over the chains ok in both
                            without               var(a_c) / C_a + var(b_c) / C_b
                            of reduced chains     + the squared errors of their controls
                            and with traces       + batch_variance of the difference of the traces
        unpaired_se^2       var(a_c) / C_a + var(b_c) / C_b, and with traces + batch_variance of each
        degrees_of_freedom  C - 1, of reduced chains C - 2; or Welch and Satterthwaite's for the sum
        half_width          t quantile times contrast_se

    Without shared noise, pairing a_c and b_c by chain would estimate the same error with half the degrees of
    freedom. The errors include neither the choice of the held-out text behind the minibatches, nor the
    variation between training seeds. With 3 degrees of freedom, the 95 % interval is plus or minus 3.2
    standard errors, not 2.

    Raises ValueError for a missing dim, label or variable, and for ``seed``.
    """
    if dim == "seed":
        raise ValueError("a head label means another head in another seed: contrast within each seed")
    if dim not in DIMS:
        raise ValueError(f"no contrast along {dim!r}: expected one of {', '.join(DIMS)}")
    chains, common = by_chain(dataset, name)
    present = dataset[dim].values.tolist()
    for label in (a, b):
        if label not in present:
            raise ValueError(f"there is no {dim} {label!r}: expected one of {', '.join(map(str, present))}")
    if shared_noise is None:
        seeded = bool(json.loads(dataset.attrs.get("sampling", "{}")).get("seeded", False))
        shared_noise = dim in SHARED_NOISE or (dim == "step" and seeded)
    result = difference(
        _at(chains, dim, a),
        _at(chains, dim, b),
        common=[_at(common, dim, label) for label in (a, b)],
        traces=None if traces is None else (_at(traces, dim, a), _at(traces, dim, b)),
        shared_noise=shared_noise,
        confidence=confidence,
    )
    return result.assign_attrs(dim=dim, a=a, b=b)


def by_chain(dataset: xr.Dataset, name: str = "rllc") -> tuple[xr.DataArray, xr.DataArray]:
    """Return one estimate per chain (..., chain), NaN for failed chains, and their common squared error.

    ``{name}_reduced_chain`` and ``{name}_se_control^2`` for sampling with pairs; else ``{name}_chain``
    and 0. Raises ValueError where neither exists.
    """
    if f"{name}_reduced_chain" in dataset:
        return dataset[f"{name}_reduced_chain"], dataset[f"{name}_se_control"].fillna(0) ** 2
    if f"{name}_chain" not in dataset:
        raise ValueError(f"the dataset has no {name}_chain, only {', '.join(map(str, dataset.data_vars))}")
    chains = dataset[f"{name}_chain"]
    return chains, xr.zeros_like(chains.isel(chain=0, drop=True))


def _at(values: xr.DataArray, dim: str, label: Hashable) -> xr.DataArray:
    return values.sel({dim: label}).drop_vars(_along(values, dim))


def _along(values: xr.DataArray, dim: str) -> list[Hashable]:
    """Return the names of the coordinates along a dim."""
    return [name for name, coord in values.coords.items() if dim in coord.dims]


def difference(
    a: xr.DataArray,
    b: xr.DataArray,
    *,
    shared_noise: bool,
    common: Sequence[xr.DataArray] = (),
    traces: tuple[xr.DataArray, xr.DataArray] | None = None,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Return the variables of ``contrast`` for two arrays of estimates (..., chain).

    common  squared errors common to all chains of each estimate, assumed exact. Above 0, they mean that a
            coefficient was fitted, which uses a degree of freedom

    NaN with fewer than 2 chains.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: expected a share between 0 and 1")
    ok = a.notnull(), b.notnull()
    both = ok[0] & ok[1]
    of_each = [_of_mean(a), _of_mean(b)]
    fitted = [1.0 + (each > 0) for each in common] or [1.0, 1.0]
    unpaired = sum(of_each)
    if shared_noise:
        value, square = (a - b).mean("chain"), _of_mean(a - b)
        of_a, of_b = fitted
        terms = [(square, both.sum("chain") - np.maximum(of_a, of_b))]
    else:
        value, square = a.mean("chain") - b.mean("chain"), unpaired
        terms = [(v, own.sum("chain") - n) for v, own, n in zip(of_each, ok, fitted, strict=True)]
    square, unpaired = square + sum(common), unpaired + sum(common)
    if traces is not None:
        between, within, freedom = _of_batches(traces[0] - traces[1], both)
        square = square + (between - within).clip(min=0)
        terms += [(between, freedom), (within, freedom * (both.sum("chain") - 1.0))]
        each = [_of_batches(trace, own) for trace, own in zip(traces, ok, strict=True)]
        unpaired = unpaired + sum((over - inside).clip(min=0) for over, inside, _ in each)
    freedom = square**2 / sum(variance**2 / count.where(count > 0) for variance, count in terms)
    error = xr.ufuncs.sqrt(square)
    result = xr.Dataset(
        {
            "contrast": value,
            "contrast_se": error,
            "unpaired_se": np.sqrt(unpaired),
            "degrees_of_freedom": freedom,
            "half_width": student_half_width(error, freedom, confidence),
        },
        attrs={
            "confidence": confidence,
            "shared_noise": int(shared_noise),
            "minibatches": "given" if traces is None else "drawn anew",
        },
    )
    return describe(result, VARIABLES)


def gain(result: xr.Dataset) -> float:
    """Return the ratio of unpaired to paired error, as root mean squares over all cells.

    For a single cell, it has the error of a ratio of two variances of C - 1 degrees of freedom.
    """
    both = result["contrast_se"].notnull() & result["unpaired_se"].notnull()
    paired, unpaired = (float((result[n].where(both) ** 2).mean()) for n in ("contrast_se", "unpaired_se"))
    return float(np.sqrt(unpaired / paired)) if paired > 0 else float("nan")


def batch_variance(traces: xr.DataArray) -> xr.DataArray:
    """Return the variance of the mean over chains and draws from the minibatches, which all chains share.

    traces  (..., chain, draw); chains with a NaN are left out

    This is a two-way analysis of variance of the differences between consecutive draws,
    z_ct = x_c,t+1 - x_ct, which remove slow drift and slow movement of the chains (von Neumann)::

        (mean_t mean_c(z)^2 / 2  -  sum_ct (z - mean_c z)^2 / (2 (C - 1) C (T - 1))) / T

    The first term is the effect of the minibatches plus 1/C of each chain's individual variation. The second
    is this variation. The result is unbiased where only minibatch t affects draw t. Effects of earlier
    minibatches through the gradient persist over draws and are missed. Negative values are noise.
    """
    between, within, _ = _of_batches(traces, traces.notnull().all("draw"))
    return (between - within).rename("batch_variance")


def _of_batches(traces: xr.DataArray, ok: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Return the two terms of ``batch_variance``, and the degrees of freedom of the first."""
    draws = traces.sizes["draw"]
    if draws < 3:
        raise ValueError(f"{draws} draws are too few to see what minibatches do: expected at least 3")
    moves = traces.where(ok).diff("draw")
    mean = moves.mean("chain")
    chains = ok.sum("chain")
    inner = ((moves - mean) ** 2).sum("chain") / (chains - 1).where(chains > 1)
    between = (mean**2).mean("draw") / (2 * draws)
    within = inner.mean("draw") / (2 * draws * chains)
    return between, within, xr.full_like(between, 2 * (draws - 1) ** 2 / (3 * draws - 4))


def _of_mean(chains: xr.DataArray) -> xr.DataArray:
    """Return the squared standard error of the mean over chains that are not NaN; NaN with fewer than 2."""
    count = chains.notnull().sum("chain")
    square = ((chains - chains.mean("chain")) ** 2).sum("chain")
    return square / (count - 1).where(count > 1) / count


def lead(
    values: xr.DataArray,
    *,
    head: str,
    others: Sequence[str],
    chains: tuple[xr.DataArray, xr.DataArray] | None = None,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Return the lead of ``head`` over the highest of ``others``, at each index of the other dims.

    ``lead`` = value(head) - max over others; ``rival`` names the highest other. Missing others are skipped.
    With ``chains``, the result of ``by_chain``, also ``lead_se``, ``degrees_of_freedom`` and ``half_width``
    of ``contrast`` against the rival, given the minibatches. The rival is the highest as measured, so noise
    can only make the rival look high and the lead small.
    """
    rest = values.sel(head=list(others))
    if not rest.sizes["head"]:
        raise ValueError(f"nothing to compare head {head!r} with: 'others' is empty")
    top = rest.fillna(-np.inf).argmax("head")
    result = xr.Dataset(
        {
            "lead": _at(values, "head", head) - rest.max("head"),
            "rival": rest["head"].drop_vars(_along(values, "head")).isel(head=top),
        }
    )
    if chains is not None:
        along = _along(values, "head")
        (mine, rival), common = (
            (_at(each, "head", head), each.sel(head=list(others)).drop_vars(along).isel(head=top))
            for each in chains
        )
        apart = difference(mine, rival, common=common, shared_noise=False, confidence=confidence)
        apart = apart.rename(contrast_se="lead_se")[["lead_se", "degrees_of_freedom", "half_width"]]
        result = result.assign(apart.where(result["lead"].notnull())).assign_attrs(confidence=confidence)
    return describe(result, VARIABLES)


def onset(excess: xr.DataArray, *, threshold: xr.DataArray | float = 0.0, least: int = 2) -> float:
    """Return the first step from which ``excess`` (step) stays above ``threshold`` to the end.

    Missing steps are ignored. At least ``least`` measured steps must stay above, so that the last checkpoint
    alone does not count. NaN without onset. ``onset(lead, threshold=half_width)`` is the step at which a head
    separates from the others by its interval. For a score without error, give a margin.
    """
    margin = (excess - threshold).transpose("step")
    measured = margin[np.isfinite(margin.values)]
    steps, below = measured["step"].values, np.flatnonzero(measured.values <= 0)
    first = below[-1] + 1 if below.size else 0
    return float(steps[first]) if len(steps) - first >= max(least, 1) else float("nan")
