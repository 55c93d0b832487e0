"""Conditions under which the numbers of a figure hold: sentences for its caption.

A function returns a list of sentences, which is empty if no condition applies.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.intervals import few
from rllc.analysis.recorded import recorded
from rllc.figures import held_out
from rllc.figures.inputs import faulty
from rllc.vocabulary import PRECISE_AT, PRECISE_FREEDOM, STATUS

# Settings on which an estimate's level depends.
LEVEL = ("n_beta", "localization", "step_size", "reference_norm")
SEVERAL = 3  # largest number of cells that are named
BANDS = "Bands: one Monte Carlo standard error, given the minibatches."


def of_estimates(source: xr.Dataset, drawn: xr.Dataset, name: str, *beside: str) -> list[str]:
    """Return the conditions of a figure of estimates: bands, setting, seeds, unreliable and missing cells.

    source  the dataset, with its sampling setting
    drawn   what of it is drawn: ``name``, and what is drawn ``beside`` it
    """
    bands = [BANDS] if f"{name}_se" in drawn else []
    return [
        *bands,
        *setting(source),
        *unreliable(drawn, name),
        *missing(drawn, name, *beside),
        *few_contexts(source, drawn),
        *seeds(drawn),
    ]


def band(error: xr.DataArray, over: str, name: str = "Bands") -> str:
    """Return the sentence on bands of a standard error, as ``half_width`` draws them.

    over  of what it is, from the word "over" or "of" on
    """
    freedom = few(error)
    if freedom is None:
        return f"{name}: one standard error {over}."
    said = f"{freedom:g} degree{'s' * (freedom != 1)} of freedom"
    if PRECISE_AT in error.attrs:
        at = ", ".join(f"{step:,}" for step in np.atleast_1d(error.attrs[PRECISE_AT]))
        said += f" ({error.attrs[PRECISE_FREEDOM]:g} at step {at})"
    return f"{name}: 68 % Student interval {over}, {said}."


def minibatches(source: xr.Dataset, drawn: xr.Dataset, name: str) -> list[str]:
    """Return the sentence that errors leave out the choice of minibatches, with its size where it is known.

    source  the dataset, with ``<name>_se`` and ``<name>_se_data``
    drawn   what of it is drawn
    """
    if f"{name}_se" not in drawn:
        return []
    said = "Errors leave out the choice of minibatches"
    if f"{name}_se_data" not in source:
        return [f"{said}."]
    of_data = source[f"{name}_se_data"].sel({dim: drawn[dim] for dim in drawn[name].dims})
    ratio = float((of_data / drawn[f"{name}_se"].where(drawn[f"{name}_se"] > 0)).median())
    size = f" ({ratio:.2g} times as large, median)" if np.isfinite(ratio) else ""
    return [f"{said}{size}."]


def setting(source: xr.Dataset) -> list[str]:
    """Return the sampling setting: "Setting: n_beta 30, localization 200, step_size 0.001."."""
    values = recorded(source, "sampling")
    known = [f"{key} {values[key]:g}" for key in LEVEL if values.get(key) is not None]
    return [f"Setting: {', '.join(known)}."] if known else []


def contexts(source: xr.Dataset, section: str) -> list[str]:
    """Return the number of held-out contexts of a measure.

    section  attribute (JSON) with ``contexts``, or with ``probes`` of ``batch_size`` contexts each; and with
             ``precise``, the number at the steps ``precise_at``, if there are more
    """
    values = recorded(source, section)
    each = 1 if "contexts" in values else values.get("batch_size", 0)
    count = values.get("contexts") or values.get("probes", 0)
    if not count * each:
        return []
    few = held_out.fewer(source, max(count, values.get("precise") or 0) * each)
    said = f"Measured on {count * each:,} held-out contexts of each distribution"
    return [f"{said}{more_at(values, count, each)}.{few}"]


def more_at(values: Mapping[str, Any], count: int, each: int = 1) -> str:
    """Return the number of contexts at steps that are measured on more, with a warning of jumps there.

    values  settings that a measure records
    count   its units elsewhere, of ``each`` contexts
    """
    precise = values.get("precise") or 0
    if precise <= count:
        return ""
    at = ", ".join(f"{step:,}" for step in values["precise_at"])
    return f" ({precise * each:,} at step {at}: with other contexts, curves may jump there)"


def few_contexts(source: xr.Dataset, drawn: xr.Dataset) -> list[str]:
    """Return the held-out amount of each text of the user's own, and of texts with few contexts."""
    text = held_out.text(source, drawn)
    return [text] if text else []


