"""Find stages of development from the curvature of the loss, by the rule for LLC curves."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import xarray as xr

from rllc.analysis.plateaus import FLATNESS, plateaus
from rllc.analysis.stages import COUNTED, marks

ALONG = ("seed", "distribution")


def hessian_stages(
    datasets: Mapping[str, xr.Dataset], *, from_step: int, flatness: float = FLATNESS, random_seed: int = 0
) -> xr.Dataset:
    """Return the boundaries of ln(Hessian trace), for every training seed and distribution.

    datasets   ``hessian``: ``hessian_trace`` (seed, step, distribution), perhaps ``hessian_trace_se``
    from_step  earlier checkpoints are left out, and so are those whose trace is not positive
    flatness   tolerance of boundaries (``rllc.analysis.plateaus``)

    Returns ``trace_smooth``, the trace smoothed in its logarithm, and ``at_boundary`` (kind): 0 none,
    1 possible, 2 determined, as for an LLC (``rllc.analysis.stages``); NaN at checkpoints left out.
    """
    data = datasets["hessian"].sortby("step")
    trace, errors = data["hessian_trace"], data.get("hessian_trace_se")
    cells = []
    for seed, distribution in product(*(trace[name].values.tolist() for name in ALONG)):
        one = trace.sel(seed=seed, distribution=distribution)
        used = one.isel(step=((one["step"] >= max(from_step, 1)) & (one > 0)).values)
        step, value = used["step"].values.astype(float), np.log(used.values.astype(float))
        relative = None
        if errors is not None:
            own = errors.sel(seed=seed, distribution=distribution, step=used["step"])
            relative = (own / used).values.astype(float)  # of the logarithm, to first order
        smoothed, boundaries = plateaus(step, value, relative, flatness=flatness, random_seed=random_seed)
        cell = xr.Dataset(
            {
                "trace_smooth": ("step", np.exp(smoothed.value)),
                "at_boundary": (("step", "kind"), marks(boundaries, step.size)),
            },
            coords={"step": used["step"].values, "kind": np.asarray(COUNTED, dtype=object)},
        )
        cell = cell.reindex(step=trace["step"].values)
        cells.append(cell.expand_dims(seed=[seed], distribution=[distribution]))
    made = xr.combine_by_coords(cells, combine_attrs="drop")
    assert isinstance(made, xr.Dataset)
    return made
