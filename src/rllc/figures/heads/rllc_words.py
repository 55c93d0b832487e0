"""What captions say of refined LLCs: the highest, how far they fall, ratios; ranges over seeds first."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM, PEAK_WINDOW, Curve, before_peak, near_peak
from rllc.analysis.statistics import summarise
from rllc.figures import captions, inputs, style
from rllc.figures.panels import by_seed

FEW = 8  # heads that are each named


def highest(data: xr.Dataset) -> tuple[list[str], list[str]]:
    """Findings and details: the highest heads of each layer at the last step and their lead, by seed."""
    labels, sentences, intervals = inputs.distribution_labels(data), [], False
    step, together = style.step_text(float(data["step"][-1])), []
    for name, label in labels.items():
        tops = (
            data["rllc"]
            .isel(step=-1)
            .sel(distribution=name, head=inputs.heads_of_layer(data, layer))
            .max("head")
            for layer in inputs.layers(data)
        )
        parts = (f"layer {n} {captions.spread(top.values, '.2f')}" for n, top in enumerate(tops))
        together.append(f"on {label} {', '.join(parts)}")
    for _, suffix, last in by_seed(data.isel(step=-1)):
        for name, label in labels.items():
            parts = []
            for layer in inputs.layers(data):
                heads = last.sel(distribution=name, head=inputs.heads_of_layer(last, layer))
                errors = heads.get("rllc_se")
                top = captions.largest(heads["rllc"], errors, count=2 if len(labels) == 1 else 1)
                ahead = captions.ahead(heads)
                intervals = intervals or bool(ahead)
                parts.append(f"layer {layer} {top}{ahead}")
            sentences.append(f"Highest refined LLC on {label} at step {step}{suffix}: {'; '.join(parts)}.")
    errors = "±: one standard error, of leads the 95 % Student-t interval over chains."
    of_all = f"The highest refined LLC at step {step}{captions.over(data)}: {'; '.join(together)}."
    each = [*sentences, *([errors] if intervals else [])]
    return (each, []) if data["seed"].size == 1 else ([of_all], each)


def falls(data: xr.Dataset) -> tuple[list[str], list[str]]:
    """Findings and details: how far heads of the first layer fall from their largest mean to the last."""
    heads = inputs.heads_of_layer(data, 0)
    read = {"of": "rllc.rllc", "label": "", "unit": "1", "from_step": PEAK_FROM, "window": PEAK_WINDOW}
    entries = {head: {**read, "statistic": "fall", "at": {"head": head}} for head in heads}
    table, ends, each = summarise(entries, {"rllc": data}), [], []
    for seed, suffix, one in by_seed(data):
        known = table.sel(seed=seed)[heads].to_array("head").dropna("head")
        said = {head: _fall(table.sel(seed=seed), head, one.sel(head=head)) for head in known["head"].values}
        if said:
            order = known["head"].values[known.values.argsort()]
            extremes = " to ".join(dict.fromkeys((said[order[0]], said[order[-1]])))
            ends.append(f"From its largest value to its last a head of layer 0 loses {extremes}{suffix}.")
            each.append(f"Of layer 0 lose{suffix} {'; '.join(said.values())}.")
    if not ends:
        return [], []
    said_of = (
        f"These values are means of {PEAK_WINDOW} checkpoints, largest where within a standard error of the "
        "largest. arXiv 2410.02984, App. G, has multigram heads fall once n-grams are learnt (after LM2)."
    )
    falls = 100 * table[heads].to_array("head")
    least, most = (captions.spread(of("head").values, ".0f") for of in (falls.min, falls.max))
    of_all = (
        f"From its largest value to its last the head of layer 0 that falls most loses {most} %"
        f"{captions.over(data)}, the one that falls least {least} %."
    )
    return ([*ends, said_of, *each], []) if data["seed"].size == 1 else ([of_all, said_of], each)


def _fall(table: xr.Dataset, head: str, one: xr.Dataset) -> str:
    """ "30 ± 2 % (0:0, largest at steps 221 to 999)"."""
    known = one.squeeze("distribution").dropna("step", subset=["rllc"])
    error = known["rllc_se"].values if "rllc_se" in known else None
    means = before_peak(Curve(known["step"].values, known["rllc"].values, error))
    where = means.step[near_peak(means)]
    steps = " to ".join(dict.fromkeys(f"{step:,.0f}" for step in where[[0, -1]]))
    spread = float(table.get(f"{head}_se", np.nan))
    plus = f" ± {100 * spread:.0f}" if np.isfinite(spread) else ""
    at = f"largest at {'step' if where[0] == where[-1] else 'steps'} {steps}"
    return f"{100 * table[head].item():.0f}{plus} % ({head}, {at})"


def refined(refinement: xr.Dataset) -> list[str]:
    """The ratio of each group of heads at the last step, against each distribution, with its error.

    Of several seeds the range, and the largest of their errors; errors are to first order.
    """
    last, parts, several = refinement.isel(step=-1), [], refinement["seed"].size > 1
    for against in last["against"].values.tolist():
        each = []
        for group in ("induction", "multigram"):
            cell = last.sel(head_group=group, against=against)
            ratio = 2.0 ** cell["log2_ratio"]
            error = float((ratio * np.log(2) * cell["log2_ratio_se"]).max())
            plus = f" (each ± at most {error:.2f})" if several else f" ± {error:.2f}"
            known = f"{captions.spread(ratio.values, '.2f')}{plus}" if ratio.notnull().any() else "not known"
            each.append(f"{group} heads {known}")
        parts.append(f"on {against}: {', '.join(each)}")
    of = f"Refined LLC on {refinement.attrs['distribution']} (last step, geometric mean) over that"
    return [captions.sentence(f"{of} {'; '.join(parts)}{captions.over(refinement)}")]


def ratios(last: xr.Dataset, labels: Mapping[str, str], natural: str, generated: str) -> str:
    """The one over the other: of few heads each, of many or of several seeds the range in each layer."""
    over = last["rllc"].sel(distribution=generated, drop=True) / last["rllc"].sel(
        distribution=natural, drop=True
    )
    if over.size <= FEW:
        said = captions.by_head(over.isel(seed=0).dropna("head"), ".2f")
    else:
        parts = []
        for layer in inputs.layers(last):
            values = over.sel(head=inputs.heads_of_layer(last, layer)).values
            middle = f"median {float(np.nanmedian(values)):z.2f}"
            parts.append(f"{captions.spread(values.ravel(), 'z.2f')} ({middle}) in layer {layer}")
        said = f"{', '.join(parts)}{captions.over(last)}"
    return (
        f"At the last step the refined LLC on {labels[generated]} is that on {labels[natural]} times {said}."
    )
