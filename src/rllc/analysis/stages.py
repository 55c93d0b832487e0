"""Find stages of development from LLC curves, and test if these curves add information to the loss."""

import json
from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
import xarray as xr

from rllc.analysis.against_loss import against_loss
from rllc.analysis.plateaus import FEWEST, FLATNESS, KINDS, TOLERANCES, Boundary, counts, plateaus
from rllc.analysis.published_stages import published
from rllc.vocabulary import NATS, describe

BASE = "sampling"  # name of the base setting among others
CONTROL = "_prior_only"  # suffix of a setting's name for its prior-only control
CELL = ("setting", "distribution", "seed")
ANY = "any"
COUNTED = (ANY, *KINDS)  # labels of ``kind``
NONE, POSSIBLE, DETERMINED = range(3)
VARIABLES = {
    "llc_smooth": ("LLC smoothed by a Gaussian process", "1"),
    "llc_smooth_se": ("posterior standard deviation of the smoothed LLC", "1"),
    "llc_slope": ("slope of the smoothed LLC per e-fold of steps", "1"),
    "llc_slope_se": ("posterior standard deviation of the slope", "1"),
    "at_boundary": ("stage boundary at the checkpoint: 0 none, 1 possible, 2 determined", "1"),
    "published": ("plateau at the checkpoint by the rule of arXiv 2402.02364: 0 no, 1 yes", "1"),
    "boundary_kind": ("kind of plateau", "1"),
    "boundary_determined": ("whether 9 in 10 posterior draws have the boundary: 1 yes, 0 no", "1"),
    "boundary_step": ("step of the boundary", "steps"),
    "boundary_first": ("first checkpoint of the plateau", "steps"),
    "boundary_last": ("last checkpoint of the plateau", "steps"),
    "boundary_low": ("2.5 % quantile of the boundary over posterior draws", "steps"),
    "boundary_high": ("97.5 % quantile of the boundary over posterior draws", "steps"),
    "support": ("share of posterior draws that have such a plateau there", "1"),
    "boundary_count": ("number of boundaries by the tolerance ``flatness``", "1"),
    "determined_count": ("number of determined boundaries by the tolerance ``flatness``", "1"),
    "error_scale": ("fitted factor of the standard errors in smoothing; NaN: none are known", "1"),
    "loss": ("loss at the checkpoint on the minibatches that begin a chain", NATS),
    "sampled_loss": ("mean loss of the chains, loss + LLC / n_beta", NATS),
    "llc_of_loss": ("n_beta (median sampled loss - loss): the LLC if chains went to one loss", "1"),
    "llc_loss_correlation": ("correlation of the LLC with the loss, from 1 % of training on", "1"),
}


def stages(
    datasets: Mapping[str, xr.Dataset],
    *,
    from_step: int = 1,
    flatness: float = FLATNESS,
    tolerance: float,
    chance: float | None = None,
    guess: str = "uniform predictions",
    unit: str = NATS,
    random_seed: int = 0,
) -> xr.Dataset:
    """Return the boundaries of every LLC curve, one per sampling setting, distribution and training seed.

    A prior-only control also has boundaries, as a separate setting whose name ends in ``CONTROL``.
    Boundaries that an LLC shares with its control are those of the loss under noise, without any sampler.

    datasets   ``llc``, ``llc.<setting>``: ``llc`` and ``init_loss`` (seed, step, distribution); where there
               are some, ``llc_prior_only``, and the standard errors ``llc_se``, ``llc_prior_only_se``
    from_step  earlier checkpoints are left out
    flatness   tolerance of boundaries (``rllc.analysis.plateaus``)
    tolerance  absolute tolerance of the published rule
    chance     loss of uninformed predictions, described by ``guess``; both are recorded
    unit       unit of losses

    Returns ``VARIABLES`` along ``CELL`` and ``step``, those of a boundary along ``CELL`` and ``boundary``,
    ``at_boundary`` also along ``kind``, and counts along ``flatness``. NaN where a checkpoint is left out or
    has none.
    Unreliable estimates are treated like others.
    """
    keys, cells = [], []
    for name, data in datasets.items():
        n_beta = float(json.loads(data.attrs["sampling"])["n_beta"])
        setting, where = name.partition(".")[2] or BASE, [data[dim].values.tolist() for dim in CELL[1:]]
        curves = {f"{setting}{end}": f"llc{end}" for end in ("", CONTROL) if f"llc{end}" in data}
        for (called, variable), distribution, seed in product(curves.items(), *where):
            names = {variable: "llc"} | ({f"{variable}_se": "llc_se"} if f"{variable}_se" in data else {})
            one = data[[*names, "init_loss"]].sel(distribution=distribution, seed=seed, drop=True)
            keys.append((called, distribution, seed))
            rules = {"flatness": flatness, "tolerance": tolerance, "random_seed": random_seed}
            cells.append(_cell(one.rename(names), n_beta, from_step, **rules))
    table = _side_by_side(cells, keys)
    labels = {
        str(name): str(label)
        for data in datasets.values()
        if "distribution_label" in data.coords
        for name, label in zip(data["distribution"].values, data["distribution_label"].values, strict=True)
    }
    named = _text(labels.get(name, name) for name in table["distribution"].values.tolist())
    table = table.assign_coords(distribution_label=("distribution", named))
    known = {"tolerance_of_boundaries": flatness}
    known |= {} if chance is None else {"chance": chance, "guess": guess}
    words = {name: (long, unit if own == NATS else own) for name, (long, own) in VARIABLES.items()}
    return describe(table.assign_attrs(known), words)


