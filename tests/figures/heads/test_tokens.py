"""Figures and the page of tokens in context, on an induction model that is written down; the page in a browser."""

import json
import re
from html import escape, unescape
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from pages import HOSTILE, contrast, in_a_browser
from planted import induction_model

from rllc.analysis.tokens import explained, largest_pattern, share_of_first, token_classes
from rllc.figures.excerpt import Example, examples, level, shown
from rllc.figures.heads import tokens as figures
from rllc.figures.heads.tokens_table import rllc_table1_head_classification
from rllc.figures.page import INK, SCHEMES
from rllc.figures.tokens_page import ORANGES, TARGET, tokens_in_context
from rllc.measures.most_affected import Contexts, most_affected
from rllc.measures.tokens.kernel import tokens_in_context as measure
from rllc.models.attention_only import AttentionOnly
from rllc.tasks.language.patterns import PATTERNS, Reader

VOCABULARY, CONTEXT, TOP = 40, 31, 120


@pytest.fixture(scope="module")
def tokens():
    """Two steps, the second of a model whose heads are known; tokens are texts that break a careless page."""
    random = np.random.default_rng(0)
    hostile, others = np.arange(1, 1 + len(HOSTILE)), np.arange(1 + len(HOSTILE), VOCABULARY)
    drawn = [np.concatenate([hostile, random.permutation(others)[: 15 - len(HOSTILE)]]) for _ in range(12)]
    halves = [random.permutation(half) for half in drawn]
    contexts = np.stack([np.concatenate([[0], half, half]) for half in halves])
    architecture, weights = induction_model(VOCABULARY, CONTEXT)
    words = [f" w{n}".encode() for n in range(VOCABULARY)]
    pieces = [None, *HOSTILE, *words][:VOCABULARY]
    most, chance = most_affected(
        weights, Contexts(contexts, 4), model=AttentionOnly(architecture), top=TOP, seed=0
    )
    given = {"heads": AttentionOnly(architecture).heads, "top": TOP, "shown": 3, "seed": 0}
    one = measure(most, chance, Reader(contexts, pieces), **given)
    parts = [one.expand_dims(seed=[0], step=[step]) for step in (10, 20)]
    made = xr.concat(parts, "step", data_vars="all", coords="minimal", compat="override")
    return made.assign_attrs(tokens=json.dumps({"top": TOP, "searched": 12}))


@pytest.fixture(scope="module")
def heads(tokens):
    kinds = np.asarray([["previous-token", "multigram", "induction", "unknown"]], dtype=object)
    return xr.Dataset({"head_type": (("seed", "head"), kinds)}, {"seed": [0], "head": tokens["head"].values})


@pytest.fixture(scope="module")
def datasets(tokens, heads):
    return {"tokens": tokens, "attention_scores": heads}


# --- classes


def shares(count=1000.0, **of):
    values = [of.get(pattern, 0.0) for pattern in PATTERNS]
    coords = {"seed": [0], "step": [5], "head": ["1:0"], "pattern": list(PATTERNS)}
    dims = ("seed", "step", "head")
    return xr.Dataset({"share": ((*dims, "pattern"), [[[values]]]), "tokens": (dims, [[[count]]])}, coords)


