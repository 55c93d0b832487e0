"""The multigram circuit: claims against plain loops over a small run."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.heads.small import HEADS, STEPS, of, table
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import circuit


def test_one_layer_ratios_equal_loops_over_heads(datasets):
    text, generated = table(datasets), table(datasets, "one_layer")
    late = np.asarray(STEPS) >= 50
    ratio, step = (generated / text)[late], np.asarray(STEPS)[late]
    early = ratio[step < 400]  # induction begins at 400
    assert of(circuit.l1_alike_early, datasets) == pytest.approx(np.abs(early - 1).mean())
    falls = [ratio[-1, n] <= early[:, n].mean() for n in range(len(HEADS))]
    assert of(circuit.l1_decrease_all, datasets) == pytest.approx(np.mean(falls))
    gain = ratio[-1] / early.mean(0)
    assert of(circuit.l1_decrease_groups, datasets) == pytest.approx(gain[:5].mean() - gain[5])


def test_one_layer_share_that_turns_negative_has_fallen(datasets):
    """A logarithm of the ratio would be undefined; the claim was not judged for that before."""
    datasets["rllc"]["rllc"].loc[{"distribution": "one_layer", "step": 3000}] = -0.2
    assert of(circuit.l1_decrease_all, datasets) == 1


def test_ratios_that_are_negative_at_the_end_are_compared(datasets):
    """A logarithm of them would be undefined; the claim was not judged for that before."""
    datasets["rllc"]["rllc"].loc[{"distribution": "one_layer", "step": 3000, "head": "0:0"}] = -0.2
    assert np.isfinite(of(circuit.l1_decrease_groups, datasets))


def test_losses_near_the_end_are_means_with_the_noise_of_training():
    """Of four checkpoints, 0.3 to 0.9: one of them alone would pass 0.5."""
    added = np.asarray([0.0, 0.1, 0.3, 0.5, 0.4, 0.9])
    dims = ("seed", "step", "brackets")
    both = np.stack([added, added], -1)[None]
    data = xr.Dataset(
        {"path": (dims, both), "path_se": (dims, np.full_like(both, 1e-6))},
        {"seed": [0], "step": STEPS, "brackets": ["unnested", "nested"]},
    )
    assert of(circuit.path_nested, {"patched_paths": data}) == pytest.approx(added[-4:].mean())
    one = run({"patched_paths": data}, noise="own")
    drawn = circuit.path_nested(one)
    assert float(drawn.std()) == pytest.approx(added[-4:].std(ddof=1) / 2, rel=0.1)
    assert [*one.readings[-1].redrawn.freedom] == [3]
    data["path_se"][:] = 0.3  # of the contexts that all checkpoints share: four do not halve it
    drawn = circuit.path_nested(run({"patched_paths": data}, noise="own"))
    assert float(drawn.std()) == pytest.approx(np.hypot(added[-4:].std(ddof=1) / 2, 0.3), rel=0.1)


@pytest.mark.parametrize(("into_other", "judged"), [(0.5, True), (0.06, False)])
def test_small_path_into_the_bracket_head_is_judged_beside_those_into_other_heads(into_other, judged):
    """The bracket head is 1:1. Of 0.5 by its ablation, the path adds 0.05, and one into 1:2 0.06 or 0.5."""
    steps, dims = {"seed": [0], "step": STEPS}, ("seed", "step", "brackets")
    share = np.full((1, len(STEPS), 1), 0.1)
    paths = xr.Dataset({"path_share": (dims, share), "path_share_se": (dims, share * 1e-3)}, steps)
    into = np.full((1, len(STEPS), 6, 1, 1), np.nan)
    into[:, :, 3:, 0, 0] = 0.02, 0.05, into_other  # none into layer 0
    patching = xr.Dataset(
        {
            "rise_into": ((*dims[:2], "head", "brackets", "closers"), into),
            "rise": ((*dims, "condition", "closers"), np.full((1, len(STEPS), 1, 1, 1), 0.5)),
            "members": ((*dims[:2], "role"), np.full((1, len(STEPS), 2), ["0:0+0:1", "1:1"])),
        },
        {
            **steps,
            "head": HEADS,
            "closers": ["all"],
            "condition": ["ablated"],
            "role": ["multigram0", "dyck"],
        },
    )
    data = {
        "patched_paths": paths.assign_coords(brackets=["unnested"]),
        "path_patching": patching.assign_coords(brackets=["unnested"]),
    }
    if judged:
        assert of(circuit.path_unnested_small, data) == pytest.approx(0.1)
    else:
        with pytest.raises(NotJudged, match=r"every other later head is as small, at most 0\.12"):
            circuit.path_unnested_small(run(data))
    del data["path_patching"]
    assert of(circuit.path_unnested_small, data) == pytest.approx(0.1)


def test_ratio_when_induction_has_begun_is_not_early(datasets):
    before = of(circuit.l1_alike_early, datasets)
    datasets["rllc"]["rllc"].loc[{"distribution": "one_layer", "step": 400}] = 99.0
    assert of(circuit.l1_alike_early, datasets) == before
    datasets["attention_scores"]["prefix_matching"] += 0.01
    datasets["attention_scores"]["prefix_matching"].loc[{"step": 100, "head": "1:0"}] = 0.04
    datasets["rllc"]["rllc"].loc[{"distribution": "one_layer", "step": 100}] = 99.0  # it rises already
    ratio = (table(datasets, "one_layer") / table(datasets))[STEPS.index(50)]
    assert of(circuit.l1_alike_early, datasets) == pytest.approx(np.abs(ratio - 1).mean())
    datasets["attention_scores"]["prefix_matching"][:] = 0.3  # from step 0 on
    with pytest.raises(NotJudged, match="no checkpoint is measured before induction begins"):
        circuit.l1_alike_early(run(datasets))
