"""Sentences of captions, computed from what is drawn."""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.comparison import curvature_prediction, shrinkage
from rllc.analysis.contrasts import lead
from rllc.figures.inputs import counted, faulty
from rllc.vocabulary import STATUS

BANDS = (
    "Bands are one Monte Carlo standard error given the minibatches (pooled effective sample size); they "
    "hold no error from the choice of minibatches or data and none between training seeds."
)
NO_HEADS = "heads.nc was not given, so head types are unknown."


def sampling(dataset: xr.Dataset) -> dict[str, float]:
    """The sampling setting a dataset was made with (attribute ``sampling``, JSON); empty if absent."""
    return json.loads(dataset.attrs.get("sampling", "{}"))


def change_by_gradient(rllc: xr.Dataset) -> xr.DataArray:
    """``1 - on / off`` of every cell, over the chains that have a control, whose noise it shares."""
    on, count = rllc["rllc"], sampling(rllc).get("control_chains")
    if count is not None and "rllc_chain" in rllc:
        on = rllc["rllc_chain"].isel(chain=slice(int(count))).mean("chain")
    return shrinkage(on, rllc["rllc_gradient_off"])


def setting(dataset: xr.Dataset) -> str:
    """ "Setting: n_beta 30, localization 200, ... (240 contexts per chain)."."""
    names = (
        "n_beta", "localization", "step_size", "reference_norm", "chains", "draws", "burn_in", "thinning",
        "batch_size",
    )  # fmt: skip
    values = sampling(dataset)
    told = [f"{name} {values[name]:g}" for name in names if values.get(name) is not None]
    if not told:
        return "The dataset does not record its sampling setting."
    seen = ""
    if {"draws", "batch_size"} <= set(values):
        contexts = values["draws"] * values.get("thinning", 1) * values["batch_size"]
        seen = f" ({contexts:g} held-out contexts per chain)"
    return f"Setting: {', '.join(told)}{seen}."


def contexts(dataset: xr.Dataset, section: str, *, count: str) -> str:
    """On how many held-out contexts a measure is, as far as the dataset knows.

    section, count  attribute (JSON) with ``batch_size``, and its key that is the number of batches
    """
    values = json.loads(dataset.attrs.get(section, "{}"))
    if not {"batch_size", count} <= set(values):
        return ""
    return f"Measured on {values['batch_size'] * values[count]} held-out contexts of each distribution."


def seeds(dataset: xr.Dataset | xr.DataArray) -> str:
    """Which training seeds are drawn, and that their heads are not matched."""
    names = np.atleast_1d(dataset["seed"].values).tolist()
    if len(names) == 1:
        return f"Training seed {names[0]}."
    return (
        f"Training seeds {', '.join(map(str, names))}, each by itself: a head label means another head in "
        "another seed, so nothing is averaged over seeds."
    )


def failures(dataset: xr.Dataset, *names: str) -> str:
    """How many drawn cells are missing and how many chains failed."""
    said = []
    for name in names:
        absent, total = int(dataset[name].isnull().sum()), dataset[name].size
        if absent:
            said.append(f"{absent} of {total} cells of {name} are missing and marked with a cross")
    if "status" in dataset:
        codes = np.bincount(dataset["status"].values.astype(np.int64).ravel(), minlength=len(STATUS))
        bad = [f"{codes[i]} {STATUS[i]}" for i in range(1, len(STATUS)) if codes[i]]
        if bad:
            said.append(f"chains not ok: {', '.join(bad)} of {codes.sum()}")
    text = "; ".join(said)
    return sentence(text) if text else "No cell drawn is missing."


def trust(dataset: xr.Dataset, name: str) -> str:
    """How many cells cannot be trusted, by reason, and which cautions hold; nothing without verdicts."""
    wrong = faulty(dataset, name)
    if wrong is None:
        return ""
    total = int(dataset[name].notnull().sum())
    faults, cautions = counted(dataset, name)
    bad = int(wrong.sum())
    if bad:
        said = f"{bad} of {total} estimates cannot be trusted and have a ring ({_numbers(faults)})."
    else:
        said = f"Of {total} estimates none is known to be wrong."
    return joined(said, f"Not marked, but to be known: {_numbers(cautions)}." if cautions else "")


