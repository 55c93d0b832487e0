"""Combine all diagnostics into one quality per estimate: bits of ``rllc.quality``."""

from dataclasses import asdict, dataclass

import numpy as np
import xarray as xr

from rllc.estimator.diagnostics.heidelberger_welch import ALPHA
from rllc.estimator.diagnostics.mixing import rhat_by_chance
from rllc.quality import MASKS, QUALITY_DTYPE, quality_attributes
from rllc.vocabulary import STATUS


@dataclass(frozen=True)
class Limits:
    """The limits of the diagnostics; recorded as attributes of ``quality``.

    The chains of a study are short (by default 4 chains of 6 kept draws). So the limits of noisy diagnostics
    are chosen so that 4 chains of 6 independent draws pass, not by the standards of long runs.

    rhat              R-hat above it: not_mixed. 1.2 is Brooks and Gelman's (1998). In 400 runs, 4 chains of
                      20 independent draws stayed below 1.13; the 1.01 of long runs would fail all of them
    rhat_chance       if more than this share of traces of as many independent draws exceed ``rhat``, the
                      limit is the value that this share exceeds: with 4 chains of 6 draws, 15 % exceed 1.2
    ess               few_effective_draws where the ESS, or the number of kept draws over Raftery and Lewis'
                      dependence factor, is below it. At 12, the standard error is uncertain by a fifth
                      (1 / sqrt(2 ess))
    drift_errors      drifting: |drift| above this many of its standard errors, and above ``drift_share`` of
    drift_share       |llc|. Both must hold, so that neither noise nor an unimportant drift counts
    acceptance_share  mean acceptance below this share of its null: rejecting. Minibatch noise alone lowers
                      it: the LLC of heads whose acceptance was a quarter of the null changed by 9 +- 8 % when
                      the step size was divided by four
    acceptance_null   where the null is below it, as after a start at w* in many dimensions, acceptance is not
                      judged
    geweke            |z| above it counts as a failed chain. 3, not 1.96: with windows of 10 to 20 draws the
                      test at 1.96 rejects 8 to 30 % of stationary chains
    failing_chains    more than this share of the tested chains fail Geweke's test, or never pass
                      Heidelberger and Welch's: not_stationary
    nonlocal_share    mean rise of the loss above this share of the loss at w*: nonlocal. The published
                      setting of heads takes a whole model to 0.45, and leaves most heads under 0.1
    prior_share       |1 - estimate/control| below it: prior_dominated
    walked_share      |estimate/drift-free control - 1| above it: drift_dominated
    negative_errors   an estimate below minus this many standard errors: negative
    equilibrated_variance  if the localization alone brings at least this share of the equilibrium variance,
                      at most a tenth of any estimate is missing. Below it, curvature must have relaxed the
                      chains faster and the trace must show this by ``half_length_share``, or it is
                      variance_not_equilibrated
    explored_variance  prior_not_explored where ``equilibrated_variance`` is below it. A coordinate adds at
                      most 1/2 to an estimate. At 0.5 it lacks at most an eighth of that at any curvature: the
                      largest r / (1 + r) 0.5^(1 + r) over r, its n_beta h / localization, is 0.128. At 0.1 it
                      can lack half, and no trace shows this where chains have not moved
    half_length_share  limit of |half_length_change| plus two of its standard errors, as share of |llc|. In
                      tests on networks and potentials, estimates above this limit were mostly 10 to 32 % too
                      low; the others had small, noisy LLCs. Estimates below it were at most 9 % too low. At
                      the limit, a chain that relaxes at one rate lacks 6 %
    walking_share     mean_not_equilibrated where the change of the estimate that is still to come (see
                      ``judge_against_controls``) can exceed this share of |llc|
    """

    rhat: float = 1.2
    rhat_chance: float = 1e-3
    ess: float = 12.0
    drift_errors: float = 3.0
    drift_share: float = 0.1
    acceptance_share: float = 0.1
    acceptance_null: float = 0.05
    geweke: float = 3.0
    failing_chains: float = 0.5
    nonlocal_share: float = 0.2
    prior_share: float = 0.1
    walked_share: float = 0.5
    negative_errors: float = 2.0
    equilibrated_variance: float = 0.9
    explored_variance: float = 0.5
    half_length_share: float = 0.2
    walking_share: float = 0.1