@pytest.mark.parametrize(
    ("kind", "of", "expected"),
    [
        ("induction", {"dyck": 0.9}, "induction"),  # scores come first
        ("multigram", {"dyck": 0.3, "skip_ngram": 0.1, "ngram": 0.2, "unexplained": 0.4}, "multigram (Dyck)"),
        ("multigram", {"induction": 0.9, "ngram": 0.02}, "multigram (n-gram)"),
        ("unknown", {"recurrent_pair": 0.5, "skip_ngram": 0.3}, "multigram (skip n-gram)"),
        ("multigram", {"unexplained": 1.0}, "multigram"),
        ("multigram", {"dyck": np.nan}, "multigram"),
        # 0.3 less 0.2 of 200 tokens: 2.02 binomial errors; of 190: 1.97
        ("multigram", {"dyck": 0.3, "ngram": 0.2, "count": 200}, "multigram (Dyck)"),
        ("multigram", {"dyck": 0.3, "ngram": 0.2, "count": 190}, "multigram (no plurality)"),
        ("multigram", {"dyck": 0.04, "count": 53}, "multigram (no plurality)"),
        ("multigram", {"dyck": np.nan, "count": 0}, "multigram"),
    ],
)
def test_a_head_is_called_as_in_the_papers_table(kind, of, expected):
    types = xr.DataArray(np.asarray([[kind]], dtype=object), {"seed": [0], "head": ["1:0"]}, ("seed", "head"))
    assert token_classes(shares(**of), types).values.tolist() == [[[expected]]]


def test_table_says_the_share_of_the_pattern_that_names_a_head(datasets):
    tokens = datasets["tokens"]
    share = xr.zeros_like(tokens["share"])
    share.loc[{"head": "0:1", "pattern": "dyck"}] = 0.7
    share.loc[{"head": "1:1", "pattern": ["dyck", "ngram"]}] = 0.06
    tokens = tokens.assign(share=share, tokens=xr.full_like(tokens["tokens"], 100))
    drawing = rllc_table1_head_classification({**datasets, "tokens": tokens})
    said = {text.get_text() for ax in drawing.figure.axes for text in ax.texts}
    assert {"multigram (Dyck, 70%)", "multigram (no plurality, 6%)"} <= said
    assert any("not above the next by 2 binomial errors" in told for told in drawing.conditions)


def test_pairs_of_ours_explain_nothing_of_the_papers():
    made = shares(induction=0.1, ngram=0.2, recurrent_pair=0.6, unexplained=0.1)
    assert explained(made).item() == pytest.approx(0.3)
    assert largest_pattern(made).item() == "ngram"
    assert largest_pattern(shares(unexplained=1.0)).item() == ""


# --- excerpts


def test_what_matches_is_shown_and_what_is_left_out_is_said():
    text = ["x"] * 100
    one = Example(0, 1.0, "dyck", 0, 80, 60, 20, text, np.zeros(100))
    assert shown(one, 5) == [None, *range(17, 24), None, *range(57, 64), None, *range(76, 86), None]
    assert shown(one, 1000)[0] == 0
    assert shown(one._replace(attended=1, matched=-1), 5) == [*range(5), None, *range(76, 86), None]
    assert shown(one._replace(position=98, attended=-1, matched=-1), 5) == [None, *range(94, 100)]


def test_steps_of_attention():
    assert [level(w) for w in (0.0, 0.019, 0.02, 0.1, 0.3, 0.5, 0.8, 1.0)] == [0, 0, 1, 2, 3, 4, 5, 5]


# --- figures


def test_bars_are_the_shares(datasets):
    drawing = figures.rllc_fig9_tokens_classification(datasets)
    left, right, *_ = (ax for ax in drawing.figure.axes if ax.patches)
    widths = [p.get_width() for p in right.patches]
    expected = datasets["tokens"].isel(seed=0, step=-1)
    every = [
        expected[name].fillna(0).sel(pattern=p).values for name in ("share", "share_chance") for p in PATTERNS
    ]
    np.testing.assert_allclose(widths, np.concatenate(every))
    assert left.get_title(loc="left") == "step 10"
    shares = expected["share"].values
    assert sum("%" in text.get_text() for text in right.texts) == (shares >= 0.08).sum()
    named = datasets["tokens"].assign(share_chance=0 * datasets["tokens"]["share_chance"] + 0.1)
    _, again, *_ = (
        ax
        for ax in figures.rllc_fig9_tokens_classification(datasets | {"tokens": named}).figure.axes
        if ax.patches
    )
    assert [t.get_text() for t in again.texts] == [t.get_text() for t in right.texts]
    assert [f.value for f in drawing.findings[:3]] == [100.0, 100.0, 100.0]
    chance = explained(expected.assign(share=expected["share_chance"])).median("head")
    assert drawing.findings[3].value == pytest.approx(100 * float(chance))
    assert "2 of 4 heads have no token in context at step 20." in drawing.conditions
    assert (
        f"the {TOP} whose" in drawing.caption and "(12 held-out contexts, one token of 3)" in drawing.caption
    )
    untold = figures.rllc_fig9_tokens_classification({"tokens": datasets["tokens"].drop_attrs()})
    assert "contexts" not in untold.caption


