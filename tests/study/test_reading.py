import copy
import importlib
import inspect
import re
from pathlib import Path

import pytest
import yaml
from refused import refused

from rllc.study import defaults
from rllc.study.datasets import datasets, distributions, used_texts
from rllc.study.document import sections
from rllc.study.figure_options import misfit, options
from rllc.study.figures import FIGURES
from rllc.study.layout import Layout
from rllc.study.reading import FOLDERS, ConfigError, read
from rllc.study.specs import FigureSpec
from rllc.study.study import Study

ROOT = Path(__file__).resolve().parents[2]


def put(config, path, value):
    """Set ``a.b.c``; the last name may be new."""
    *parents, last = path.split(".")
    for name in parents:
        config = config[name]
    config[last] = value


@pytest.mark.parametrize(
    "overlay",
    [None, "ci.yaml", "distributions.yaml", "gpu.yaml", "paper.yaml", "sorting.yaml", "stages.yaml"],
)
def test_the_configs_that_come_with_the_project_are_valid(overlay):
    study = read(defaults.load([ROOT / "config" / overlay] if overlay else [], ROOT))
    assert study.figures
    name = "sort_2head_baseline" if overlay == "sorting.yaml" else "language"
    whole = overlay in ("stages.yaml", "distributions.yaml")
    assert ("llc" if whole else "rllc") in datasets(study.experiments[name])


def test_a_missing_key_is_named(config):
    del config["experiments"]["language"]["sampling"]["heads"]["n_beta"]
    assert refused(config) == [("experiments.language.sampling.heads.n_beta", "missing")]


def test_all_problems_are_listed_at_once(config):
    put(config, "experiments.language.metrics.icl_late", [110, 500])
    put(config, "experiments.language.checkpoints.chunks", [5])
    own = "experiments.language"
    assert {key for key, _ in refused(config)} == {f"{own}.metrics.icl_late", f"{own}.checkpoints.chunks"}


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
        at.partial_dataset(),
    ]
    assert {Path(pattern).parts[1] for pattern in patterns} == set(FOLDERS)
    for name in FOLDERS:
        config["experiments"][name] = copy.deepcopy(config["experiments"]["language_1layer"])
    assert {(f"experiments.{name}", "contradiction") for name in FOLDERS} <= set(refused(config))


def test_parts_are_one_per_seed_chunk_and_distribution_where_there_are_any():
    at = Layout("results")
    asked = ({*re.findall(r"{(\w+)}", at.part(of_distribution=of))} for of in (True, False))
    seeds = {"experiment", "dataset", "seed", "start"}
    assert [*asked] == [seeds | {"distribution"}, seeds]


@pytest.mark.parametrize("name", FIGURES)
def test_options_are_those_of_the_drawing_function(name):
    """The source is read without an import; ``inspect`` reads the imported function."""
    module, _, function = FIGURES[name].draws.partition(":")
    drawing = getattr(importlib.import_module(module), function)
    parameters = inspect.signature(drawing).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    read = options(FIGURES[name])
    assert list(read) == list(defaults)
    assert all(misfit(FIGURES[name], option, object()) for option in read)
    assert not any(
        misfit(FIGURES[name], option, None) for option, default in defaults.items() if default is None
    )
    assert all(read[option] in (None, default) for option, default in defaults.items())
    assert all(read[option] == default for option, default in defaults.items() if isinstance(default, str))


def test_a_figure_without_a_function_is_named():
    with pytest.raises(ValueError, match=r"curvature\.py has no function rllc_fig99"):
        options(FigureSpec("rllc.figures.heads.curvature:rllc_fig99", ("hessian",)))


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


def test_figures_of_claims_go_where_nothing_is_judged(config):
    assert {"claims", "sort_summary"} <= {*read(config).figures}
    assert not {"claims", "sort_summary"} & {*read(config | {"claims": []}).figures}
    config["experiments"] |= {"sort_1head": None, "sort_2head_baseline": None}
    figures = read(config).figures
    assert "claims" in figures and "sort_summary" not in figures


def test_datasets_follow_what_an_experiment_declares(config):
    study = read(config)
    assert datasets(study.experiments["language_1layer"]) == ["metrics", "training_loss"]
    language = study.experiments["language"]
    assert datasets(language) == [
        "ablation", "attention_scores", "fisher", "hessian", "hessian_rank", "induction_ablation", "metrics", "ngrams",
        "path_patching", "positions", "llc", "rllc", "rllc.likelihood", "rllc.scaled", "tokens", "training_loss",
        "classification", "clusters", "kcomposition", "patched_paths", "refinement", "stages", "staggered",
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


def test_text_that_is_trained_on_is_used_though_nothing_is_measured_on_it(config):
    config["experiments"] = {"language": config["experiments"]["language_1layer"]}
    config["experiments"]["language"] |= {"distributions": ["english"], "metrics": None}
    del config["distributions"]["one_layer"]
    only = read(
        {name: type(each)() if name in ("claims", "figures") else each for name, each in config.items()}
    )
    assert only.experiments["language"].training.distribution == "mixture"
    assert list(used_texts(only)) == ["english", "mixture"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"results": "caf\udce9"}, "results"),
        ({"distributions": {"caf\udce9": {"label": "x"}}}, r"distributions: the key 'caf\udce9'"),
        ({"experiments": {"language": {"checkpoints": {"path": ["a", "\ud800"]}}}}, "path.1"),
    ],
)
def test_text_that_is_not_utf8_is_refused_where_it_stands(change, place):
    """`--config` takes any bytes, and YAML escapes of half a character."""
    with pytest.raises(ConfigError) as raised:
        read(change)
    assert place in str(raised.value)
    assert "UTF-8" in str(raised.value)
    assert str(raised.value).encode("utf-8")
