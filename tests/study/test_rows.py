import re
from importlib.util import find_spec
from types import SimpleNamespace

from rllc.study.families import CAPABILITIES
from rllc.study.figures import ANIMATIONS, CALIBRATION, FIGURES, PAGES
from rllc.study.reading import read
from rllc.study.rows import EXTENT
from rllc.study.study import work
from rllc.study.table import ANALYSES, MEASURES
from rllc.units import NATS


def source(row):
    """The kernel of a measure as it is written, with what the sampling measures share."""
    names = [
        row.kernel.partition(":")[0],
        *(["rllc.measures.sampling"] if row.name.startswith("sample_") else []),
    ]
    return "".join(find_spec(name).loader.get_source(name) for name in names)


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


def test_a_measure_comes_after_those_whose_parts_its_kernel_reads_which_are_one_per_seed():
    rows = {row.name: row for row in MEASURES}
    assert rows["path_patching"].after == ("heads", "tokens")
    for row in MEASURES:
        assert {*row.after} == {*re.findall(r'data\.part\("(\w+)"\)', source(row))}, row.name
        assert not any(rows[name].per_distribution or rows[name].after for name in row.after), row.name


def test_components_come_after_heads_where_one_is_a_type_of_heads_and_are_told_the_thresholds(config):
    row = next(row for row in MEASURES if row.name == "sample_other")
    study = read(config)
    experiment = study.experiments["language"]
    base = experiment.sampling.heads
    for components, after in ((["1:0+1:1", "layer:0"], ()), (["layer:0", "induction"], ("heads",))):
        section = base.model_copy(update={"components": components})
        told = row.settings(work(study, experiment, section, []))
        thresholds = {"thresholds": experiment.head_types.model_dump()} if after else {}
        assert row.before(section) == after
        assert told == section.plain(exclude=EXTENT) | thresholds


def test_what_is_added_is_told_the_section_that_asks_for_it(config):
    (finish,) = (row.finish for row in MEASURES if row.name == "heads")
    study = read(config)
    asked = [experiment for experiment in study.experiments.values() if finish.asked(experiment)]
    assert asked
    for experiment in asked:
        assert finish.keywords(experiment) == {"thresholds": experiment.head_types.model_dump()}


def test_contexts_are_those_that_the_section_names():
    experiment = SimpleNamespace(own_training=SimpleNamespace(distribution="mixture"))
    sections = {
        "tokens": [({"corpus": None}, ("mixture", "train")), ({"corpus": "code"}, ("code", "held_out"))],
        "token_losses": [({"distribution": "english"}, ("english", "held_out"))],
        "path_patching": [({"words_of": "english"}, ("english", "held_out"))],
    }
    chosen = {row.name: row.contexts for row in MEASURES if row.contexts}
    assert chosen.keys() == {row.name for row in MEASURES if "data.contexts(" in source(row)}
    assert chosen.keys() >= sections.keys()
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


def test_units_are_those_of_what_the_words_name():
    """Losses, traces, eigenvalues and what is a difference of losses in nats; what is over another is a number."""
    nats = {
        (row.name, name)
        for row in (*MEASURES, *ANALYSES)
        for name, variable in row.variables.items()
        if variable.unit == NATS
    }
    sides = {
        "hessian": "hessian_trace hessian_trace_se hessian_trace_head hessian_trace_head_se",
        "eigenvalues": "hessian_eigenvalue",
        "fisher": "fim_trace fim_trace_se fim_trace_head fim_trace_head_se fim_trace_ggn fim_trace_ggn_se "
        "fisher_data fisher_data_se",
        "hessian_rank": "hessian_rank_threshold hessian_max_eigenvalue hessian_min_eigenvalue",
        "ablation": "ablation",
        "heads": "repeat_gap",
        "tokens": "rise_threshold rise",
        "path_patching": "loss loss_se rise rise_se rise_into rise_into_se",
        "induction_ablation": "icl_score icl_score_se",
        "metrics": "loss loss_by_position icl_score icl_score_se",
        "ngrams": "bigram_score bigram_entropy bigram_excess ngram_loss ngram_baseline",
        "positions": "loss ablated_loss position_gain loss_at ablated_loss_at",
        "token_losses": "loss",
        "patched_paths": "ablated_least ablated_least_se path path_se",
        "hessian_stages": "trace_smooth",
    }
    none = {
        "calibration", "circuits", "dependence", "regression_predictions", "sample_full", "sample_heads", "sample_other", "structure",
        "classification", "clusters", "transfer", "domains", "highlights", "kcomposition", "milestones", "recommendation",
        "refinement", "stages", "staggered",
    }  # fmt: skip
    named = {each for each in nats if each[0] in {*sides, *none}}
    assert named == {(row, name) for row, names in sides.items() for name in names.split()}
    others = {}
    for row in (*MEASURES, *ANALYSES):
        for name, variable in row.variables.items():
            others.setdefault(variable.unit, set()).add(name)
    assert others["octaves"] == {
        "spread", "drop_at_peak", "joint_drop_at_peak", "bigram_after_boundary", "composition_lead",
    }  # fmt: skip
    assert others["steps"] == {
        "first_boundary", "bigram_minimum", "ngram_half", "previous_token_half", "prefix_matching_half",
        "composition_onset", "prefix_matching_onset",
    }  # fmt: skip
    (row,) = (row for row in MEASURES if row.name == "regression_predictions")
    assert {name for name, each in row.variables.items() if each.unit == "1"} == {
        "far_prediction", "cumulative_rate",
    }  # fmt: skip


