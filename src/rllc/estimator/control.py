"""Attach controls to an estimate, after checking that they share its setting, batches and centre losses.

``with_controls`` adds controls that were computed apart from their estimate, and updates its ``quality``.
"""

from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.diagnostics.quality import judge_against_controls
from rllc.estimator.samplers.deterministic import TOLERANCE
from rllc.sampler_config import SamplerConfig
from rllc.vocabulary import describe

FREE = {
    "chains",
    "gradient",
    "drift_free",
    "antithetic_pairs",
}  # settings in which a control may differ from its estimate
PRIOR_ONLY_CHAIN = "llc_prior_only_chain"
VARIABLES = {
    "llc_prior_only": (
        "control: the same estimate without the gradient term in the sampler, same noise and batches", "1",
    ),
    "llc_prior_only_se": ("Monte Carlo standard error of the control", "1"),
    PRIOR_ONLY_CHAIN: ("control: the same chain without the gradient", "1"),
    "llc_drift_free": (
        "control: the same estimate with the gradient at the checkpoint subtracted, so that chains do not "
        "walk down its slope",
        "1",
    ),
    "llc_drift_free_se": ("Monte Carlo standard error of the drift-free control", "1"),
}  # fmt: skip


def with_controls(
    estimate: xr.Dataset, prior_only: xr.Dataset | None = None, drift_free: xr.Dataset | None = None
) -> xr.Dataset:
    """Return an estimate with its controls and an updated ``quality``.

    estimate    the result of an estimator
    prior_only  its control without the gradient, made with ``control_of=estimate``. None: use the control
                inside the estimate (from ``antithetic_pairs`` or ``report_control``), if any
    drift_free  its drift-free control, made likewise. None: ``quality`` cannot have ``drift_dominated`` or
                ``mean_not_equilibrated``

    Adds ``llc_prior_only``, ``llc_prior_only_se`` (component), ``llc_prior_only_chain`` (component,
    chain) and ``llc_drift_free``, ``llc_drift_free_se`` (component) for the given controls. ``quality`` can
    then have the flags ``prior_dominated``, ``drift_dominated`` and ``mean_not_equilibrated``. Its attribute
    ``judged_against`` names the controls, or is "no control". Without a control, ``quality`` cannot have
    ``prior_dominated``.

    Raises ValueError where a control is not an estimator's dataset, where it differs from the estimate in
    setting, components or losses at the centre, or where it is the other kind of control.
    """
    made, chains = {}, {"prior_only": estimate.get(PRIOR_ONLY_CHAIN), "drift_free": None}
    for name, control in (("prior_only", prior_only), ("drift_free", drift_free)):
        if control is not None:
            _check_control(name, control, estimate)
            chains[name] = control["llc_chain"]
            made |= {f"llc_{name}": control["llc"], f"llc_{name}_se": control["llc_se"]}
    if prior_only is not None:
        made[PRIOR_ONLY_CHAIN] = prior_only["llc_chain"].reindex(chain=estimate["chain"])
    dataset = estimate.assign({**made, "quality": judge_against_controls(estimate, **chains)})
    return describe(dataset, {name: VARIABLES[name] for name in made})


def _check_control(name: str, control: Any, estimate: xr.Dataset) -> None:
    """Raise ValueError where ``control`` is not the control ``name`` of the estimate."""
    _check_dataset(name, control, "llc_chain", "loss_at_center")
    expected = {key: value for key, value in estimate.attrs.items() if key not in FREE}
    for key, value in {
        **expected,
        "gradient": int(name == "drift_free"),
        "drift_free": int(name == "drift_free"),
    }.items():
        if control.attrs.get(key) != value:
            raise ValueError(
                f"{name} has {key} {control.attrs.get(key)}, expected {value}: make it with "
                f"control_of=estimate and {'drift_free=True' if name == 'drift_free' else 'gradient=False'}"
            )
    own, its = (each["component"].values.tolist() for each in (estimate, control))
    if its != own:
        raise ValueError(f"{name} has the components {its}: expected the components of the estimate, {own}")
    if not np.allclose(control["loss_at_center"], estimate["loss_at_center"], rtol=TOLERANCE, atol=0.0):
        raise ValueError(
            f"{name} has other losses at the centre than the estimate: expected the same loss, weights and "
            "batches"
        )


def _check_dataset(name: str, given: Any, *needed: str) -> None:
    """Raise ValueError where the argument ``name`` is no dataset, or lacks one of these variables."""
    if not isinstance(given, xr.Dataset):
        kind = type(given).__name__
        raise ValueError(f"{name} is a {kind}: expected the dataset that an estimator returned")
    missing = [variable for variable in needed if variable not in given]
    if missing:
        raise ValueError(
            f"{name} lacks {', '.join(missing)}: expected the whole dataset that an estimator returned"
        )


def known_at_center(control_of: Any, setting: SamplerConfig) -> tuple[Tensor, float]:
    """Return the estimate's losses at the centre [draw], and its mean loss over the init batches.

    Raises ValueError where ``control_of`` is not an estimate, is itself a control, or has another setting.
    """
    _check_dataset("control_of", control_of, "loss_at_center", "init_loss")
    own = {name: value for name, value in setting.facts().items() if name not in FREE}
    for name, value in {**own, "gradient": 1, "drift_free": 0}.items():
        if control_of.attrs.get(name) != value:
            raise ValueError(
                f"control_of has {name} {control_of.attrs.get(name)}, expected was {value}: give an estimate "
                "with the gradient, and repeat its setting (chains may differ)"
            )
    return torch.from_numpy(control_of["loss_at_center"].values), float(control_of["init_loss"])


def check_center(here: Tensor, known: Tensor) -> None:
    """Raise ValueError if a control's losses at the centre differ from its estimate's.

    here   [draw]: computed by the control; NaN: not computed, so not compared
    known  [draw]: of the estimate
    """
    here, known = here.double().cpu(), known.cpu()
    differs = ~(torch.isclose(here, known, rtol=TOLERANCE, atol=0.0) | here.isnan())
    if differs.any():
        draw = int(differs.nonzero()[0])
        raise ValueError(
            f"control_of has the loss {known[draw]:.6g} at the centre on the batch of draw {draw}, its "
            f"control {here[draw]:.6g}: expected the same loss, weights and batches for both"
        )
