"""Path patching into the bracket head: what is drawn is the data, controls included."""

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from rllc.measures.path_patching.figure import rllc_fig6_dyck_path_patching
from rllc.vocabulary import head_coords, head_labels

STEPS = [0, 10, 100, 1000]
CONDITIONS = ["clean", "ablated", "patched", "direct", "without"]
BLUE, GREEN, ORANGE, GREY = "#0072b2", "#009e73", "#e69f00", "#888888"


def brackets(seeds=(0,), members=("0:0+0:2", "1:1")):
    random = np.random.default_rng(0)
    sizes = {"seed": len(seeds), "step": 4, "brackets": 2, "condition": 5, "closers": 3}
    dims = tuple(sizes)
    into = ("seed", "step", "head", "brackets", "closers")
    rise = random.normal(size=tuple(sizes.values()))
    tables = {"loss": (dims, 5 + rise), "rise": (dims, rise)}
    tables["rise_into"] = (into, random.normal(size=(len(seeds), 4, 6, 2, 3)))
    tables["rise_into"][1][:, :, :3] = np.nan
    tables |= {f"{name}_se": (d, np.full(v.shape, 0.05)) for name, (d, v) in tables.items()}
    names = np.asarray([[members] * 4] * len(seeds), dtype=object)
    coords = {
        "seed": list(seeds), "step": STEPS, "brackets": ["unnested", "nested"], "condition": CONDITIONS,
        "closers": ["all", "outer", "inner"], "role": ["multigram0", "dyck"], **head_coords(head_labels(2, 3)),
    }  # fmt: skip
    attrs = {"brackets": json.dumps({"examples": 128})}
    return xr.Dataset({**tables, "members": (("seed", "step", "role"), names)}, coords, attrs)


def test_colours_are_the_papers_and_lines_the_data(misplaced, unlike):
    data = brackets()
    drawing = rllc_fig6_dyck_path_patching({"path_patching": data})
    losses, added = drawing.figure.axes[:2], drawing.figure.axes[2:]
    for ax, kind in zip(losses, ("unnested", "nested"), strict=True):
        drawn = {
            to_hex(line.get_color()): line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 4
        }
        for color, condition in zip(
            (BLUE, GREEN, ORANGE, GREY), ("clean", "ablated", "patched", "without"), strict=True
        ):
            expected = data["loss"].sel(seed=0, brackets=kind, closers="all", condition=condition)
            np.testing.assert_allclose(drawn[color], expected)
    for ax, kind in zip(added, ("unnested", "nested"), strict=True):
        lines = [line for line in ax.lines if len(line.get_ydata()) == 4]
        others = data["rise_into"].sel(seed=0, brackets=kind, closers="all", head=["1:0", "1:2"])
        np.testing.assert_allclose([line.get_ydata() for line in lines[:2]], others.transpose("head", "step"))
        patched = data["rise"].sel(seed=0, brackets=kind, closers="all", condition="patched")
        np.testing.assert_allclose(lines[2].get_ydata(), patched)
    rise = data["rise"].sel(seed=0, closers="all", condition="patched", brackets="nested").values
    (finding,) = found(drawing, " nested", "1:1 patched")
    noise = rise.std(ddof=1) / 2  # of the last four checkpoints; the error over contexts, 0.05, is shared
    assert finding.label.endswith("mean of the last 4 checkpoints")
    assert finding.value == pytest.approx(rise.mean())
    assert finding.error == pytest.approx(np.hypot(noise, 0.05))
    (finding,) = found(drawing, "another head")
    assert finding.value == pytest.approx(float(of_others(data).max("head").mean()))
    assert misplaced(drawing) == []
    assert unlike(drawing, {"path_patching": data}) == ["loss", "rise", "rise_into"]  # of some closers alone


def found(drawing, *words):
    """Findings whose label holds these words."""
    return [finding for finding in drawing.findings if all(word in finding.label for word in words)]


def of_others(data):
    """What patching into the other heads of layer 1 adds to nested brackets (step, head)."""
    into = data["rise_into"].sel(seed=0, closers="all", brackets="nested", head=["1:0", "1:2"])
    return into.transpose("step", "head")


@pytest.mark.parametrize(
    ("members", "lacking"), [(("0:0", ""), "bracket head"), (("", "1:1"), "multigram head")]
)
def test_dyck_path_patching_without_a_role_has_no_finding_and_says_which_is_lacking(members, lacking):
    data = brackets(members=members)
    data["rise"][:], data["rise_into"][:] = np.nan, np.nan
    drawing = rllc_fig6_dyck_path_patching({"path_patching": data})
    assert drawing.findings == []
    assert any(lacking in condition for condition in drawing.conditions)


def test_dyck_path_patching_of_two_seeds_has_their_mean_and_sd():
    data = brackets(seeds=(0, 3))
    (finding,) = found(
        rllc_fig6_dyck_path_patching({"path_patching": data}), " nested", "head patched", "mean and sd"
    )[:1]
    at = {"closers": "all", "condition": "patched", "brackets": "nested"}
    rise = data["rise"].sel(at).mean("step").values  # of the last four checkpoints
    assert finding.value == pytest.approx(rise.mean()) and finding.error == pytest.approx(rise.std(ddof=1))


def test_seeds_have_rows_of_their_own(misplaced):
    drawing = rllc_fig6_dyck_path_patching({"path_patching": brackets(seeds=(0, 3))})
    assert len(drawing.figure.axes) == 8
    assert misplaced(drawing) == []
    assert (
        len(rllc_fig6_dyck_path_patching({"path_patching": brackets(seeds=(0, 3))}, seeds=[3]).figure.axes)
        == 4
    )
