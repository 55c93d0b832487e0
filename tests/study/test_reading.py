import copy
import importlib
import inspect
from pathlib import Path

import pytest
import yaml

from rllc.study import defaults
from rllc.study.datasets import datasets, distributions, used_texts
from rllc.study.document import sections
from rllc.study.figures import FIGURES, options
from rllc.study.layout import Layout
from rllc.study.reading import FOLDERS, ConfigError, read
from rllc.study.rows import FigureRow
from rllc.study.study import Study

ROOT = Path(__file__).resolve().parents[2]


def put(config, path, value):
    """Set ``a.b.c``; the last name may be new."""
    *parents, last = path.split(".")
    for name in parents:
        config = config[name]
    config[last] = value


@pytest.mark.parametrize("overlay", [None, "ci.yaml", "gpu.yaml", "paper.yaml", "sorting.yaml"])
def test_the_configs_that_come_with_the_project_are_valid(overlay):
    study = read(defaults.load([ROOT / "config" / overlay] if overlay else [], ROOT))
    assert study.figures
    name = "sort_2head_baseline" if overlay == "sorting.yaml" else "language"
    assert "rllc" in datasets(study.experiments[name])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "experiments.language.sampling.heads.step_sise",
            1,
            "unknown key 'step_sise'; did you mean 'step_size'?",
        ),
        ("experiments.language.seed", [0], "unknown key 'seed'; did you mean 'seeds'?"),
        ("tokenizers.numbers.length", 52, "a list of 52 different numbers needs at least 52 numbers, not 51"),
        (
            "tokenizers.numbers.length",
            2,
            "there are 2,550 lists of 2 of 51 numbers; 160,000 blocks need twice",
        ),
        ("tokenizers.numbers.lenght", 10, "unknown key 'lenght'; did you mean 'length'?"),
        ("experiments.sort_1head.model.n_heads", 0, "n_heads: input should be greater than or equal to 1"),
        ("distributions.lists.swap", 1.2, "swap: input should be less than or equal to 1 (given: 1.2)"),
        ("distributions.lists.swap", -0.1, "swap: input should be greater than or equal to 0"),
        ("experiments.sort_1head.task", "sort", "task: input should be 'language', 'sorting' or 'cumulative"),
        (
            "experiments.sort_1head.task",
            "language",
            "tokenizer: 'numbers' is not of text (vocabulary, context), which language reads",
        ),
        (
            "experiments.sort_1head.distributions",
            ["english"],
            "'english' is of source installed, which the task sorting cannot read; it reads lists",
        ),
        ("experiments.sort_1head.model.n_ctx", 20, "20 positions cannot hold the blocks of 21 tokens"),
        ("experiments.sort_1head.like", "sort_2head", "no experiment is called 'sort_2head'; did you mean"),
        ("experiments.language.circuits", {}, "circuits: full circuits are of one layer that sorts"),
        ("experiments.sort_1head.heads", {"sequences": 8, "length": 16}, "measured on text tokens"),
        ("claims.peak_1head.statistic", "llc_paek", "no statistic 'llc_paek'; did you mean 'llc_peak'?"),
        ("claims.peak_1head.experiment", "sort_9head", "no experiment 'sort_9head'"),
        (
            "claims.peak_1head.experiment",
            "language",
            "claims.peak_1head: reads llc.nc, which 'language' does",
        ),
        ("sede", 1, "unknown key 'sede'; did you mean 'seed'?"),
        (
            "experiments.language.sampling.heads.n_beta",
            -1,
            "n_beta: input should be greater than 0 (given: -1",
        ),
        (
            "experiments.language.sampling.heads.n_beta",
            "1e3",
            "YAML reads 1e3 as text; write it with a decimal",
        ),
        ("experiments.language.sampling.heads.n_beta", True, "n_beta: input should be a valid number"),
        (
            "experiments.language.sampling.heads.chains",
            1,
            "chains: input should be greater than or equal to 2",
        ),
        ("experiments.language.sampling.heads.chains", 2.5, "chains: input should be a valid integer"),
        ("experiments.language.sampling.heads.burn_in", 30, "burn_in 30 leaves none of the 30 draws"),
        ("experiments.language.sampling.heads.control_chains", 9, "control_chains 9 exceeds chains 4"),
        ("experiments.language.sampling.heads.localization", 5000, "5 is unstable even without a loss"),
        ("experiments.language.sampling.heads.scored_positions", 128, "128 of the 127 predictions"),
        (
            "experiments.language.sampling.heads.distributions",
            ["prose"],
            "no distribution of this experiment",
        ),
        ("experiments.language.distributions", ["englsih"], "is called 'englsih'; did you mean 'english'?"),
        ("experiments.language.tokenizer", "bpp", "no tokenizer is called 'bpp'; did you mean 'bpe'?"),
        (
            "experiments.language.training.distribution",
            "one_layer",
            "no distribution of text is called 'one_layer'",
        ),
        (
            "experiments.language.training",
            None,
            "training: missing; checkpoints that are trained here need it",
        ),
        ("experiments.language.checkpoints.extra", [9999], "step 9999 is after the last step, 3000"),
        ("experiments.language.checkpoints.chunks", [5, 10], "must start at 0 and rise"),
        ("experiments.language.seeds", [0, 0], "holds a seed twice"),
        ("experiments.language.seeds", [], "seeds: list should have at least 1 item"),
        ("experiments.language.model.n_ctx", 64, "64 positions cannot hold the blocks of 128 tokens"),
        ("experiments.language.model.positions", "rotary", "'shortformer' or 'standard'"),
        ("experiments.language.clusters.n_clusters", [8], "8 clusters of 8 heads; give 2 to 7"),
        ("experiments.language.heads", None, "head_types: types of heads are read off heads.nc; give heads"),
        ("experiments.language.metrics.icl_late", [110, 500], "is no range of the 127 predictions"),
        ("experiments.language.settings.sampling", {}, "'sampling' is the base setting's name"),
        ("experiments.a-b", {}, "experiments.a-b"),
        (
            "distributions.english.source",
            "instaled",
            "there is no source 'instaled'; did you mean 'installed'?",
        ),
        (
            "distributions.english.held_out",
            1.5,
            "distributions.english.held_out: input should be less than 1",
        ),
        (
            "experiments.language.checkpoints.first",
            -1,
            "experiments.language.checkpoints.first: input should",
        ),
        ("experiments.language.model.d_model", 0, "experiments.language.model.d_model: input should"),
        ("distributions.mixture.weights", {"englsh": 1.0}, "is called 'englsh'; did you mean 'english'?"),
        ("distributions.one_layer.experiment", "language", "would make language its own teacher"),
        ("distributions.one_layer.seed", 7, "language_1layer has the seeds [0]"),
        ("tokenizers.bpe.pretrained", "x", "give either `corpus` (to train one) or `pretrained`"),
        ("figures.stage_fig1a_lm.experiment", "language_1layer", "needs metrics.nc, which 'language_1layer'"),
        ("figures.my_figure", {"experiment": "language"}, "no figure is called 'my_figure'"),
        ("compute.device", "tpu", "'auto', 'cpu' or 'cuda'"),
        ("compute.gpu_jobs", ["trian"], "compute.gpu_jobs.0: input should be 'train', 'sample_heads'"),
        ("compute.longest_job", 0, "longest_job: input should be greater than or equal to 1"),
        ("experiments.language.model.layer_norm_eps", 0.0, "layer_norm_eps: input should be greater than 0"),
        (
            "experiments.language.checkpoints",
            {"source": "import", "path": "runs/{seed}", "chunks": [0, 10, 5]},
            "checkpoints.chunks: [0, 10, 5] must start at 0 and rise",
        ),
        (
            "experiments.language.clusters.distributions",
            ["mixture", "cod"],
            "no distribution of rllc.nc is called 'cod'; did you mean 'code'?",
        ),
        (
            "experiments.language.sampling.heads.distributions",
            ["mixture"],
            "clusters.distributions: no distribution of rllc.nc is called 'code'",
        ),
        (
            "experiments.language.sampling.heads.components",
            ["1:0"],
            "`components` is for the kind `other`; take it out of `heads`",
        ),
        (
            "experiments.language.sampling.full.components",
            [],
            "`components` is for the kind `other`; take it out of `full`",
        ),
        (
            "experiments.language.settings.likelihood.heads.keep_traces",
            True,
            "likelihood.heads.keep_traces: traces are gathered for the base setting only",
        ),
        ("experiments.language.ablation.contexts", 30, "no multiple of batch_size 16; the nearest is 32"),
        ("experiments.language.ablation.contexts", 4, "no multiple of batch_size 16; the nearest is 16"),
        ("experiments.language.metrics.contexts", 300, "no multiple of batch_size 32; the nearest is 288"),
        (
            "figures.rllc_fig5_one_layer_drllc.options",
            {"generatd": "one_layer"},
            "has no option 'generatd'; did you mean 'generated'?",
        ),
        ("figures.corpus_summary.options", {"seeds": [0]}, "has no option 'seeds'; it has none"),
        (
            "figures.rllc_fig5_one_layer_drllc.options",
            {"natural": "englsih"},
            "options.natural: no distribution of language's rllc.nc is called 'englsih'; did you mean",
        ),
        (
            "experiments.language.distributions",
            ["mixture", "english", "code"],
            "options.generated: 'rllc_fig5_one_layer_drllc' draws the distribution 'one_layer' if it is not told",
        ),
        (
            "figures.induction_onset.options",
            {"distributions": ["code", "headers"]},
            "options.distributions: no distribution of language's rllc.nc and heads.nc is called 'headers'",
        ),
        (
            "figures.stage_fig1a_lm.options",
            {"distribution": "english"},
            "no distribution of language's metrics.nc and llc.nc is called 'english'",
        ),
        ("figures.rllc_by_distribution.options", {"distributions": "code"}, "distributions: give a list"),
        ("figures.stage_fig1a_lm.options", {"distribution": ["code"]}, "options.distribution: give one name"),
    ],
)
def test_what_is_wrong_is_refused_by_name(config, path, value, message):
    put(config, path, value)
    with pytest.raises(ConfigError) as caught:
        read(config)
    assert message in str(caught.value)


