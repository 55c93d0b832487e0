import numpy as np
import pytest
from scipy.special import expit

from rllc.analysis.gaussian_process import smooth
from rllc.analysis.plateaus import (
    END,
    PEAK,
    SADDLE,
    START,
    TOLERANCES,
    TROUGH,
    Boundary,
    _supported,
    counts,
    found,
    plateaus,
)
from rllc.claims.published import DATA, GRID, published_llc

FROM = 100


def published_curve(name):
    rows = np.loadtxt(DATA / "published_llc.csv", delimiter=",", dtype=str, skiprows=4)
    curve = rows[rows[:, 0] == name, 1:3].astype(float)
    return curve[curve[:, 0] >= FROM].T


def named(step, value, error=None):
    return [(b.kind, int(step[b.at]), b.determined) for b in plateaus(step, value, error)[1]]


BOUNDARIES = (1_000, 40_000, 126_000, 320_000)  # the paper's


@pytest.mark.parametrize("thin", [1, 2])
@pytest.mark.parametrize(("curve", "others"), [("lr0", 1), ("lr1", 2), ("lr2", 0), ("lr3", 1), ("lr4", 0)])
def test_every_seed_of_the_published_regression_has_the_four_plateaus(curve, others, thin):
    """Each boundary of the paper is within a factor of 1.3 of a determined plateau; seeds 2 and 4 have no other."""
    llc = published_llc(curve)
    llc = llc.sel(step=llc["step"] > 0)[::thin]
    step, value = llc["step"].values.astype(float), llc.values
    sure = [b for b in plateaus(step, value)[1] if b.determined]
    for at in BOUNDARIES:
        assert any(step[b.first] / 1.3 <= at <= step[b.last] * 1.3 for b in sure), at
    assert 4 <= len(sure) <= 4 + others
    assert [b.kind for b in sure if b.kind in (PEAK, TROUGH)][:2] == [PEAK, TROUGH]


def test_the_published_language_model_has_the_four_boundaries_alone():
    """Start, peak, trough, and a flat end from 16,400 on, on the checkpoints of config/paper.yaml."""
    llc = published_llc("lm2")
    llc = llc.sel(step=llc["step"].isin(GRID))
    boundaries = named(llc["step"].values.astype(float), llc.values)
    assert boundaries == [
        (START, 1_000, True),
        (PEAK, 6_200, True),
        (TROUGH, 8_800, True),
        (END, 16_400, True),
    ]


def test_the_regressions_peak_is_flat_for_long():
    step, value = published_curve("lr1")
    peak = next(b for b in plateaus(step, value)[1] if b.kind == PEAK)
    assert (step[peak.first], step[peak.last]) == (13954, 75757)
    assert peak.support == 1.0
    assert step[int(peak.low)] < 40000 < step[peak.at] < step[int(peak.high)]


def test_where_draws_have_a_boundary_is_a_checkpoint_of_some_draw():
    draws = [[(PEAK, at, at - 1, at + 1)] for at in (9, 10, 12, 14)]
    seen = _supported(Boundary(PEAK, 11, 8, 15), [*draws, [(TROUGH, 11, 8, 15)]])
    assert (seen.support, seen.low, seen.high) == (0.8, 9.0, 14.0)


def saddle(u):
    return 60 * expit((u - np.log(500)) / 0.25) + 40 * expit((u - np.log(8000)) / 0.25)


def fall_and_rise(u):
    rise = 100 * expit((u - np.log(1000)) / 0.3) + 30 * expit((u - np.log(20000)) / 0.2)
    return rise - 25 * expit((u - np.log(6000)) / 0.2)


def counted(step, value):
    return [
        (kind, at) for kind, at, determined in named(step, value) if determined and kind not in (START, END)
    ]


SHAPES = {
    "saddle": (saddle, [(SADDLE, 1450, 2950)]),
    "fall and rise": (fall_and_rise, [(PEAK, 2800, 3500), (TROUGH, 9300, 12200)]),
    "line": (lambda u: 20 * u, []),
    "one rise": (lambda u: 100 * expit((u - np.log(2000)) / 0.4), []),
    "constant": (lambda u: 0 * u, []),
}


@pytest.mark.parametrize("noise", [0.5, 2.0])
@pytest.mark.parametrize("count", [25, 60])
@pytest.mark.parametrize("shape", SHAPES)
def test_noisy_curves(shape, count, noise):
    """Kinds of what is determined, and places up to one checkpoint of the coarser grid; much noise hides some."""
    curve, expected = SHAPES[shape]
    step = np.geomspace(100, 50_000, count)
    between = 500 ** (1 / 24)
    for seed in (3, 4):
        random = np.random.default_rng(seed)
        boundaries = counted(step, curve(np.log(step)) + random.normal(0, noise, count))
        kinds = [kind for kind, _ in boundaries]
        assert kinds == [kind for kind, *_ in expected] or (noise > 1 and not kinds)
        for (_, at), (_, low, high) in zip(boundaries, expected, strict=noise < 1):
            assert low / between < at < high * between


@pytest.mark.parametrize("count", [25, 60])
@pytest.mark.parametrize("shape", ["line", "one rise", "constant"])
def test_much_noise_makes_no_boundary(shape, count):
    step = np.geomspace(100, 50_000, count)
    for seed in (2, 3):
        noise = np.random.default_rng(seed).normal(0, 5, count)
        assert counted(step, SHAPES[shape][0](np.log(step)) + noise) == []


