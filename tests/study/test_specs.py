import re
from importlib.util import find_spec
from types import SimpleNamespace

from rllc.study.families import CAPABILITIES
from rllc.study.figures import ANIMATIONS, CALIBRATION, FIGURES, PAGES
from rllc.study.reading import read
from rllc.study.specs import EXTENT
from rllc.study.study import work
from rllc.study.table import ANALYSES, MEASURES
from rllc.units import NATS


def source(spec):
    """The kernel of a measure as it is written, with what the sampling measures share."""
    names = [
        spec.kernel.partition(":")[0],
        *(["rllc.measures.sampling"] if spec.name.startswith("sample_") else []),
    ]
    return "".join(find_spec(name).loader.get_source(name) for name in names)


def test_what_is_added_where_it_is_asked_for_may_be_absent():
    """An experiment without the section of a finish gathers its dataset all the same."""
    added = [spec.finish for spec in MEASURES if spec.finish and spec.finish.section]
    assert added
    for finish in added:
        assert all(variable.optional for variable in finish.variables.values()), finish.name


def test_results_record_their_settings_under_the_name_of_the_section():
    assert {spec.name: spec.attribute for spec in MEASURES if spec.attribute != spec.name} == {
        "sample_heads": "sampling", "sample_full": "sampling", "sample_other": "sampling", "token_losses": "highlights",
    }  # fmt: skip


def test_the_words_of_a_row_are_its_variables_and_those_added():
    words = {spec.name: spec.all_variables for spec in MEASURES}
    assert {"q_composition", "head_type"} < set(words["attention_scores"])
    assert set(words["ablation"]) == {"ablation", "ablation_se", "ablation_mlp", "ablation_mlp_se"}


def test_variables_have_a_name_and_a_unit_or_are_told_both_by_their_kernel():
    units = {"1", NATS, "squared error", "steps", "octaves"}
    for spec in (*MEASURES, *ANALYSES):
        for name, variable in spec.variables.items():
            assert variable.unit in units or variable[:2] == ("", ""), (spec.name, name)
            assert isinstance(variable.long_name, str) and variable.long_name not in units, (spec.name, name)


def test_units_of_an_error_are_a_number_in_the_section_of_its_measure():
    """And every error over probes, of which there are few, says so."""
    for spec in MEASURES:
        for name, variable in spec.all_variables.items():
            if variable.over:
                assert name.endswith("_se"), (spec.name, name)
                assert variable.over in spec.section.model_fields, (spec.name, name)
            elif name.endswith("_se"):
                assert "probes" not in variable.long_name, (spec.name, name)


def test_a_measure_comes_after_those_whose_parts_its_kernel_reads_which_are_one_per_seed():
    rows = {spec.name: spec for spec in MEASURES}
    assert rows["path_patching"].after == ("attention_scores", "tokens")
    for spec in MEASURES:
        assert {*spec.after} == {*re.findall(r'data\.part\("(\w+)"\)', source(spec))}, spec.name
        assert not any(rows[name].per_distribution or rows[name].after for name in spec.after), spec.name


def test_components_come_after_heads_where_one_is_a_type_of_heads_and_are_told_the_thresholds(config):
    spec = next(spec for spec in MEASURES if spec.name == "sample_other")
    study = read(config)
    experiment = study.experiments["language"]
    base = experiment.sampling.heads
    for components, after in (
        (["1:0+1:1", "layer:0"], ()),
        (["layer:0", "induction"], ("attention_scores",)),
    ):
        section = base.model_copy(update={"components": components})
        told = spec.settings(work(study, experiment, section, []))
        thresholds = {"thresholds": experiment.head_types.model_dump()} if after else {}
        assert spec.before(section) == after
        assert told == section.plain(exclude=EXTENT) | thresholds


def test_what_is_added_is_told_the_section_that_asks_for_it(config):
    (finish,) = (spec.finish for spec in MEASURES if spec.name == "attention_scores")
    study = read(config)
    asked = [experiment for experiment in study.experiments.values() if finish.asked(experiment)]
    assert asked
    for experiment in asked:
        assert finish.keywords(experiment) == {"thresholds": experiment.head_types.model_dump()}


