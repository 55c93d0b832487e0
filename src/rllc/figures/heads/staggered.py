"""Refined LLC and in-context learning of each induction head and of all (arXiv 2410.02984, Fig. 10)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.intervals import few
from rllc.analysis.staggered import induction_heads, others, together
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import MOST, over_seeds
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.head_findings import at_end, at_step, highest
from rllc.figures.panels import Panel, Row, by_seed, curve, level, sheet

TEXTS = 2  # largest number of other texts
PLAIN, GONE = {"color": "#222222", "marker": "o"}, {"color": "#999999", "marker": "^", "linestyle": ":"}


@style.styled
def rllc_fig10_staggered_induction(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None
) -> Drawing:
    """Top: refined LLC. Bottom: in-context learning score. Left: each induction head. Right: all together.

    distribution  default "code", else the first of the score's

    The score of a head is that with all other induction heads mean-ablated. Right, the joint refined LLC
    where it is sampled (``components``), the score as it is, and without all of them. Beside these, that of
    the intact model on other texts (``metrics``).
    """
    icl = inputs.of_seeds(inputs.need(datasets, "induction_ablation", "icl_score"), seeds)
    name = inputs.distribution_names(icl, None if distribution is None else [distribution], ("code",))[0]
    data = icl[["icl_score", "icl_score_se"]].sel(distribution=[name])
    rllc = inputs.need(datasets, "rllc", "rllc")
    inputs.distribution_names(rllc, [name], ())
    kept = [each for each in ("rllc", "rllc_se", "quality") if each in rllc]
    known = rllc[kept].sel(distribution=[name], seed=data["seed"])
    data = data.assign(known.rename(step="step_rllc"))
    data = data.assign(head_type=inputs.types_of(datasets, known["head"], data["seed"]))
    texts = _of_texts(datasets, data, name)
    data = data if texts is None else data.merge(texts)
    rows, joint, drawn, stages = [], {}, [], Stages(datasets, data["seed"])
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        heads = induction_heads(one["head_type"])
        at = {"seed": seed, "distribution": name}
        all_of_them = together(datasets.get("components"), heads, **at) if len(heads) > 1 else None
        if all_of_them is not None:
            joint[seed] = all_of_them["rllc"]
        made = _rows(one, heads, all_of_them, suffix)
        rows += [row._replace(panels=stages.behind(seed, row.panels)) for row in made]
        drawn.append(one["icl_score"].sel(ablated=_ablated(heads)).values.ravel())
    figure, _ = sheet(rows, panel=(3.2, 2.0), margin=2.0, sharex=True, sharey="row")
    if joint:
        each = xr.concat(
            [array.reset_coords(drop=True) for array in joint.values()],
            xr.DataArray(list(joint), dims="seed", name="seed"),
        )
        data = data.assign(rllc_joint=each.rename(step="step_rllc").reindex(step_rllc=data["step_rllc"]))
    shown = {seed: induction_heads(data["head_type"].sel(seed=seed)) for seed in data["seed"].values.tolist()}
    label = inputs.one_label(icl, name)
    return Drawing(
        figure,
        data,
        f"rLLC of the induction heads and in-context learning score over training, on {label}.",
        _findings(data.sel(distribution=name), shown),
        [
            *_bands(data["icl_score_se"]),
            *stages.said,
            *_without(shown),
            *conditions.setting(rllc),
            *conditions.contexts(icl, "induction_ablation"),
            *conditions.unreliable(_induction(data), "rllc"),
            *conditions.missing(xr.Dataset({"icl_score": ("cell", np.concatenate(drawn))}), "icl_score"),
            *conditions.seeds(data),
        ],
    )


def _bands(of_scores: xr.DataArray) -> list[str]:
    """Return the sentences on bands, which may differ between rLLCs and scores."""
    if few(of_scores) is None:
        return ["Bands: one standard error."]
    return ["Bands of rLLCs: one standard error.", conditions.band(of_scores, "over contexts", "Of scores")]


def _ablated(heads: list[str]) -> list[str]:
    """Return the ablations of the scores drawn. The data also have those of other seeds' heads."""
    return ["none", *(["all"] if heads else []), *(others(heads, head) for head in heads if heads[1:])]


