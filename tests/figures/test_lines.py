"""Which numbers stand in which panel: of figures of heads and of text, by value."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import PolyCollection
from scipy.stats import spearmanr

from rllc.figures.corpus import corpus_summary
from rllc.figures.heads.ablations import rllc_fig17_ablations
from rllc.figures.heads.composition import rllc_fig7_kcomposition, stage_figB5
from rllc.figures.heads.curvature import rllc_fig14_hessian_trace

SEEDS = (0, 1)


@pytest.fixture(scope="module")
def two(make_study):
    return make_study(seeds=SEEDS)


def panels(drawing):
    """Title, label of the row and axes of each panel, from left to right and top to bottom."""
    found = [ax for ax in drawing.figure.axes if ax.get_visible() and ax.get_title("left")]
    return [(ax.get_title("left"), ax.get_ylabel(), ax) for ax in found]


def curves(ax, size):
    """The lines of a panel along all steps, in any order; -1 where nothing is measured."""
    return sorted(
        tuple(np.nan_to_num(line.get_ydata(), nan=-1))
        for line in ax.get_lines()
        if len(line.get_xdata()) == size
    )


def along(values, *dims):
    """Curves of an array, one for each label of the other dims."""
    return sorted(
        map(tuple, values.fillna(-1).transpose(..., "step").values.reshape(-1, values.sizes["step"]))
    )


def test_bands_of_errors_over_four_probes_are_students_and_the_caption_says_so(two):
    """With 3 degrees of freedom, 68.3 % lie within 1.197 errors."""
    few = two["hessian"].copy(deep=True)
    for name in ("hessian_trace_se", "hessian_trace_head_se"):
        few[name].attrs["degrees_of_freedom"] = 3
    plain, wide = (rllc_fig14_hessian_trace({**two, "hessian": each}) for each in (two["hessian"], few))
    heights = [
        np.array([np.ptp(path.vertices[:, 1]) for each in ax.collections for path in each.get_paths()])
        for drawing in (plain, wide)
        for ax in [panels(drawing)[0][-1]]
    ]
    error, value = (two["hessian"][f"hessian_trace{end}"].isel(seed=0, distribution=0) for end in ("_se", ""))
    expected = [np.ptp([value - each * error, value + each * error]) for each in (1, 1.197)]
    assert [each.max() for each in heights] == pytest.approx(expected, rel=1e-3)
    assert any(each.startswith("Bands: one standard error over probes") for each in plain.conditions)
    (told,) = (each for each in wide.conditions if "68 % Student interval over probes" in each)
    assert told.endswith("3 degrees of freedom.")
    assert [each.error for each in wide.findings] == pytest.approx(
        [each.error for each in plain.findings], nan_ok=True
    )


def test_traces_of_the_model_and_of_heads_stand_by_layer_with_their_errors(two):
    data = two["hessian"].sel(distribution=["code", "mixture"])
    drawing = rllc_fig14_hessian_trace(two, distributions=["code", "mixture"])
    found = panels(drawing)
    assert len(found) == 2 * 2 * 3
    for n, (title, label, ax) in enumerate(found):
        seed, name, column = n // 6, ["code", "mixture"][n // 3 % 2], n % 3
        cell = data.sel(seed=seed, distribution=name)
        assert title.startswith(("full model", "layer 0", "layer 1")[column]) and f"seed {seed}" in title
        heads = cell["head"].values[cell["layer"].values == column - 1]
        of = cell["hessian_trace_head"].sel(head=heads) if column else cell["hessian_trace"]
        assert curves(ax, of.sizes["step"]) == along(of)
        error = cell["hessian_trace_head_se"].sel(head=heads) if column else cell["hessian_trace_se"]
        bands = [each for each in ax.collections if isinstance(each, PolyCollection)]
        edges = sorted(max(path.vertices[:, 1].max() for path in each.get_paths()) for each in bands)
        np.testing.assert_allclose(edges, sorted((of + error).max("step").values.ravel()))
        if column == 0:
            assert label.endswith("trace (nats/token)")
            assert label.startswith({"code": "code", "mixture": "mixture"}[name]) or "\n" in label


def test_the_order_of_traces_is_compared_with_that_of_estimates(two):
    rllc, trace = two["rllc"]["rllc"], two["hessian"]["hessian_trace_head"]
    names = [name for name in trace["distribution"].values if name in rllc["distribution"].values]
    each = [
        spearmanr(*(of.sel(seed=s, step=t, distribution=d).values for of in (rllc, trace)))[0]
        for s in SEEDS for t in rllc["step"].values for d in names
        if trace.sel(seed=s, step=t, distribution=d).notnull().all() and rllc.sel(seed=s, step=t, distribution=d).notnull().all()
    ]  # fmt: skip
    (found,) = (f for f in rllc_fig14_hessian_trace(two).findings if f.label.startswith("Spearman"))
    assert found.value == pytest.approx(np.nanmedian(each))


def test_ablations_stand_by_layer_and_method(two):
    data = two["ablation"]["ablation"].sel(distribution="code")
    drawing = rllc_fig17_ablations(two, distribution="code")
    methods = data["method"].values.tolist()
    found = panels(drawing)
    assert len(found) == 2 * 2 * len(methods)
    for n, (title, label, ax) in enumerate(found):
        seed, layer, method = n // (2 * len(methods)), n // len(methods) % 2, methods[n % len(methods)]
        assert title.startswith(f"{method} ablation") and f"seed {seed}" in title
        if method == methods[0]:
            assert label == f"layer {layer}, loss added\n(nats/token)"
        cell = data.sel({"seed": seed, "method": method})
        assert curves(ax, cell.sizes["step"]) == along(cell.sel(head=cell["layer"].values == layer))
        assert len(ax.collections) == int((cell["layer"] == layer).sum())  # a band of each head
    one = data.isel(step=-1).max("head")
    for method, finding in zip(methods, drawing.findings, strict=True):
        values = one.sel({"method": method}).values
        assert method in finding.label
        assert (finding.value, finding.error) == pytest.approx((values.mean(), values.std(ddof=1)))


def test_composition_stands_by_the_later_head(two):
    data = two["attention_scores"]["k_composition"]
    drawing = rllc_fig7_kcomposition(two)
    later = [head for head in data["later_head"].values if head[0] == "1"]
    found = panels(drawing)
    assert len(found) == 2 * len(later)
    for n, (title, _, ax) in enumerate(found):
        seed, target = n // len(later), later[n % len(later)]
        assert title.startswith(f"into {target} ") and f"seed {seed}" in title
        one = data.sel(seed=seed, later_head=target)
        before = [head for head in one["head"].values if head[0] < target[0]]
        assert curves(ax, one.sizes["step"]) == along(one.sel(head=before))
        (height,) = (a.get_ydata()[0] for a in ax.get_lines() if len(a.get_xdata()) == 2)
        assert height == pytest.approx(float(data.sel(seed=seed).isel(step=0).mean()))
    alone = rllc_fig7_kcomposition(two, seeds=[1]).findings
    last = data.sel(seed=1).isel(step=-1).stack(pair=("head", "later_head")).dropna("pair")
    head, target = last["pair"].values[int(last.argmax("pair"))]
    start = float(data.sel(seed=1).isel(step=0).mean())
    assert (
        f"{head} (" in alone[0].label
        and f"into head {target}" in alone[0].label
        and alone[0].value == pytest.approx(float(last.max()))
    )
    assert alone[-1].value == pytest.approx(start)


def test_pairs_of_composition_are_of_the_highest_scores_and_the_lowest(two):
    one = two["attention_scores"].sel(seed=1)
    drawing = stage_figB5(two, seed=1)
    earlier, later = (
        one[score].isel(step=-1).sel(head=one["layer"].values == layer).sortby(one[score].isel(step=-1), ascending=False)["head"].values[[0, 1, -1]]
        for score, layer in (("previous_token", 0), ("prefix_matching", 1))
    )  # fmt: skip
    found = panels(drawing)
    start = float(one["k_composition"].isel(step=0).mean())  # of all pairs
    assert [title for title, *_ in found] == [f"{a} into {b}" for a in earlier for b in later]
    for title, _, ax in found:
        head, _, target = title.split()
        assert curves(ax, one.sizes["step"]) == along(one["k_composition"].sel(head=head, later_head=target))
        (height,) = {a.get_ydata()[0] for a in ax.get_lines() if len(a.get_xdata()) == 2}
        assert height == pytest.approx(start)
    ends = {(a, b): float(one["k_composition"].sel(head=a, later_head=b)[-1]) for a in earlier for b in later}
    (a, b), most = max(ends.items(), key=lambda item: item[1])
    highest, lowest, mean = drawing.findings
    assert f"{a} into {b}" in highest.label and highest.value == pytest.approx(most)
    assert lowest.value == pytest.approx(min(ends.values())) and mean.value == pytest.approx(start)


def test_text_is_a_bar_for_every_number_of_a_distribution():
    values = {
        "documents": [12, 2500.0, np.nan], "tokens": [3e6, 16.5e6, 1e4], "unigram_entropy": [6.125, 5.5, 7.0],
        "repeated_share": [0.25, 0.0, 0.5],
    }  # fmt: skip
    names = ["mixture", "english", "code"]
    corpus = xr.Dataset({n: ("distribution", v) for n, v in values.items()}, {"distribution": names})
    drawing = corpus_summary({"corpus": corpus})
    titles = ["documents", "training tokens", "unigram entropy (nats/token)", "seen before in block (share)"]
    texts = [["12", "2,500", "missing"], ["3M", "16.5M", "10k"], ["6.12", "5.5", "7"], ["0.25", "0", "0.5"]]
    for ax, title, bars, text in zip(drawing.figure.axes, titles, values.values(), texts, strict=True):
        assert ax.get_title("left") == title
        assert [bar.get_width() for bar in ax.patches] == np.nan_to_num(bars).tolist()
        assert [each.get_text() for each in ax.texts] == text
        top = np.nanmax(bars)
        assert ax.get_xlim() == pytest.approx((0, 1.32 * top))
        np.testing.assert_allclose(
            [each.get_position()[0] for each in ax.texts], np.nan_to_num(bars) + 0.03 * top
        )
    assert drawing.figure.axes[0].yaxis_inverted()