def test_a_heads_patterns_are_named_from_the_largest_share_on(datasets):
    """Of 5 % and more; what none explains is no pattern."""
    tokens = datasets["tokens"].copy(deep=True)
    share = tokens["share"]
    share.loc[{"head": "1:0"}] = 0.0
    for pattern, value in {"ngram": 0.2, "dyck": 0.3, "induction": 0.05, "skip_ngram": 0.049}.items():
        share.loc[{"head": "1:0", "pattern": pattern}] = value
    share.loc[{"head": "1:0", "pattern": "unexplained"}] = 0.4
    drawing = rllc_table1_head_classification(datasets | {"tokens": tokens})
    said = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert "Dyck 30%, n-gram 20%, induction 5%" in said


def test_the_table_marks_the_pattern_that_the_paper_has_not(datasets):
    tokens = datasets["tokens"].copy(deep=True)
    at = {"head": "1:0", "step": 20}
    tokens["share"].loc[at] = 0.0
    tokens["common"].loc[at], tokens["common_count"].loc[at] = "", 0
    for pattern, value, form in (("recurrent_pair", 0.6, "a b"), ("ngram", 0.2, "c d")):
        tokens["share"].loc[{**at, "pattern": pattern}] = value
        first = {**at, "pattern": pattern, "order": tokens["order"].values[0]}
        tokens["common"].loc[first], tokens["common_count"].loc[first] = form, round(100 * value)
    drawing = rllc_table1_head_classification(datasets | {"tokens": tokens})
    said = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert "recurrent pair (ours) 60%, n-gram 20%" in said
    (forms,) = (each for each in said if "(60" in each)
    assert "(60, ours)" in forms and "(20)" in forms
    assert "Recurrent pairs are our own pattern; the paper has none." in drawing.conditions


def test_examples_are_of_the_pattern_that_explains_most(datasets):
    drawing = figures.rllc_fig4_tokens_in_context(datasets, heads=["1:0", "0:1"])
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert "1:0  induction: 100% induction" in texts
    assert "0:1  multigram: no token in context" in texts
    assert [(f.value, f.unit) for f in drawing.findings] == [(100.0, "%")]
    assert "head 1:0 (induction)" in drawing.findings[0].label
    assert sum(text.startswith("+") and text.endswith(" nats") for text in texts) == 3
    one = datasets["tokens"].isel(seed=0, step=-1).sel(head="1:0")
    of_pattern = [example for example in examples(one) if example.pattern == "induction"][:3]
    assert [text for text in texts if text.endswith(" nats")] == [
        f"+{each.rise:.1f} nats" for each in of_pattern
    ]
    others = datasets["tokens"].copy(deep=True)
    first = {"head": "1:0", "step": 20, "rank": others["rank"].values[of_pattern[0].rank]}
    others["rise"].loc[first] = 99.0
    others["pattern_index"].loc[first] = list(PATTERNS).index("ngram")  # the most affected is of another
    again = figures.rllc_fig4_tokens_in_context(datasets | {"tokens": others}, heads=["1:0"])
    said = [text.get_text() for text in again.figure.axes[0].texts]
    assert "+99.0 nats" not in said


def test_a_head_that_is_not_there_is_named(datasets):
    with pytest.raises(ValueError, match=r"tokens\.nc has no head 7:7; choose from 0:0"):
        figures.rllc_fig4_tokens_in_context(datasets, heads=["7:7"])


