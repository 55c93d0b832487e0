import numpy as np
import pytest
import xarray as xr

from rllc.estimator import control, control_variate, results, with_controls
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.labels import LONGEST, labelled
from rllc.vocabulary import describe, head_coords, in_full


def dataset(**attributes):
    heads = head_coords(["0:0", "1:0"])
    coords = {**heads, "seed": [0], "step": [0, 8], "distribution_label": "code"}
    values = ("seed", "step", "head"), np.zeros((1, 2, 2))
    return xr.Dataset({"rllc": (*values, attributes), "odd_one": values, "status": ((), 1)}, coords)


def check(found):
    for name, variable in found.variables.items():
        assert 0 < len(variable.attrs["long_name"]) <= LONGEST, name
        assert variable.attrs["units"], name


def test_written_dataset_has_names_and_units_on_every_variable_and_coordinate(tmp_path):
    write_dataset(dataset(), tmp_path / "a.nc")
    found = read_dataset(tmp_path / "a.nc")
    check(found)
    assert found["step"].attrs == {"long_name": "training step", "units": "steps"}
    assert found["head_index"].attrs["long_name"] == "index of the head in its layer"
    assert found["odd_one"].attrs == {"long_name": "odd one", "units": "1"}
    xr.testing.assert_equal(found, dataset())


def test_long_name_that_plots_would_cut_is_kept_whole_in_the_comment():
    full = "the refined local learning coefficient of a head over all chains that are ok"
    given = dataset(long_name=full, units="nats")
    found = labelled(given)["rllc"].attrs
    assert found["comment"] == full == in_full(found, "rllc")
    assert (found["units"], len(found["long_name"]) <= LONGEST) == ("nats", True)
    assert given["rllc"].attrs == {"long_name": full, "units": "nats"}  # the dataset given is left as it is


def test_labelling_again_changes_nothing():
    once = labelled(dataset(long_name="x" * (LONGEST + 1), units="1"))
    xr.testing.assert_identical(labelled(once), once)


def test_words_given_to_a_variable_replace_the_comment_of_what_it_was_made_of():
    made = describe(labelled(dataset(long_name="x" * (LONGEST + 1))), {"rllc": ("a ratio", "1")})
    assert labelled(made)["rllc"].attrs == {"long_name": "a ratio", "units": "1"}


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1, 200])
def test_name_of_any_length_gives_a_long_name_that_plots_show(length):
    check(labelled(xr.Dataset({"a" * length: ((), 1, {"long_name": "b" * length})})))


TABLES = (results.VARIABLES, control_variate.VARIABLES, control.VARIABLES)


@pytest.mark.parametrize("name", ["llc", "rllc"])
def test_estimates_have_short_names_of_their_own_that_differ(name):
    words = {key: value for table in TABLES for key, value in table.items()} | with_controls.TRACES
    words = {key.replace("llc", name, 1): value for key, value in words.items()}
    found = labelled(describe(xr.Dataset(dict.fromkeys(words, ((), 0.0))), words))
    check(found)
    short = [found[key].attrs["long_name"] for key in words]
    assert len(set(short)) == len(short)
