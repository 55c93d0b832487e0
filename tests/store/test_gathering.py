import json

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.intervals import degrees_of_freedom
from rllc.quality import FAULTS, quality_attributes, reasons
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import OF_TRACES, described, gather, traces_of, whole_grid, with_freedom
from rllc.vocabulary import STATUS, head_coords, status_attributes

LABELS = {"english": "English", "code": "Code"}


def part(seed, distribution, steps, chains=2):
    """A part whose values say where they are from."""
    value = np.array([[1000 * seed + step + 0.5 * head for head in range(2)] for step in steps])
    return xr.Dataset(
        {
            "rllc": (("step", "head"), value + (100 if distribution == "code" else 0)),
            "status": (
                ("step", "head", "chain"),
                np.zeros((len(steps), 2, chains), dtype=np.int8),
                status_attributes(),
            ),
            "quality": (
                ("step", "head"),
                np.full((len(steps), 2), FAULTS, dtype=np.int32),
                {**quality_attributes(), "limit_rhat": 1.2},
            ),
            "trace_loss": (("step", "head", "chain", "draw"), np.ones((len(steps), 2, chains, 3))),
        },
        coords={"step": list(steps), **head_coords(["0:0", "1:0"])},
        attrs={"sampling": "{}"},
    ).expand_dims(seed=[seed], distribution=np.asarray([distribution], dtype=object))


def every(*left_out):
    return [
        part(seed, distribution, steps)
        for distribution in ("code", "english")
        for seed in (1, 0)
        for steps in ((7, 9), (0, 3))
        if (seed, distribution, steps) not in left_out
    ]


def test_parts_are_joined_by_their_labels():
    dataset = gather(every(), labels=LABELS)
    assert dataset["rllc"].dims == ("seed", "step", "head", "distribution")
    assert dataset["step"].values.tolist() == [0, 3, 7, 9]
    assert dataset["distribution"].values.tolist() == ["english", "code"]
    assert dataset["distribution_label"].values.tolist() == ["English", "Code"]
    assert dataset["rllc"].sel(seed=1, step=7, head="1:0", distribution="code").item() == 1107.5
    assert dataset["layer"].values.tolist() == [0, 1]
    assert dataset["status"].dtype == np.int8
    assert (dataset["status"] == 0).all()
    assert dataset.attrs["sampling"] == "{}"


def test_what_is_not_there_is_nan_and_missing():
    dataset = gather(every((1, "code", (7, 9))), labels=LABELS)
    cell = dataset.sel(seed=1, distribution="code", step=[7, 9])
    assert np.isnan(cell["rllc"]).all()
    assert (cell["status"] == 3).all()
    assert reasons(cell["quality"][0, 0]) == ["missing"]
    assert np.isfinite(dataset.sel(seed=0)["rllc"]).all()


def test_flags_stay_integers_with_their_meanings(tmp_path):
    dataset = gather(every((1, "code", (7, 9))), labels=LABELS)
    write_dataset(dataset, tmp_path / "rllc.nc")
    for found in (dataset, read_dataset(tmp_path / "rllc.nc")):
        assert (found["status"].dtype, found["quality"].dtype) == (np.int8, np.int32)
        assert (found["quality"].sel(seed=0) == FAULTS).all()
        for name in ("status", "quality"):
            given = every()[0][name].attrs
            flags = {key: value for key, value in given.items() if key not in ("long_name", "units")}
            assert flags.keys() == {key for key in found[name].attrs if key in given} - {"long_name", "units"}
            assert all(np.array_equal(found[name].attrs[key], value) for key, value in flags.items())


def test_traces_of_heads_and_of_the_whole_model_stand_side_by_side():
    whole = part(0, "code", (0, 3)).isel(head=0, drop=True)
    traces = gather([traces_of(part(0, "code", (0, 3))), traces_of(whole)], labels=LABELS)
    assert traces["component"].values.tolist() == ["0:0", "1:0", "full"]
    assert traces["loss"].dims == ("seed", "step", "component", "distribution", "chain", "draw")


def test_what_parts_say_differently_is_said():
    """Where the device is `auto`, a GPU may have made some of them."""
    parts = every()
    for number, each in enumerate(parts):
        inputs = {"blocks": f"sha of {each['distribution'].item()}"}
        compute = {"device": "cuda" if number else "cpu"}
        each.attrs["versions"] = json.dumps({"torch": "2" if number else "1"})
        each.attrs |= {"code": "abc", "compute": json.dumps(compute), "inputs": json.dumps(inputs)}
    attributes = gather(parts, labels=LABELS).attrs
    assert json.loads(attributes["compute"]) == [{"device": "cpu"}, {"device": "cuda"}]
    assert json.loads(attributes["versions"]) == [{"torch": "1"}, {"torch": "2"}]
    assert json.loads(attributes["inputs"]) == {n: {"blocks": f"sha of {n}"} for n in LABELS}
    assert (attributes["sampling"], attributes["code"]) == ("{}", "abc")
    assert gather(parts[1:], labels=LABELS).attrs["compute"] == '{"device": "cuda"}'


