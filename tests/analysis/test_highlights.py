"""Gains that were planted are found: stages, means, excerpts and pairs."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.highlights import highlights

STEPS, CONTEXTS, LENGTH, WINDOW = [0, 10, 100, 1000], 6, 40, 12
ASKED = {"distribution": "mixture", "setting": "sampling", "length": WINDOW}
PLANTED = slice(17, 17 + WINDOW)


def boundaries(*seeds):
    """``stages`` with so many (step, kind, determined) of each seed."""
    most = max(1, *map(len, seeds))
    steps, sure = np.full((2, 1, 1, len(seeds), most), np.nan)
    kinds = np.full(steps.shape, "", dtype=object)
    for seed, listed in enumerate(seeds):
        for n, (step, kind, determined) in enumerate(listed):
            steps[0, 0, seed, n], kinds[0, 0, seed, n], sure[0, 0, seed, n] = step, kind, determined
    dims = ("setting", "distribution", "seed", "boundary")
    table = {
        "boundary_step": (dims, steps),
        "boundary_kind": (dims, kinds),
        "boundary_determined": (dims, sure),
    }
    coords = {"setting": ["sampling"], "distribution": ["mixture"], "seed": list(range(len(seeds)))}
    return xr.Dataset(table, {**coords, "distribution_label": ("distribution", ["the mixture"])})


@pytest.fixture(scope="module")
def losses():
    """Losses in which the gain from step 10 to 100 is known: 0, but 2 in a window, and 1 on three repeats."""
    random = np.random.default_rng(0)
    loss = np.repeat(random.normal(5, 1, (2, 1, CONTEXTS, LENGTH)), len(STEPS), 1)
    repeated = np.zeros((CONTEXTS, LENGTH), np.int8)
    repeated[2, 0:10:2] = 1
    second = np.zeros_like(repeated)
    second[4, 7] = 1
    loss[:, 2:, 3, PLANTED] -= 2
    loss[:, 2:, 2, 0:10:2] -= 1
    loss[:, 3:] -= 0.25
    text = np.asarray([[f"{chr(97 + p % 7)}" for p in range(LENGTH)]] * CONTEXTS, dtype=object)
    joined = np.tile(np.arange(LENGTH, dtype=np.int32), (CONTEXTS, 1))
    where = ("context", "position")
    made = xr.Dataset(
        {"loss": (("seed", "step", *where), loss), "logit": (("seed", "step", *where), -3 * loss)},
        {"seed": [0, 1], "step": STEPS, "text": (where, text), "joined": (where, joined),
         "second": (where, second), "repeated": (where, repeated)},
    )  # fmt: skip
    return made.transpose("seed", "step", "position", "context")  # as gathered datasets have it


@pytest.fixture(scope="module")
def made(losses):
    table = boundaries(
        [(10, "start", 1), (100, "saddle", 0)],
        [(1000, "end", 1)],
    )
    return highlights({"token_losses": losses, "stages": table}, **ASKED, random_seed=1)


def test_stages_lie_between_boundaries(made):
    first, second = made.sel(seed=0), made.sel(seed=1)
    assert first["stage_start"].values.tolist() == [0, 10, 100]
    assert first["stage_end"].values.tolist() == [10, 100, 1000]
    np.testing.assert_array_equal(first["end_determined"], [1, 0, np.nan])
    np.testing.assert_array_equal(second["stage_start"], [0, np.nan, np.nan])
    np.testing.assert_array_equal(second["stage_end"], [1000, np.nan, np.nan])
    assert made.attrs["text_of"] == "the mixture"


def test_gains_are_those_planted(made):
    gain = made["gain"].sel(seed=0)
    np.testing.assert_array_equal(gain.sel(stage=1), 0)
    np.testing.assert_allclose(gain.sel(stage=3), 0.25, rtol=1e-6)
    expected = np.zeros((CONTEXTS, LENGTH))
    expected[3, PLANTED], expected[2, 0:10:2] = 2, 1
    np.testing.assert_allclose(gain.sel(stage=2), expected, atol=1e-6)
    np.testing.assert_allclose(made["logit_gain"].sel(seed=0, stage=2), 3 * expected, atol=1e-6)
    assert made["gain"].sel(seed=1, stage=2).isnull().all()


def test_colours_end_at_large_gains_not_at_the_largest(losses):
    """Of 240 tokens 17 gain 2 or 1 (or lose it): one or two that gain 50 do not fade the others, three do."""
    table = boundaries([(10, "peak", 1), (100, "peak", 1)], [])
    for few, scale in ((0, 2.0), (1, 2.0), (2, 2.0), (4, 50.0)):
        given = losses.copy(deep=True)
        given["loss"] = (given["loss"] * -1).transpose("seed", "step", "context", "position")
        given["loss"][:, 2:, 0, :few] += 50
        found = highlights({"token_losses": given, "stages": table}, **ASKED)["scale"].sel(seed=0)
        np.testing.assert_allclose(found, [0, scale, 0.25], rtol=1e-6)


def test_excerpts_are_where_the_gain_is(made):
    cell = made.sel(seed=0, stage=2)
    names = [f"excerpt_{name}" for name in ("context", "start", "score")]
    for chosen, expected in {"greatest": (3, PLANTED.start, 2.0), "repeats": (2, 0, 1.0)}.items():
        assert [float(cell[name].sel(excerpt=chosen)) for name in names] == pytest.approx(expected)
    drawn = made.sel(excerpt="drawn", seed=0)
    assert all(np.ptp(drawn[name].values) == 0 for name in names[:2])


def test_means_by_kind_and_their_errors(made):
    cell = made.sel(seed=0, stage=2)
    every = np.zeros((CONTEXTS, LENGTH))
    every[3, PLANTED], every[2, 0:10:2] = 2, 1
    sums = every.sum(1) - LENGTH * every.mean()
    assert float(cell["mean_gain"].sel(tokens="all")) == pytest.approx(every.mean())
    # Contexts are as long as each other: the error of the mean over contexts.
    assert float(cell["mean_gain_se"].sel(tokens="all")) == pytest.approx(
        np.std(sums / LENGTH, ddof=1) / np.sqrt(CONTEXTS)
    )
    assert float(cell["mean_gain"].sel(tokens="repeated")) == pytest.approx(1)
    assert cell["counted"].values.tolist() == [CONTEXTS * LENGTH, 1, 5, CONTEXTS * LENGTH - 6]


def test_pairs_that_gain_most_are_listed(losses):
    text = losses["text"].values.copy()
    text[19, :5], text[20, :5] = "te", "ll"  # often enough, which four times are not
    table = boundaries([(10, "peak", 1), (100, "peak", 1)], [])
    given = losses.assign_coords(text=(losses["text"].dims, text))
    given["loss"] = given["loss"].copy()
    given["loss"][{"step": slice(2, None), "position": 20}] -= 1
    cell = highlights({"token_losses": given, "stages": table}, **ASKED).sel(seed=0, stage=2, rank=0)
    assert (cell["pair"].item(), float(cell["pair_gain"]), int(cell["pair_count"])) == (
        "te|ll", pytest.approx(1 + 2 / 5), 5,
    )  # fmt: skip
    text = text.copy()
    text[19, 4] = "ta"
    seldom = given.assign_coords(text=(losses["text"].dims, text))
    cell = highlights({"token_losses": seldom, "stages": table}, **ASKED).sel(seed=0, stage=2)
    assert "te|ll" not in cell["pair"].values
    shared = given.assign_coords(joined=given["joined"].where(given["joined"] != 21, 20).astype(int))
    cell = highlights({"token_losses": shared, "stages": table}, **ASKED).sel(seed=0, stage=2)
    assert "te|ll" not in cell["pair"].values  # a part of a character is no token to list


def test_a_curve_that_is_not_there_is_named(losses):
    given = {"token_losses": losses, "stages": boundaries([], [])}
    with pytest.raises(ValueError, match=r"stages\.nc has no setting 'local': stages are read off that LLC"):
        highlights(given, **(ASKED | {"setting": "local"}))


def test_without_repeats_there_is_no_such_excerpt(losses):
    none = losses.assign_coords(repeated=losses["repeated"] * 0)
    made = highlights({"token_losses": none, "stages": boundaries([], [])}, **ASKED)
    assert np.isnan(made["excerpt_context"].sel(excerpt="repeats")).all()
    assert np.isnan(made["mean_gain"].sel(tokens="repeated")).all()
