"""Captions and their sentences, computed from what is drawn.

A caption says the finding first, then numbers, then conditions, in some 120 words; the rest are details.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from rllc.analysis.contrasts import by_chain, lead
from rllc.figures import held_out
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import counted, faulty
from rllc.vocabulary import STATUS

WORDS = 120
MANY = 1000  # degrees of freedom, with which a Student-t interval is a normal one
BANDS = "Bands: one Monte Carlo standard error given the minibatches."
ERROR = (
    "The Monte Carlo standard error is from {}; it holds no error from the choice of minibatches or data and "
    "none between training seeds."
)
MEASURED = "Measured on {} held-out contexts of each distribution."
LEVEL = ("n_beta", "localization", "step_size", "reference_norm")
SETTING = (*LEVEL, "chains", "draws", "burn_in", "thinning", "batch_size")
NO_HEADS = "heads.nc was not given, so head types are unknown."
LABELS = "A head label means another head in another seed, so nothing is averaged over seeds."


def compose(
    *findings: str, conditions: Sequence[str] = (), details: Sequence[str] = (), title: str = ""
) -> tuple[str, str]:
    """Caption and details of sentences in the order of their weight; empty ones are left out.

    ``title`` goes before the first finding, which is always in the caption, as the conditions are; the
    other findings as long as there is room for ``WORDS``; those for which there is none begin the details.
    """
    first, *more = [finding for finding in findings if finding]
    if title:
        first = f"{title}: {within(first)}"
    room = WORDS - len(joined(first, *conditions).split())
    sizes = np.cumsum([len(finding.split()) for finding in more])
    fit = int((sizes <= room).sum())
    return joined(first, *more[:fit], *conditions), joined(*more[fit:], *details)


def drawing(
    figure: Figure,
    data: xr.Dataset,
    *findings: str,
    conditions: Sequence[str] = (),
    details: Sequence[str] = (),
    title: str = "",
) -> Drawing:
    """The drawing with its words as ``compose`` has them, and those that every dataset brings itself.

    These are its training seeds, and where its heads have types, which and by what.
    """
    named = "seed" in data.coords
    typed = "head_type" in data and "seed" in data["head_type"].dims
    ends = [*conditions, seeds(data) if named else ""]
    more = [types(data["head_type"]) if typed else "", *details, *(labels(data) if named else [])]
    caption, _ = compose(*findings, conditions=ends, details=more, title=title)
    return Drawing(figure, data, caption)


def of_estimates(
    source: xr.Dataset, drawn: xr.Dataset, name: str, *beside: str
) -> tuple[list[str], list[str]]:
    """Conditions and details of a figure of estimates: errors, setting, missing and doubted cells.

    source  the dataset, with its sampling setting
    drawn   what of it is drawn: ``name``, and what is drawn ``beside`` it
    """
    bands = f"{name}_se" in drawn
    conditions = [
        BANDS if bands else "The dataset has no standard errors.",
        setting(source),
        failures(drawn, name, *beside),
        trust(drawn, name),
        held_out.text(source, drawn),
    ]
    full = chains(source)
    details = [f"Sampled with {full}." if full else "", error(source) if bands else "", cautions(drawn, name)]
    return conditions, details


def error(source: xr.Dataset) -> str:
    """What the standard errors of a dataset of estimates are from, and what is not in them."""
    pairs = sampling(source).get("pairs")
    return ERROR.format(
        "the differences between chains and between pairs" if pairs else "the pooled effective sample size"
    )


def recorded(dataset: xr.Dataset, section: str) -> dict[str, Any]:
    """The settings that a dataset was made with (attribute, JSON); empty if absent."""
    return json.loads(dataset.attrs.get(section, "{}"))


def sampling(dataset: xr.Dataset) -> dict[str, float]:
    """The sampling setting a dataset was made with (attribute ``sampling``, JSON); empty if absent."""
    return recorded(dataset, "sampling")


def setting(dataset: xr.Dataset) -> str:
    """What the level of an estimate depends on: "Setting: n_beta 30, localization 200, step_size 0.001."."""
    known = _values(dataset, *LEVEL)
    return f"Setting: {known}." if known else "The dataset does not record its sampling setting."


def chains(dataset: xr.Dataset) -> str:
    """The setting in full: "n_beta 30, ..., chains 4, ... (240 held-out contexts per chain)"."""
    values = sampling(dataset)
    known = _values(dataset, *SETTING)
    read = held_out.drawn_by_chain(values)
    return f"{known} ({read:g} held-out contexts per chain)" if read else known


def level(dataset: xr.Dataset) -> str:
    """The same in brackets, after a name: " (n_beta 30, localization 200, step_size 0.001)"."""
    known = _values(dataset, *LEVEL)
    return f" ({known})" if known else ""


def _values(dataset: xr.Dataset, *names: str) -> str:
    values = sampling(dataset)
    return ", ".join(f"{name} {values[name]:g}" for name in names if values.get(name) is not None)


def contexts(dataset: xr.Dataset, section: str, *, of: str = MEASURED) -> str:
    """On how many held-out contexts a measure is, as far as the dataset knows, said as ``of`` says it.

    section  attribute (JSON) with ``contexts``, or with ``probes`` of ``batch_size`` contexts each
    """
    values = recorded(dataset, section)
    read = values.get("contexts") or values.get("probes", 0) * values.get("batch_size", 0)
    return of.format(f"{read:,}") + held_out.fewer(dataset, read) if read else ""


def seeds(dataset: xr.Dataset | xr.DataArray) -> str:
    """Which training seeds are drawn: "Training seed 0." or "Training seeds 0, 1, each by itself."."""
    names = np.atleast_1d(dataset["seed"].values).tolist()
    if len(names) == 1:
        return f"Training seed {names[0]}."
    return f"Training seeds {', '.join(map(str, names))}, each by itself."


def labels(dataset: xr.Dataset | xr.DataArray) -> list[str]:
    """``LABELS`` where several seeds are drawn."""
    return [LABELS] if np.atleast_1d(dataset["seed"].values).size > 1 else []


def failures(dataset: xr.Dataset, *names: str) -> str:
    parts = [
        f"{absent} of {dataset[name].size} cells of {name} are missing and marked with a cross"
        for name in names
        if (absent := int(dataset[name].isnull().sum()))
    ]
    if "status" in dataset:
        codes = np.bincount(dataset["status"].values.astype(np.int64).ravel(), minlength=len(STATUS))
        bad = [f"{codes[i]} {STATUS[i]}" for i in range(1, len(STATUS)) if codes[i]]
        if bad:
            parts.append(f"chains not ok: {', '.join(bad)} of {codes.sum()}")
    return sentence("; ".join(parts) or "No cell drawn is missing")


def trust(dataset: xr.Dataset, name: str) -> str:
    """How many cells are not reliable, by quality flag; nothing without verdicts."""
    wrong = faulty(dataset, name)
    if wrong is None:
        return ""
    total, bad = int(dataset[name].notnull().sum()), int(wrong.sum())
    if not bad:
        return f"{total} of {total} estimates are reliable."
    reasons = _numbers(counted(dataset, name)[0])
    return f"{bad} of {total} estimates are not reliable and have a ring ({reasons})."


def cautions(dataset: xr.Dataset, name: str) -> str:
    counts = counted(dataset, name)[1]
    return f"Not marked, but to be known: {_numbers(counts)}." if counts else ""


def _numbers(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} {number}" for reason, number in counts.most_common())


def types(kinds: xr.DataArray) -> str:
    """How types were assigned, and which heads are not "multigram"."""
    if (kinds == "unknown").all():
        return NO_HEADS
    parts = []
    for seed in np.atleast_1d(kinds["seed"].values).tolist():
        row = kinds.sel(seed=seed)
        named = by_head(row[~row.isin(["multigram", "unknown"])])
        parts.append(f"seed {seed}: {named or 'none above a threshold'}")
    return f"Colour is the head's type by its attention scores at the last checkpoint ({'; '.join(parts)})."


def by_head(values: xr.DataArray, form: str = "") -> str:
    """Values (head) after the labels: "0:0 1.02, 0:1 0.98"."""
    pairs = zip(values["head"].values, values.values, strict=True)
    return ", ".join(f"{head} {value:{form}}" for head, value in pairs)


def highest(values: xr.DataArray) -> str:
    return str(values["head"].values[int(values.fillna(-np.inf).argmax("head"))])


def largest(values: xr.DataArray, error: xr.DataArray | None, *, count: int) -> str:
    """The highest heads, "1:1 (3.36 ± 0.10), 1:0 (2.27 ± 0.08)", of values (head)."""
    known = values.dropna("head")
    parts = []
    for head in known["head"].values[np.argsort(-known.values)[:count]]:
        plus = "" if error is None else f" ± {float(error.sel(head=head)):.2f}"
        parts.append(f"{head} ({float(known.sel(head=head)):.2f}{plus})")
    return ", ".join(parts) or "none measured"


def freedom(degrees: xr.DataArray) -> str:
    """Those of a figure's intervals: "3 to 6 degrees of freedom", "47 degrees of freedom or more"."""
    low, high = (float(end) for end in (degrees.min(), degrees.max()))
    if high > MANY:
        return f"{low:.0f} degrees of freedom or more"
    return f"{spread([low, high], '.0f')} degrees of freedom"


