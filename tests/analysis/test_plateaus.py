import numpy as np
import pytest
from scipy.special import expit

from rllc.analysis.gaussian_process import smooth
from rllc.analysis.plateaus import END, PEAK, SADDLE, START, TROUGH, Boundary, _supported, plateaus
from rllc.claims.published import DATA

FROM = 100


def published_curve(name):
    rows = np.loadtxt(DATA / "published_llc.csv", delimiter=",", dtype=str, skiprows=4)
    curve = rows[rows[:, 0] == name, 1:3].astype(float)
    return curve[curve[:, 0] >= FROM].T


def found(step, value):
    return [(b.kind, int(step[b.at]), b.determined) for b in plateaus(step, value)[1]]


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ("lm2", [(START, 200, False), (SADDLE, 800, False), (PEAK, 6300, True), (TROUGH, 8900, True),
                 (SADDLE, 18500, False), (PEAK, 42500, True)]),
        ("lm1", [(START, 500, True), (TROUGH, 800, True), (PEAK, 41200, True)]),
        ("lr1", [(START, 298, False), (SADDLE, 1124, False), (PEAK, 55555, True), (SADDLE, 126262, True),
                 (TROUGH, 318181, True), (END, 484848, True)]),
        ("lr4", [(START, 1465, True), (PEAK, 50505, True), (SADDLE, 146464, True), (TROUGH, 388888, True)]),
    ],
)  # fmt: skip
def test_published_curves(curve, expected):
    """Where the authors' stages end: 900, 6.5k, 8.5k, 17k; 400, 900; 1k, 40k, 126k, 320k."""
    assert found(*published_curve(curve)) == expected


def test_the_regressions_peak_is_flat_for_long():
    step, value = published_curve("lr1")
    peak = next(b for b in plateaus(step, value)[1] if b.kind == PEAK)
    assert (step[peak.first], step[peak.last]) == (13954, 75757)
    assert peak.support == 1.0
    assert step[int(peak.low)] < 40000 < step[peak.at] < step[int(peak.high)]


def test_where_draws_have_a_boundary_is_a_checkpoint_of_some_draw():
    draws = [[(PEAK, at, (at - 1, at + 1))] for at in (9, 10, 12, 14)]
    seen = _supported(Boundary(PEAK, 11, 8, 15, True, 0.0, np.nan, np.nan), [*draws, [(TROUGH, 11, (8, 15))]])
    assert (seen.support, seen.low, seen.high) == (0.8, 9.0, 14.0)


def saddle(u):
    return 60 * expit((u - np.log(500)) / 0.25) + 40 * expit((u - np.log(8000)) / 0.25)


def fall_and_rise(u):
    rise = 100 * expit((u - np.log(1000)) / 0.3) + 30 * expit((u - np.log(20000)) / 0.2)
    return rise - 25 * expit((u - np.log(6000)) / 0.2)


def counted(step, value):
    return [
        (kind, at) for kind, at, determined in found(step, value) if determined and kind not in (START, END)
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
    """Kinds of what is determined, and places up to one checkpoint of the coarser grid."""
    curve, expected = SHAPES[shape]
    step = np.geomspace(100, 50_000, count)
    between = 500 ** (1 / 24)
    for seed in (3, 4):
        random = np.random.default_rng(seed)
        boundaries = counted(step, curve(np.log(step)) + random.normal(0, noise, count))
        assert [kind for kind, _ in boundaries] == [kind for kind, *_ in expected]
        for (_, at), (_, low, high) in zip(boundaries, expected, strict=True):
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
        assert bool(found(step, rise * expit((np.log(step) - np.log(2000)) / 0.3) + noise)) == bool(rise)


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