def test_a_missing_key_is_named(config):
    del config["experiments"]["language"]["sampling"]["heads"]["n_beta"]
    with pytest.raises(ConfigError, match=r"experiments\.language\.sampling\.heads\.n_beta: missing"):
        read(config)


def test_all_problems_are_listed_at_once(config):
    put(config, "experiments.language.metrics.icl_late", [110, 500])
    put(config, "experiments.language.seeds", [1, 1])
    with pytest.raises(ConfigError) as caught:
        read(config)
    assert str(caught.value).count("\n  - ") == 2


def test_components_must_be_in_the_model(config):
    other = {
        **copy.deepcopy(config["experiments"]["language"]["sampling"]["heads"]),
        "components": ["1:0+1:9"],
    }
    put(config, "experiments.language.sampling.other", other)
    with pytest.raises(
        ConfigError, match=r"'1:0\+1:9' is not in this model: its layers are 0 to 1, its heads 0 to 3"
    ):
        read(config)
    other["components"] = ["head 3"]
    with pytest.raises(ConfigError, match="unknown component"):
        read(config)


@pytest.mark.parametrize(("component", "kind"), [("full", "full"), ("1:0", "heads")])
def test_other_leaves_to_heads_and_full_what_is_theirs(config, component, kind):
    heads = config["experiments"]["language"]["sampling"]["heads"]
    other = {**copy.deepcopy(heads), "components": ["1:0+1:1", component]}
    put(config, "experiments.language.sampling.other", other)
    with pytest.raises(ConfigError, match=f"lists '{component}', which the kind `{kind}` samples"):
        read(config)
    other["components"] = ["1:0+1:1", "layer:0", "embedding"]
    assert read(config).experiments["language"].sampling.other