LIMITS = Limits()
JUDGED_AGAINST, NO_CONTROL = "judged_against", "no control"  # attribute of ``quality``: the controls used
BY_CONTROLS = sum(MASKS[name] for name in ("prior_dominated", "drift_dominated", "mean_not_equilibrated"))


def judge(estimate: xr.Dataset, *, level: float) -> xr.DataArray:
    """Return the quality of each component: a bit field, reliable without a fault.

    estimate  ``llc``, ``llc_se``, ``rhat``, ``ess``, ``drift``, ``drift_se``, ``half_length_change``,
              ``half_length_change_se``, ``equilibrated_variance``, ``acceptance``, ``acceptance_null``
              (component); ``status``, ``geweke``, ``heidelberger_welch_p``, ``raftery_lewis_factor``
              (component, chain), the last three where chains are long enough; attributes ``n_beta``,
              ``draws``, ``burn_in``
    level     loss at w*, the scale for a rise; NaN where it is below 1 / n_beta (as in a noiseless fit) and
              therefore no scale

    A diagnostic that could not be computed (NaN) sets no bit, with these exceptions. R-hat or ESS set
    ``undiagnosed``. ``half_length_change`` sets ``variance_not_equilibrated``, unless the
    localization alone relaxes the chains.
    """
    ok = estimate["status"] == STATUS.index("ok")
    rise = estimate["llc"] / estimate.attrs["n_beta"]
    drift = abs(estimate["drift"])
    null = estimate["acceptance_null"]
    flags = {
        "chain_failed": (~ok).any("chain"),
        "all_chains_failed": (~ok).all("chain"),
        "not_mixed": estimate["rhat"] > _rhat_limit(estimate),
        "few_effective_draws": (estimate["ess"] < LIMITS.ess) | (_independent_draws(estimate) < LIMITS.ess),
        "drifting": (drift > LIMITS.drift_errors * estimate["drift_se"])
        & (drift > LIMITS.drift_share * abs(estimate["llc"])),
        "rejecting": (null >= LIMITS.acceptance_null)
        & (estimate["acceptance"] < LIMITS.acceptance_share * null),
        "not_stationary": _share_not_stationary(estimate) > LIMITS.failing_chains,
        "nonlocal": rise > LIMITS.nonlocal_share * level,
        "negative": estimate["llc"] < -LIMITS.negative_errors * estimate["llc_se"],
        "variance_not_equilibrated": ok.any("chain")
        & ~_localization_suffices(estimate)
        & ~_settled(estimate),
        "prior_not_explored": ok.any("chain")
        & (estimate["equilibrated_variance"] < LIMITS.explored_variance),
        "undiagnosed": ok.any("chain") & (estimate["rhat"].isnull() | estimate["ess"].isnull()),
    }
    limits = {f"limit_{key}": value for key, value in asdict(LIMITS).items()}
    return _bits(flags).assign_attrs({**quality_attributes(), **limits, JUDGED_AGAINST: NO_CONTROL})