def test_contexts_are_those_that_the_section_names():
    experiment = SimpleNamespace(
        own_training=SimpleNamespace(distribution="mixture"), distributions=["code", "english"]
    )
    sections = {
        "tokens": [({"corpus": None}, ("mixture", "train")), ({"corpus": "code"}, ("code", "held_out"))],
        "token_losses": [({"distribution": "english"}, ("english", "held_out"))],
        "integrity": [
            ({"distribution": None}, ("code", "held_out")),
            ({"distribution": "english"}, ("english", "held_out")),
        ],
        "path_patching": [({"words_of": "english"}, ("english", "held_out"))],
    }
    chosen = {spec.name: spec.reads_contexts_of for spec in MEASURES if spec.reads_contexts_of}
    assert chosen.keys() == {spec.name for spec in MEASURES if "data.contexts(" in source(spec)}
    assert chosen.keys() >= sections.keys()
    for name, cases in sections.items():
        for section, expected in cases:
            assert chosen[name](experiment, SimpleNamespace(**section)) == expected


def test_rows_of_figures_have_what_they_need_beside_what_they_may_use_and_a_category_of_the_report():
    for name, spec in FIGURES.items():
        assert all(isinstance(each, tuple) for each in (spec.needs, spec.uses)), name
        assert re.fullmatch(r"[a-z][a-z ]+", spec.category), name


def test_stages_behind_a_figure_of_heads_are_read_where_they_are_asked_for():
    spec = FIGURES["rllc_fig7_kcomposition"]
    assert "stages" not in spec.reads(stages=False) and "stages" in spec.reads(stages=True)
    assert all("stages" not in each.uses for each in FIGURES.values() if each.behind)


def test_analyses_that_take_minutes_are_jobs_of_a_cluster():
    assert {spec.name for spec in ANALYSES if not spec.local} == {"clusters", "transfer", "classification"}


def test_what_draws_random_numbers_has_a_stream_and_shares_it_where_that_is_meant():
    """The noise of clusters that are carried over is that of the clusters, a sweep's that of the sampler."""
    for spec in ANALYSES:
        told = find_spec(spec.function.partition(":")[0]).loader.get_source(None)
        assert (told.count("random_seed") > 1) == bool(spec.stream), spec.name  # more than the keyword
    streams = [spec.stream for spec in (*MEASURES, *ANALYSES) if spec.stream]
    assert {name for name in streams if streams.count(name) > 1} == {"sgld", "clustering"}


def test_units_are_those_of_what_the_words_name():
    """Losses, traces, eigenvalues and what is a difference of losses in nats; what is over another is a number."""
    nats = {
        (spec.name, name)
        for spec in (*MEASURES, *ANALYSES)
        for name, variable in spec.variables.items()
        if variable.unit == NATS
    }
    sides = {
        "hessian": "hessian_trace hessian_trace_se hessian_trace_head hessian_trace_head_se",
        "eigenvalues": "hessian_eigenvalue",
        "fisher": "fim_trace fim_trace_se fim_trace_head fim_trace_head_se fim_trace_ggn fim_trace_ggn_se "
        "fisher_data fisher_data_se",
        "hessian_rank": "hessian_rank_threshold hessian_max_eigenvalue hessian_min_eigenvalue",
        "ablation": "ablation ablation_se ablation_mlp ablation_mlp_se",
        "attention_scores": "repeat_gap repeat_gap_se",
        "tokens": "rise_threshold rise rise_threshold_mlp rise_mlp",
        "path_patching": "loss loss_se rise rise_se rise_into rise_into_se",
        "induction_ablation": "icl_score icl_score_se",
        "metrics": "loss loss_se loss_by_block loss_by_position loss_by_position_se icl_score icl_score_se "
        "icl_score_by_block",
        "ngrams": "bigram_score_by_block bigram_excess_by_block bigram_score bigram_score_se bigram_entropy bigram_entropy_se bigram_excess bigram_excess_se "
        "ngram_loss ngram_loss_se ngram_baseline ngram_baseline_se",
        "positions": "loss loss_se ablated_loss ablated_loss_se position_gain position_gain_se loss_at loss_at_se "
        "ablated_loss_at ablated_loss_at_se",
        "token_losses": "loss",
        "integrity": "loss loss_se",
        "patched_paths": "ablated_least ablated_least_se path path_se",
        "hessian_stages": "trace_smooth",
    }
    none = {
        "calibration", "circuits", "dependence", "regression_predictions", "sample_full", "sample_heads", "sample_other", "structure",
        "classification", "clusters", "transfer", "domains", "highlights", "kcomposition", "milestones", "recommendation",
        "refinement", "stages", "staggered",
    }  # fmt: skip
    named = {each for each in nats if each[0] in {*sides, *none}}
    assert named == {(spec, name) for spec, names in sides.items() for name in names.split()}
    others = {}
    for spec in (*MEASURES, *ANALYSES):
        for name, variable in spec.variables.items():
            others.setdefault(variable.unit, set()).add(name)
    assert others["octaves"] == {
        "spread", "drop_at_peak", "joint_drop_at_peak", "bigram_after_boundary", "composition_lead",
    }  # fmt: skip
    assert others["steps"] == {
        "first_boundary", "bigram_minimum", "ngram_half", "previous_token_half", "prefix_matching_half",
        "composition_onset", "prefix_matching_onset", "previous_step",
    }  # fmt: skip
    (spec,) = (spec for spec in MEASURES if spec.name == "regression_predictions")
    assert {name for name, each in spec.variables.items() if each.unit == "1"} == {
        "far_prediction", "cumulative_rate",
    }  # fmt: skip


