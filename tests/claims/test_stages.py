"""Every number of the claims about stages, by values computed by hand on small runs."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from rllc.analysis.curves import NotJudged
from rllc.claims import stages
from rllc.claims.claim import claims_of
from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
from rllc.claims.published import DATA
from rllc.claims.run import Run
from rllc.claims.selection import Absent
from rllc.claims.stages import boundaries as boundaries_claims
from rllc.claims.stages import controls, induction, ngrams, order, positions

STEPS = [0, 100, 800, 900, 6400, 6500, 8500, 17000, 21300, 50000]
N = len(STEPS)
KINDS = ["any", "saddle", "trough"]
CLAIMS = claims_of(stages, "stages")


def curves(dims=(), coords=None, **values):
    """Return a dataset of one seed and distribution, each variable [step, *dims]."""
    coords = {"seed": [0], "step": STEPS, "distribution": ["mixture"], **(coords or {})}
    return xr.Dataset(
        {
            name: (("seed", "step", "distribution", *dims), np.asarray(value, dtype=float)[None, :, None])
            for name, value in values.items()
        },
        coords,
    )


def boundaries(settings, **marks):
    """Return stages of these settings; ``kind=[checkpoints]`` of the first one, each possible."""
    at = np.zeros((len(settings), 1, 1, N, len(KINDS)))
    for kind, places in marks.items():
        at[0, 0, 0, places, KINDS.index(kind)] = 1
    dims = ("setting", "distribution", "seed", "step")
    coords = {"setting": settings, "distribution": ["mixture"], "seed": [0], "step": STEPS, "kind": KINDS}
    flat = at[..., 0].copy()
    return xr.Dataset({"at_boundary": ((*dims, "kind"), at), "published": (dims, flat)}, coords)


def heads(previous_token=None, prefix_matching=None):
    labels = ["0:0", "0:1", "1:0"]
    given = {"previous_token": previous_token, "prefix_matching": prefix_matching}
    made = {
        n: (("seed", "step", "head"), np.asarray(v, dtype=float)[None])
        for n, v in given.items()
        if v is not None
    }
    return xr.Dataset(made, {"seed": [0], "step": STEPS, "head": labels})


def run(setting="published", layers=2, length=50000, **datasets):
    named = {name.replace("__", "."): each for name, each in datasets.items()}
    return Run(
        Experiment("language", "language", layers, text="mixture", setting=setting, steps=length), named, 0
    )


@pytest.mark.parametrize(
    ("function", "marks", "expected"),
    [
        (boundaries_claims.stages, {"any": [1, 3, 5, 9]}, 4),
        (boundaries_claims.published_rule, {"any": [1, 3, 5]}, 3),
        (boundaries_claims.troughs, {"any": [1, 3, 5], "trough": [3]}, 1),
        (boundaries_claims.first_trough, {"any": [1, 3, 6], "trough": [3, 6]}, 900),
        # 100 is near none; 800 and 900 are one place, 21,300 is 1.253 of 17,000
        (boundaries_claims.published_boundaries, {"any": [1, 2, 3, 4, 8]}, 2),
        (boundaries_claims.published_boundaries, {"any": [3, 4, 6, 7]}, 4),
        (boundaries_claims.late_boundaries, {"any": [6, 7, 8, 9]}, 2),
        (boundaries_claims.stages_control, {"any": [1, 3]}, 0),
    ],
)
@pytest.mark.parametrize("setting", ["published", "sampling"])
def test_boundaries_of_the_setting_that_tells_stages_are_counted(function, marks, expected, setting):
    data = boundaries([setting, f"{setting}_prior_only", "other"], **marks)
    assert float(function(run(setting, stages=data))) == expected


def test_boundaries_of_the_control_are_counted():
    data = boundaries(["published_prior_only", "published"], any=[1, 3])
    assert float(boundaries_claims.stages_control(run(stages=data))) == 2


def test_no_trough_is_no_step():
    assert np.isnan(boundaries_claims.first_trough(run(stages=boundaries(["published"], any=[3]))))


@pytest.mark.parametrize(
    ("function", "dataset", "expected"),
    [
        (
            boundaries_claims.llc_change_lm3,
            {"llc__published": curves(llc=[0, 0, 0, 0, 0, 9, 7.5, 3, 0, 0])},
            -1.5,
        ),
        (
            ngrams.bigram_minimum_excess,
            {"ngrams": curves(bigram_excess=[3, 2, 1, 0.4, 0.5, 1, 1, 1, 1, 1])},
            0.4,
        ),
        (ngrams.bigram_minimum_step, {"ngrams": curves(bigram_score=[7, 5, 4, 5, 5, 5, 5, 5, 5, 5])}, 800),
        (ngrams.bigram_departure, {"ngrams": curves(bigram_score=[7, 5, 4, 5, 5, 5, 5, 5, 5, 5.5])}, 1.5),
        (positions.positions_at_900, {"positions": curves(position_gain=np.arange(N) / 10)}, 0.3),
        (positions.positions_at_6500, {"positions": curves(position_gain=np.arange(N) / 10)}, 0.5),
        (induction.icl_lm4, {"metrics": curves(icl_score=-(np.arange(N) ** 2))}, 36 - 49),
        (induction.final_icl, {"metrics": curves(icl_score=-np.arange(N))}, -9),
    ],
)
def test_number_of_one_curve_is_that_by_hand(function, dataset, expected):
    assert float(function(run(**dataset))) == pytest.approx(expected, rel=1e-12)


def test_scores_of_n_grams_are_of_their_n():
    score = np.stack([np.ones(N), 1 + np.arange(N), 1 + 2 * np.arange(N)], -1)
    model = run(ngrams=curves(("n",), {"n": [2, 3, 4]}, ngram_score=score))
    assert float(ngrams.ngram3(model)) == 10
    assert float(ngrams.ngram4(model)) == 19
    assert float(ngrams.ngram3_lm2(model)) == 6 / 4
    assert float(ngrams.ngram4_lm2(model)) == 11 / 7


def test_share_of_the_first_component_is_read_at_step_6400():
    share = np.stack([np.arange(N) / 10, np.ones(N)], -1)
    data = xr.Dataset(
        {"explained_variance": (("seed", "step", "component"), share[None])},
        {"seed": [0], "step": STEPS, "component": [1, 2]},
    )
    assert float(positions.lissajous(run(positions=data))) == 0.4


def test_heads_are_those_with_the_largest_score_at_each_checkpoint():
    """Previous-token heads are of layer 0, prefix matching is of all."""
    values = np.zeros((N, 3))
    values[5], values[6], values[7], values[9] = (
        [0.1, 0.2, 0.9],
        [0.3, 0.1, 0.9],
        [0.1, 0.1, 1.8],
        [0.2, 0.6, 0.9],
    )
    model = run(attention_scores=heads(values, values))
    assert float(induction.previous_token_lm3(model)) == pytest.approx(1.5)
    assert float(induction.previous_token_share(model)) == pytest.approx(0.5)
    assert float(induction.prefix_matching_lm4(model)) == pytest.approx(2)


@pytest.mark.parametrize(
    ("function", "dataset"),
    [
        (controls.llc_loss_correlation, "llc__published"),
        (controls.llc_loss_correlation_local, "llc"),
        (controls.llc_control_correlation, "llc__published"),
        (controls.llc_control_correlation_local, "llc"),
    ],
)
def test_correlation_is_from_one_percent_of_training_on(function, dataset):
    """1 % of 50,000 is 500, so from step 800 on."""
    random = np.random.default_rng(0)
    llc, other = random.normal(size=(2, N))
    both = {dataset: curves(llc=llc, llc_prior_only=other), "metrics": curves(loss=other)}
    expected = np.corrcoef(llc[2:], other[2:])[0, 1]
    assert float(function(run(**both))) == pytest.approx(expected, rel=1e-12)
    expected = np.corrcoef(llc[1:], other[1:])[0, 1]
    assert float(function(run(length=10000, **both))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("curve", "function", "expected"),
    [
        ("lm2", controls.llc_loss_correlation, -0.987),
        ("lm1", controls.llc_loss_correlation, -0.977),
        ("lm2", boundaries_claims.llc_change_lm3, -1.569),
    ],
)
def test_numbers_of_the_authors_own_curves_are_those_that_claims_quote(curve, function, expected):
    rows = pd.read_csv(DATA / "published_llc.csv", comment="#")
    rows = rows[rows["curve"] == curve].set_index("step")[["llc", "loss"]].to_xarray()
    data = rows.expand_dims({"seed": [0], "distribution": ["mixture"]})
    found = function(run(llc__published=data[["llc"]], metrics=data[["loss"]]))
    assert float(found) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("function", "variable"),
    [
        (order.bigram_after_boundary, "bigram_after_boundary"),
        (order.behaviours_in_order, "in_order"),
        (order.composition_lead, "composition_lead"),
    ],
)
def test_milestones_are_read_at_their_one_step(function, variable):
    coords = {"seed": [0], "step": [50000]}
    data = xr.Dataset({variable: (("seed", "step"), [[0.25]])}, coords)
    assert float(function(run(milestones=data))) == 0.25
    with pytest.raises(NotJudged, match=variable):
        function(run(milestones=data * np.nan))


def test_a_shorter_training_has_no_number_of_a_later_step():
    short = curves(position_gain=np.arange(N)).isel(step=slice(4))
    with pytest.raises(NotJudged, match="before 6,500"):
        positions.positions_at_6500(run(positions=short))


@pytest.mark.parametrize(
    ("function", "absent"),
    [
        (boundaries_claims.stages, "stages"),
        (boundaries_claims.llc_change_lm3, "llc.published"),
        (ngrams.ngram3, "ngrams"),
        (order.composition_lead, "milestones"),
    ],
)
def test_a_model_without_the_dataset_has_no_claim_about_it(function, absent):
    with pytest.raises(Absent, match=absent):
        function(run())


def test_stages_without_a_control_have_no_claim_about_it():
    with pytest.raises(Absent, match="published_prior_only"):
        boundaries_claims.stages_control(run(stages=boundaries(["published"])))


@pytest.mark.parametrize(
    ("experiment", "count"),
    [
        (Experiment("language", "language", 2, setting="published"), 28),
        (Experiment("mine", "language", 4, setting="stagewise"), 28),
        (Experiment("language", "language", 2, setting="sampling"), 26),
        (Experiment("language_1layer", "language", 1, setting="published"), 4),
        (Experiment("sort_1head", "sorting", 1), 0),
        (Experiment("regression", "regression", 2), 0),
    ],
)
def test_claims_are_about_language_models_of_their_depth(experiment, count):
    """The base setting is not compared with itself."""
    about = {each.name for each in CLAIMS if each.applies(experiment)}
    assert len(about) == count
    local = {"llc_not_loss_local", "llc_not_control_local"}
    assert (local <= about) == (count == 28)


def test_one_layer_is_compared_with_two():
    two = Experiment("language", "language", 2, text="mixture", steps=50000)
    one = Experiment("language_1layer", "language", 1, text="mixture", steps=50000)
    late = curves(bigram_score=[7, 5, 4, 3, 5, 5, 5, 5, 5, 5])
    early = curves(bigram_score=[7, 5, 4, 5, 5, 5, 5, 5, 5, 5])
    table = judge(
        CLAIMS,
        {"language": two, "language_1layer": one},
        {"language": {"ngrams": early}, "language_1layer": {"ngrams": late}},
    )
    found = table.sel(claim="one_layer_same", seed=0)
    assert found["value"].item() == 900 / 800
    assert found["verdict"].item() == "holds"


def test_every_claim_has_what_a_claim_needs():
    names = {each.name for each in CLAIMS}
    for each in CLAIMS:
        assert each.source and each.text and each.statistic.label and each.published, each.name
        assert each.at_least is not None or each.at_most is not None, each.name
        assert each.versus in (None, "language"), each.name
        assert each.given is None or each.given in names, each.name
    assert len(CLAIMS) == len(names) == 32
