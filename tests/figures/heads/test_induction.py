"""When induction heads separate."""

import numpy as np
import pytest
import xarray as xr
from tests.figures.of_study import figure, values

from rllc.quality import MASKS


def test_induction_onsets_are_measured(drawn, datasets):
    drawing = drawn("induction_onset")
    assert drawing.data["rllc_onset"].sel(seed=0, distribution="code").item() == 1500
    assert drawing.data["score_onset"].sel(seed=0).item() == 1750
    assert drawing.data["rllc_onset_reliable"].sel(seed=0, distribution="code").item() == 1500
    assert values(drawing, "separation", "rLLC on code") == [1500]
    assert values(drawing, "separation", "score") == [1750]
    assert values(drawing, "prefix-matching score of head 1:1 at step 3,000") == pytest.approx(
        [float(datasets["attention_scores"]["prefix_matching"].sel(seed=0, step=3000, head="1:1"))]
    )


def test_score_that_leads_by_little_leads_clearly_before_it_separates(datasets):
    """By the errors of both heads: 1.96 of them below every lead from that step on, not at the step before."""
    scores = datasets["attention_scores"].copy(deep=True)
    scores["prefix_matching_se"] = xr.full_like(scores["prefix_matching"], 1e-3)
    drawing = figure("induction_onset")(datasets | {"attention_scores": scores})
    one = scores["prefix_matching"].sel(seed=0)
    head = str(one.isel(step=-1).idxmax("head").item())
    others = [str(h) for h in one["head"].values if str(h).startswith("1:") and str(h) != head]
    ahead = (one.sel(head=head) - one.sel(head=others).max("head")) > 1.96 * np.sqrt(2) * 1e-3
    lasting = ahead[::-1].cumprod("step")[::-1].astype(bool)
    (said,) = values(drawing, "clear lead", "score")
    assert said == lasting["step"].values[lasting.values][0]
    assert said <= values(drawing, "separation", "score")[0]


def test_onsets_are_drawn_from_half_the_earliest_step_on(datasets):
    drawing = figure("induction_onset")(datasets)
    steps = datasets["rllc"]["step"].values
    assert drawing.data["step"].values.tolist() == steps[steps >= 1500 / 2].tolist()
    later = figure("induction_onset")(datasets, start=1500).data["step"].values
    assert later.tolist() == steps[steps >= 1500].tolist()


def test_an_onset_that_rests_on_an_unreliable_estimate_is_told_beside_that_of_the_others(datasets):
    rllc = datasets["rllc"].copy(deep=True)
    rllc["quality"][:] = 0
    rllc["quality"].loc[{"seed": 0, "step": 1500, "distribution": "code", "head": "1:1"}] = MASKS["drifting"]
    drawing = figure("induction_onset")(datasets | {"rllc": rllc})
    code = drawing.data.sel(seed=0, distribution="code")
    assert code["rllc_onset"].item() == 1500
    assert code["rllc_onset_reliable"].item() == rllc["step"].values[rllc["step"] > 1500][0]
    onset, reliable = values(drawing, "separation", "rLLC on code")
    assert onset == 1500 and reliable == code["rllc_onset_reliable"].item()


def test_an_induction_head_that_never_separates_has_no_finding_of_that(datasets):
    rllc = datasets["rllc"].copy(deep=True)
    induction = {"seed": 0, "head": "1:1", "distribution": "code"}
    for name in ("rllc", "rllc_chain"):
        rllc[name].loc[induction] = 0.0
    drawing = figure("induction_onset")(datasets | {"rllc": rllc})
    assert values(drawing, "separation", "rLLC on code") == []
    assert "On code the rLLC has no lead that lasts to the end." in drawing.conditions
    assert len(values(drawing, "separation", "rLLC on english")) == 1


def test_onsets_show_and_count_the_heads_of_their_layer_alone(datasets):
    rllc = datasets["rllc"].copy(deep=True)
    rllc["quality"][:] = 0
    rllc["quality"].loc[{"head": "0:0"}] = MASKS["drifting"]
    drawing = figure("induction_onset")(datasets | {"rllc": rllc})
    assert set(drawing.data["layer"].values) == {1}
    assert not any("reliable" in said for said in drawing.conditions)


def test_without_an_induction_head_the_figure_says_so(datasets):
    quiet = datasets["attention_scores"].assign(
        prefix_matching=0.1 * datasets["attention_scores"]["prefix_matching"]
    )
    drawing = figure("induction_onset")(datasets | {"attention_scores": quiet})
    best = float(quiet["prefix_matching"].isel(step=-1).max())
    assert drawing.title.startswith("No head is an induction head")
    assert [each.value for each in drawing.findings] == pytest.approx([best])


def test_the_lead_of_the_induction_head_has_its_paired_interval(datasets, drawn):
    from rllc.analysis.contrasts import contrast

    drawing = drawn("induction_onset")
    cell = drawing.data.sel(seed=0, step=3000, distribution="code")
    rival = datasets["rllc"]["rllc"].sel(seed=0, step=3000, distribution="code", head=["1:0", "1:2", "1:3"])
    truth = contrast(datasets["rllc"], dim="head", a="1:1", b=rival["head"].values[int(rival.argmax("head"))])
    truth = truth.sel(seed=0, step=3000, distribution="code")
    for mine, its in (("half_width", "half_width"), ("degrees_of_freedom", "degrees_of_freedom")):
        assert cell[mine].item() == pytest.approx(truth[its].item())
    wide = figure("induction_onset")(datasets, confidence=0.9999)
    assert (wide.data["half_width"] > drawing.data["half_width"]).all()