def _rows(one: xr.Dataset, heads: list[str], together: xr.Dataset | None, suffix: str) -> list[Row]:
    looks = style.head_styles(one["head_type"])
    late = [name for name in one.data_vars if "step_rllc" in one[name].dims]
    of_head = one[late].rename(step_rllc="step")
    score = one[["icl_score", "icl_score_se"]]
    plain = [("none", PLAIN), *([("all", GONE)] if heads else [])]
    alone = [(others(heads, head), looks[head]) for head in heads] if len(heads) > 1 else plain
    named = [*zip(one["text"].values, one["text_label"].values, strict=True)] if "text" in one.dims else []
    texts: dict[str, str] = dict(named)
    styles = style.distribution_styles(list(texts))
    styles = {name: styles[name] | {"linewidth": 0.9, "markersize": 2.0} for name in texts}
    alike = one[[name for name in one.data_vars if str(name).startswith("icl_score_of_text")]]
    of_texts = [curve(alike.sel(text=name), "icl_score_of_text", look) for name, look in styles.items()]
    left = [
        Panel(
            f"{('no', 'the', 'each')[min(len(heads), 2)]} induction head{suffix}",
            [curve(of_head.sel(head=head), "rllc", looks[head]) for head in heads],
            steps=of_head["step"].values,
        ),
        Panel(
            "without the others" if len(heads) > 1 else "as it is, and without it" if heads else "as it is",
            [
                *(of_texts if len(heads) < 2 else []),
                *(curve(score.sel(ablated=name), "icl_score", look) for name, look in alone),
            ],
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
            [*of_texts, *(curve(score.sel(ablated=name), "icl_score", look) for name, look in plain)],
            over=level(),
        ),
    ]
    keys = [style.key(head, **looks[head]) for head in heads]
    two = len(heads) > 1
    keys.append(style.key("all, or as it is" if two else "as it is", **PLAIN))
    keys += [style.key("all ablated" if two else "ablated", **GONE)] if heads else []
    keys += [style.key(f"as it is, on\n{style.short(texts[name])}", **look) for name, look in styles.items()]
    return [
        Row("refined LLC", [left[0], *([right[0]] if two else [])], keys),
        Row("ICL score (nats/token)", [left[1], *([right[1]] if two else [])]),
    ]


def _without(heads: Mapping[int, Sequence[str]]) -> list[str]:
    """Return a sentence on the seeds without an induction head."""
    seeds = [str(seed) for seed, each in heads.items() if not each]
    return [f"No induction head in seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}."] if seeds else []


def _findings(data: xr.Dataset, heads: Mapping[int, Sequence[str]]) -> list[Finding]:
    """Return the last scores of the intact model and without induction heads; for one seed also each head's.

    heads  induction heads of each seed
    """
    last, some = at_end(data, "icl_score"), [seed for seed, each in heads.items() if each]
    name, when, score = "in-context learning score", at_step(last), last["icl_score"]

    def of(label: str, ablated: str, seeds: list[int]) -> list[Finding]:
        at = {"ablated": ablated, "seed": seeds}
        return over_seeds(label, score.sel(at), last["icl_score_se"].sel(at), "nats/token")

    found = of(f"{name} {when}", "none", [*heads])
    if some:
        found += of(f"{name} {when} without any induction head", "all", some)
    found += _on_texts(data, name)
    several = next(iter(heads.values())) if len(heads) == 1 else []
    for head in several if len(several) > 1 else []:
        found += of(f"{name} {when} with {head} as the only induction head", others(several, head), [*heads])
    return [*found, *highest(at_end(_induction(data), "rllc"), "rllc", "rLLC", "of the induction heads")][
        :MOST
    ]


def _of_texts(datasets: Datasets, data: xr.Dataset, name: str) -> xr.Dataset | None:
    """Return the intact model's score on the first other texts (seed, step, text); None if there is none."""
    metrics = datasets.get("metrics")
    if metrics is None or "icl_score" not in metrics:
        return None
    names = [each for each in metrics["distribution"].values.tolist() if each != name][:TEXTS]
    if not names:
        return None
    kept = [each for each in ("icl_score", "icl_score_se") if each in metrics]
    one = metrics[kept].sel(distribution=names).reindex(seed=data["seed"], step=data["step"])
    labels = [*inputs.distribution_labels(one).values()]
    one = one.reset_coords(drop=True).rename(distribution="text")
    one = one.rename({each: each.replace("score", "score_of_text") for each in kept})
    return one.assign_coords(text_label=("text", np.asarray(labels, dtype=object)))


def _on_texts(data: xr.Dataset, name: str) -> list[Finding]:
    """Return the last scores of the intact model on other texts."""
    if "icl_score_of_text" not in data:
        return []
    last = at_end(data, "icl_score_of_text")
    error = last.get("icl_score_of_text_se")
    return [
        found
        for text, label in zip(last["text"].values, last["text_label"].values, strict=True)
        for found in over_seeds(
            f"{name} on {label} {at_step(last)}",
            last["icl_score_of_text"].sel(text=text),
            None if error is None else error.sel(text=text),
            "nats/token",
        )
    ]


def _induction(data: xr.Dataset) -> xr.Dataset:
    """Return the estimates of the induction heads over ``step``, those of other heads NaN."""
    late = data[
        [name for name in data.data_vars if "step_rllc" in data[name].dims and "head" in data[name].dims]
    ]
    typed = late.where(data["head_type"] == "induction").rename(step_rllc="step")
    return typed.assign(head_type=data["head_type"])
