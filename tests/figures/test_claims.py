import numpy as np
import pytest
import xarray as xr

from rllc.figures.claims import TALLEST, claims_sorting
from rllc.figures.claims_row import VERDICTS, number, threshold
from rllc.figures.drawing import save


def words(drawing):
    """What a drawing says: its caption, and the details in the attributes of its dataset."""
    return f"{drawing.caption} {drawing.details}"


def texts(drawing):
    return [text.get_text() for text in drawing.figure.axes[0].texts]


def test_every_claim_has_its_row(sorting, tmp_path):
    claims = sorting.claims()
    drawing = claims_sorting({"claims": claims}, titles={"sort_1head": "One head"})
    shown = texts(drawing)
    assert "One head" in shown and "sort_2head_baseline" in shown and "sort_1head" not in shown
    for n in range(claims.sizes["claim"]):
        one = claims.isel(claim=n)
        assert str(one["text"].item()).split(".")[0][:40] in " ".join(shown)
        for seed in (0, 1):
            value, sign = float(one["value"].sel(seed=seed)), "✓" if one["passes"].sel(seed=seed) else "✗"
            assert (f"{number(value)} {sign}" if value == value else "–") in shown
    assert "minus that of sort_2head_baseline" in shown and "of the mean over its seeds" in words(drawing)
    assert "step of the LLC's peak" in shown and "llc peak step" not in shown
    assert "means over 3 neighbouring checkpoints" in words(drawing)
    assert "500 to 1,300" in shown and "≥ 0.05" in shown and "≤ 12" in shown
    assert threshold(xr.Dataset({"at_least": 4.0, "at_most": 4.0})) == "4"
    found = claims["verdict"].values.tolist()
    met = [name for name in VERDICTS if name in found]
    badges = [text for text in shown if text.partition("  ")[2] in VERDICTS]
    assert [badge.partition("  ")[2] for badge in badges] == [*found, *met]
    patches = [p for p in drawing.figure.axes[0].patches if type(p).__name__ == "FancyBboxPatch"]
    assert len(patches) == claims.sizes["claim"] + len(met)
    assert f"{len(found)} claims: {found.count('holds')} hold" in words(drawing)
    save(drawing, png=tmp_path / "a.png")
    drawing.data.to_netcdf(tmp_path / "a.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "a.nc"), drawing.data)


def test_values_of_estimates_that_cannot_be_trusted_are_marked(sorting):
    claims = sorting.claims()
    assert not any("†" in text for text in texts(claims_sorting({"claims": claims})))
    untrusted = np.zeros((claims.sizes["claim"], 2))
    untrusted[1] = 0.5, 0.51
    drawing = claims_sorting({"claims": claims.assign(untrusted=(("claim", "seed"), untrusted))})
    value = number(float(claims["value"].isel(claim=1).sel(seed=1)))
    assert [text[:-2] for text in texts(drawing) if "†" in text] == [f"{value}†"]
    assert "†: more than 50% of the estimates" in words(drawing)


def test_what_is_undecided_has_a_colour_a_sign_and_a_line_of_the_key_of_its_own(sorting):
    claims = sorting.claims()
    claims["passes"][1, 0], claims["verdict"][1] = -2, "undecided"
    assert len({color for color, _ in VERDICTS.values()}) == len({sign for _, sign in VERDICTS.values()}) == 6
    drawing = claims_sorting(
        {"claims": claims.assign(given=("claim", ["a_claim", *[""] * (claims.sizes["claim"] - 1)]))}
    )
    shown = drawing.figure.axes[0].texts
    value = number(float(claims["value"].isel(claim=1).sel(seed=0)))
    assert [text.get_color() for text in shown if text.get_text() == f"{value} ?"] == [
        VERDICTS["undecided"][0]
    ]
    assert texts(drawing).count("?  undecided") == 2  # the claim's and the key's
    assert any(text.startswith("an interval crosses a threshold") for text in texts(drawing))
    assert "1 are undecided" in drawing.caption and "presupposes a_claim" in words(drawing)
    assert "?  undecided" not in texts(claims_sorting({"claims": sorting.claims()}))


def test_values_that_have_a_standard_error_show_it(sorting):
    claims = sorting.claims()
    plain = claims_sorting({"claims": claims})
    assert not any("±" in text for text in texts(plain))
    assert "±: " not in words(plain) and "An error holds" not in words(plain)
    errors = np.full((claims.sizes["claim"], 2), np.nan)
    errors[0], errors[1, 1] = (312, 1041), 0.0333
    drawing = claims_sorting({"claims": claims.assign(value_se=(("claim", "seed"), errors))})
    first, second = (claims["value"].isel(claim=n) for n in (0, 1))
    expected = [f"{first.values[0]:,.0f} ± 300", f"{first.values[1]:,.0f} ± 1,000"]
    expected.append(f"{float(second.sel(seed=1)):.2f} ± 0.03")
    assert [text[:-2] for text in texts(drawing) if "±" in text] == expected
    assert "±: the standard error" in words(drawing)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00537, "0.0054"),
        (0.0512, "0.0512"),
        (0.9987, "0.9987"),
        (12.34, "12.3"),
        (1300.4, "1,300"),
        (0.0, "0"),
    ],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_experiments_stand_in_their_order_and_are_called_by_their_labels(sorting):
    claims = sorting.claims()
    claims["versus"] = ("claim", ["sort_1head"] * claims.sizes["claim"])
    names = claims["experiment"].values.tolist()
    titles = {"sort_1head": "one head", "sort_2head_baseline": "two heads"}
    labels = [titles.get(name, name) for name in names]
    claims = claims.assign_coords(experiment_label=("experiment", labels))
    for order in (names, names[::-1]):
        told = claims.sel(experiment=order)
        shown = texts(claims_sorting({"claims": told}))
        headings = [text for text in shown if text in titles.values()]
        assert headings == [label for label in told["experiment_label"].values if label in titles.values()]
        assert any("one head" in text for text in shown if text.startswith("minus"))