@pytest.mark.parametrize("name", ["sampling", "code", "inputs"])
def test_parts_of_other_settings_code_or_inputs_are_not_joined(name):
    parts = every()
    for each in parts:
        each.attrs[name] = '{"a": 1}'
    parts[-1].attrs[name] = '{"a": 2}'
    message = rf"parts of .* and of distribution english seed 0 from 0 differ in '{name}.*: move"
    with pytest.raises(ValueError, match=message):
        gather(parts, labels=LABELS)
    if name != "inputs":
        both = gather(parts, labels=LABELS, may_differ=OF_TRACES).attrs[name]
        assert json.loads(both) == [{"a": 1}, {"a": 2}]


def test_a_cell_with_some_heads_missing_is_there():
    """A head whose chains all failed is NaN, and no reason to call the cell unfinished."""
    one = part(0, "code", (0, 3))
    one["rllc"].loc[{"head": "0:0"}] = np.nan
    coords = {"seed": [0], "step": [0, 3, 7], "distribution": ["code"]}
    gathered = gather([one], labels=LABELS)
    of_seed = xr.Dataset({"known": ("seed", [1.0])}).merge(gathered)  # which says nothing of a cell
    assert next(iter(of_seed)) == "known"
    dataset = whole_grid(of_seed.assign_attrs(gathered.attrs), coords, LABELS)
    assert dataset.attrs["unfinished"] == "2 of 3 cells of seed, step, distribution"


def test_an_unfinished_dataset_has_all_its_labels():
    some = [part(0, "code", (0, 3)), part(1, "code", (0, 3)), part(1, "code", (7, 9))]
    coords = {"seed": [0, 1, 2], "step": [0, 3, 7, 9, 11], "distribution": ["english", "code"]}
    dataset = whole_grid(gather(some, labels=LABELS), coords, LABELS)
    for name, values in coords.items():
        assert dataset[name].values.tolist() == values
    assert dataset["distribution_label"].values.tolist() == ["English", "Code"]
    assert dataset.attrs["unfinished"] == "6 of 30 cells of seed, step, distribution"
    assert dataset["rllc"].notnull().sum() == 6 * 2
    assert (dataset["status"] == STATUS.index("missing")).sum() == 24 * 2 * 2
    assert dataset["status"].dtype == np.int8
    assert dataset["rllc"].sel(seed=1, step=7, head="1:0", distribution="code").item() == 1107.5


def test_degrees_of_freedom_stay_with_their_error_in_an_unfinished_dataset_and_on_disk(tmp_path):
    some = [part(seed, "code", (0, 3)).rename(rllc="rllc_se") for seed in (0, 1)]
    coords = {"seed": [0, 1, 2], "step": [0, 3, 7], "distribution": ["english", "code"]}
    gathered = with_freedom(gather(some, labels=LABELS), {"rllc_se": 3, "absent_se": 4})
    write_dataset(whole_grid(gathered, coords, LABELS), tmp_path / "some.nc")
    found = read_dataset(tmp_path / "some.nc").sel(seed=1, distribution="code")
    assert found["rllc_se"].attrs["degrees_of_freedom"] == 3
    assert not any("degrees_of_freedom" in found[name].attrs for name in ("status", "quality"))


def test_degrees_of_freedom_of_steps_with_more_units_stay_on_disk(tmp_path):
    some = gather([part(0, "code", (0, 3)).rename(rllc="rllc_se")], labels=LABELS)
    write_dataset(with_freedom(some, {"rllc_se": 3}, {"rllc_se": 63}, [3]), tmp_path / "some.nc")
    found = degrees_of_freedom(read_dataset(tmp_path / "some.nc"), "rllc")
    assert (found.sel(step=0) == 3).all() and (found.sel(step=3) == 63).all()


def test_a_dataset_that_has_all_its_cells_is_not_called_unfinished():
    coords = {"seed": [0], "step": [0, 3], "distribution": ["code"]}
    assert (
        "unfinished" not in whole_grid(gather([part(0, "code", (0, 3))], labels=LABELS), coords, LABELS).attrs
    )


WORDS = {"a": ("an A", "nats", ["head"], ""), "b": ("", "", [], "where there are any")}


def measured(**variables):
    return xr.Dataset({name: (dims, np.zeros([1] * len(dims))) for name, dims in variables.items()})


def test_variables_are_called_what_the_row_says():
    dataset = described(measured(a=("seed", "step", "head", "distribution")), WORDS)
    assert dataset["a"].attrs == {"long_name": "an A", "units": "nats"}
    own = measured(a=("seed", "head"), b=("step",))
    own["b"].attrs["long_name"] = "its own"
    assert described(own, WORDS)["b"].attrs == {"long_name": "its own"}
    assert described(measured(anything=("x",)), {})["anything"].attrs == {}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"b": ("step",)}, r"no part holds 'a', which the measure's specification \(rllc.*\) declares"),
        ({"a": ("seed",)}, r"'a' has the dims \[\]; the measure's specification declares \['head'\]"),
        ({"a": ("head",), "c": ()}, "does not declare c: add what the kernel returns to its variables"),
    ],
)
def test_a_kernel_that_returns_something_else_than_its_row_says_is_refused(variables, message):
    with pytest.raises(ValueError, match=message):
        described(measured(**variables), WORDS)