def test_experiments_are_not_called_like_folders_of_the_study(config):
    at = Layout("results")
    patterns = [
        at.corpus(),
        at.tokenizer(),
        at.blocks(),
        at.figure(),
        at.validation(),
        at.log("train"),
        at.benchmark("train"),
    ]
    assert {Path(pattern).parts[1] for pattern in patterns} == set(FOLDERS)
    for name in FOLDERS:
        config["experiments"][name] = copy.deepcopy(config["experiments"]["language_1layer"])
    with pytest.raises(ConfigError) as caught:
        read(config)
    for name in FOLDERS:
        assert f"experiments.{name}: '{name}' is a folder of the study" in str(caught.value)


@pytest.mark.parametrize("name", FIGURES)
def test_options_are_those_of_the_drawing_function(name):
    """The source is read without an import; ``inspect`` reads the imported function."""
    module, _, function = FIGURES[name].draws.partition(":")
    drawing = getattr(importlib.import_module(module), function)
    parameters = inspect.signature(drawing).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    read = options(FIGURES[name])
    assert list(read) == list(defaults)
    assert all(read[option] in (None, default) for option, default in defaults.items())
    assert all(read[option] == default for option, default in defaults.items() if isinstance(default, str))


def test_a_figure_without_a_function_is_named():
    with pytest.raises(ValueError, match=r"curvature\.py has no function rllc_fig99"):
        options(FigureRow("rllc.figures.heads.curvature:rllc_fig99", ("hessian",)))


def test_every_key_says_what_it_means():
    every = list(sections(Study, []))
    assert len(every) > 20
    silent = [
        f"{section.__name__}.{name}"
        for section in every
        for name, field in section.model_fields.items()
        if not field.description
    ]
    assert silent == []


def test_an_entry_set_to_null_is_removed(config):
    config["figures"]["corpus_summary"] = None
    assert "corpus_summary" not in read(config).figures


def test_datasets_follow_what_an_experiment_declares(config):
    study = read(config)
    assert datasets(study.experiments["language_1layer"]) == []
    language = study.experiments["language"]
    assert datasets(language) == [
        "rllc", "rllc.likelihood", "llc", "hessian", "fisher", "ablation", "heads", "metrics", "clusters",
    ]  # fmt: skip
    assert distributions(language, "rllc") == ["mixture", "english", "code", "one_layer"]
    assert distributions(language, "rllc.likelihood") == ["mixture"]
    assert distributions(language, "metrics") == ["mixture", "english", "code", "one_layer"]


def test_only_text_that_is_used_is_read(config):
    study = read(config)
    assert list(used_texts(study)) == ["english", "code", "mixture"]
    config["distributions"]["unused"] = {"source": "files", "path": "no/such/file", "label": "Unused"}
    assert list(used_texts(read(config))) == ["english", "code", "mixture"]


def test_the_overlays_change_only_what_they_name():
    """An overlay that repeats a default would hide a later change of it."""
    base = defaults.load(root=ROOT)
    ci = yaml.safe_load((ROOT / "config/ci.yaml").read_text())

    def repeated(overlay, under, path=""):
        for name, value in overlay.items():
            if isinstance(value, dict):
                yield from repeated(value, under.get(name) or {}, f"{path}.{name}")
            elif name in under and under[name] == value:
                yield f"{path}.{name}"

    assert list(repeated(ci, base)) == []