@pytest.mark.parametrize(("seeds", "repeat"), [((0,), 1), ((0, 1, 2), 3), ((0, 1), 12)])
def test_no_text_overlaps_another_or_leaves_the_page(seeds, repeat, sorting):
    claims = sorting.claims(seeds=seeds, repeat=repeat)
    longest = claims.assign(value_se=4e3 + 0 * claims["value"], untrusted=1 + 0 * claims["value"])
    for given in (claims, longest):
        drawing = claims_sorting({"claims": given})
        drawing.figure.draw_without_rendering()
        page = drawing.figure.bbox
        boxes = [text.get_window_extent() for text in drawing.figure.axes[0].texts]
        assert all(b.x0 >= 0 and b.y0 >= 0 and b.x1 <= page.x1 and b.y1 <= page.y1 for b in boxes)
        clashes = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n] if a.overlaps(b)]
        assert not clashes


def test_many_claims_stand_side_by_side_in_their_order(sorting):
    """As many columns as keep the page low; every one names its columns and its group."""
    few, many = (sorting.claims(seeds=(0, 1), repeat=repeat) for repeat in (1, 12))
    many = many.assign(control_verdict=many["verdict"])
    one, several = (claims_sorting({"claims": claims}) for claims in (few, many))
    columns = texts(several).count("expected")
    assert texts(one).count("expected") == 1 < columns
    assert several.figure.get_figwidth() == pytest.approx(columns * one.figure.get_figwidth())
    assert several.figure.get_figheight() < TALLEST + 4
    width = one.figure.get_figwidth()
    badges = [p for p in several.figure.axes[0].patches if type(p).__name__ == "FancyBboxPatch"]
    places = [(int(p.get_x() // width), p.get_y()) for p in badges[: many.sizes["claim"]]]
    assert places == sorted(places) and {column for column, _ in places} == set(range(columns))
    stripes = [p for p in several.figure.axes[0].patches if type(p).__name__ == "Rectangle"]
    inside = [
        sum(s.get_y() < y < s.get_y() + s.get_height() and int(s.get_x() // width) == n for n, y in places)
        for s in stripes
    ]
    assert inside == [1] * len(stripes) and len(stripes) >= (len(places) - columns) // 2
    heights = [max(y for column, y in places if column == n) for n in range(columns)]
    assert max(heights) - min(heights) < 2


def test_claims_that_name_no_experiment_are_refused(sorting):
    claims = sorting.claims().drop_vars("experiment_of_claim")
    with pytest.raises(ValueError, match="names the experiment"):
        claims_sorting({"claims": claims})
    with pytest.raises(ValueError, match="has no passes"):
        claims_sorting({"claims": claims.drop_vars("passes")})


def test_what_others_found_stands_beside_the_verdict_where_it_is_known(sorting):
    claims = sorting.claims()
    without = claims_sorting({"claims": claims.assign(published=("claim", [""] * claims.sizes["claim"]))})
    assert "their own data" not in texts(without)
    said = ["five, of which three are determined", *[""] * (claims.sizes["claim"] - 1)]
    drawing = claims_sorting({"claims": claims.assign(published=("claim", said))})
    assert {"their own data", "five, of which three are", "determined"} <= set(texts(drawing))
    assert "Their own data: the same statistic" in words(drawing)
    assert drawing.figure.get_figwidth() > without.figure.get_figwidth()


def test_what_is_not_judged_says_why_and_what_the_control_says_too_is_curvature_alone(sorting):
    claims = sorting.claims()
    count = claims.sizes["claim"]
    claims["value"][1], claims["passes"][1], claims["verdict"][1] = np.nan, -3, "not judged"
    reasons = [""] * count
    reasons[1] = "needs 2 induction heads, has 1"
    decided = next(n for n in range(count) if claims["verdict"].values[n] in ("holds", "half", "does not"))
    by_control = [""] * count
    by_control[decided] = str(claims["verdict"].values[decided])
    by_control[1] = "not judged"
    claims = claims.assign(reason=("claim", reasons), control_verdict=("claim", by_control))
    shown = texts(claims_sorting({"claims": claims}))
    assert "(needs 2 induction heads, has 1)" in shown and "·  not judged" in shown
    assert shown.count("curvature alone") == 1
    drawing = claims_sorting({"claims": claims})
    assert "the control without the loss gradient comes to the same verdict" in words(drawing)
    by_control[decided] = "undecided"
    other = claims_sorting({"claims": claims.assign(control_verdict=("claim", by_control))})
    assert "curvature alone" not in texts(other) and "without the loss gradient" not in words(other)


def test_claims_of_some_experiments_and_the_seeds_that_these_have(sorting):
    claims = sorting.claims()
    named = claims["experiment_of_claim"].values
    of_one = xr.DataArray(named == "sort_1head", dims="claim")
    second = claims["seed"] == 1
    gone = claims.assign(
        value=claims["value"].where(~(of_one & second)),
        passes=claims["passes"].where(~(of_one & second), -1),
    )
    drawn = claims_sorting({"claims": gone}, experiments=["sort_1*"]).data
    assert set(drawn["experiment_of_claim"].values) == {"sort_1head"}
    assert drawn.sizes["claim"] == (named == "sort_1head").sum() and drawn["seed"].values.tolist() == [0]
    assert claims_sorting({"claims": gone}, experiments=["sort_2*"]).data["seed"].values.tolist() == [0, 1]
    with pytest.raises(ValueError, match="no claim is about an experiment that is called language"):
        claims_sorting({"claims": claims}, experiments=["language"])
