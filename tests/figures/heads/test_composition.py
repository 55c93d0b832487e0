"""Composition of heads: which numbers stand in which panel."""

import pytest
from tests.figures.heads.small import along, curves, panels

from rllc.figures.heads.composition import rllc_fig7_kcomposition, stage_figB5


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