def _numbers(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{reason} {number}" for reason, number in ordered)


def types(kinds: xr.DataArray) -> str:
    """How types were assigned, and which heads are not "other"."""
    if (kinds == "unknown").all():
        return NO_HEADS
    found = []
    for seed in np.atleast_1d(kinds["seed"].values).tolist():
        row = kinds.sel(seed=seed)
        named = [
            f"{head} {kind}"
            for head, kind in zip(row["head"].values.tolist(), row.values.tolist(), strict=True)
            if kind not in ("other", "unknown")
        ]
        found.append(f"seed {seed}: {', '.join(named) or 'none above a threshold'}")
    return f"Colour is the head's type by its attention scores at the last checkpoint ({'; '.join(found)})."


def largest(values: xr.DataArray, error: xr.DataArray | None, *, count: int) -> str:
    """The highest heads at the last step, "1:1 (3.36 ± 0.10), 1:0 (2.27 ± 0.08)", of values (step, head)."""
    last = values.isel(step=-1).values
    order = np.argsort(-np.nan_to_num(last, nan=-np.inf))[:count]
    parts = []
    for i in order[np.isfinite(last[order])]:
        plus = "" if error is None else f" ± {float(error.isel(step=-1).values[i]):.2f}"
        parts.append(f"{values['head'].values[i]} ({last[i]:.2f}{plus})")
    return ", ".join(parts) or "none measured"


def ahead(heads: xr.Dataset) -> str:
    """How far the highest head at the last step is above the next: ", 1.07 ± 0.49 above 1:2", an interval.

    heads  ``rllc`` (step, head) and ``rllc_chain``; nothing without the chains, or with one head
    """
    last = heads.isel(step=-1)
    known = last["head"].values[last["rllc"].notnull().values].tolist()
    if "rllc_chain" not in heads or len(known) < 2:
        return ""
    top = str(last["head"].values[int(last["rllc"].fillna(-np.inf).argmax("head"))])
    others = [head for head in known if head != top]
    found = lead(last["rllc"], head=top, others=others, chains=last["rllc_chain"])
    if not np.isfinite(found["half_width"]):
        return ""
    return f", {float(found['lead']):.2f} ± {float(found['half_width']):.2f} above {found['rival'].item()}"


def localization_dominance(
    rllc: xr.Dataset, datasets: Mapping[str, xr.Dataset], *, limit: float = 0.05
) -> str:
    """Says where the estimate is nearly its control, or nearly n_beta / (2 localization) tr H; else nothing.

    Over the cells of ``rllc``: the control differs from the estimate by at most ``limit`` in the median
    cell (single cells differ by their Monte Carlo error); the curvature prediction by at most 0.25 in eight
    of ten.
    """
    said = []
    if "rllc_gradient_off" in rllc and rllc["rllc_gradient_off"].notnull().any():
        change = np.abs(change_by_gradient(rllc))
        median, most = change.quantile([0.5, 0.9]).values
        if median <= limit:
            said.append(
                f"with the gradient switched off the estimates change by {median:.1%} in the median cell and "
                f"by at most {most:.1%} in nine of ten, Monte Carlo error included, so the sampler feels the "
                "localization and hardly the loss"
            )
    prediction = predicted(rllc, datasets)
    if prediction is not None and prediction.notnull().any():
        ratio = (prediction / rllc["rllc"]).quantile([0.1, 0.9]).values
        if ratio[0] >= 0.75 and ratio[1] <= 1.25:
            said.append(
                f"n_beta / (2 localization) tr H is {ratio[0]:.2f} to {ratio[1]:.2f} times the estimate in "
                "eight of ten cells, so this and the Hessian trace are nearly one measurement, not two"
            )
    return f"At this setting {'; '.join(said)}." if said else ""


def predicted(rllc: xr.Dataset, datasets: Mapping[str, xr.Dataset]) -> xr.DataArray | None:
    """n_beta / (2 localization) tr H of each head at the setting of ``rllc``; None where it is not known."""
    values, hessian = sampling(rllc), datasets.get("hessian")
    if (
        hessian is None
        or "hessian_trace_head" not in hessian
        or not {"n_beta", "localization"} <= set(values)
    ):
        return None
    trace = hessian["hessian_trace_head"].reindex_like(rllc["rllc"])
    return curvature_prediction(trace, n_beta=values["n_beta"], localization=values["localization"])


def sentence(text: str) -> str:
    """The text with a capital first letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def joined(*sentences: str) -> str:
    """Sentences that are not empty, as one paragraph."""
    return " ".join(sentence for sentence in sentences if sentence)
