import numpy as np
import pytest
import xarray as xr

from rllc.quality import CAUTIONS, FAULTS, FLAGS, MASKS, quality_attributes, reasons, reliable


def test_every_flag_has_a_bit_of_its_own_that_fits():
    masks = [flag.mask for flag in FLAGS]
    assert all(mask & (mask - 1) == 0 for mask in masks)
    assert len(set(masks)) == len(masks)
    assert FAULTS & CAUTIONS == 0
    assert (FAULTS | CAUTIONS) == sum(masks) < 2**31
    attributes = quality_attributes()
    assert attributes["flag_masks"].dtype == np.int32
    assert attributes["flag_meanings"].split() == list(MASKS)


def test_reasons_are_named_faults_first():
    assert reasons(0) == []
    assert reasons(np.int32(MASKS["prior_dominated"])) == ["prior_dominated"]
    assert reasons(MASKS["nonlocal"] | MASKS["missing"] | MASKS["not_mixed"]) == [
        "not_mixed",
        "missing",
        "nonlocal",
    ]
    for value in (2**16, -1, 1.5):
        with pytest.raises(ValueError, match="expected a sum of different masks"):
            reasons(value)


def test_cautions_are_sound_and_faults_are_not():
    values = np.array([[0, CAUTIONS], [FAULTS, CAUTIONS | MASKS["drifting"]]], dtype=np.int32)
    dataset = xr.Dataset({"quality": (("step", "head"), values)}, coords={"step": [1, 5]})
    found = reliable(dataset)
    assert found.values.tolist() == [[True, True], [False, False]]
    assert found["step"].values.tolist() == [1, 5]
    with pytest.raises(ValueError, match="no 'quality'"):
        reliable(dataset.drop_vars("quality"))
    with pytest.raises(ValueError, match="float64: expected an integer"):
        reliable(dataset.astype(float))