def _side_by_side(cells: list[xr.Dataset], keys: list[tuple]) -> xr.Dataset:
    """Combine cells along ``CELL``, in the order of labels; missing cells are NaN, and "" for kinds."""
    labels = dict(zip(CELL, map(list, zip(*keys, strict=True)), strict=True))
    table = xr.concat(cells, "cell", join="outer", coords="minimal", compat="override")
    table = table.assign_coords(
        {name: ("cell", _text(given) if name != "seed" else given) for name, given in labels.items()}
    )
    table = table.set_index(cell=list(CELL)).unstack("cell")
    order = {name: list(dict.fromkeys(given)) for name, given in labels.items()}
    table = table.reindex(order | {"boundary": np.arange(max(table.sizes["boundary"], 1))})
    table = table.assign_coords({name: _text(order[name]) for name in CELL if name != "seed"})
    kinds = table["boundary_kind"].fillna("").astype(object)
    return table.assign(boundary_kind=kinds).transpose(*CELL, "step", "boundary", "kind", "flatness")


def _cell(
    data: xr.Dataset, n_beta: float, from_step: int, *, flatness: float, tolerance: float, random_seed: int
) -> xr.Dataset:
    """Return the boundaries of one curve; ``data``: ``llc``, ``init_loss`` and perhaps ``llc_se`` (step)."""
    data = data.sortby("step").drop_vars([name for name in data.coords if name != "step"])
    used = (data["step"] >= max(from_step, 1)) & np.isfinite(data["llc"])
    curve = data.isel(step=used.values)
    step, value = curve["step"].values.astype(float), curve["llc"].values.astype(float)
    error = curve["llc_se"].values.astype(float) if "llc_se" in curve else None
    smoothed, boundaries = plateaus(step, value, error, flatness=flatness, random_seed=random_seed)
    every, sure = counts(smoothed, random_seed=random_seed)
    flat = published(step, value, tolerance=tolerance) if step.size >= FEWEST else step[:0]
    along = {
        "llc_smooth": smoothed.value,
        "llc_slope": smoothed.slope,
        "published": np.isin(step, flat).astype(float),
        **dict(zip(("llc_smooth_se", "llc_slope_se"), smoothed.errors, strict=True)),
    }
    made = xr.Dataset(
        {name: ("step", values) for name, values in along.items()}
        | {"at_boundary": (("step", "kind"), marks(boundaries, step.size))},
        coords={"step": curve["step"].values, "kind": _text(COUNTED)},
    )
    made = made.reindex(step=data["step"].values).merge(_listed(boundaries, step))
    of_tolerance = {"boundary_count": every, "determined_count": sure}
    made = made.assign({name: ("flatness", number.astype(float)) for name, number in of_tolerance.items()})
    made = made.assign_coords(flatness=np.asarray(TOLERANCES)).assign(error_scale=smoothed.error_scale)
    return made.merge(against_loss(data["llc"], data["init_loss"], n_beta=n_beta))


def marks(boundaries: list[Boundary], checkpoints: int) -> np.ndarray:
    """Return ``POSSIBLE`` or ``DETERMINED`` at boundaries, per kind and for any: [checkpoints, kind]."""
    marks = np.full((checkpoints, len(COUNTED)), float(NONE))
    for each in boundaries:
        kinds = [COUNTED.index(ANY), COUNTED.index(each.kind)]
        marks[each.at, kinds] = DETERMINED if each.determined else POSSIBLE
    return marks


def _listed(boundaries: list[Boundary], step: np.ndarray) -> xr.Dataset:
    """Return the variables of every boundary."""
    at = {"boundary_step": "at", "boundary_first": "first", "boundary_last": "last"}
    at |= {"boundary_low": "low", "boundary_high": "high"}
    columns = {
        name: [np.nan if np.isnan(n := getattr(b, field)) else step[int(n)] for b in boundaries]
        for name, field in at.items()
    }
    columns |= {
        "support": [b.support for b in boundaries],
        "boundary_determined": [float(b.determined) for b in boundaries],
    }
    numbers = {name: ("boundary", np.asarray(values, dtype=float)) for name, values in columns.items()}
    kinds = {"boundary_kind": ("boundary", _text(b.kind for b in boundaries))}
    return xr.Dataset(numbers | kinds, coords={"boundary": np.arange(len(boundaries))})


def _text(values: Iterable[object]) -> np.ndarray:
    return np.asarray([str(value) for value in values], dtype=object)
