"""Figures of attention."""

import pytest
from tests.figures.regression.small import drawn_by


def test_the_attention_that_varies_least_is_drawn_with_how_much_it_varies(study):
    drawing = drawn_by("stage_figC10")(study, seed=1)
    last = study["structure"].sel(seed=1).isel(step=-1)["attention_variability"]
    every = {}
    for head in last["head"].values:
        every[f"{head} x"] = (
            last.sel(head=head).values[2::2].mean()
        )  # the first input sees nothing but itself
        every[f"{head} y"] = last.sel(head=head).values[1::2].mean()
    found = dict(zip(drawing.data["panel"].values, drawing.data["variability"].values, strict=True))
    assert found == {name: every[name] for name in sorted(every, key=every.get)[:4]}


def test_findings_of_attention_name_the_heads_of_their_values(study, numbers):
    last = study["structure"]["attention_entropy"].sel(seed=1).isel(step=-1)
    sides = {"inputs": 2, "answers": 1}  # the first input sees nothing but itself
    of = {
        (head, side): float(last.sel(head=head)[query::2].mean())
        for head in last["head"].values
        for side, query in sides.items()
    }
    found = numbers(drawn_by("stage_figC8")(study, seed=1))
    for which, chosen in (("(lowest)", min), ("(highest)", max)):
        head, side = chosen(of, key=of.get)
        assert found(which, f"head {head}", side).value == pytest.approx(of[head, side])
