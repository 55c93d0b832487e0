"""Test whether induction heads form one after another, for claims (arXiv 2410.02984, B.2.2, Fig. 10)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.curves import NotJudged, largest_means, peak_step
from rllc.analysis.needs import needing

NAN = float("nan")
DROPS = (0.5, 0.9)
# Numbers and their requirements, in words.
NAMES = {
    "spread": "two induction heads with a peak",
    "same_order": "two induction heads with a peak and a fall of the score each, no two at one step",
    "drop_at_peak": "two induction heads with a peak and a fall of the score each",
    "joint_drop_at_peak": "two induction heads whose joint refined LLC is sampled, and a score that falls",
    "icl_left": "two induction heads, and a score below 0",
}


def staggered(datasets: Mapping[str, xr.Dataset], *, distribution: str, random_seed: int = 0) -> xr.Dataset:
    """Return numbers (seed, step) of each seed's induction heads, at the last step of ``induction_ablation``.

    datasets      ``induction_ablation``, ``rllc``, ``attention_scores`` (``head_type``); ``components``,
                  where the heads are sampled together, by their label or as their type (``members``)
    distribution  of the refined LLC and of the score: code

    A head's peak is the step of the largest refined LLC (``rllc.analysis.curves.largest_means``); its drop is
    that of the score with all other induction heads ablated, from the first checkpoint to the last.

    ``spread``              log2 of the latest over the earliest peak
    ``same_order``          1 where peaks have the order of the steps of half the drop, else 0; NaN with ties
    ``drop_at_peak``        the largest |log2| of the step of 90 % of a head's drop over that of its peak
    ``joint_drop_at_peak``  |log2| of the step of 90 % of the plain score's drop over that of the peak of all
                            heads' joint refined LLC
    ``icl_left``            score with all induction heads ablated over the plain one, at the last step, with
                            ``icl_left_se``

    NaN with fewer than two induction heads, where a curve is missing, or where no score falls.
    """
    icl = datasets["induction_ablation"].sel(distribution=distribution)
    rows = [_of_seed(datasets, icl.sel(seed=seed), seed, distribution) for seed in icl["seed"].values]
    names = [*NAMES, "icl_left_se"]
    table = np.asarray(rows, dtype=float).reshape(icl.sizes["seed"], 1, len(names))
    coords = {"seed": icl["seed"].values, "step": icl["step"].values[-1:]}
    made = {name: (("seed", "step"), table[..., n]) for n, name in enumerate(names)}
    return needing(xr.Dataset(made, coords), NAMES)


def induction_heads(types: xr.DataArray) -> list[str]:
    """Return the labels of the induction heads of one seed."""
    return [str(head) for head in types["head"].values[types.values == "induction"]]


def others(heads: Sequence[str], head: str) -> str:
    """Return the component label of all heads but one."""
    return "+".join(each for each in heads if each != head)


def together(
    components: xr.Dataset | None, heads: Sequence[str], *, seed: int, distribution: str
) -> xr.Dataset | None:
    """Return estimates (step) of heads as one component, in one seed and distribution; None if missing.

    Where components are types of heads, ``members`` of ``components`` lists their heads.
    """
    if components is None or distribution not in components["distribution"]:
        return None
    one = components.sel(seed=seed, distribution=distribution)
    same = one.get("members", one["component"]) == "+".join(heads)
    found = same.any([dim for dim in same.dims if dim != "component"]).values
    return one.isel(component=int(found.argmax())) if found.any() else None


def _of_seed(
    datasets: Mapping[str, xr.Dataset], icl: xr.Dataset, seed: int, distribution: str
) -> list[float]:
    heads = induction_heads(datasets["attention_scores"]["head_type"].sel(seed=seed))
    if len(heads) < 2:
        return [NAN] * (len(NAMES) + 1)
    score = icl["icl_score"]
    rllc = datasets["rllc"]["rllc"].sel(seed=seed, distribution=distribution)
    peaks = np.asarray([_peak(rllc.sel(head=head)) for head in heads])
    half, most = (
        np.asarray([_dropped(score, others(heads, head), share) for head in heads]) for share in DROPS
    )
    known = together(datasets.get("components"), heads, seed=seed, distribution=distribution)
    joint = NAN if known is None else _peak(known["rllc"])
    last = icl.isel(step=-1)
    left = last.where(last["icl_score"].sel(ablated="none") < 0).sel(ablated="all")
    tied = len({*peaks}) < len(peaks) or len({*half}) < len(half)
    ordered = float((np.argsort(peaks) == np.argsort(half)).all())
    return [
        np.log2(peaks.max() / peaks.min()),
        NAN if tied or not np.isfinite([*peaks, *half]).all() else ordered,
        abs(np.log2(most / peaks)).max(),
        abs(np.log2(_dropped(score, "none", DROPS[1]) / joint)),
        float(left["icl_left"]),
        float(left["icl_left_se"]),
    ]


def _peak(curve: xr.DataArray) -> float:
    try:
        return float(peak_step(largest_means(curve.reset_coords(drop=True).dropna("step"))))
    except NotJudged:
        return NAN


def _dropped(score: xr.DataArray, ablated: str, share: float) -> float:
    """Return the first step where the score has fallen by ``share`` of its fall from first to last."""
    if ablated not in score["ablated"].values:
        return NAN
    curve = score.sel(ablated=ablated).dropna("step")
    if not curve.size or curve[-1] >= curve[0]:
        return NAN
    there = curve.values <= float(curve[0] + share * (curve[-1] - curve[0]))
    return float(curve["step"].values[there.argmax()])