def test_the_table_has_a_row_per_head(datasets, misplaced):
    drawing = rllc_table1_head_classification(datasets)
    assert drawing.data["token_class"].isel(seed=0, step=0).values.tolist() == [
        "previous-token", "multigram", "induction", "multigram",
    ]  # fmt: skip
    assert {f.label.split(" heads")[0]: f.value for f in drawing.findings} == {
        "previous-token": 1, "multigram": 2, "induction": 1,
    }  # fmt: skip
    assert misplaced(drawing) == []
    share = xr.full_like(datasets["tokens"]["share"], 0.25)  # more words than fit on a line
    full = rllc_table1_head_classification({**datasets, "tokens": datasets["tokens"].assign(share=share)})
    full.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in full.figure.axes[0].texts if text.get_text()]
    assert not [1 for a, b in combinations(boxes, 2) if a.overlaps(b)]
    assert all(full.figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))


# --- the page


@pytest.fixture(scope="module")
def page(datasets):
    return tokens_in_context(datasets, title="<language> & more")


def test_the_page_holds_no_markup_of_the_text(page):
    assert "<script" not in page and "<img" not in page
    assert escape("</pre><script>parent.pwned=1</script>").replace(" ", "·") in page
    assert "<title>Tokens in context: &lt;language&gt; &amp; more</title>" in page
    assert "default-src 'none'" in page


def test_an_example_says_what_it_is(page):
    said = unescape(re.sub("<[^>]+>", "", page))
    assert re.search(r"Rank 1: without the head the loss of .+\s* at position \d+ rises by \d\.\d nats", said)
    assert "No token: replacing the head's output by its mean raises no loss." in said


def test_all_text_can_be_read_in_both_schemes():
    pairs = [TARGET, *((INK, orange) for orange in ORANGES)]
    for scheme in (0, 1):
        for paper in ("paper", "box"):
            pairs += [(SCHEMES[ink][scheme], SCHEMES[paper][scheme]) for ink in ("ink", "soft", "link")]
    assert min(contrast(*pair) for pair in pairs) >= 4.5


def test_every_pattern_is_defined_and_the_one_that_explains_most_is_open(datasets):
    """Head 1:0 has every share by hand: pairs explain more than induction, though that comes first."""
    tokens = datasets["tokens"].copy(deep=True)
    where = {"head": "1:0", "step": 20}
    share = dict.fromkeys(PATTERNS, 0.0) | {"induction": 0.25, "recurrent_pair": 0.35, "unexplained": 0.4}
    tokens["share"].loc[where] = list(share.values())
    rank = tokens["shown_rank"].sel(**where, seed=0).values.astype(int)
    index = tokens["pattern_index"].sel(**where, seed=0).values.copy()
    index[rank[rank >= 0]] = np.resize([0, 4, 5], (rank >= 0).sum())
    tokens["pattern_index"].loc[{**where, "seed": 0}] = index
    made = tokens_in_context(datasets | {"tokens": tokens})
    section = made.split('<section id="seed0-head1-0">')[1].split("</section>")[0]
    assert re.findall(r'data-pattern="(\w+)"( open)?', section) == [
        ("induction", ""), ("recurrent_pair", " open"), ("unexplained", ""),
    ]  # fmt: skip
    defined = re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", made)
    assert [unescape(name) for name, _ in defined] == [label for label, _ in figures.PATTERNS.values()]
    chance = tokens["share_chance"].sel(**where, seed=0, pattern="unexplained").item()
    assert f'40 % <span class="g">| {chance:.0%}</span>'.replace("%<", " %<") in made
    assert "share by chance, of positions drawn at random" in made


MORE = """
    texts: all("pre").map((each) => each.textContent), targets: all(".t").length,
    colors: [...new Set(all("pre .t").map((each) => inner.getComputedStyle(each).backgroundColor))],"""


