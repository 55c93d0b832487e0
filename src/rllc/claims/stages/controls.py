"""Claims that the LLC says more than the loss and the prior."""

import xarray as xr

from rllc.analysis.curves import pearson
from rllc.analysis.stages import BASE
from rllc.claims.claim import claim
from rllc.claims.columns import CONTROL
from rllc.claims.run import Run
from rllc.claims.stages.curves import llc_curve, one_layer, two_layers, two_layers_at_another_setting

ORDER = 2  # place of these claims among those of the work

EARLY = 0.01  # share of the training, at its start, that correlations of the LLC leave out


def _correlation_with_loss(run: Run, setting: str) -> xr.DataArray:
    """Return the correlation of the LLC with the loss from 1 % of training on."""
    early = EARLY * run.experiment.steps
    loss = run.curve("metrics.loss", from_step=early, distribution=run.text)
    return pearson(llc_curve(run, setting, from_step=early), loss)


def _correlation_with_control(run: Run, setting: str) -> xr.DataArray:
    """Return the correlation of the LLC with its prior-only control from 1 % of training on."""
    early = EARLY * run.experiment.steps
    return pearson(
        llc_curve(run, setting, from_step=early), llc_curve(run, setting, CONTROL, from_step=early)
    )


@claim(
    "The LLC says more than the loss",
    source="ours: a control",
    name="llc_not_loss",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers,
    published="-0.987: fails",
)
@claim(
    "The LLC of one layer says more than the loss",
    source="ours: a control",
    name="llc_not_loss_one_layer",
    label="correlation of the LLC with the loss, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=one_layer,
    published="-0.977: fails",
)
def llc_loss_correlation(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC with the loss from 1 % of training on."""
    return _correlation_with_loss(run, run.experiment.setting)


@claim(
    "At the base setting the LLC says more than the loss",
    source="ours: a control",
    name="llc_not_loss_local",
    label="correlation of the LLC at the base setting with the loss, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers_at_another_setting,
    published="not measured",
)
def llc_loss_correlation_local(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC at the base setting with the loss from 1 % of training on."""
    return _correlation_with_loss(run, BASE)


@claim(
    "The LLC says more than its prior-only control",
    source="ours: a control",
    name="llc_not_control",
    label="correlation of the LLC with its prior-only control, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers,
    published="not measured",
)
def llc_control_correlation(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC with its prior-only control from 1 % of training on."""
    return _correlation_with_control(run, run.experiment.setting)


@claim(
    "At the base setting the LLC says more than its prior-only control",
    source="ours: a control",
    name="llc_not_control_local",
    label="correlation of the LLC at the base setting with its prior-only control, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers_at_another_setting,
    published="not measured",
)
def llc_control_correlation_local(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC at the base setting with its prior-only control."""
    return _correlation_with_control(run, BASE)
