"""Where n-grams are predicted, and which heads attend to lone spaces."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.migration import migration
from rllc.vocabulary import head_coords, head_labels

PATTERNS = ["induction", "dyck", "skip_ngram", "ngram", "recurrent_pair", "unexplained"]
NGRAM = PATTERNS.index("ngram")
TEXT = ["‹›", "a", " ", "b", "  "]


def tokens():
    """Two heads, two steps; at the second step layer 1 has three quarters of the effect of n-grams."""
    dims = ("seed", "step", "head", "rank")
    rise = np.ones((1, 2, 2, 4))
    rise[0, 1, 1] = 3.0
    kind = np.full((1, 2, 2, 4), NGRAM)
    kind[0, :, 0, 3] = kind[0, :, 1, 3] = -1
    kind[0, 0, 1, 2] = PATTERNS.index("dyck")
    context = np.broadcast_to([0, 1, 2, 3], rise.shape)
    position = np.broadcast_to([3, 2, 1, 0], rise.shape)
    shown_token = np.broadcast_to([0, 2, 1, 2, 3], (1, 2, 2, 2, 5))
    attention = np.zeros((1, 2, 2, 2, 5))
    attention[..., :2] = 0.5
    attention[0, 0, 1] = [[0, 0.5, 0, 0.5, 0], [0, 0.6, 0.4, 0, 0]]
    return xr.Dataset(
        {
            "rise": (dims, rise),
            "pattern_index": (dims, kind),
            "context": (dims, context),
            "position": (dims, position),
            "shown_rank": (("seed", "step", "head", "shown"), np.tile([0, 1], (1, 2, 2, 1))),
            "shown_token": (("seed", "step", "head", "shown", "place"), shown_token),
            "attention": (("seed", "step", "head", "shown", "place"), attention),
        },
        {
            "seed": [0],
            "step": [100, 900],
            **head_coords(head_labels(2, 1)),
            "pattern": PATTERNS,
            "text": ("token", np.asarray(TEXT, dtype=object)),
        },
    )


def test_a_layer_has_the_share_of_the_rises_at_its_n_grams():
    made = migration(tokens())["ngram_effect_of_layer"].sel(seed=0)
    assert made.sel(of_layer=1).values.tolist() == pytest.approx([2 / 5, 9 / 12])
    assert made.sum("of_layer").values.tolist() == pytest.approx([1, 1])


def test_shares_have_an_error_over_contexts():
    """At the first step two contexts have both heads' n-grams, the third that of layer 0 alone."""
    made = migration(tokens())
    share, every = 2 / 5, np.array([2, 2, 1])
    apart = np.array([1, 1, 0]) - share * every
    expected = np.sqrt((apart**2).sum() * 3 / 2) / every.sum()
    assert float(made["ngram_effect_of_layer_se"].sel(seed=0, step=100, of_layer=1)) == pytest.approx(
        expected
    )
    assert float(made["ngram_effect_of_layer_se"].sel(seed=0, step=900, of_layer=1)) == pytest.approx(0)
    assert float(made["ngram_effect_se"].sel(seed=0, step=100, head="1:0")) == pytest.approx(expected)


def test_without_n_grams_there_is_no_share():
    given = tokens()
    given["pattern_index"][:] = 0
    made = migration(given)
    assert made["ngram_effect"].isnull().all() and made["ngram_effect_se"].isnull().all()


def test_attention_to_lone_spaces_is_less_that_of_uniform_attention():
    """The first example sees two spaces among four tokens, the second one among three; two spaces are no lone one."""
    made = migration(tokens())
    excess = np.array([1.0 - 2 / 4, 0.6 - 1 / 3])
    cell = made.sel(seed=0, step=100, head="1:0")
    assert float(cell["space_attention"]) == pytest.approx(excess.mean())
    assert float(cell["space_attention_se"]) == pytest.approx(excess.std(ddof=1) / np.sqrt(2))
    given = tokens().assign_coords(text=("token", np.asarray(["a"] * 5, dtype=object)))
    assert migration(given)["space_attention"].isnull().all()
    given = tokens()
    given["shown_rank"][..., 1] = -1
    assert migration(given)["space_attention"].isnull().all()