def judge_against_controls(
    judged: xr.Dataset, prior_only: xr.DataArray | None, drift_free: xr.DataArray | None = None
) -> xr.DataArray:
    """Add the flags that need a control: ``prior_dominated``, ``drift_dominated``, ``mean_not_equilibrated``.

    Means are over the chains that estimate and controls share, with the same noise. The flags replace those
    from earlier controls. A control that is None or NaN sets no flag. The attribute ``judged_against`` names
    the controls.

    The slope at w* pulls the mean position of the chains away from w*. Once this mean has covered the share
    s = ``equilibrated_mean`` of its way, the estimate has changed by ``estimate - drift_free``. At most
    (1 - s)/s of this change is still to come. This is tested where the localization alone relaxes the
    variance. Elsewhere ``variance_not_equilibrated`` tests mean and variance by the trace.

    judged       ``quality``, ``equilibrated_variance``, ``equilibrated_mean`` (component);
                 ``llc_chain`` (.., chain)
    prior_only, drift_free
                 ``llc_chain`` of the controls; None: there is no such control
    """
    controls = {"prior_only": prior_only, "drift_free": drift_free}
    controls = {name: chains for name, chains in controls.items() if chains is not None}
    shared = sum(controls.values(), start=judged["llc_chain"]).notnull()
    estimate = judged["llc_chain"].where(shared).mean("chain")
    means = {name: chains.where(shared).mean("chain") for name, chains in controls.items()}
    flags = {}
    if "prior_only" in means:
        flags["prior_dominated"] = abs(_excess(estimate, means["prior_only"])) < LIMITS.prior_share
    if "drift_free" in means:
        flags["drift_dominated"] = abs(_excess(estimate, means["drift_free"])) > LIMITS.walked_share
        gone = judged["equilibrated_mean"].where(_localization_suffices(judged))
        ahead = abs(estimate - means["drift_free"]) * (1 / gone - 1)
        flags["mean_not_equilibrated"] = ahead > LIMITS.walking_share * abs(estimate)
    quality = judged["quality"]
    none_ok = bool(judged["llc_chain"].isnull().all())  # a control may then be NaN, although it was made
    there = ", ".join(name for name, chains in controls.items() if none_ok or bool(chains.notnull().any()))
    attributes = {**quality.attrs, JUDGED_AGAINST: there or NO_CONTROL}
    before = quality & ~QUALITY_DTYPE(BY_CONTROLS)
    return (before | _bits(flags) if flags else before).assign_attrs(attributes)


def _excess(estimate: xr.DataArray, control: xr.DataArray) -> xr.DataArray:
    """Return estimate / control - 1; NaN where the control is 0."""
    return estimate / control.where(control != 0) - 1


def _localization_suffices(estimate: xr.Dataset) -> xr.DataArray:
    """Return whether the localization alone brings the variance to equilibrium."""
    return estimate["equilibrated_variance"] >= LIMITS.equilibrated_variance


def _settled(estimate: xr.Dataset) -> xr.DataArray:
    """Return whether chains of half the length give the same estimate."""
    gained = abs(estimate["half_length_change"]) + 2 * estimate["half_length_change_se"]
    return gained <= LIMITS.half_length_share * abs(estimate["llc"])


def _rhat_limit(estimate: xr.Dataset) -> xr.DataArray:
    """Return the largest R-hat without a flag, per component, by its numbers of ok chains and kept draws."""
    chains = (estimate["status"] == STATUS.index("ok")).sum("chain")
    kept = estimate.attrs["draws"] - estimate.attrs["burn_in"]
    by_chance = rhat_by_chance(chains.values, kept, share=LIMITS.rhat_chance)
    return xr.zeros_like(estimate["rhat"]) + np.fmax(LIMITS.rhat, by_chance)


def _independent_draws(estimate: xr.Dataset) -> xr.DataArray:
    """Return kept draws of all chains over their dependence factor (Raftery and Lewis); NaN without."""
    kept = estimate.attrs["draws"] - estimate.attrs["burn_in"]
    ok = (estimate["status"] == STATUS.index("ok")).sum("chain")
    return ok * kept / _of_chains(estimate, "raftery_lewis_factor").mean("chain")


def _of_chains(estimate: xr.Dataset, name: str) -> xr.DataArray:
    """Return a single-chain test by name; NaN where chains are too short for it."""
    return estimate[name] if name in estimate else xr.full_like(estimate["status"], np.nan, dtype=float)


def _share_not_stationary(estimate: xr.Dataset) -> xr.DataArray:
    """Return the share of tested chains that fail a stationarity test; NaN where no chain is tested."""
    z, p = _of_chains(estimate, "geweke"), _of_chains(estimate, "heidelberger_welch_p")
    never = p.notnull() & (p <= ALPHA)
    tested = z.notnull() | p.notnull()
    return ((abs(z) > LIMITS.geweke) | never).where(tested).mean("chain")


def _bits(flags: dict[str, xr.DataArray]) -> xr.DataArray:
    first, *others = (MASKS[name] * holds.astype(QUALITY_DTYPE) for name, holds in flags.items())
    total = sum(others, start=first)
    return total.astype(QUALITY_DTYPE).reset_coords(drop=True).drop_attrs()  # those of ``status``