def test_a_standard_error_has_the_unit_of_what_it_is_of():
    for row in (*MEASURES, *ANALYSES):
        for name, variable in row.variables.items():
            of = row.variables.get(name.removesuffix("_se"), variable)
            assert of.unit == variable.unit, (row.name, name)


def test_a_measure_has_a_stream_where_its_kernel_draws_and_a_tokenizer_where_it_reads_one():
    for row in MEASURES:
        text = source(row)
        assert bool(row.stream) == bool(re.search(r"data\.(seed|stream)\b", text)), row.name
        assert ("tokenizer" in row.reads) == bool(re.search(r"data\.(encoder|bos)\b", text)), row.name


def test_jobs_of_measures_differ_in_these_ways_alone():
    """The longest come first; what torch has nothing to do with needs no GPU; sequences are those of all seeds."""
    assert {row.name: row.priority for row in MEASURES if row.priority} == {
        "sample_heads": 6,
        "sample_full": 5,
    }
    assert [row.name for row in MEASURES if not row.gpu] == ["circuits"]
    shared = {row.name for row in MEASURES if not row.stream_of_seed and row.stream}
    assert shared == {"heads", "path_patching", "regression_predictions", "structure"}
    calibrating = {row.name for row in (*MEASURES, *ANALYSES) if row.target != "all"}
    assert calibrating == {"calibration", "dependence", "recommendation"}
    assert {row.target for row in (*MEASURES, *ANALYSES)} == {"all", "calibrate"}
    requiring = {
        **dict.fromkeys(("sample_heads", "ablation"), ("heads",)),
        **dict.fromkeys(("heads", "tokens", "path_patching"), ("heads", "attention")),
        **dict.fromkeys(("ngrams", "positions", "token_losses"), ("positions", "tokens")),
        "fisher": ("tokens",), "circuits": ("heads", "circuits"), "induction_ablation": ("heads", "positions", "tokens"),
        **dict.fromkeys(("metrics", "hessian", "eigenvalues", "hessian_rank", "sample_full", "sample_other"), ()),
        **dict.fromkeys(("regression_predictions", "structure", "calibration", "dependence"), ()),
    }  # fmt: skip
    assert requiring.items() <= {row.name: row.requires for row in MEASURES}.items()
    assert all({*row.requires} <= CAPABILITIES.keys() for row in MEASURES)


def test_figures_are_asked_for_and_sorted_by_what_they_are_of():
    """Transfer to the second, third and fourth seed needs as many; only the validation is of no experiment."""
    assert {name: row.seeds for name, row in FIGURES.items() if row.seeds > 1} == {
        "rllc_fig20_cluster_transfer": 2, "rllc_fig21_cluster_transfer": 3, "rllc_fig22_cluster_transfer": 4,
        "rllc_fig23_other_seeds": 2,
    }  # fmt: skip
    assert {name for name, row in FIGURES.items() if row.several} == {"rllc_fig13_stages", "stage_figC2"}
    for name, row in (FIGURES | ANIMATIONS | PAGES).items():
        package = row.draws.removeprefix("rllc.figures.").split(":")[0].split(".")[0]
        validation = row.draws.startswith("rllc.figures.sampler.validation:")
        target = "validation" if validation else "calibrate" if name in CALIBRATION else "all"
        assert row.target == target, name
        known = {"sorting": "sorting", "regression": "regression", "sampler": "calibration"}
        if package in known:
            assert row.category == ("validation" if validation else known[package]), name
        else:
            assert row.category in {"heads", "clusters", "baselines", "stages", "tokens", "data"} | (
                {"claims"} if name == "claims" else set()
            ), name
