import numpy as np
import pytest
import xarray as xr

from rllc.analysis.head_types import TYPES, head_types

NAN = float("nan")
# previous_token, current_token, prefix_matching at the last step -> type, thresholds .2, .2, .05
TABLE = [
    ((0.20, 0.00, 0.00), "previous-token"),
    ((0.19, 0.00, 0.00), "multigram"),
    ((0.00, 0.25, 0.00), "current-token"),
    ((0.00, 0.00, 0.05), "induction"),
    ((0.00, 0.19, 0.049), "multigram"),
    ((0.30, 0.00, 0.20), "induction"),
    ((0.80, 0.00, 0.06), "previous-token"),
    ((0.30, 0.35, 0.00), "current-token"),
    ((NAN, NAN, NAN), "unknown"),
    ((0.10, NAN, 0.00), "unknown"),
    ((0.70, NAN, 0.00), "previous-token"),
]


def dataset(scores):
    last = np.asarray(scores).T  # [score, head]
    names = ("previous_token", "current_token", "prefix_matching")
    heads = [f"0:{i}" for i in range(last.shape[1])]
    return xr.Dataset(
        {
            name: (("seed", "step", "head"), np.stack([1 - row, row])[None])
            for name, row in zip(names, last, strict=True)
        },
        coords={"seed": [3], "step": [0, 100], "head": heads, "layer": ("head", np.zeros(len(heads), int))},
    )


def test_truth_table():
    found = head_types(dataset([scores for scores, _ in TABLE]))
    assert found.dims == ("seed", "head") and "step" not in found.coords
    assert found.values[0].tolist() == [kind for _, kind in TABLE]
    assert set(found.values.ravel()) <= set(TYPES)


def test_the_last_step_is_the_largest_not_the_last_stored():
    shuffled = dataset([scores for scores, _ in TABLE]).isel(step=[1, 0])
    assert head_types(shuffled).values[0].tolist() == [kind for _, kind in TABLE]


def test_thresholds_are_arguments():
    data = dataset([(0.3, 0.0, 0.0)])
    strict = {"previous_token": 0.5, "current_token": 0.5, "prefix_matching": 0.5}
    assert head_types(data, thresholds=strict).item() == "multigram"
    with pytest.raises(ValueError, match="positive"):
        head_types(data, thresholds=strict | {"prefix_matching": 0.0})
    with pytest.raises(ValueError, match="prefix_matching"):
        head_types(data.drop_vars("prefix_matching"))


def test_survives_a_netcdf_file(tmp_path):
    found = head_types(dataset([scores for scores, _ in TABLE]))
    found.to_dataset().to_netcdf(tmp_path / "types.nc")
    again = xr.load_dataset(tmp_path / "types.nc")["head_type"]
    assert again.values.tolist() == found.values.tolist()
