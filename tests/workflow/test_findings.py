"""Every number of a caption is computed a second time, from the datasets of the finished study.

A finding is a label with a number. Readers take the number for what the label says, so each row of ``ROWS``
computes what a label and its caption say, by xarray, numpy and scipy. Nothing here comes from the code of the
figures or analyses. A label that no row knows fails: a new finding needs a second computation.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from rllc.study import defaults
from rllc.study.reading import read

ROOT = Path(__file__).resolve().parents[2]
CI = "results/ci"
STEP = r"step (?P<step>[\d,]+)"
HEAD = r"head (?P<head>\d+:\d+) \((?P<type>.+?)\)"
SETTING = r"(?P<setting>base setting|likelihood|scaled)"
NEAR_END = "mean of the last 4 checkpoints"
PAPER = ["induction", "dyck", "skip_ngram", "ngram"]  # the patterns of arXiv 2410.02984
NAMES = dict(zip(["induction", "Dyck (brackets)", "skip n-gram", "n-gram"], PAPER, strict=True))
CLASSES = [name.removesuffix(" (brackets)") for name in [*NAMES][1:]]  # of multigram heads


class Figure(NamedTuple):
    """A figure of the finished study, and the datasets that it may read."""

    name: str
    results: Path

    @property
    def experiment(self) -> str:
        return experiments()[self.name] or "language"

    def __getitem__(self, name: str) -> xr.Dataset:
        """Return a dataset of the figure's experiment at its only seed."""
        return self.of(f"{self.experiment}/{name}.nc")

    def of(self, path: str) -> xr.Dataset:
        return opened(self.results / path)

    def on(self, dataset: str, text: str = "training mixture") -> xr.Dataset:
        """Return the part of a dataset on a distribution, by the label that captions give it."""
        data = self[dataset]
        (number,) = np.flatnonzero(data["distribution_label"].values == text)
        return data.isel(distribution=number)


class Finding(NamedTuple):
    figure: Figure
    label: str
    value: float
    error: float


class Row(NamedTuple):
    """Labels, and what is computed of one: the value, or the value and its standard error."""

    labels: str
    compute: Callable[[Figure, re.Match], float | xr.DataArray | tuple]


@cache
def opened(path: Path) -> xr.Dataset:
    with xr.open_dataset(path) as file:
        data = file.load()
    return data.squeeze("seed") if "seed" in data.dims else data  # raises where there are several


@cache
def experiments() -> dict[str, str | None]:
    """Return the experiment of every figure."""
    study = read(defaults.load([ROOT / "config/ci.yaml"], ROOT))
    return {name: figure.experiment for name, figure in study.figures.items()}


def findings(root: Path) -> Iterator[Finding]:
    """Yield the findings of every figure of the study."""
    for path in sorted((root / CI / "figures").glob("*.nc")):
        data = opened(path)
        if "finding" in data.dims:
            columns = (data[name].values.tolist() for name in ("finding", "finding_value", "finding_error"))
            for each in zip(*columns, strict=True):
                yield Finding(Figure(path.stem, root / CI), *each)


def step(match: re.Match, group: str = "step") -> int:
    return int(match[group].replace(",", ""))


def spearman(a: xr.DataArray, b: xr.DataArray) -> float:
    known = np.isfinite(a.values) & np.isfinite(b.values)
    return stats.spearmanr(a.values[known], b.values[known]).statistic


def median_spearman(a: xr.DataArray, b: xr.DataArray) -> float:
    """Return the median over checkpoints, and what other dims there are, of the correlation over heads."""
    pairs = [each.stack(cell=[dim for dim in a.dims if dim != "head"]) for each in (a, b)]
    same = [spearman(*(each.sel(cell=cell) for each in pairs)) for cell in pairs[0]["cell"].values]
    return np.nanmedian(same)


def named(figure: Figure, match: re.Match, values: xr.DataArray) -> xr.DataArray:
    """Return the value of the head that a label calls the highest, having seen that it is, and its type."""
    assert values.idxmax("head") == match["head"]
    of_type(figure, match["head"], match["type"])
    return values.sel(head=match["head"])


def of_type(figure: Figure, head: str, kind: str) -> None:
    scores = figure["attention_scores"].sel(head=head)
    assert scores["head_type"] == kind.removesuffix("?")
    assert scores["head_type_uncertain"] == kind.endswith("?")


def in_layer(data: xr.Dataset, layer: str | int) -> xr.Dataset:
    return data.isel(head=np.flatnonzero(data["layer"] == int(layer)))


# --- claims and corpus


def claims_with(figure: Figure, match: re.Match) -> float:
    return np.sum(figure.of("claims.nc")["verdict"].values == match["verdict"])


