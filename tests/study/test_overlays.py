import pytest

from rllc.study.config_model import ConfigError
from rllc.study.overlays import resolved, with_own_figures


def test_an_experiment_has_the_keys_of_the_one_it_is_like_but_for_its_own():
    table = {
        "first": {"model": {"heads": 1, "width": 8}, "seeds": [0, 1]},
        "second": {"like": "first", "model": {"heads": 2}},
        "third": {"like": "second", "seeds": [5]},
    }
    found = resolved({"experiments": table})["experiments"]
    assert found["second"] == {"like": "first", "model": {"heads": 2, "width": 8}, "seeds": [0, 1]}
    assert found["third"] == {"like": "second", "model": {"heads": 2, "width": 8}, "seeds": [5]}
    assert table["second"] == {"like": "first", "model": {"heads": 2}}


def test_what_an_experiment_does_beside_is_not_followed():
    table = {
        "first": {
            "seeds": [0],
            "label": "one",
            "sampling_variants": {"long": {}},
            "calibration": {"probes": 2},
        },
        "second": {"like": "first"},
        "third": {"like": "first", "sampling_variants": {"short": {}}},
    }
    found = resolved({"experiments": table})["experiments"]
    assert found["second"] == {"like": "first", "seeds": [0]}
    assert found["third"] == {"like": "first", "seeds": [0], "sampling_variants": {"short": {}}}


def test_a_source_has_its_own_keys():
    """Checkpoints that are imported have no schedule; those of the same source have the other's."""
    trained = {"source": "train", "ratio": 2.0, "extra": []}
    table = {"first": {"checkpoints": trained}}
    table |= {"second": {"like": "first", "checkpoints": {"source": "import", "path": "theirs"}}}
    table |= {"third": {"like": "first", "checkpoints": {"source": "train", "extra": [5]}}}
    found = resolved({"experiments": table})["experiments"]
    assert found["second"]["checkpoints"] == {"source": "import", "path": "theirs"}
    assert found["third"]["checkpoints"] == {"source": "train", "ratio": 2.0, "extra": [5]}


def test_a_key_that_is_null_stays_null():
    table = {"first": {"circuits": {"a": 1}}, "second": {"like": "first", "circuits": None}}
    assert resolved({"experiments": table})["experiments"]["second"]["circuits"] is None


def test_one_that_is_like_another_whose_entry_is_removed_is_refused():
    with pytest.raises(ConfigError, match=r"experiments.b.like: no experiment is called 'a'"):
        resolved({"experiments": {"a": None, "b": {"like": "a"}}})


def test_a_misspelt_name_and_a_circle_are_refused():
    with pytest.raises(ConfigError, match="no experiment is called 'frist'; did you mean 'first'"):
        resolved({"experiments": {"first": {}, "second": {"like": "frist"}}})
    with pytest.raises(ConfigError, match="a is like b is like a, which is a circle"):
        resolved({"experiments": {"a": {"like": "b"}, "b": {"like": "a"}}})


def test_with_an_experiment_goes_what_names_it():
    config = {
        "experiments": {"a": None, "b": {}},
        "figures": {"of_a": {"experiment": "a"}, "of_b": {"experiment": "b"}, "of_none": {}, "gone": None},
        "distributions": {"taught": {"source": "model", "experiment": "a"}, "text": {"source": "files"}},
    }
    found = resolved(config)
    assert list(found["experiments"]) == ["b"]
    assert list(found["figures"]) == ["of_b", "of_none"]
    assert list(found["distributions"]) == ["text"]


@pytest.mark.parametrize("model", [None, "two heads", {}])
def test_a_model_that_is_no_table_is_for_the_reader_to_refuse(model):
    config = {"experiments": {"a": {"task": "sorting", "model": model, "circuits": {}}}}
    assert set(with_own_figures(config, {})["figures"]) == {"a_circuits", "a_specialization"}


@pytest.mark.parametrize(
    ("heads", "ends"), [(1, {"", "_circuits"}), (2, {"", "_circuits", "_specialization"})]
)
def test_one_head_has_no_figure_of_how_heads_divide_the_numbers(heads, ends):
    entry = {"task": "sorting", "model": {"n_heads": heads}, "metrics": {}, "circuits": {}}
    found = with_own_figures({"experiments": {"a": entry}}, {})
    assert set(found["figures"]) == {f"a{end}" for end in ends}
    assert {name: made["draws"] for name, made in found["animations"].items()} == {"a": "sort_animation"}


def test_keys_of_an_experiment_that_there_is_not_say_which_was_meant():
    misspelt = {"experiments": {"langauge": {"seeds": [0, 1]}, "language": {"task": "language"}}}
    with pytest.raises(ConfigError, match=r"experiments\.langauge\.task: .* did you mean 'language'\?"):
        resolved(misspelt)
    far = {"experiments": {"mine": {"seeds": [0]}, "language": {"task": "language"}}}
    assert resolved(far)["experiments"] == far["experiments"]  # reading it says which keys it lacks
