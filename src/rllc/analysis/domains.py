"""Test whether the LLC on other texts is a shifted copy of the training text's (arXiv 2410.02984, C.1)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.curves import NAN, PEAK_FROM
from rllc.analysis.plateaus import PEAK, TROUGH
from rllc.analysis.ranks import pearson
from rllc.analysis.stages import BASE
from rllc.vocabulary import describe

EXTREMA = (PEAK, TROUGH)  # kinds of boundaries
REDRAWS = 1000  # of the curves, for standard errors to about 2 %
VARIABLES = {
    "correlation": ("Pearson correlation of the LLC with that on the reference, over checkpoints", "1"),
    "correlation_se": ("standard error of correlation, by redrawing the LLCs independently", "1"),
    "least_correlation": ("smallest correlation of a distribution that is no programming language", "1"),
    "least_correlation_se": ("standard error of least_correlation", "1"),
    "correlation_gap": (
        "mean correlation of distributions that are no programming language less that of those that are", "1",
    ),
    "correlation_gap_se": ("standard error of correlation_gap", "1"),
    "science_fall": ("fall of the LLC in the stage on scientific text less that on the reference", "1"),
    "science_fall_se": ("standard error of science_fall", "1"),
    "boundary_shift": (
        "|log2| of the step of an extremum of the LLC on the reference over the nearest alike, median over "
        "extrema and distributions",
        "octaves",
    ),
}  # fmt: skip


def domains(
    datasets: Mapping[str, xr.Dataset],
    *,
    reference: str,
    programming: Sequence[str],
    science: Sequence[str],
    stage: Sequence[int] | None,
    random_seed: int = 0,
) -> xr.Dataset:
    """Return numbers (seed, step) at the last checkpoint, and ``correlation`` (seed, distribution).

    datasets     ``llc`` (seed, step, distribution) and, where there, ``llc_se``; ``stages``, where there
    reference    distribution with which the others are compared: the training text
    programming  programming languages among the others; ``science``: scientific texts
    stage        first and last step of the stage in which the LLC falls (the paper's LM3: 6,500 and 8,500);
                 None: not known

    Correlations are over checkpoints from step ``PEAK_FROM`` on where both LLCs are known. Before, the LLC is
    that of random weights, which is so low that any two curves look alike. ``science_fall`` is the mean of
    1 - LLC(last) / LLC(first) over scientific texts minus that of the reference. ``boundary_shift`` uses the
    extrema of ``stages`` in the base setting; a distribution without an extremum of the kind counts as the
    whole training. Undefined numbers are NaN. Errors treat checkpoints and distributions as independent,
    although they share their noise, so the errors of differences tend to be too large.
    """
    llc = datasets["llc"].transpose("seed", "step", "distribution", ...)
    names = [str(name) for name in llc["distribution"].values]
    unknown = sorted({reference, *programming, *science} - {*names})
    if unknown:
        raise ValueError(f"llc.nc has no distribution {', '.join(unknown)}; it has {', '.join(names)}")
    others = [name for name in names if name != reference]
    kinds = _Kinds(
        names.index(reference),
        [n for n, name in enumerate(names) if name in programming],
        [n for n, name in enumerate(names) if name in science],
        [n for n, name in enumerate(names) if name not in (reference, *programming)],
    )
    seeds, step = llc["seed"].values.tolist(), llc["step"].values
    rows, tables = [], []
    for seed in seeds:
        one = llc.sel(seed=seed)
        value = one["llc"].values
        error = one["llc_se"].values if "llc_se" in one else np.full_like(value, NAN)
        correlation, found = _numbers(value, step, kinds, stage)
        random = np.random.default_rng(random_seed)
        drawn = [_numbers(random.normal(value, error), step, kinds, stage) for _ in range(REDRAWS)]
        correlation_se = np.std([each for each, _ in drawn], axis=0, ddof=1)
        spread = {key: np.std([each[key] for _, each in drawn], axis=0, ddof=1) for key in found}
        boundaries = datasets.get("stages")
        shift = NAN if boundaries is None else _shift(boundaries.sel(seed=seed), reference, others, step)
        tables.append((correlation, correlation_se))
        rows.append(
            {**found, **{f"{key}_se": float(each) for key, each in spread.items()}, "boundary_shift": shift}
        )
    coords = {"seed": seeds, "step": step[-1:], "distribution": llc["distribution"]}
    made = {
        name: (("seed", "distribution"), np.stack([table[n] for table in tables]))
        for n, name in enumerate(("correlation", "correlation_se"))
    }
    made |= {
        name: (("seed", "step"), [[row[name]] for row in rows]) for name in VARIABLES if name not in made
    }
    labels = {"distribution_label": llc["distribution_label"]} if "distribution_label" in llc.coords else {}
    return describe(xr.Dataset(made, {**coords, **labels}), VARIABLES).assign_attrs(reference=reference)


class _Kinds(NamedTuple):
    """Masks of the columns: reference, programming languages, sciences, and all but the first two."""

    reference: int
    programming: list[int]
    science: list[int]
    natural: list[int]


def _numbers(
    value: np.ndarray, step: np.ndarray, kinds: _Kinds, stage: Sequence[int] | None
) -> tuple[np.ndarray, dict[str, float]]:
    """Return correlations [distribution] and the other numbers, from LLCs [step, distribution] of a seed."""
    late = value[step >= PEAK_FROM]
    every = np.asarray(pearson(late.T, late[:, kinds.reference]))
    natural, programming = every[kinds.natural], every[kinds.programming]
    return every, {
        "least_correlation": float(natural.min()) if natural.size else NAN,
        "correlation_gap": float(natural.mean() - programming.mean())
        if natural.size and programming.size
        else NAN,
        "science_fall": _science_fall(value, step, kinds, stage),
    }


def _science_fall(value: np.ndarray, step: np.ndarray, kinds: _Kinds, stage: Sequence[int] | None) -> float:
    """Return ``science_fall`` between the first checkpoints from the stage's ends on; NaN before its end."""
    if stage is None or not kinds.science or step[-1] < stage[1]:
        return NAN
    first, last = (value[np.searchsorted(step, end)] for end in stage)
    fall = 1 - last / first
    return float(fall[kinds.science].mean() - fall[kinds.reference])


def _shift(stages: xr.Dataset, reference: str, others: Sequence[str], step: np.ndarray) -> float:
    """Return the median over extrema of the reference and other distributions; NaN without an extremum."""
    if BASE not in stages["setting"].values:
        return NAN
    whole = float(np.log2(step[-1] / step[step > 0][0]))
    at = stages.sel(setting=BASE)
    shifts = []
    for kind in EXTREMA:
        of = {name: _extrema(at.sel(distribution=name), kind) for name in (reference, *others)}
        for name in others:
            for one in of[reference]:
                near = np.abs(np.log2(of[name] / one))
                shifts.append(float(near.min()) if near.size else whole)
    return float(np.median(shifts)) if shifts else NAN


def _extrema(one: xr.Dataset, kind: str) -> np.ndarray:
    """Return the steps of the boundaries of a kind."""
    return one["boundary_step"].values[
        (one["boundary_kind"] == kind).values & one["boundary_step"].notnull().values
    ]