def extreme_text(variable: str, factor: float = 1.0) -> Callable:
    def compute(figure: Figure, match: re.Match) -> xr.DataArray:
        corpus = figure.of("corpus.nc")
        values = corpus[variable].isel(
            distribution=np.flatnonzero(corpus["distribution_label"] == match["text"])
        )
        end = corpus[variable].max() if match["end"] == "largest" else corpus[variable].min()
        assert values.item() == end
        return factor * values.squeeze()

    return compute


# --- estimates of heads


def highest_rllc(figure: Figure, match: re.Match) -> tuple:
    data = in_layer(figure.on("rllc", match["text"] or "training mixture"), match["layer"])
    data = data.sel(step=step(match))
    return named(figure, match, data["rllc"]), data["rllc_se"].sel(head=match["head"])


def at_setting(figure: Figure, match: re.Match) -> xr.Dataset:
    plain = match["setting"] == "base setting"
    return figure.on("rllc" if plain else f"rllc.{match['setting']}")


def over_chains_with(data: xr.Dataset, control: str) -> xr.DataArray:
    """Return the mean over the chains that have a control; with pairs every chain has the prior-only one."""
    made = json.loads(data.attrs["sampling"])
    count = made.get(f"{control}_chains")
    if count is None or (control == "control" and made.get("antithetic_pairs")):
        return data["rllc"]
    return data["rllc_chain"].isel(chain=slice(0, count)).mean("chain")


def reduction(figure: Figure, match: re.Match) -> xr.DataArray:
    data = at_setting(figure, match)
    return 100 * (1 - over_chains_with(data, "control") / data["rllc_prior_only"]).median()


def mostly_drift(figure: Figure, match: re.Match) -> xr.DataArray:
    """Return the share of estimates that differ from the drift-free control by more than half of it."""
    data = at_setting(figure, match)
    drift = over_chains_with(data, "drift_free") - data["rllc_drift_free"]
    return 100 * (abs(drift) > 0.5 * abs(data["rllc_drift_free"])).mean()


def change_over_training(figure: Figure, match: re.Match) -> xr.DataArray:
    heads = in_layer(at_setting(figure, match), match["layer"])["rllc"]
    return (heads.sel(step=step(match)) / heads.sel(step=step(match, "middle"))).median()


def like_control(figure: Figure, match: re.Match) -> float:
    data = at_setting(figure, match)
    return median_spearman(data["rllc"], data["rllc_prior_only"])


def predicted(rllc: xr.Dataset, trace: xr.DataArray) -> xr.DataArray:
    made = json.loads(rllc.attrs["sampling"])
    return made["n_beta"] / (2 * made["localization"]) * trace / rllc["rllc"]


def curvature_over_rllc(figure: Figure, match: re.Match) -> xr.DataArray:
    return predicted(at_setting(figure, match), figure.on("hessian")["hessian_trace_head"]).median()


def trace_over_rllc(figure: Figure, match: re.Match) -> xr.DataArray:
    return predicted(figure["rllc"], figure["hessian"]["hessian_trace_head"]).median()


def trace_and_rllc(figure: Figure, match: re.Match) -> float:
    return median_spearman(*xr.align(figure["hessian"]["hessian_trace_head"], figure["rllc"]["rllc"]))


def apart_from_control(figure: Figure, match: re.Match) -> xr.DataArray:
    data = figure.on("rllc")
    return 100 * abs(1 - data["rllc"] / data["rllc_prior_only"]).median()


