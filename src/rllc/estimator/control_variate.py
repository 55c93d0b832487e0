"""Reduce the variance of an estimate with its prior-only control as control variate.

x_c is the estimate of chain c. y_c is the estimate of its control, with the same noise and minibatches. m is
the mean of the control, from antithetic pairs (samplers/pairs.py)::

    llc = mean_c (x_c - beta_c (y_c - m))

Where the localization dominates, chain and control are nearly equal, so the corrected chains differ little.
The pairs are independent and need only forward passes. beta_c is fitted on the other chains, so it is
independent of y_c. The expectation therefore equals that of the plain estimate, for any beta, step size,
burn-in and thinning. Where the gain would be small, beta is 0 and the estimate is the plain one. (Control
variates: Owen, Monte Carlo theory, methods and examples, 8.9.)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import ndtri, stdtrit

from rllc.estimator.diagnostics.status import OK
from rllc.estimator.samplers.chains import Traces
from rllc.estimator.samplers.pairs import Pairs
from rllc.sampler_config import LEAST_CHAINS, SamplerConfig
from rllc.vocabulary import describe

LOOKS = 4  # at most so many kept draws of each chain's control decide whether the full control pays
BLOCKS = 5  # of a chain's kept draws, nearly independent of each other
# The pairs cost about as much as the chains, so a shared variance of one half would just pay. Three chains
# give a poor estimate of the correlation and a good one of the means. Nearly equal means rarely go with a low
# correlation, so the threshold is lower there.
NEAR = 0.8  # ratio of estimate and control, or its inverse, above which the two are near
LEAST_SHARED, LEAST_SHARED_NEAR = 0.85, 0.4  # least squared correlation; where the two are near
LEVEL = 0.975  # the quantile of an interval of 95 %

VARIABLES = {
    "llc": ("local learning coefficient, mean over the ok chains, its variance reduced by the control", "1"),
    "llc_se": (
        "Monte Carlo standard error of the LLC given these minibatches, from differences between chains and "
        "between pairs; it holds no data-sampling error", "1",
    ),
    "llc_se_control": ("part of llc_se that chains share: of the control's mean and its coefficient", "1"),
    "llc_se_data": ("standard error of the LLC from the choice of minibatches", "1"),
    "llc_prior_only": ("control: mean of the same estimate without the gradient, from pairs", "1"),
    "llc_prior_only_se": ("Monte Carlo standard error of the control", "1"),
    "llc_prior_only_chain": ("control: the same chain without the gradient", "1"),
    "llc_reduced_chain": (
        "local learning coefficient of one chain, its variance reduced by the control; llc is the mean", "1",
    ),
    "control_coefficient": (
        "coefficient of the control in the estimate, mean over chains; 0: the plain estimate", "1",
    ),
    "variance_reduction": ("share of the variance between chains that the control removed", "1"),
}  # fmt: skip


def reduced(
    on: xr.Dataset,
    control: Callable[[Sequence[str], SamplerConfig], Traces],
    summarised: Callable[[Sequence[str], Traces], xr.Dataset],
    measure: Callable[[Sequence[str]], Pairs],
    *,
    setting: SamplerConfig,
    own_minibatch: bool,
    report_control: bool = False,
) -> xr.Dataset:
    """Return the estimate ``on`` with its variance reduced by its control, over the same chains.

    on              the result of ``results.summarise`` at ``setting``
    control         ``control(names, setting)``: traces of the components' controls, at a setting from
                    ``looked_at``
    summarised      ``summarised(names, traces)``: ``results.summarise`` of a control
    measure         ``measure(names)``: pairs of the components, called only for those that use them
    own_minibatch   no two kept draws share a minibatch
    report_control  make the control of every component. Otherwise a look at a few draws of each chain's
                    control decides, and only components that share enough with the estimate get one. In the
                    look, too, the decision for a chain uses the other chains

    Returns ``on`` with ``VARIABLES``. All other variables, including ``llc_chain``, R-hat, effective sample
    size, drift and the quality, describe the plain chains.

    Chains are few, so ``llc_se`` is multiplied by the ratio of Student's to the normal quantile, at
    Satterthwaite's degrees of freedom: plus or minus 1.96 ``llc_se`` is a 95 % interval. Where beta is 0 for
    every chain, the control is the mean over the control's chains, NaN where there is none. ``llc_se_data``
    is the effect of other minibatches on the control's mean and, from the covariance between chains, on the
    rest. It is NaN without ``own_minibatch``.
    """
    n_beta, names = setting.n_beta, on["component"].values
    x = np.where((on["status"] == OK).values[..., None], _kept(on), np.nan)
    allowed = np.ones(x.shape[:2], bool)
    stride = 1 if report_control else stride_of_look(setting)
    if stride > 1:
        look = looked_at(setting, stride)
        first = look.burn_in * stride - setting.burn_in
        seen = _rises(control(list(names), look), look)
        allowed = _coefficients(x[..., first::stride], seen, setting) != 0
    told = list(names[allowed.any(1)])
    if told:
        traces = control(told, looked_at(setting, 1))
        off = summarised(told, traces).reindex(component=names)
    else:
        off = on.where(False)
    y = _kept(off)
    beta = np.where(allowed, _coefficients(x, y, setting), 0.0)
    used = np.any(beta, axis=1)
    pairs = measure([str(name) for name in names[used]]) if used.any() else None
    laws = iter(() if pairs is None else [(rise, pairs.variance) for rise in n_beta * pairs.rise])
    rows = []
    for row in range(len(names)):
        law = next(laws) if used[row] else None
        of_chains = {"llc_prior_only": off["llc"][row], "llc_prior_only_se": off["llc_se"][row]}
        rows.append(of_chains | combined(x[row], y[row], beta[row], law))
    by_chain = np.stack([row.pop("change_by_chain") for row in rows])
    table = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    change = table.pop("change")
    result = on.assign({name: ("component", values) for name, values in table.items()})
    for name in ("llc", "llc_init"):
        result[name] = on[name].copy(data=on[name].values + change)
    result["llc_reduced_chain"] = on["llc_chain"].copy(data=on["llc_chain"].values + by_chain)
    if not own_minibatch:
        result["llc_se_data"] = result["llc_se_data"] * np.nan
    result["llc_prior_only_chain"] = off["llc_chain"]
    return describe(result, VARIABLES)


def stride_of_look(setting: SamplerConfig) -> int:
    """Return the stride between the control draws of a look: at most ``LOOKS`` kept draws, evenly spread."""
    return -(-(setting.draws - setting.burn_in) // LOOKS)


def looked_at(setting: SamplerConfig, stride: int) -> SamplerConfig:
    """Return the setting of an estimate's control: the same moves, recording every ``stride``-th draw."""
    return replace(
        setting, antithetic_pairs=0, gradient=False, thinning=setting.thinning * stride,
        draws=-(-setting.draws // stride), burn_in=-(-setting.burn_in // stride),
    )  # fmt: skip


def _coefficients(x: np.ndarray, y: np.ndarray, setting: SamplerConfig) -> np.ndarray:
    """Return ``coefficients`` of every component: [component, chain]."""
    how = {"pairs": setting.antithetic_pairs, "memory": memory_of(setting)}
    return np.stack([coefficients(*each, **how) for each in zip(x, y, strict=True)])


def coefficients(x: np.ndarray, y: np.ndarray, *, pairs: int, memory: float) -> np.ndarray:
    """Return beta of each chain [chain], fitted on the other chains.

    x, y are [chain, draw] of the estimate and of its control. The variance of the estimate is smallest at ::

        beta = cov(x, y) / (var(y) + chains V)

    where V is the variance of the mean over the pairs, which are not sampled yet. cov / var is computed from
    differences between chains, draw by draw, and multiplied by the correlation, since the slope of draws is
    larger than the slope of their means, and partly noise. A pair has the variance of the even part of a
    draw's rise. The mean over draws has at least ``memory`` times this variance divided by the number of
    draws. So chains V / var(y) is at most chains / (pairs memory), and this bound replaces it. beta is 0
    where estimate and control share too little (``pays``), and for a chain that is NaN in x or y.

    pairs   per draw
    memory  variance of the control's mean over draws, divided by its value for independent draws
    """
    good = np.isfinite(x).all(-1) & np.isfinite(y).all(-1)
    beta = np.zeros(len(x))
    if good.sum() < LEAST_CHAINS:
        return beta
    kept = 1 / (1 + good.sum() / (pairs * memory))
    for chain in np.flatnonzero(good):
        others = good & (np.arange(len(x)) != chain)
        a, b = (each[others] - each[others].mean(0) for each in (x, y))
        cov, var_x, var_y = (a * b).sum(), (a * a).sum(), (b * b).sum()
        if cov <= 0:
            continue
        shared = cov**2 / (var_x * var_y)
        if pays(shared, x[others].mean(), y[others].mean()):
            beta[chain] = cov / var_y * np.sqrt(shared) * kept
    return beta


def pays(shared: float, mean: float, of_control: float) -> bool:
    """Return whether a squared correlation ``shared`` of estimate and control is worth the cost of pairs."""
    near = NEAR * of_control < mean < of_control / NEAR
    return shared > (LEAST_SHARED_NEAR if near else LEAST_SHARED)


def shared_variance(trace: np.ndarray) -> float:
    """Return the variance of a trace's mean [chain, draw] from the minibatches that all chains share.

    It is the mean covariance of two chains over blocks of draws, divided by the number of blocks, and 0 where
    this is negative. NaN with fewer than two chains or blocks. A trend shared by all chains is included.
    """
    blocks = _blocks(trace[np.isfinite(trace).all(-1)])
    chains, count = blocks.shape
    if chains < 2 or count < 2:
        return float("nan")
    own, common = blocks.var(1, ddof=1).mean(), blocks.mean(0).var(ddof=1)
    return float(max(0.0, (common - own / chains) * chains / (chains - 1)) / count)


def memory_of(setting: SamplerConfig) -> float:
    """Return 1 + 2 sum over lags of weight times autocorrelation, for the control's squared coordinates."""
    count = setting.draws - setting.burn_in
    lag = np.arange(1, count)
    correlation = (1 - setting.step_size * setting.localization / 2) ** (2 * setting.thinning * lag)
    return 1 + 2 * float(((1 - lag / count) * correlation).sum())


def combined(
    x: np.ndarray, y: np.ndarray, beta: np.ndarray, pairs: tuple[np.ndarray, np.ndarray] | None
) -> dict[str, float | np.ndarray]:
    """Return the control's change of one component's estimate, and the other ``VARIABLES``.

    x, y   [chain, draw]
    beta   [chain]
    pairs  n_beta times the rises of the pairs [group, pair], and s_t^2 [group]. Without pairs, or where one
           is not finite, beta is 0 and the variables of the control are left out

    ``change_by_chain`` [chain] is the change of each chain's estimate, NaN for a chain that is NaN.
    """
    good = np.isfinite(x).all(-1)
    by_chain = np.full(len(x), np.nan)
    if not good.any():
        nothing = (
            "change",
            "llc_se",
            "llc_se_control",
            "llc_se_data",
            "control_coefficient",
            "variance_reduction",
        )
        return dict.fromkeys(nothing, np.nan) | {"change_by_chain": by_chain}
    x, y, beta = x[good], np.nan_to_num(y[good]), beta[good]
    if pairs is None or not np.isfinite(pairs[0]).all():
        beta, mean, own_error, of_data, own_freedom, control = 0 * beta, 0.0, 0.0, 0.0, np.inf, {}
    else:
        rise, variance = pairs
        groups, size = rise.shape
        own = rise.var(1, ddof=1) / size  # squared errors of the groups' means
        mean, own_error, of_data = rise.mean(), own.sum() / groups**2, _data_variance(rise, own, variance)
        own_freedom = np.count_nonzero(variance) * (size - 1)
        control = {"llc_prior_only": mean, "llc_prior_only_se": np.sqrt(own_error)}
    change, left, slope = -beta * (y.mean(-1) - mean), x - beta[:, None] * y, beta.mean()
    by_chain[good] = change
    count, fitted = len(x), 1 + bool(beta.any())  # the mean and, where fitted, the slope
    of_slope = (count - 1) * beta.var() * (y.mean() - mean) ** 2  # jackknife: each beta leaves one chain out
    of_pairs = slope**2 * own_error
    apart, control_apart = (each - each.mean(0) for each in (_blocks(x), _blocks(y)))
    with np.errstate(invalid="ignore", divide="ignore"):  # one chain, or chains that have not moved
        of_chains = (x.mean(-1) + change).var(ddof=1) / count + of_slope if count > 1 else np.float64(np.nan)
        freedom = (of_chains + of_pairs) ** 2 / (of_chains**2 / (count - fitted) + of_pairs**2 / own_freedom)
        return control | {
            "change": change.mean(),
            "change_by_chain": by_chain,
            "llc_se": np.sqrt(of_chains + of_pairs) * stdtrit(freedom, LEVEL) / ndtri(LEVEL),
            "llc_se_control": np.sqrt(of_slope + of_pairs),
            "llc_se_data": np.sqrt(slope**2 * of_data + shared_variance(left)),
            "control_coefficient": slope,
            "variance_reduction": 1 - (apart - beta[:, None] * control_apart).var() / apart.var(),
        }


def _data_variance(rise: np.ndarray, own: np.ndarray, variance: np.ndarray) -> float:
    """Return the variance of the mean of ``rise`` [group, pair] from the choice of one minibatch per group.

    To leading order, a group's mean is its s_t^2 times a number that depends on the minibatch. The variance
    of this number is the spread between groups minus the spread explained by their pairs (``own``: squared
    errors of the groups' means).
    """
    moved = variance > 0
    weight = variance[moved] / variance.sum()
    if len(weight) < 2:
        return float("nan")
    number, error = rise[moved].mean(1) / weight, own[moved] / weight**2
    center = (weight * number).sum()
    spread = (weight * (number - center) ** 2).sum() - (weight * (1 - weight) * error).sum()
    of_one = max(0.0, spread / (weight * (1 - weight)).sum())
    return float(of_one * (weight**2).sum() / len(variance) ** 2)


def _kept(dataset: xr.Dataset) -> np.ndarray:
    """Return n_beta times the rise of the kept draws [component, chain, draw].

    A diverged control is kept: its distribution is still the known one, and its mean includes all chains.
    """
    rise = (dataset["loss"] - dataset["loss_at_center"]).isel(draw=slice(dataset.attrs["burn_in"], None))
    return (dataset.attrs["n_beta"] * rise.transpose("component", "chain", "draw")).values


def _rises(traces: Traces, setting: SamplerConfig) -> np.ndarray:
    """Return n_beta times the rise of the kept draws of traces sampled at ``setting``."""
    rise = traces.loss - traces.at_center
    return setting.n_beta * rise[..., setting.burn_in :].cpu().numpy()


def _blocks(trace: np.ndarray) -> np.ndarray:
    """Return means over blocks of consecutive draws: [chain, draw] -> [chain, block]."""
    parts = np.array_split(trace, min(BLOCKS, trace.shape[1]), axis=1)
    return np.stack([part.mean(1) for part in parts], 1)