@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser(page, datasets, browser, tmp_path, width):
    found = in_a_browser(browser, page, tmp_path, width=width, more=MORE)
    assert found["colors"] == ["rgb(11, 79, 158)"]
    last = datasets["tokens"].isel(seed=0, step=-1)
    expected = {head: examples(last.sel(head=head)) for head in last["head"].values.tolist()}
    assert found["figures"] == [
        [f"seed0-head{h.replace(':', '-')}", len(each)] for h, each in expected.items()
    ]
    every = [example for head in expected.values() for example in head]
    for text, example in zip(found["texts"], sorted_as_shown(every, expected), strict=True):
        pieces = [" … " if place is None else example.text[place] for place in shown(example, 420)]
        plain = re.sub("[↵⇥]", "", text).replace("·", " ")
        assert plain == "".join(pieces)


def sorted_as_shown(every, by_head):
    """Head by head, pattern by pattern."""
    assert len(every) == sum(map(len, by_head.values()))
    order = list(PATTERNS)
    return [
        e for head in by_head.values() for e in sorted(head, key=lambda e: (order.index(e.pattern), e.rank))
    ]


def test_a_seed_that_is_not_finished_is_blank(datasets, heads):
    """As a partial dataset has it: numbers NaN, texts empty."""
    part = datasets["tokens"].reindex(seed=[0, 1])
    part["common"] = part["common"].fillna("")
    both = {"tokens": part, "attention_scores": heads.reindex(seed=[0, 1], fill_value="unknown")}
    made = tokens_in_context(both)
    assert made.count("No token: replacing") == 2 + 4
    assert "1:0 of seed 1" in made
    drawing = figures.rllc_fig9_tokens_classification(both)
    assert "Seed 1: no head has a token in context at step 20." in drawing.conditions
    assert "2 of 4 heads (all seeds) have no token in context at step 20." in drawing.conditions
    assert rllc_table1_head_classification(both).data.sizes["seed"] == 2


def test_a_last_step_that_no_seed_has_finished_does_not_count_as_without_tokens(datasets):
    part = datasets["tokens"].reindex(step=[10, 20, 30])
    part["common"] = part["common"].fillna("")
    drawing = figures.rllc_fig9_tokens_classification(datasets | {"tokens": part})
    assert "2 of 4 heads have no token in context at step 20." in drawing.conditions
    assert not any("step 30" in line for line in drawing.conditions)


def test_share_of_the_first_tokens_equals_a_count(tokens):
    index = tokens["pattern_index"].sel(seed=0, step=20, head="1:0").values
    for count in (10, TOP):
        found = share_of_first(tokens, "induction", count).sel(seed=0, step=20, head="1:0")
        known = index[:count][index[:count] >= 0]
        assert float(found) == pytest.approx((known == PATTERNS.index("induction")).mean())


def test_fig9_says_how_the_share_of_brackets_depends_on_how_many_tokens_are_taken(datasets, tokens):
    index = np.full(tokens["pattern_index"].shape, PATTERNS.index("unexplained"), np.int8)
    place = tokens["head"].values.tolist().index("1:0")
    index[..., place, : TOP // 4] = PATTERNS.index("dyck")
    share = tokens["share"].copy()
    share.loc[{"head": "1:0", "pattern": "dyck"}] = 0.25
    changed = tokens.assign(share=share, pattern_index=tokens["pattern_index"].copy(data=index))
    found = figures.rllc_fig9_tokens_classification(datasets | {"tokens": changed}).findings
    said = {each.label: each.value for each in found if "brackets" in each.label}
    assert list(said.values()) == [25, 50, 100]
    assert list(said)[1] == f"brackets among the {TOP // 2} most affected tokens of head 1:0 at step 20"


def test_captions_say_which_share_of_the_searched_tokens_is_kept(datasets):
    drawing = figures.rllc_fig9_tokens_classification(datasets)
    assert f"(12 held-out contexts, one token of {12 * (CONTEXT - 1) / TOP:.0f})" in drawing.caption
