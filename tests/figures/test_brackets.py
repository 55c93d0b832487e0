"""Path patching into the bracket head: what is drawn is the data, controls included."""

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from rllc.figures.heads.brackets import rllc_fig6_dyck_path_patching
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
    drawing = rllc_fig6_dyck_path_patching({"brackets": data})
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
    last = data.sel(seed=0, step=1000, closers="all", condition="patched", brackets="nested")
    assert f"{float(last['rise']):.2f} ± 0.05 (nested)" in drawing.caption
    assert "the bracket head 1:1 " in drawing.caption and "multigram heads 0:0, 0:2" in drawing.caption
    assert misplaced(drawing) == []
    assert unlike(drawing, {"brackets": data}) == ["loss", "rise", "rise_into"]  # of some closers alone


@pytest.mark.parametrize(("rise", "said"), [(0.11, "1:1 needs layer 0"), (0.09, "1:1 does not clearly need")])
def test_a_need_is_two_standard_errors(rise, said):
    data = brackets()
    data["rise"][:] = rise
    assert said in rllc_fig6_dyck_path_patching({"brackets": data}).caption
    data["rise"].loc[{"condition": "patched", "brackets": "nested"}] = -1.0
    assert "does not clearly need" in rllc_fig6_dyck_path_patching({"brackets": data}).caption


@pytest.mark.parametrize(
    ("members", "said"), [(("0:0", ""), "no head is a bracket head"), (("", "1:1"), "layer 0 has no")]
)
def test_a_role_that_no_head_has_is_said(members, said):
    data = brackets(members=members)
    data["rise"][:], data["rise_into"][:] = np.nan, np.nan
    drawing = rllc_fig6_dyck_path_patching({"brackets": data})
    assert said in drawing.caption


def test_seeds_have_rows_of_their_own(misplaced):
    drawing = rllc_fig6_dyck_path_patching({"brackets": brackets(seeds=(0, 3))})
    assert len(drawing.figure.axes) == 8
    assert misplaced(drawing) == []
    assert len(rllc_fig6_dyck_path_patching({"brackets": brackets(seeds=(0, 3))}, seeds=[3]).figure.axes) == 4
