"""Findings on the boundaries of stages."""

import numpy as np
import xarray as xr

from rllc.figures.stage_bands import boundary_findings


def test_findings_say_in_words_that_a_boundary_is_where_a_flat_end_begins():
    along = {
        "boundary_kind": np.array(["peak", "end"], dtype=object),
        "boundary_step": [300.0, 716.0],
        "boundary_determined": [1, 1],
    }
    found = boundary_findings({0: xr.Dataset({name: ("boundary", each) for name, each in along.items()})})
    assert [(each.label, each.value) for each in found] == [
        ("determined stage boundary of the LLC (peak)", 300),
        ("determined stage boundary of the LLC (start of the flat end)", 716),
    ]
