import re
from importlib.util import find_spec
from types import SimpleNamespace

from rllc.study.figures import FIGURES
from rllc.study.measures.table import ANALYSES, MEASURES
from rllc.study.reading import read
from rllc.study.rows import EXTENT, Work
from rllc.units import NATS


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


def test_variables_have_a_name_and_a_unit_or_are_told_both_by_their_kernel():
    units = {"1", NATS, "squared error", "steps", "octaves"}
    for row in (*MEASURES, *ANALYSES):
        for name, variable in row.variables.items():
            assert variable.unit in units or variable[:2] == ("", ""), (row.name, name)
            assert isinstance(variable.long_name, str) and variable.long_name not in units, (row.name, name)


def test_a_measure_comes_after_measures_of_one_part_per_seed():
    rows = {row.name: row for row in MEASURES}
    reading = {row.name: row.after for row in MEASURES if row.after}
    assert reading == {"brackets": ("heads", "tokens"), "icl": ("heads",), "sample_other": ("heads",)}
    for names in reading.values():
        assert not any(rows[name].per_distribution or rows[name].after for name in names)


def test_components_come_after_heads_where_one_is_a_type_of_heads_and_are_told_the_thresholds(config):
    row = next(row for row in MEASURES if row.name == "sample_other")
    experiment = read(config).experiments["language"]
    base = experiment.sampling.heads
    for components, after in ((["1:0+1:1", "layer:0"], ()), (["layer:0", "induction"], ("heads",))):
        section = base.model_copy(update={"components": components})
        told = row.settings(Work(None, experiment, section, []))
        thresholds = {"thresholds": experiment.head_types.model_dump()} if after else {}
        assert row.before(section) == after
        assert told == section.model_dump(exclude=EXTENT) | thresholds


def test_what_is_added_is_told_the_section_that_asks_for_it(config):
    (finish,) = (row.finish for row in MEASURES if row.name == "heads")
    study = read(config)
    asked = [experiment for experiment in study.experiments.values() if finish.asked(experiment)]
    assert asked
    for experiment in asked:
        assert finish.keywords(experiment) == {"thresholds": experiment.head_types.model_dump()}


def test_contexts_are_those_that_the_section_names():
    experiment = SimpleNamespace(training=SimpleNamespace(distribution="mixture"), distribution="another")
    sections = {
        "tokens": [({"corpus": None}, ("mixture", "train")), ({"corpus": "code"}, ("code", "held_out"))],
        "token_losses": [({"distribution": "english"}, ("english", "held_out"))],
        "brackets": [({"words_of": "english"}, ("english", "held_out"))],
    }
    chosen = {row.name: row.contexts for row in MEASURES if row.contexts}
    assert chosen.keys() == sections.keys()
    for name, cases in sections.items():
        for section, expected in cases:
            assert chosen[name](experiment, SimpleNamespace(**section)) == expected


def test_rows_of_figures_have_what_they_need_beside_what_they_may_use_and_a_category_of_the_report():
    for name, row in FIGURES.items():
        assert all(isinstance(each, tuple) for each in (row.needs, row.uses)), name
        assert re.fullmatch(r"[a-z][a-z ]+", row.category), name


def test_analyses_that_take_minutes_are_jobs_of_a_cluster():
    assert {row.name for row in ANALYSES if not row.local} == {"clusters", "transfer", "classification"}


def test_what_draws_random_numbers_has_a_stream_and_shares_it_where_that_is_meant():
    """The noise of clusters that are carried over is that of the clusters, a sweep's that of the sampler."""
    for row in ANALYSES:
        told = find_spec(row.function.partition(":")[0]).loader.get_source(None)
        assert (told.count("random_seed") > 1) == bool(row.stream), row.name  # more than the keyword
    streams = [row.stream for row in (*MEASURES, *ANALYSES) if row.stream]
    assert {name for name in streams if streams.count(name) > 1} == {"sgld", "clustering"}
