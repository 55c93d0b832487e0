import numpy as np
import pytest
import xarray as xr

from rllc.analysis.head_types import TYPES, doubts, head_types, types_with_margins

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


# scores and errors at the last step, type, other type; thresholds .2, .2, .05
MARGINS = [
    ((0.21, 0.00, 0.00), (0.010, 0.001, 0.001), "previous-token", "multigram"),
    ((0.21, 0.00, 0.00), (0.004, 0.001, 0.001), "previous-token", ""),
    ((0.19, 0.00, 0.00), (0.010, 0.001, 0.001), "multigram", "previous-token"),
    ((0.19, 0.00, 0.045), (0.010, 0.001, 0.004), "multigram", "previous-token"),  # 1 error off, not 1.25
    ((0.19, 0.00, 0.045), (0.008, 0.001, 0.010), "multigram", "induction"),  # 0.5 errors off, not 1.25
    ((0.19, 0.40, 0.00), (0.010, 0.001, 0.001), "current-token", ""),  # what is near does not decide
    ((0.22, 0.21, 0.00), (0.030, 0.001, 0.001), "previous-token", "current-token"),
    ((0.19, NAN, 0.00), (0.010, NAN, 0.001), "unknown", "previous-token"),
    ((0.19, 0.00, 0.00), (NAN, NAN, NAN), "multigram", ""),
    ((0.20, 0.00, 0.00), (0.0, 0.0, 0.0), "previous-token", ""),
]


def with_errors(table):
    data = dataset([scores for scores, *_ in table])
    names = ("previous_token", "current_token", "prefix_matching")
    for name, row in zip(names, np.asarray([errors for _, errors, *_ in table]).T, strict=True):
        data[f"{name}_se"] = (("seed", "step", "head"), np.stack([row * 9, row])[None])
    return data


def test_a_type_is_uncertain_within_two_errors_of_the_threshold_that_decides_it():
    data = with_errors(MARGINS)
    found = types_with_margins(data)
    np.testing.assert_array_equal(found["head_type"], head_types(data))
    assert found["head_type"].values[0].tolist() == [kind for *_, kind, _ in MARGINS]
    assert found["head_type_other"].values[0].tolist() == [other for *_, other in MARGINS]
    assert found["head_type_uncertain"].values[0].tolist() == [int(bool(other)) for *_, other in MARGINS]
    assert found["head_type_uncertain"].dtype == np.int8
    assert set(found["head_type_other"].dims) == {"seed", "head"} and "score" not in found.coords


def test_scores_without_errors_are_exact():
    found = types_with_margins(dataset([scores for scores, _ in TABLE]))
    assert found["head_type"].values[0].tolist() == [kind for _, kind in TABLE]
    assert not found["head_type_uncertain"].any() and (found["head_type_other"] == "").all()
    assert doubts(found, 3) == []


def test_doubts_name_head_types_score_and_threshold_the_nearest_first(tmp_path):
    data = with_errors(MARGINS[:3])
    data["previous_token_se"][0, -1, 2] = 0.02
    data.assign(types_with_margins(data).data_vars).to_netcdf(tmp_path / "attention_scores.nc")
    found = doubts(xr.load_dataset(tmp_path / "attention_scores.nc"), 3)
    assert [str(each) for each in found] == [
        "head 0:2 is multigram or previous-token: score 0.190 ± 0.020, threshold 0.2",
        "head 0:0 is previous-token or multigram: score 0.210 ± 0.010, threshold 0.2",
    ]
