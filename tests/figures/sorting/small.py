"""How tests read figures of sorting."""

import numpy as np


def found(drawing):
    """The findings of a drawing by their labels."""
    return {finding.label: finding for finding in drawing.findings}


def said(drawing):
    """The conditions of a drawing as one text."""
    return " ".join(drawing.conditions)


def panel(drawing, title):
    return next(ax for ax in drawing.figure.axes if ax.get_title("left") == title)


def line(ax, values):
    """The line of ``ax`` that draws ``values``; fails where there is none."""
    found = [a for a in ax.get_lines() if np.array_equal(a.get_ydata(), values.values, equal_nan=True)]
    assert found, f"{ax.get_title('left')} does not draw {values.name}"
    np.testing.assert_array_equal(found[0].get_xdata(), values["step"])
    return found[0]


def means(llc, seed):
    """Running means of three checkpoints from step 50 on, and their standard errors."""
    late = llc.sel(seed=seed, distribution="lists").dropna("step", subset=["llc"]).sel(step=slice(50, None))
    mean = late["llc"].rolling(step=3, center=True).mean().dropna("step")
    return mean, np.sqrt((late["llc_se"] ** 2).rolling(step=3, center=True).sum()).dropna("step") / 3
