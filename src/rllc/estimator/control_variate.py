"""Control variates: use the prior-only control to reduce the variance of an LLC estimate.

x_c is the LLC of chain c. y_c is the LLC of the prior-only chain with the same noise and minibatches. m is
the expected value of y_c, from antithetic pairs (samplers/pairs.py). beta_c is the coefficient of chain c,
fitted on the other chains::

    llc = mean_c (x_c - beta_c (y_c - m))

The gain is large where the localization dominates: there x_c and y_c are nearly equal. The pairs are
independent of the chains and need forward passes only. If the expected gain is too small, beta_c is 0 and the
estimate is unchanged. (Control variates: Owen, Monte Carlo theory, methods and examples, 8.9.)

Given the minibatches, chains are independent of each other, so beta_c is independent of y_c. If the pairs use
the chains' minibatches, m is the expected value of y_c given these. The correction beta_c (y_c - m) then has
mean 0, and the expectation is that of the plain estimate, for any step size, burn-in and thinning. With
separate minibatches, m is the expected value over all minibatches. Then the correction has the mean
cov(beta_c, E[y_c | minibatches]), because both depend on the chains' minibatches. This bias falls with the
number of minibatches.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import ndtri, stdtrit

from rllc.estimator.diagnostics.status import OK
from rllc.estimator.minibatch_variance import block_means, data_variance, shared_variance
from rllc.estimator.samplers.chains import Traces
from rllc.estimator.samplers.pairs import Pairs
from rllc.sampler_config import LEAST_CHAINS, SamplerConfig
from rllc.vocabulary import describe

LOOKS = 4  # largest number of kept draws per chain in the pilot run, which decides on the full control
# Pairs cost about as much as the chains, so they break even at a squared correlation of 0.5. The correlation
# is estimated from as few as three chains, so the threshold is higher: LEAST_SHARED. Means are estimated well
# from three chains. If estimate and control have nearly equal means, the correlation is rarely low, so
# LEAST_SHARED_NEAR is enough.
NEAR = 0.8  # smaller mean over larger mean, above which estimate and control count as nearly equal
LEAST_SHARED, LEAST_SHARED_NEAR = 0.85, 0.4  # smallest squared correlation at which the control is used
LEVEL = 0.975  # upper quantile of a 95 % interval

VARIABLES = {
    "llc": ("local learning coefficient, mean over the ok chains, its variance reduced by the control", "1"),
    "llc_se": (
        "Monte Carlo standard error of the LLC given these minibatches, from differences between chains and "
        "between pairs; excludes the error from the choice of data", "1",
    ),
    "llc_se_control": ("part of llc_se common to all chains: of the control's mean and its coefficient", "1"),
    "llc_se_data": ("standard error of the LLC from the choice of minibatches", "1"),
    "llc_prior_only": ("control: mean of the same estimate without the gradient, from pairs", "1"),
    "llc_prior_only_se": ("Monte Carlo standard error of the control", "1"),
    "llc_prior_only_chain": ("LLC of one prior-only chain, with the same noise and minibatches", "1"),
    "llc_reduced_chain": (
        "LLC of one chain, its variance reduced by the control; llc is the mean over chains", "1",
    ),
    "control_coefficient": (
        "coefficient of the control, mean over chains; 0: the control is not used", "1",
    ),
    "variance_reduction": (
        "share of the variance between chains that the control removed; negative if it added variance", "1",
    ),
}  # fmt: skip

STATISTICS = (
    "change", "llc_se", "llc_se_control", "llc_se_data", "control_coefficient", "variance_reduction",
)  # fmt: skip


def reduced(
    estimate: xr.Dataset,
    sample_control: Callable[[Sequence[str], SamplerConfig], Traces],
    summarise_control: Callable[[Sequence[str], Traces], xr.Dataset],
    sample_pairs: Callable[[Sequence[str]], Pairs],
    *,
    setting: SamplerConfig,
    own_minibatch: bool,
    report_control: bool = False,
) -> xr.Dataset:
    """Return the estimate with its variance reduced by the prior-only control.

    estimate           the result of ``results.summarise`` at ``setting``
    sample_control     ``sample_control(names, setting)`` returns the traces of the prior-only chains;
                       ``setting`` comes from ``looked_at``
    summarise_control  ``summarise_control(names, traces)``: ``results.summarise`` of a control
    sample_pairs       ``sample_pairs(names)`` returns the antithetic pairs; called only for components with a
                       nonzero coefficient
    own_minibatch      whether every kept draw has a minibatch of its own
    report_control     make the full control of every component. Otherwise a pilot run of a few control draws
                       decides: only components whose control correlates well with the estimate get a full
                       control. The pilot's decision for a chain uses the other chains only

    Returns the estimate with ``VARIABLES``. All other variables, including ``llc_chain``, R-hat, effective
    sample size, drift and the quality, describe the plain chains.

    There are few chains, so ``llc_se`` is multiplied by t / z, the ratio of the Student and normal 97.5 %
    quantiles at Satterthwaite's degrees of freedom. Then llc +- 1.96 llc_se is a 95 % interval. If beta is 0
    for all chains, ``llc_prior_only`` is the mean over the control's chains, NaN if the control was not made.
    ``llc_se_data`` has two parts: the effect of the choice of minibatches on m (from the pairs), and on
    x_c - beta_c y_c (from the covariance between chains). It is NaN without ``own_minibatch``.
    """
    n_beta, names = setting.n_beta, estimate["component"].values
    x = np.where((estimate["status"] == OK).values[..., None], _kept_rises(estimate), np.nan)
    allowed = np.ones(x.shape[:2], bool)
    stride = 1 if report_control else stride_of_look(setting)
    if stride > 1:
        pilot = looked_at(setting, stride)
        first = pilot.burn_in * stride - setting.burn_in  # the pilot's first kept draw among the kept draws
        pilot_rises = _kept_rises_of(sample_control(list(names), pilot), pilot)
        allowed = _coefficients(x[..., first::stride], pilot_rises, setting) != 0
    with_control = list(names[allowed.any(1)])
    if with_control:
        traces = sample_control(with_control, looked_at(setting, 1))
        control = summarise_control(with_control, traces).reindex(component=names)
    else:
        control = estimate.where(False)
    y = _kept_rises(control)
    beta = np.where(allowed, _coefficients(x, y, setting), 0.0)
    used = [str(name) for name in names[np.any(beta, axis=1)]]
    pairs_of: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    if used:
        pairs = sample_pairs(used)
        pairs_of = {
            name: (n_beta * rise, pairs.variance) for name, rise in zip(used, pairs.rise, strict=True)
        }
    rows = []
    for row, name in enumerate(names):
        from_chains = {"llc_prior_only": control["llc"][row], "llc_prior_only_se": control["llc_se"][row]}
        rows.append(from_chains | combined(x[row], y[row], beta[row], pairs_of.get(str(name))))
    change_by_chain = np.stack([row.pop("change_by_chain") for row in rows])
    table = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    change = table.pop("change")
    result = estimate.assign({name: ("component", values) for name, values in table.items()})
    for name in ("llc", "llc_init"):
        result[name] = estimate[name].copy(data=estimate[name].values + change)
    plain = estimate["llc_chain"]
    result["llc_reduced_chain"] = plain.copy(data=plain.values + change_by_chain)
    if not own_minibatch:
        result["llc_se_data"] = result["llc_se_data"] * np.nan
    result["llc_prior_only_chain"] = control["llc_chain"]
    return describe(result, VARIABLES)


def stride_of_look(setting: SamplerConfig) -> int:
    """Return the stride of the pilot run: every ``stride``-th kept draw, so that at most ``LOOKS`` remain."""
    return -(-(setting.draws - setting.burn_in) // LOOKS)


def looked_at(setting: SamplerConfig, stride: int) -> SamplerConfig:
    """Return the setting of the control: the same moves without the gradient.

    It records every ``stride``-th draw of the estimate: 1 for the full control, more for the pilot run.
    """
    return replace(
        setting, antithetic_pairs=0, gradient=False, thinning=setting.thinning * stride,
        draws=-(-setting.draws // stride), burn_in=-(-setting.burn_in // stride),
    )  # fmt: skip


def _coefficients(x: np.ndarray, y: np.ndarray, setting: SamplerConfig) -> np.ndarray:
    """Return ``coefficients`` of every component: [component, chain]."""
    pairs, memory = setting.antithetic_pairs, memory_of(setting)
    rows = zip(x, y, strict=True)
    return np.stack([coefficients(own, control, pairs=pairs, memory=memory) for own, control in rows])


def coefficients(x: np.ndarray, y: np.ndarray, *, pairs: int, memory: float) -> np.ndarray:
    """Return beta of each chain [chain], fitted on the other chains.

    x, y are [chain, draw], of the estimate and of its control. Let X and Y be a chain's means of x and y over
    draws, and V the variance of m. The variance of the estimate is smallest at ::

        beta = cov(X, Y) / (var(Y) + chains V) = cov(X, Y) / var(Y) / (1 + chains V / var(Y))

    Neither factor can be computed directly:

    - The slope cov(X, Y) / var(Y) is computed from single draws, as deviations from the mean over chains. It
      is larger than the slope of the means, and noisy, so it is multiplied by the correlation.
    - The pairs are not sampled yet. One pair has the variance v of the even part of a draw's rise, so
      V = v / (pairs draws). Since draws are correlated, var(Y) >= memory v / draws. So
      chains V / var(Y) <= chains / (pairs memory), and this bound replaces the ratio.

    beta is 0 if the correlation is too low (``pays``), or if the chain is NaN in x or y.

    pairs   number of pairs per draw
    memory  variance of the control's mean over draws, divided by its value for independent draws
    """
    good = np.isfinite(x).all(-1) & np.isfinite(y).all(-1)
    beta = np.zeros(len(x))
    if good.sum() < LEAST_CHAINS:
        return beta
    shrinkage = 1 / (1 + good.sum() / (pairs * memory))
    for chain in np.flatnonzero(good):
        others = good & (np.arange(len(x)) != chain)
        a, b = (trace[others] - trace[others].mean(0) for trace in (x, y))
        cov, var_x, var_y = (a * b).sum(), (a * a).sum(), (b * b).sum()
        if cov <= 0:
            continue
        r_squared = cov**2 / (var_x * var_y)
        if pays(r_squared, x[others].mean(), y[others].mean()):
            beta[chain] = cov / var_y * np.sqrt(r_squared) * shrinkage
    return beta


def pays(r_squared: float, estimate_mean: float, control_mean: float) -> bool:
    """Return whether the control reduces the variance enough to pay for its pairs."""
    nearly_equal = NEAR * control_mean < estimate_mean < control_mean / NEAR
    return r_squared > (LEAST_SHARED_NEAR if nearly_equal else LEAST_SHARED)


def memory_of(setting: SamplerConfig) -> float:
    """Return the integrated autocorrelation time of a squared coordinate of the control, in draws.

    It is 1 + 2 sum over lags k < n of (1 - k/n) a^(2 thinning k), with a = 1 - step_size localization / 2 and
    n kept draws.
    """
    count = setting.draws - setting.burn_in
    lag = np.arange(1, count)
    correlation = (1 - setting.step_size * setting.localization / 2) ** (2 * setting.thinning * lag)
    return 1 + 2 * float(((1 - lag / count) * correlation).sum())


def combined(
    x: np.ndarray, y: np.ndarray, beta: np.ndarray, pairs: tuple[np.ndarray, np.ndarray] | None
) -> dict[str, float | np.ndarray]:
    """Return the change that the control makes to one component's estimate, with its errors.

    x, y   [chain, draw]
    beta   [chain]
    pairs  n_beta times the rises of the pairs [group, pair], and s_t^2 [group], the variance of a coordinate
           of the control at the group's draw. None, or a value that is not finite: beta is taken as 0, and
           ``llc_prior_only`` and its error are not returned

    ``change`` is the mean of ``change_by_chain`` [chain], the change of each chain's estimate, NaN for a
    chain that is NaN. The other items are variables of ``VARIABLES``.
    """
    good = np.isfinite(x).all(-1)
    change_by_chain = np.full(len(x), np.nan)
    if not good.any():
        return dict.fromkeys(STATISTICS, np.nan) | {"change_by_chain": change_by_chain}
    x, y, beta = x[good], np.nan_to_num(y[good]), beta[good]
    if pairs is None or not np.isfinite(pairs[0]).all():
        beta, mean, mean_var, data_var, pairs_df, control = 0 * beta, 0.0, 0.0, 0.0, np.inf, {}
    else:
        rise, variance = pairs
        groups, size = rise.shape
        group_var = rise.var(1, ddof=1) / size  # variance of each group's mean
        mean, mean_var = rise.mean(), group_var.sum() / groups**2
        data_var = data_variance(rise, group_var, variance)
        pairs_df = np.count_nonzero(variance) * (size - 1)
        control = {"llc_prior_only": mean, "llc_prior_only_se": np.sqrt(mean_var)}
    change, residual, beta_mean = -beta * (y.mean(-1) - mean), x - beta[:, None] * y, beta.mean()
    change_by_chain[good] = change
    count = len(x)
    fitted = 1 + bool(beta.any())  # number of fitted parameters: the mean, and the slope if beta is nonzero
    # Jackknife variance of the slope: each beta is fitted without one chain.
    slope_var = (count - 1) * beta.var() * (y.mean() - mean) ** 2
    pairs_var = beta_mean**2 * mean_var
    x_blocks, y_blocks = (blocks - blocks.mean(0) for blocks in (block_means(x), block_means(y)))
    with np.errstate(invalid="ignore", divide="ignore"):  # one chain, or chains that have not moved
        chains_var = (
            (x.mean(-1) + change).var(ddof=1) / count + slope_var if count > 1 else np.float64(np.nan)
        )
        df = (chains_var + pairs_var) ** 2 / (chains_var**2 / (count - fitted) + pairs_var**2 / pairs_df)
        return control | {
            "change": change.mean(),
            "change_by_chain": change_by_chain,
            "llc_se": np.sqrt(chains_var + pairs_var) * stdtrit(df, LEVEL) / ndtri(LEVEL),
            "llc_se_control": np.sqrt(slope_var + pairs_var),
            "llc_se_data": np.sqrt(beta_mean**2 * data_var + shared_variance(residual)),
            "control_coefficient": beta_mean,
            "variance_reduction": 1 - (x_blocks - beta[:, None] * y_blocks).var() / x_blocks.var(),
        }


def _kept_rises(dataset: xr.Dataset) -> np.ndarray:
    """Return n_beta times the rise of the kept draws: [component, chain, draw].

    Diverged chains of a control are included: their distribution is the known one, as that of the others.
    """
    rise = (dataset["loss"] - dataset["loss_at_center"]).isel(draw=slice(dataset.attrs["burn_in"], None))
    return (dataset.attrs["n_beta"] * rise.transpose("component", "chain", "draw")).values


def _kept_rises_of(traces: Traces, setting: SamplerConfig) -> np.ndarray:
    """Return n_beta times the rise of the kept draws of traces: [component, chain, draw]."""
    rise = traces.loss - traces.at_center
    return setting.n_beta * rise[..., setting.burn_in :].cpu().numpy()