@pytest.mark.parametrize(("rise", "seeds"), [(0, (1, 5)), (7, (3, 4, 9))])
def test_a_curve_has_structure_only_where_its_range_is_well_above_its_noise(rise, seeds):
    """Noise of which the smoothed curve keeps 3.5 and 2.6 standard deviations, and a rise of seven."""
    step = np.geomspace(100, 50_000, 40)
    for seed in seeds:
        noise = np.random.default_rng(seed).normal(size=step.size)
        assert bool(named(step, rise * expit((np.log(step) - np.log(2000)) / 0.3) + noise)) == bool(rise)


def test_slopes_are_those_of_the_smoothed_curve():
    step = np.geomspace(100, 50_000, 60)
    curve = smooth(step, fall_and_rise(np.log(step)) + np.random.default_rng(0).normal(0, 0.5, 60))
    x = np.log(step)
    assert np.abs(curve.value - fall_and_rise(x)).max() < 1.5
    inner = np.gradient(curve.value, x)[2:-2]
    assert np.abs(inner - curve.slope[2:-2]).max() < 0.02 * np.ptp(curve.slope)
    value, slope = curve.draws(400, random_seed=0)
    for drawn, sd in zip((value, slope), curve.errors, strict=True):
        assert drawn.std(0) == pytest.approx(sd, rel=0.2)


def test_too_few_checkpoints_and_constants_have_no_boundary():
    for count, has_slope in ((4, False), (5, True)):
        curve, boundaries = plateaus(2.0 ** np.arange(count), np.arange(count, dtype=float))
        assert bool(curve.slope.any()) == has_slope and (has_slope or not boundaries)
    curve, boundaries = plateaus(np.geomspace(1, 100, 9), np.full(9, 3.0))
    assert boundaries == []
    assert (curve.value == 3.0).all() and (curve.slope == 0.0).all()


@pytest.mark.parametrize("apart", [2.2, 2.3])
def test_turns_of_neighbouring_checkpoints_are_two(apart):
    """A sine of which a peak and a trough are so few checkpoints apart: each in place, not all one segment."""
    place = np.arange(24.0)
    value = np.sin(np.pi * (place - 0.7) / apart)
    extrema = 0.7 + apart * (np.arange(12) + 0.5)
    inside = [(PEAK if n % 2 == 0 else TROUGH, at) for n, at in enumerate(extrema) if 2 < at < 21]
    boundaries = plateaus(10 * 1.17**place, value)[1]
    for kind, at in inside:
        assert any(b.kind == kind and abs(b.at - at) < 1 for b in boundaries)


def test_plateaus_of_a_known_slope():
    """|slope| against 0.08 of a range of 10, and changes of sign between steep checkpoints."""
    value = np.array([0.0, 0.1, 2, 4, 4.5, 6, 8, 10, 9, 8.5, 8.4, 9.2])
    slope = np.array([0.5, 0.7, 3, 2, 0.7, 2, 3, 2, -2, -1, 0.3, 0.9])
    extrema = [(PEAK, 7, 7, 8), (TROUGH, 10, 9, 10)]
    assert found(value, slope, 0.08) == [(START, 1, 0, 1), (SADDLE, 4, 4, 4), *extrema]
    assert found(value, slope, 0.06) == extrema  # of the start, one checkpoint is left


def test_a_plateau_of_all_checkpoints_separates_nothing():
    assert found(np.arange(5.0), np.zeros(5), 0.08) == []


@pytest.mark.parametrize("shape", ["saddle", "fall and rise"])
def test_every_second_checkpoint_keeps_what_is_determined(shape):
    """Start, boundaries between, and end: of the same kinds, and within the plateaus of the full curve."""
    curve, expected = SHAPES[shape]
    step = np.geomspace(100, 50_000, 61)
    error = np.full(61, 0.5)
    for seed in range(3):
        value = curve(np.log(step)) + np.random.default_rng(seed).normal(0, 0.5, 61)
        full, thin = (
            [b._replace(at=n * b.at) for b in plateaus(step[::n], value[::n], error[::n])[1] if b.determined]
            for n in (1, 2)
        )
        assert (
            [b.kind for b in full] == [b.kind for b in thin] == [START, *(kind for kind, *_ in expected), END]
        )
        assert all(a.first - 2 <= b.at <= a.last + 2 for a, b in zip(full, thin, strict=True))


def test_a_wiggle_within_the_errors_is_not_determined():
    """The same curve: known to 0.3 it has a peak and a trough, known to 12 they have no support."""
    step = np.geomspace(100, 50_000, 40)
    value = 20 * np.log(step) + 8 * np.sin(3 * np.log(step))
    sure = {error: sum(each[2] for each in named(step, value, np.full(40, error))) for error in (0.3, 12.0)}
    assert sure[0.3] >= 3 and sure[12.0] == 0


def test_counts_at_the_tolerance_of_the_rule_are_its_boundaries():
    step = np.geomspace(100, 50_000, 40)
    curve, boundaries = plateaus(step, fall_and_rise(np.log(step)), np.full(40, 0.5))
    every, sure = counts(curve)
    at = TOLERANCES.index(0.08)
    assert every[at] == len(boundaries) and sure[at] == sum(each.determined for each in boundaries)
    assert every.shape == sure.shape == (len(TOLERANCES),) and (sure <= every).all()