def test_a_standard_error_has_the_unit_of_what_it_is_of():
    for spec in (*MEASURES, *ANALYSES):
        for name, variable in spec.variables.items():
            of = spec.variables.get(name.removesuffix("_se"), variable)
            assert of.unit == variable.unit, (spec.name, name)


def test_a_measure_has_a_stream_where_its_kernel_draws_and_a_tokenizer_where_it_reads_one():
    for spec in MEASURES:
        text = source(spec)
        assert bool(spec.stream) == bool(re.search(r"data\.(seed|stream)\b", text)), spec.name
        assert ("tokenizer" in spec.reads) == bool(re.search(r"data\.(encoder|bos)\b", text)), spec.name


def test_jobs_of_measures_start_early_or_take_a_gpu_or_share_sequences_as_their_specs_say():
    """The longest come first; what torch has nothing to do with needs no GPU; sequences are those of all seeds."""
    specs = {spec.name: spec for spec in MEASURES}
    sampling = [specs[name].priority for name in ("sample_heads", "sample_full", "sample_other")]
    assert sampling == sorted(sampling, reverse=True) and sampling[0] == max(s.priority for s in MEASURES)
    assert not specs["circuits"].gpu and specs["sample_heads"].gpu
    for name in ("attention_scores", "path_patching", "regression_predictions", "structure"):
        assert specs[name].stream and not specs[name].stream_of_seed, name
    calibrating = {spec.name for spec in (*MEASURES, *ANALYSES) if spec.target != "all"}
    assert calibrating == {"calibration", "dependence", "recommendation"}
    assert {spec.target for spec in (*MEASURES, *ANALYSES)} == {"all", "calibrate"}
    requiring = {
        **dict.fromkeys(("sample_heads", "ablation"), ("heads",)),
        **dict.fromkeys(("attention_scores", "tokens"), ("heads", "attention")),
            "path_patching": ("heads", "attention", "circuits"),
        **dict.fromkeys(("ngrams", "token_losses", "integrity"), ("positions", "tokens")),
        "positions": ("attention", "learned_positions", "positions", "tokens"),
        "fisher": ("tokens",), "circuits": ("heads", "circuits"), "induction_ablation": ("heads", "positions", "tokens"),
        **dict.fromkeys(("metrics", "hessian", "eigenvalues", "hessian_rank", "sample_full", "sample_other"), ()),
        **dict.fromkeys(("regression_predictions", "structure", "calibration", "dependence"), ()),
    }  # fmt: skip
    assert requiring.items() <= {spec.name: spec.requires for spec in MEASURES}.items()
    assert all({*spec.requires} <= CAPABILITIES.keys() for spec in MEASURES)


def test_figures_are_asked_for_and_sorted_by_what_they_are_of():
    """Transfer to the second, third and fourth seed needs as many; only the validation is of no experiment."""
    assert {name: spec.seeds for name, spec in FIGURES.items() if spec.seeds > 1} == {
        "rllc_fig20_cluster_transfer": 2, "rllc_fig21_cluster_transfer": 3, "rllc_fig22_cluster_transfer": 4,
        "rllc_fig23_other_seeds": 2,
    }  # fmt: skip
    assert {name for name, spec in FIGURES.items() if spec.several} == {
        "rllc_fig5_one_layer_drllc", "rllc_fig13_stages", "stage_figC2",
    }  # fmt: skip
    for name, spec in (FIGURES | ANIMATIONS | PAGES).items():
        package = spec.draws.removeprefix("rllc.figures.").split(":")[0].split(".")[0]
        validation = spec.draws.startswith(
            ("rllc.figures.sampler.validation:", "rllc.figures.sampler.landscapes:")
        )
        target = "validation" if validation else "calibrate" if name in CALIBRATION else "all"
        assert spec.target == target, name
        known = {"sorting": "sorting", "regression": "regression", "sampler": "calibration"}
        if package in known:
            assert spec.category == ("validation" if validation else known[package]), name
        else:
            assert spec.category in {"heads", "clusters", "baselines", "stages", "tokens", "data"} | (
                {"claims"} if name == "claims" else set()
            ), name