def spread(values: Iterable[float], form: str | Callable[[float], str]) -> str:
    """Their range, "0.70 to 0.77", as over seeds; one number where both ends read alike."""
    known = [float(value) for value in values if np.isfinite(value)]
    said = form if callable(form) else f"{{:{form}}}".format
    return " to ".join(dict.fromkeys(said(end) for end in (min(known), max(known)))) if known else "not known"


def last(values: xr.DataArray) -> list[float]:
    """The last value known of each seed; ``values`` (seed, step)."""
    known = (values.sel(seed=seed).dropna("step") for seed in values["seed"].values)
    return [float(one[-1]) for one in known if one.size]


def over(dataset: xr.Dataset | xr.DataArray) -> str:
    """What a sentence of ranges says of its seeds: " over 3 seeds"; nothing of one."""
    count = dataset["seed"].size
    return f" over {count} seeds" if count > 1 else ""


def of_seeds(together: str, each: Sequence[str]) -> tuple[list[str], list[str]]:
    """Findings and details: what holds over several seeds, and each seed's sentence; of one seed its own."""
    return (list(each), []) if len(each) < 2 else ([together], list(each))


def ahead(last: xr.Dataset) -> str:
    """How far the highest head is above the next: ", 1.07 ± 0.49 above 1:2", an interval.

    last  ``rllc`` (head) and ``contrasts.BY_CHAIN``; nothing without chains, or with one head
    """
    known = last["head"].values[last["rllc"].notnull().values].tolist()
    if "rllc_chain" not in last or len(known) < 2:
        return ""
    top = highest(last["rllc"])
    others = [head for head in known if head != top]
    margin = lead(last["rllc"], head=top, others=others, chains=by_chain(last))
    if not np.isfinite(margin["half_width"]):
        return ""
    return f", {float(margin['lead']):.2f} ± {float(margin['half_width']):.2f} above {margin['rival'].item()}"


def when(condition: object, text: str) -> str:
    """The sentence where the condition holds, else nothing."""
    return text if condition else ""


def sentence(text: str) -> str:
    """The text with a capital first letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def within(text: str) -> str:
    """A sentence as it goes on after a colon; a word in capitals keeps them."""
    return f"{text[:1].lower()}{text[1:]}" if text[1:2].islower() else text


def joined(*sentences: str) -> str:
    """Sentences that are not empty, as one paragraph."""
    return " ".join(sentence for sentence in sentences if sentence)
