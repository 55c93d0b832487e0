"""Refined LLC and in-context learning of each induction head and of all (arXiv 2410.02984, Fig. 10)."""

import numpy as np
import xarray as xr

from rllc.analysis.staggered import induction_heads, others, together
from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Panel, Row, by_seed, curve, level, sheet

PLAIN, GONE = {"color": "#222222", "marker": "o"}, {"color": "#999999", "marker": "^", "linestyle": ":"}
SIDES = (
    "Left, the score of a head is that with all other induction heads replaced by their mean outputs. "
    "Right, all induction heads' joint refined LLC, where it is sampled."
)


@style.styled
def rllc_fig10_staggered_induction(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None
) -> Drawing:
    """Rows: the refined LLC, and the in-context learning score; left each induction head, right all together.

    distribution  default "code", else the first of the score's

    The score of a head is that with all other induction heads mean-ablated. Right, the joint refined LLC
    where it is sampled (``components``), the score as it is, and without all of them.
    """
    icl = inputs.of_seeds(inputs.need(datasets, "icl", "icl_score"), seeds)
    name = inputs.distribution_names(icl, None if distribution is None else [distribution], ("code",))[0]
    data = icl[["icl_score", "icl_score_se"]].sel(distribution=[name])
    rllc = inputs.need(datasets, "rllc", "rllc")
    inputs.distribution_names(rllc, [name], ())
    kept = [each for each in ("rllc", "rllc_se", "verdict") if each in rllc]
    known = rllc[kept].sel(distribution=[name], seed=data["seed"])
    data = data.assign(known.rename(step="step_rllc"))
    data = data.assign(head_type=inputs.types_of(datasets, known["head"], data["seed"]))
    rows, findings, joint, drawn = [], [], {}, []
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        heads = induction_heads(one["head_type"])
        at = {"seed": seed, "distribution": name}
        all_of_them = together(datasets.get("components"), heads, **at) if len(heads) > 1 else None
        if all_of_them is not None:
            joint[seed] = all_of_them["rllc"]
        rows += _rows(one, heads, all_of_them, suffix)
        findings.append(_finding(one, heads, seed))
        drawn.append(one["icl_score"].sel(ablated=_ablated(heads)).values.ravel())
    figure, _ = sheet(rows, panel=(3.2, 2.0), margin=2.0, sharex=True, sharey="row")
    if joint:
        each = xr.concat(
            [array.reset_coords(drop=True) for array in joint.values()],
            xr.DataArray(list(joint), dims="seed", name="seed"),
        )
        data = data.assign(rllc_joint=each.rename(step="step_rllc").reindex(step_rllc=data["step_rllc"]))
    over_seeds, each = captions.of_seeds(_over_seeds(data.sel(distribution=name)), findings)
    return captions.drawing(
        figure,
        data,
        *over_seeds,
        *([SIDES] if any(len(row.panels) > 1 for row in rows) else []),
        conditions=[
            f"On {inputs.one_label(icl, name)}. Bands: one standard error.",
            captions.setting(rllc),
            captions.contexts(icl, "icl"),
            captions.failures(xr.Dataset({"icl_score": ("cell", np.concatenate(drawn))}), "icl_score"),
        ],
        details=each,
    )


def _ablated(heads: list[str]) -> list[str]:
    """What is ablated in the scores drawn; the data have those of other seeds' heads, too."""
    return ["none", *(["all"] if heads else []), *(others(heads, head) for head in heads if heads[1:])]


def _rows(one: xr.Dataset, heads: list[str], together: xr.Dataset | None, suffix: str) -> list[Row]:
    looks = style.head_styles(one["head_type"])
    late = [name for name in one.data_vars if "step_rllc" in one[name].dims]
    of_head = one[late].rename(step_rllc="step")
    score = one[["icl_score", "icl_score_se"]]
    plain = [("none", PLAIN), *([("all", GONE)] if heads else [])]
    alone = [(others(heads, head), looks[head]) for head in heads] if len(heads) > 1 else plain
    left = [
        Panel(
            f"{('no', 'the', 'each')[min(len(heads), 2)]} induction head{suffix}",
            [curve(of_head.sel(head=head), "rllc", looks[head]) for head in heads],
            steps=of_head["step"].values,
        ),
        Panel(
            "without the others" if len(heads) > 1 else "as it is, and without it" if heads else "as it is",
            [curve(score.sel(ablated=name), "icl_score", look) for name, look in alone],
            over=level(),
            steps=score["step"].values,
        ),
    ]
    right = [
        Panel(
            f"all together{suffix}" if together is not None else f"all together: not sampled{suffix}",
            [curve(together, "rllc", PLAIN)] if together is not None else [],
            steps=of_head["step"].values,
        ),
        Panel(
            "as it is, and without all",
            [curve(score.sel(ablated=name), "icl_score", look) for name, look in plain],
            over=level(),
        ),
    ]
    keys = [style.key(head, **looks[head]) for head in heads]
    two = len(heads) > 1
    keys.append(style.key("all, or as it is" if two else "as it is", **PLAIN))
    keys += [style.key("all ablated" if two else "ablated", **GONE)] if heads else []
    return [
        Row("refined LLC", [left[0], *([right[0]] if two else [])], keys),
        Row("ICL score (nats/token)", [left[1], *([right[1]] if two else [])]),
    ]


def _over_seeds(data: xr.Dataset) -> str:
    """The last scores with all heads and without any induction head, of seeds that have some."""
    kinds = (data["head_type"] == "induction").sum("head")
    last, some = data["icl_score"].isel(step=-1), kinds > 0
    if not some.any():
        return "No seed has an induction head."
    plain, gone = (captions.spread(last.sel(ablated=a)[some.values].values, ".2f") for a in ("none", "all"))
    step = style.step_text(float(last["step"]))
    return (
        f"At step {step}{captions.over(data)} the in-context learning score is {plain}, and {gone} without "
        f"any induction head, of which a seed has {captions.spread(kinds.values, '.0f')}."
    )


def _finding(one: xr.Dataset, heads: list[str], seed: int) -> str:
    if not heads:
        return f"Seed {seed}: no head is an induction head."
    last = one["icl_score"].isel(step=-1)
    step = style.step_text(float(one["step"][-1]))
    alone = [(head, float(last.sel(ablated=others(heads, head)))) for head in heads] if len(heads) > 1 else []
    each = "".join(f", {value:.2f} with {head} alone" for head, value in alone)
    return (
        f"Seed {seed}: at step {step} the in-context learning score is {float(last.sel(ablated='none')):.2f}"
        f"{each}, and {float(last.sel(ablated='all')):.2f} without any induction head."
    )