def seeds(drawn: xr.Dataset | xr.DataArray) -> list[str]:
    """Return the training seeds drawn: "Training seed 0." or "Training seeds 0, 1."."""
    if "seed" not in drawn.coords:
        return []
    names = np.atleast_1d(drawn["seed"].values).tolist()
    return [f"Training seed{'s' * (len(names) > 1)} {', '.join(map(str, names))}."]


def unreliable(drawn: xr.Dataset, name: str) -> list[str]:
    """Return the number of unreliable estimates, and their labels if they are few; nothing if none are."""
    wrong = faulty(drawn, name)
    if wrong is None or not bool(wrong.any()):
        return []
    total, bad = int(drawn[name].notnull().sum()), int(wrong.sum())
    named = f": {_cells(wrong)}" if bad <= SEVERAL else ""
    return [f"Rings: {bad} of {total} estimates are not reliable{named}."]


def missing(drawn: xr.Dataset, *names: str) -> list[str]:
    """Return the numbers of cells without a value and of failed chains; nothing if there are none."""
    sentences = [
        f"Crosses: {absent} of {drawn[name].size} cells of {name} are missing."
        for name in names
        if (absent := int(drawn[name].isnull().sum()))
    ]
    if "status" in drawn:
        codes = np.bincount(drawn["status"].values.astype(np.int64).ravel(), minlength=len(STATUS))
        bad = [f"{codes[n]} {STATUS[n]}" for n in range(1, len(STATUS)) if codes[n]]
        sentences += [f"Chains that failed: {', '.join(bad)} of {codes.sum()}."] if bad else []
    return sentences


def _cells(wrong: xr.DataArray) -> str:
    """Return the labels of the cells that are true: "0:2 at step 1,342 on code, ..."."""
    stacked = wrong.stack(cell=wrong.dims) if wrong.ndim else wrong.expand_dims("cell")
    found = []
    for cell in stacked[stacked.values]["cell"].values if wrong.ndim else []:
        labels = dict(zip(wrong.dims, cell if isinstance(cell, tuple) else (cell,), strict=True))
        words = [
            str(label) if isinstance(label, str) else f"{dim} {label:g}"
            for dim, label in labels.items()
            if dim not in ("seed", "step", "distribution")
        ]
        words += [f"step {int(labels['step']):,}"] if "step" in labels else []
        words += (
            [str(labels["distribution"])]
            if "distribution" in labels and wrong.sizes["distribution"] > 1
            else []
        )
        words += [f"seed {labels['seed']}"] if "seed" in labels and wrong.sizes["seed"] > 1 else []
        found.append(" ".join(words))
    return "; ".join(found)


def of_settings(sources: Mapping[str, xr.Dataset], drawn: Mapping[str, xr.Dataset], name: str) -> list[str]:
    """Return the conditions of a figure of one estimate at several sampling settings, each by its name.

    sources  the dataset of every setting
    drawn    what of it is drawn, by the same names
    """
    if len(sources) == 1:
        ((key, source),) = sources.items()
        return of_estimates(source, drawn[key], name)
    made = []
    for key, source in sources.items():
        one = drawn[key]
        made += [text.replace("Setting", f"Setting {key}", 1) for text in setting(source)]
        made += [text.replace(":", f", {key}:", 1) for text in (*unreliable(one, name), *missing(one, name))]
    some = next(iter(drawn.values()))
    bands = [BANDS] if any(f"{name}_se" in one for one in drawn.values()) else []
    few = [text for key, source in sources.items() for text in few_contexts(source, drawn[key])]
    return [*bands, *made, *dict.fromkeys(few), *seeds(some)]


def of_several(*drawn: tuple[xr.Dataset, str]) -> list[str]:
    """Return bands, unreliable and missing cells of several estimates in one figure, counted together.

    drawn  each a dataset and the name of its estimate
    """
    wrong = [bad for data, name in drawn if (bad := faulty(data, name)) is not None]
    bad = sum(int(each.sum()) for each in wrong)
    total = sum(int(data[name].notnull().sum()) for data, name in drawn)
    absent = sum(int(data[name].isnull().sum()) for data, name in drawn)
    bands = any(f"{name}_se" in data for data, name in drawn)
    return [
        *([BANDS] if bands else []),
        *([f"Rings: {bad} of {total} estimates are not reliable."] if bad else []),
        *([f"Crosses: {absent} of {absent + total} estimates are missing."] if absent else []),
    ]
