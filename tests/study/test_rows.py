from rllc.study.measures.table import MEASURES
from rllc.study.reading import read


def test_what_is_added_where_it_is_asked_for_may_be_absent():
    """An experiment without the section of a finish gathers its dataset all the same."""
    added = [row.finish for row in MEASURES if row.finish and row.finish.section]
    assert added
    for finish in added:
        assert all(variable.optional for variable in finish.variables.values()), finish.name


def test_results_record_their_settings_under_the_name_of_the_section():
    assert {row.name: row.attribute for row in MEASURES if row.attribute != row.name} == {
        "sample_heads": "sampling", "sample_full": "sampling", "sample_other": "sampling", "token_losses": "highlights",
    }  # fmt: skip


def test_the_words_of_a_row_are_its_variables_and_those_added():
    words = {row.name: row.words for row in MEASURES}
    assert {"q_composition", "head_type"} < set(words["heads"])
    assert set(words["ablation"]) == {"ablation"}


def test_a_measure_comes_after_measures_of_one_part_per_seed():
    rows = {row.name: row for row in MEASURES}
    reading = {row.name: row.after for row in MEASURES if row.after}
    assert reading == {"brackets": ("heads", "tokens"), "icl": ("heads",)}
    for names in reading.values():
        assert not any(rows[name].per_distribution or rows[name].after for name in names)


def test_what_is_added_is_told_the_section_that_asks_for_it(config):
    (finish,) = (row.finish for row in MEASURES if row.name == "heads")
    study = read(config)
    asked = [experiment for experiment in study.experiments.values() if finish.asked(experiment)]
    assert asked
    for experiment in asked:
        assert finish.keywords(experiment) == {"thresholds": experiment.head_types.model_dump()}