def paired(a: xr.Dataset, b: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the squared error over chains of a difference (head), and its part that all chains share.

    Chain c of a head has the same noise on both distributions.
    """
    chains = a["rllc_reduced_chain"] - b["rllc_reduced_chain"]
    of_control = a["rllc_se_control"] ** 2 + b["rllc_se_control"] ** 2
    return chains.var("chain", ddof=1) / chains.sizes["chain"], of_control


def relative(data: xr.Dataset) -> xr.Dataset:
    return data[["rllc_reduced_chain", "rllc_se_control"]] / data["rllc"]


def ratio_of_type(figure: Figure, match: re.Match) -> tuple:
    """Return the geometric mean over heads of the ratio on two distributions, and its error."""
    heads = figure["attention_scores"]["head_type"] == match["type"]
    a, b = (figure.on("rllc", match[n]).sel(step=step(match)).isel(head=np.flatnonzero(heads)) for n in "ab")
    mean = np.exp(np.log(a["rllc"] / b["rllc"]).mean())
    return mean, mean * np.sqrt(sum(paired(relative(a), relative(b))).sum()) / a.sizes["head"]


def ratio_of_layer(figure: Figure, match: re.Match) -> tuple:
    """Return the ratio of two sums over heads, and its error: that of a - ratio * b over the sum of b."""
    a, b = (in_layer(figure.on("rllc", match[n]), match["layer"]).sel(step=step(match)) for n in "ab")
    ratio = a["rllc"].values.sum() / b["rllc"].values.sum()
    own, of_control = paired(a, b[["rllc_reduced_chain", "rllc_se_control"]] * ratio)
    return ratio, np.sqrt((own + of_control).sum()) / abs(b["rllc"].sum())


def heads_that_differ(figure: Figure, match: re.Match) -> xr.DataArray:
    """Count the heads whose two estimates differ by more than the 95 % interval of the difference.

    The control takes a degree of freedom of the chains. Welch and Satterthwaite's formula joins the two
    errors, that of the control being known.
    """
    a, b = (figure.on("rllc", n).sel(step=step(match)) for n in ("training mixture", "one-layer model"))
    own, of_control = paired(a, b)
    assert own.notnull().sum() == int(match["heads"])
    freedom = (a.sizes["chain"] - 2) * ((own + of_control) / own) ** 2
    width = stats.t.ppf(0.975, freedom) * np.sqrt(own + of_control)
    return (abs(a["rllc"] - b["rllc"]) > width).sum()


# --- other measures of heads


def stored(dataset: str, variable: str) -> Callable:
    """Return a stored number and its error, at a step and on a text."""

    def compute(figure: Figure, match: re.Match) -> tuple:
        data = figure.on(dataset, match["text"] if "text" in match.groupdict() else "training mixture")
        data = data.sel(step=step(match))
        return data[variable], data[f"{variable}_se"]

    return compute


def eigenvalues(variable: str, method: str, *, error: bool = False) -> Callable:
    def compute(figure: Figure, match: re.Match) -> xr.DataArray | tuple:
        data = figure.on("hessian_rank").sel(step=step(match), rank_range=match["range"], rank_method=method)
        return (data[variable], data[f"{variable}_se"]) if error else data[variable]

    return compute


def between_bounds(figure: Figure, match: re.Match) -> xr.DataArray:
    """Return the count by Lanczos. Its bounds are those that the label says, and the count lies between."""
    data = figure.on("hessian_rank").sel(step=step(match), rank_range=match["range"])
    low, high = (data[f"hessian_rank_{name}"].item() for name in ("low", "high"))
    assert (f"{low:,.0f}", f"{high:,.0f}") == (match["low"], match["high"])
    count = data["hessian_rank"].sel(rank_method="lanczos")
    assert low <= count <= high
    return count


def ablated(figure: Figure, match: re.Match) -> tuple:
    data = figure.on("ablation").sel({"step": step(match), "method": match["method"]})
    return named(figure, match, data["ablation"]), data["ablation_se"].sel(head=match["head"])


def composition(figure: Figure, match: re.Match) -> xr.DataArray:
    score = figure["attention_scores"]["k_composition"].sel(step=step(match))
    of_type(figure, match["head"], match["type"])
    of_type(figure, match["later"], match["later_type"])
    one = score.sel(head=match["head"], later_head=match["later"])
    assert one == score.max()
    return one


def composition_of_all(figure: Figure, match: re.Match) -> tuple:
    pairs = figure["attention_scores"]["k_composition"].sel(step=step(match)).values
    pairs = pairs[np.isfinite(pairs)]
    return pairs.mean(), stats.sem(pairs)


def icl_score(figure: Figure, match: re.Match) -> tuple:
    """Return the mean loss at late positions less that at early ones."""
    data = figure.on("metrics", match["text"]).sel(step=step(match))
    made = json.loads(data.attrs["metrics"])
    late, early = (
        data["loss_by_position"].sel(position=slice(made[f"icl_{end}"][0], made[f"icl_{end}"][1] - 1)).mean()
        for end in ("late", "early")
    )
    return late - early, data["icl_score_se"]


def icl_score_on_code(figure: Figure, match: re.Match) -> tuple:
    data = figure.on("induction_ablation", "Python code").sel(step=step(match), ablated="none")
    return data["icl_score"], data["icl_score_se"]


def highest_score(figure: Figure, match: re.Match) -> xr.DataArray:
    values = figure["attention_scores"][match["score"].replace("-", "_")].sel(step=step(match))
    assert values.idxmax("head") == match["head"]
    return values.max()


def highest_prefix_matching(figure: Figure, match: re.Match) -> xr.DataArray:
    return figure["attention_scores"]["prefix_matching"].isel(step=-1).max()


# --- tokens in context


def shares(figure: Figure, match: re.Match) -> xr.DataArray:
    """Return the share (head, pattern) of tokens that each pattern explains, counted token by token."""
    data = figure["tokens"].sel(step=step(match))
    of = data["pattern_index"] == xr.DataArray(np.arange(data.sizes["pattern"]), dims="pattern")
    return of.sum("rank").assign_coords(pattern=data["pattern"]) / data["pattern_index"].count("rank")


def explained(figure: Figure, match: re.Match) -> xr.DataArray:
    of_type(figure, match["head"], match["type"])
    one = shares(figure, match).sel(head=match["head"], pattern=PAPER)
    assert one.sel(pattern=NAMES[match["pattern"]]) == one.max()
    return 100 * one.max()


def explained_by_paper(figure: Figure, match: re.Match) -> xr.DataArray:
    share = 100 * shares(figure, match).sel(pattern=PAPER).sum("pattern")
    return {"median": share.median, "lowest": share.min, "highest": share.max}[match["which"]]()


def explained_by_chance(figure: Figure, match: re.Match) -> xr.DataArray:
    share = figure["tokens"]["share_chance"].sel(step=step(match), pattern=PAPER)
    return 100 * share.sum("pattern").median()


def brackets_among_first(figure: Figure, match: re.Match) -> xr.DataArray:
    one = figure["tokens"].sel(step=step(match), head=match["head"])
    first = one["pattern_index"].values[: step(match, "count")]
    return np.mean(first == one["pattern"].values.tolist().index("dyck")) * 100


def heads_of_class(figure: Figure, match: re.Match) -> int:
    """Count the heads with a class: the type by scores, else multigram with the pattern that explains most.

    No pattern is named of a head of which no token is explained, or whose two largest counts of tokens
    differ by no more than two standard errors of a multinomial.
    """
    counted = [pattern for pattern in PAPER if pattern != "induction"]
    share, kinds = shares(figure, match).sel(pattern=counted), figure["attention_scores"]["head_type"]
    assert kinds.sizes["head"] == int(match["heads"])
    kept = figure["tokens"]["tokens"].sel(step=step(match))
    classes = []
    for kind, one, count in zip(
        kinds.values, share.transpose("head", "pattern").values, kept.values, strict=True
    ):
        *_, q, p = np.sort(np.nan_to_num(one))
        if kind != "multigram" or not p > 0:
            classes.append(str(kind))
        elif count * (p - q) ** 2 > 4 * (p + q - (p - q) ** 2):
            classes.append(f"multigram ({CLASSES[int(np.nanargmax(one))]})")
        else:
            classes.append("multigram (no plurality)")
    return classes.count(match["class"])


def multigram_correlation(figure: Figure, match: re.Match) -> float:
    tokens = figure["tokens"]["multigrams"].isel(step=-1)
    group = match.groupdict()
    chosen = figure["attention_scores"]["head_type"] == "multigram"
    if group.get("step"):
        tokens = figure["tokens"]["multigrams"].sel(step=step(match))
        chosen &= tokens["layer"].isin([int(n) for n in re.findall(r"\d+", match["scope"])] or [0, 1])
        assert group.get("heads") is None or chosen.sum() == int(group["heads"])
    else:
        assert chosen.sum() == int(match["heads"])
    heads = tokens["head"].values[chosen.values]
    rllc = figure.on("rllc")["rllc"].sel(step=tokens["step"])
    return spearman(rllc.sel(head=heads), tokens.sel(head=heads))


# --- clusters


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return Hubert and Arabie's index by pairs of heads; NaN where both clusterings are one cluster."""
    pairs = list(combinations(range(len(a)), 2))
    in_a, in_b = (np.asarray([of[i] == of[j] for i, j in pairs]) for of in (a, b))
    if in_a.all() and in_b.all():
        return np.nan
    if not (in_a.any() or in_b.any()):
        return 1.0
    expected, most = in_a.sum() * in_b.sum() / len(pairs), (in_a.sum() + in_b.sum()) / 2
    return ((in_a & in_b).sum() - expected) / (most - expected)


def agreement(figure: Figure, match: re.Match) -> float:
    """Return the mean index of the paper's algorithms; of all heads on the uniform grid, of a layer at the
    checkpoints.
    """
    four = ["euclidean_kmeans", "ward", "dtw_kmeans", "sbd_kmeans"]
    data = figure["clusters"]
    data = data.sel(algorithm=data["algorithm"].isin(four))
    labels = data["cluster"]
    if match["layer"]:
        labels = in_layer(data["cluster_checkpoints"].sel(vectors="checkpoints"), match["layer"])
    labels = labels.transpose("n_clusters", "algorithm", "head").values
    each = [adjusted_rand(a, b) for of_number in labels for a, b in combinations(of_number, 2)]
    return np.nanmean(each)


def all_votes(figure: Figure, k: int) -> tuple[np.ndarray, list[int]]:
    """Return all clusterings of a number of clusters [clustering, head], and how often each counts."""
    data = figure["clusters"].sel(n_clusters=k)
    rows, counts = [], []
    for algorithm in data["algorithm"].values:
        one = data.sel(algorithm=algorithm)
        of = [one["cluster"], *(one["cluster_checkpoints"].sel(vectors=v) for v in data["vectors"].values)]
        rows += [each.values for each in of]
        counts += [2 if algorithm == "sbd_kmeans" else 1] * len(of)
    return np.stack(rows), counts


def agreement_with_vote(figure: Figure, match: re.Match) -> float:
    rows, counts = all_votes(figure, int(match["k"]))
    vote = figure["clusters"]["consensus"].sel(n_clusters=int(match["k"])).values
    return np.average([adjusted_rand(vote, row) for row in rows], weights=counts)


def vote_with_types(figure: Figure, match: re.Match) -> float:
    vote = figure["clusters"]["consensus"].sel(n_clusters=int(match["k"]))
    if figure.name.startswith("rllc_fig1"):
        vote = in_layer(vote, figure.name[-1])
    kinds = figure["attention_scores"]["head_type"].sel(head=vote["head"])
    return adjusted_rand(vote.values, kinds.values)


def ngrams_effect(figure: Figure, match: re.Match) -> tuple:
    """Return the share of a layer in the rises at n-grams, in per cent, and its error over contexts."""
    data = figure["tokens"].sel(step=step(match))
    there = (data["pattern_index"] == data["pattern"].values.tolist().index("ngram")).values
    rise, context = np.where(there, data["rise"].values.astype(float), 0.0), data["context"].values
    own = (data["layer"] == int(match["layer"])).values
    sums = np.array(
        [
            [rise[(context == c) & there].sum(), rise[own][(context == c)[own]].sum()]
            for c in {*context[there]}
        ]
    )
    share = sums[:, 1].sum() / sums[:, 0].sum()
    spread = np.std(sums[:, 1] - share * sums[:, 0], ddof=1) * np.sqrt(len(sums))
    return 100 * share, 100 * spread / sums[:, 0].sum()


def heads_that_attend_to_spaces(figure: Figure, match: re.Match) -> int:
    """Count the heads whose attention to lone spaces is above uniform by more than its 95 % interval."""
    data, known, above = figure["tokens"].sel(step=step(match)), 0, 0
    lone = data["text"].values == " "
    for head in data["head"].values:
        one, excess = data.sel(head=head), []
        for n in np.flatnonzero(one["shown_rank"] >= 0):
            end = int(one["position"][int(one["shown_rank"][n])]) + 1
            spaces = lone[one["shown_token"].isel(shown=n).values[:end].astype(int)]
            excess.append(one["attention"].isel(shown=n).values[:end][spaces].sum() - spaces.mean())
        if len(excess) > 1:
            known += 1
            above += np.mean(excess) > stats.t.ppf(0.975, len(excess) - 1) * stats.sem(excess)
    assert known == int(match["heads"])
    return above


def clusters_of_layer(figure: Figure, match: re.Match) -> int:
    """Return the number of clusters of all heads that have a head of the layer."""
    labels = figure["clusters"]["cluster"].sel(algorithm="euclidean_kmeans", n_clusters=int(match["k"]))
    return len(np.unique(in_layer(labels, match["layer"]).values))


def silhouette(figure: Figure, match: re.Match) -> xr.DataArray:
    score = figure["clusters"]["score"].sel(scope="all heads", index="silhouette")
    return score.sel(n_clusters=int(match["k"])).max()


# --- list sorting


def handled_by(circuits: xr.Dataset) -> np.ndarray:
    """Return the index of the head with the largest diagonal entry in its OV circuit, for every number."""
    ov = circuits["ov"].transpose("head", "token", "other_token").values
    return ov.diagonal(axis1=1, axis2=2).argmax(0)


def circuits_at(figure: Figure, match: re.Match) -> xr.Dataset:
    return figure["circuits"].sel(step=step(match))


def largest_accuracy(figure: Figure, match: re.Match) -> xr.DataArray:
    accuracy = figure["metrics"]["accuracy"].max()
    assert accuracy < float(match["never"])
    return 100 * accuracy


def rank_sum(figure: Figure, match: re.Match) -> int:
    circuits = circuits_at(figure, match)
    return sum(
        np.linalg.matrix_rank(matrix)
        for kind in ("qk", "ov")
        for matrix in circuits[kind].transpose("head", "token", "other_token").values
    )


def overlap_of_heads(circuits: xr.Dataset) -> float:
    """Return 1 - sum |a - b| / sum (|a| + |b|), the mean over both circuits and all pairs of heads."""
    return np.mean(
        [
            1 - np.abs(a - b).sum() / (np.abs(a) + np.abs(b)).sum()
            for kind in ("qk", "ov")
            for a, b in combinations(circuits[kind].transpose("head", ...).values.astype(float), 2)
        ]
    )


def overlap_at(figure: Figure, match: re.Match) -> float:
    return overlap_of_heads(circuits_at(figure, match))


def fall_of_overlap(figure: Figure, match: re.Match) -> float:
    """Return the fall from the largest value from a step on to the last, of the only experiment of two heads."""
    assert match["label"] == "sorting, two heads"
    circuits = figure.of("sort_2head_baseline/circuits.nc")
    steps = circuits["step"].values
    each = [overlap_of_heads(circuits.sel(step=n)) for n in steps[steps >= int(match["first"])]]
    return 100 * (1 - each[-1] / max(each))


def quantile_of_entries(figure: Figure, match: re.Match) -> float:
    entries = np.abs(circuits_at(figure, match)[match["kind"].lower()].values)
    return np.quantile(entries, float(match["quantile"]) / 100)


def numbers_handled(figure: Figure, match: re.Match) -> int:
    circuits = circuits_at(figure, match)
    assert circuits.sizes["token"] == int(match["numbers"])
    return np.sum(circuits["head"].values[handled_by(circuits)] == match["head"])


def vocabulary_regions(figure: Figure, match: re.Match) -> int:
    return 1 + np.count_nonzero(np.diff(handled_by(circuits_at(figure, match))))


def largest_share(figure: Figure, match: re.Match) -> float:
    by = handled_by(circuits_at(figure, match))
    return 100 * np.bincount(by).max() / by.size


# --- stages


def only_text(figure: Figure, dataset: str) -> xr.Dataset:
    return figure.on(
        dataset, "linear regressions" if figure.experiment == "regression" else "training mixture"
    )


def llc_and_loss(figure: Figure, match: re.Match) -> float:
    """Return Pearson's correlation of the LLC with the loss of the chains' first minibatches."""
    llc, loss = (only_text(figure, "llc")[name] for name in ("llc", "init_loss"))
    late = (llc["step"] >= 0.01 * llc["step"].max()).values
    return np.corrcoef(llc.values[late], loss.values[late])[0, 1]


def llc_at(figure: Figure, match: re.Match) -> tuple:
    data = only_text(figure, "llc").sel(step=step(match))
    return data["llc"], data["llc_se"]


def llc_over_control(figure: Figure, match: re.Match) -> xr.DataArray:
    data = only_text(figure, "llc").sel(step=step(match))
    return data["llc"] / data["llc_prior_only"]


def boundaries(figure: Figure, match: re.Match) -> xr.DataArray:
    """Count boundaries between stages; the end of the flat start is none."""
    data = only_text(figure, "stages").sel(setting="sampling")
    return ((data["boundary_determined"] == 1) & (data["boundary_kind"] != "start")).sum()


def loss_of_model(figure: Figure, match: re.Match) -> tuple:
    model = {"this model": "language"}.get(match["model"], match["model"].replace(" ", "_"))
    data = figure.of(f"{model}/metrics.nc").sel(step=step(match))
    one = data.isel(distribution=np.flatnonzero(data["distribution_label"].values == match["text"])).squeeze()
    return one["loss_by_position"].mean(), one["loss_se"]


def loss_at(figure: Figure, match: re.Match) -> xr.DataArray:
    return only_text(figure, "metrics")["loss_by_position"].sel(step=step(match)).mean()


def near_end(values: xr.DataArray, errors: xr.DataArray) -> tuple:
    """Return the mean of the last four checkpoints; its error has their noise and that of their contexts."""
    steps = values.dropna("step").sortby("step")["step"].values[-4:]
    four, each = values.sel(step=steps).values, errors.sel(step=steps).values
    return four.mean(), np.sqrt(four.var(ddof=1) / 4 + each.mean() ** 2)


def loss_near_end(figure: Figure, match: re.Match) -> tuple:
    data = only_text(figure, "metrics")
    return near_end(data["loss_by_position"].mean("position"), data["loss_se"])


def largest_llc(figure: Figure, match: re.Match) -> tuple:
    data = only_text(figure, "llc")
    at = data.isel(step=int(data["llc"].argmax("step")))
    return at["llc"], at["llc_se"]


def step_of_largest_llc(figure: Figure, match: re.Match) -> xr.DataArray:
    return only_text(figure, "llc")["llc"].idxmax("step")


def least_bigram_score(figure: Figure, match: re.Match) -> xr.DataArray:
    return figure.on("ngrams")["bigram_score"].idxmin("step")


def bigram_score_above(figure: Figure, match: re.Match) -> tuple:
    data = figure.on("ngrams")
    return near_end(data["bigram_score"] - data["bigram_entropy"].mean(), data["bigram_excess_se"])


def without_positions(figure: Figure, match: re.Match) -> tuple:
    data = figure.on("positions")
    return near_end(data["ablated_loss"] - data["loss"], data["position_gain_se"])


def ngram_score(figure: Figure, match: re.Match) -> xr.DataArray:
    data = figure.on("ngrams").sel(step=step(match), n=int(match["n"]))
    return data["ngram_baseline"] / data["ngram_loss"]


def fall_of_loss(figure: Figure, match: re.Match) -> tuple:
    """Return the mean over tokens; the error is that of a ratio of sums over independent contexts."""
    data = figure["token_losses"].transpose("step", "context", "position")
    loss = data["loss"].astype(float)
    fall = (loss.sel(step=step(match, "start")) - loss.sel(step=step(match))).values
    text = data["text"].transpose("context", "position").values
    counts = np.ones(fall.shape, dtype=bool)
    if match["tokens"] == "repeats":  # the token came before in its context after the same token
        for n, row in enumerate(text.tolist()):
            pairs = list(zip([None, *row], row, strict=False))
            counts[n] = [each in pairs[:place] and place > 0 for place, each in enumerate(pairs)]
    mean = fall[counts].mean()
    rest = np.where(counts, fall - mean, 0.0).sum(1)
    return mean, np.sqrt(len(rest)) * rest.std(ddof=1) / counts.sum()


CLASS = rf"(?P<class>{{}}) heads, of (?P<heads>\d+) at {STEP}"
TEXT = r"(?P<end>largest|smallest) {} \((?P<text>.+)\)"
CORRELATION = "Spearman correlation ρ of rLLC and multigrams"
ROWS = [
    Row(r"claims with the verdict '(?P<verdict>.+)'", claims_with),
    Row(TEXT.format("number of training tokens"), extreme_text("tokens")),
    Row(TEXT.format("unigram entropy"), extreme_text("unigram_entropy")),
    Row(TEXT.format("share of tokens seen before in their block"), extreme_text("repeated_share", 100)),
    Row(
        rf"rLLC of {HEAD}, highest of layer (?P<layer>\d+)(?: on (?P<text>.+))? at {STEP}",
        highest_rllc,
    ),
    Row(rf"reduction of rLLC from prior-only control \(chains that have it\), median, {SETTING}", reduction),
    Row(rf"estimates that are mostly drift \(chains that have that control\), {SETTING}", mostly_drift),
    Row(
        rf"rLLC at {STEP} over step (?P<middle>[\d,]+), median of layer (?P<layer>\d+), {SETTING}",
        change_over_training,
    ),
    Row(rf"Spearman correlation with prior-only control over heads, median step, {SETTING}", like_control),
    Row(rf"curvature prediction over rLLC, median, {SETTING}", curvature_over_rllc),
    Row(r"n_beta / \(2 localization\) × trace of a head over its rLLC, median", trace_over_rllc),
    Row(r"Spearman correlation of trace and rLLC over heads, median", trace_and_rllc),
    Row(r"absolute difference of rLLC and prior-only control, median", apart_from_control),
    Row(rf"rLLC on (?P<a>.+) over (?P<b>.+), geometric mean of (?P<type>\S+) heads at {STEP}", ratio_of_type),
    Row(
        rf"mean rLLC of layer (?P<layer>\d+), (?P<a>.+) over (?P<b>.+) at {STEP}",
        ratio_of_layer,
    ),
    Row(
        r"heads, of (?P<heads>\d+), that differ clearly between the two \(paired 95 % interval\) "
        rf"at {STEP}",
        heads_that_differ,
    ),
    Row(rf"trace on (?P<text>.+) at {STEP}", stored("hessian", "hessian_trace")),
    Row(rf"trace of FIM, by the Hessian on its own contexts at {STEP}", stored("fisher", "fim_trace")),
    Row(
        rf"trace of FIM, by Gauss-Newton on its own contexts at {STEP}",
        stored("fisher", "fim_trace_ggn"),
    ),
    Row(rf"trace of Gauss-Newton on (?P<text>.+) at {STEP}", stored("fisher", "fisher_data")),
    Row(rf"trace of Hessian on (?P<text>.+) at {STEP}", stored("hessian", "hessian_trace")),
    Row(
        rf"count by published method, (?P<range>\w+) range at {STEP}",
        eigenvalues("hessian_rank", "chebyshev", error=True),
    ),
    Row(
        rf"count by published method if all eigenvalues were 0, (?P<range>\w+) range at {STEP}",
        eigenvalues("hessian_rank_offset", "chebyshev"),
    ),
    Row(
        rf"count by Lanczos \(at least (?P<low>[\d,]+), at most (?P<high>[\d,]+)\), "
        rf"(?P<range>\w+) range at {STEP}",
        between_bounds,
    ),
    Row(rf"loss added by (?P<method>\w+) ablation of {HEAD}, highest at {STEP}", ablated),
    Row(
        rf"K-composition of {HEAD} into head (?P<later>\d+:\d+) \((?P<later_type>.+?)\) "
        rf"at {STEP}, the highest",
        composition,
    ),
    Row(rf"K-composition at {STEP}, mean of all pairs", composition_of_all),
    Row(rf"in-context learning score on (?P<text>.+) at {STEP}", icl_score),
    Row(rf"in-context learning score at {STEP}", icl_score_on_code),
    Row(
        r"highest (?P<score>previous-token|prefix-matching) score "
        rf"\(head (?P<head>\d+:\d+)\) at {STEP}",
        highest_score,
    ),
    Row(r"highest prefix-matching score at the last checkpoint", highest_prefix_matching),
    Row(rf"tokens of {HEAD} explained by (?P<pattern>.+) at {STEP}", explained),
    Row(
        rf"tokens explained by the paper's four patterns at {STEP}, (?P<which>median|lowest|highest) head",
        explained_by_paper,
    ),
    Row(
        rf"tokens explained by the paper's four patterns at {STEP}, median head, random positions",
        explained_by_chance,
    ),
    Row(
        rf"brackets among the (?P<count>[\d,]+) most affected tokens of head (?P<head>\d+:\d+) at {STEP}",
        brackets_among_first,
    ),
    Row(CLASS.format(r"multigram|multigram \(.+\)|previous-token|.*induction"), heads_of_class),
    Row(
        rf"{CORRELATION} at {STEP}, (?P<scope>both layers|layer \d+)(?:, (?P<heads>\d+) heads)?",
        multigram_correlation,
    ),
    Row(rf"{CORRELATION}, (?P<heads>\d+) multigram heads", multigram_correlation),
    Row(
        r"adjusted Rand index of two of the paper's algorithms, mean over pairs and numbers of clusters, "
        r"on (?:all heads|layer (?P<layer>\d+))",
        agreement,
    ),
    Row(
        r"agreement with the majority vote \(k = (?P<k>\d+)\), mean adjusted Rand index", agreement_with_vote
    ),
    Row(r"adjusted Rand index of the majority vote \(k = (?P<k>\d+)\) with types", vote_with_types),
    Row(rf"n-grams' effect in layer (?P<layer>\d+) at {STEP}", ngrams_effect),
    Row(
        r"heads, of (?P<heads>\d+), that attend to lone spaces more than uniformly "
        rf"\(95 % interval\) at {STEP}",
        heads_that_attend_to_spaces,
    ),
    Row(r"clusters with heads of layer (?P<layer>\d+), of k = (?P<k>\d+)", clusters_of_layer),
    Row(r"highest silhouette of an algorithm, k = (?P<k>\d+)", silhouette),
    Row(r"largest token accuracy, never (?P<never>[\d.]+)", largest_accuracy),
    Row(rf"rank sum of circuits at {STEP}", rank_sum),
    Row(rf"overlap of heads at {STEP}", overlap_at),
    Row(
        r"fall of the overlap, from step (?P<first>\d+) on: (?P<label>.+), seed 0",
        fall_of_overlap,
    ),
    Row(rf"(?P<quantile>[\d.]+) % quantile of \|W\| of (?P<kind>QK|OV) at {STEP}", quantile_of_entries),
    Row(rf"numbers handled by head (?P<head>\d+:\d+) at {STEP} \(of (?P<numbers>\d+)\)", numbers_handled),
    Row(rf"vocabulary regions at {STEP}", vocabulary_regions),
    Row(rf"largest share of a head at {STEP}", largest_share),
    Row(
        r"correlation of LLC(?: \(published\))? and initial loss after 1 % of training",
        llc_and_loss,
    ),
    Row(rf"LLC at {STEP}", llc_at),
    Row(rf"LLC over its prior-only control at {STEP}", llc_over_control),
    Row(r"determined stage boundaries of the LLC", boundaries),
    Row(rf"held-out loss at {STEP}", loss_at),
    Row(rf"held-out loss, {NEAR_END}", loss_near_end),
    Row(rf"loss of (?P<model>language 1layer|this model) on (?P<text>.+) at {STEP}", loss_of_model),
    Row(r"largest LLC \(published\)", largest_llc),
    Row(r"step of the largest LLC \(published\)", step_of_largest_llc),
    Row(r"step of the least bigram score", least_bigram_score),
    Row(rf"bigram score above the bigrams' entropy, {NEAR_END}", bigram_score_above),
    Row(rf"rise of the loss with zeros for W_pos, {NEAR_END}", without_positions),
    Row(rf"(?P<n>\d+)-gram score at {STEP}", ngram_score),
    Row(
        rf"fall of the loss, steps (?P<start>[\d,]+) to {STEP.removeprefix('step ')}, "
        r"(?P<tokens>all tokens|repeats)",
        fall_of_loss,
    ),
]


def test_every_finding_has_exactly_one_recomputation(finished):
    counts = {
        f"{each.figure.name}: {each.label}": sum(bool(re.fullmatch(row.labels, each.label)) for row in ROWS)
        for each in findings(finished.root)
    }
    assert len(counts) > 100
    assert {label: count for label, count in counts.items() if count != 1} == {}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\(\?P<(\w+)>.*?\)", r"<\1>", row.labels))
def test_findings_with_these_labels_equal_their_recomputation(finished, row):
    labelled = [(each, re.fullmatch(row.labels, each.label)) for each in findings(finished.root)]
    labelled = [(each, match) for each, match in labelled if match]
    if not labelled:
        pytest.skip("this study has no such finding")
    for each, match in labelled:
        made = row.compute(each.figure, match)
        value, error = made if isinstance(made, tuple) else (made, np.nan)
        said = f"{each.figure.name}: {each.label}"
        np.testing.assert_allclose(each.value, float(value), rtol=1e-6, atol=1e-9, err_msg=said)
        np.testing.assert_allclose(each.error, float(error), rtol=1e-6, err_msg=f"error of {said}")
