"""Configs that must be refused: each in one clear error, by name, whatever they hold."""

import copy
import re
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
import yaml
from refused import refusal, refused

from rllc.study import defaults
from rllc.study.config_model import ConfigError
from rllc.study.document import sections
from rllc.study.reading import read
from rllc.study.sampling import SamplerOptions
from rllc.study.study import Study

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEFAULT = defaults.load(root=ROOT)
EVERY_KEY = defaults.load([HERE / "every_key.yaml"], ROOT)
CASES = yaml.safe_load((HERE / "malformed.yaml").read_text())


def put(config, place, value):
    """A config with ``value`` at ``a.b.c``, or at the names of a list; of the old one only those tables are copied."""
    *parents, last = (
        place.split(".") if isinstance(place, str) else place if isinstance(place, list) else [place]
    )
    config = here = dict(config)
    for name in parents:
        here[name] = here = dict(here.get(name, {}))
    here[last] = copy.deepcopy(value)
    return config


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_wrong_is_refused_by_its_key_and_kind(case):
    place, value, kind, *elsewhere = case
    error = refusal(put(DEFAULT, place, value))
    key = elsewhere[0] if elsewhere else str(place)
    assert (key, kind) in [(problem.key, problem.kind) for problem in error.problems]
    assert str(error).startswith("the config cannot be used:\n  - ") and len(str(error).splitlines()) < 30
    assert all(problem.key and problem != f"{problem.key}: " for problem in error.problems)


def leaves(value, place=()):
    """Places of all values that are no tables, and these values; null and the options of figures left out."""
    for name, entry in value.items():
        if isinstance(entry, dict):
            if name != "options":
                yield from leaves(entry, (*place, name))
        elif entry is not None:
            yield (*place, name), entry


def kind(value):
    if isinstance(value, bool):
        return "switch"
    return {int: "number", float: "number", str: "text", list: "list"}[type(value)]


# what a value of each kind may not be
WRONG = {
    "number": [
        "many",
        True,
        float("nan"),
        float("inf"),
        -float("inf"),
        [1],
        {"a": 1},
        -1,
        10**30,
        "1e3",
        None,
    ],
    "text": [3, True, 0.5, ["a"], {"a": "b"}, None],
    "switch": ["yes", 1, 0.0, [True], {"a": True}, None],
    "list": ["many", 3, True, {"a": 1}, [{}], [None], [[{}]], [], None],
}
# keys for which null means something, in one section at least
NULLABLE = {
    "field", "config", "revision", "label", "corpus", "pretrained", "bos", "gradient_clip", "embedding_scale", "position_scale", "ratio",
    "scored_positions", "contexts_at_once", "reference_norm", "distributions", "seeds", "components", "rank_tolerance", "batch_size",
    "to_step", "over_heads", "step", "threshold", "against", "versus", "at_least", "at_most", "icl_early", "icl_late",
    "draws", "experiment", "layer", "checkpoints", "points", "of_heads", "given", "code_distribution", "tasks", "until", "places", "factor", "published", "over_seeds",
    *SamplerOptions.model_fields, "gpu_jobs", "sampler_options", "precise", "precise_at", "share", "of", "bound", "stage", "among", "divided_by", "needs", "types",
}  # fmt: skip
NULLABLE |= {("experiments", "language", "integrity", "distribution")}
# lists that may be empty, or are refused later, with what else contradicts
EMPTY = {"ranges", "extra", "gpu_jobs", "chunks", "components", "programming", "science", ("claims",)}
EMPTY |= {("experiments", name, "distributions") for name in EVERY_KEY["experiments"]}
SIGNED = {"at_least", "at_most", "threshold", "bound"}
FIRST = {"like", "family"}  # are followed before the rest is read
SEVERAL = {("distributions", "my_text", "path")}  # of two kinds


@pytest.mark.parametrize(
    ("of", "wrong"), [(of, wrong) for of, every in WRONG.items() for wrong in every], ids=str
)
def test_every_key_of_a_kind_refuses_what_is_not_of_it(of, wrong):
    """All keys of the kind at once, but for those that say how the others are read: each must be named."""
    places = [place for place, value in leaves(EVERY_KEY) if kind(value) == of and place not in SEVERAL]
    but = FIRST | (SIGNED if wrong == -1 else NULLABLE if wrong is None else EMPTY if wrong == [] else set())
    places = [place for place in places if not but & {place, place[-1]}]
    leading = [place for place in places if "model" in place or place[-1] == "source"]
    for group in leading, [place for place in places if place not in leading]:
        config = EVERY_KEY
        for place in group:
            config = put(config, [*place], wrong)
        keys = [f"{key}." for key, _ in refused(config)] if group else []
        assert [
            ".".join(p) for p in group if not any(key.startswith(f"{'.'.join(p)}.") for key in keys)
        ] == []


def tables(value, place=()):
    """Places of all tables; the options of figures left out."""
    for name, entry in value.items():
        if isinstance(entry, dict) and name != "options":
            yield (*place, name)
            yield from tables(entry, (*place, name))


# tables whose keys are names: of entries, or of parts and dims
NAMED = {
    "distributions",
    "tokenizers",
    "experiments",
    "figures",
    "animations",
    "sampling_variants",
}
ENTRIES = NAMED | {"weights"}


def kinds_of_tables():
    """A place for each section: entries of a table are alike."""
    seen = {}
    for place in tables(EVERY_KEY):
        alike = tuple("*" if i and place[i - 1] in NAMED else part for i, part in enumerate(place))
        seen.setdefault(alike, place)
    return [*seen.values()]


@pytest.mark.parametrize("place", kinds_of_tables(), ids=".".join)
def test_every_section_is_a_table_and_refuses_a_key_that_it_does_not_know(place):
    for wrong in "abc", 3, True, ["a"], [{}]:
        assert any(key.startswith(".".join(place)) for key, _ in refused(put(EVERY_KEY, [*place], wrong)))
    section = reduce(getitem, place, EVERY_KEY)
    if section and place[-1] not in ENTRIES:
        known = next(iter(section))
        said = str(refusal(put(EVERY_KEY, [*place, f"{known}x"], 1)))
        assert f"  - {'.'.join(place)}: unknown key '{known}x'; did you mean '{known}'?" in said


REFERENCES = [
    ("distributions.one_layer.experiment", "language_1layer"),
    ("distributions.one_layer.contexts", "mixture"),
    ("distributions.english.source", "installed"),
    ("tokenizers.bpe.corpus", "mixture"),
    ("compute.gpu_jobs", ["sample_heads"]),
    ("experiments.sort_1head.like", "sort_2head_baseline"),
    ("experiments.language.task", "language"),
    ("experiments.language.tokenizer", "numbers"),
    ("experiments.language.model.positions", "shortformer"),
    ("experiments.language.training.distribution", "mixture"),
    ("experiments.language.distributions", ["english"]),
    ("experiments.language.sampling.heads.distributions", ["mixture"]),
    ("experiments.language.sampling.other.distributions", ["mixture"]),
    ("experiments.language.sampling.other.sampler", "rmsprop"),
    ("experiments.language.sampling_variants.likelihood.heads.distributions", ["mixture"]),
    ("experiments.language.hessian.distributions", ["english"]),
    ("experiments.language.fisher.distributions", ["english"]),
    ("experiments.language.hessian_rank.distributions", ["english"]),
    ("experiments.language.ablation.distributions", ["english"]),
    ("experiments.language.clusters.distributions", ["mixture"]),
    ("experiments.language.clusters.algorithms", ["dtw_kmeans"]),
    ("experiments.language.calibration.distributions", ["english"]),
    ("experiments.language.calibration.dependence.distributions", ["english"]),
    ("figures.my_curves.draws", "rllc_by_distribution"),
    ("figures.my_curves.experiment", "language"),
    ("figures.my_curves.options.distributions", ["english"]),
    ("figures.stage_fig1a_lm.options.distribution", "mixture"),
    ("animations.sort_2head_baseline.draws", "sort_animation"),
    ("animations.sort_2head_baseline.experiment", "sort_2head_baseline"),
    ("claims", ["heads"]),
]


@pytest.mark.parametrize(("place", "name"), REFERENCES, ids=str)
def test_a_misspelt_name_is_refused_and_the_right_one_suggested(place, name):
    right = name[0] if isinstance(name, list) else name
    wrong = f"{right[:-2]}{right[-1]}{right[-2]}x"
    said = str(refusal(put(EVERY_KEY, place, [wrong] if isinstance(name, list) else wrong)))
    key = re.escape(place)
    suggested = right.rpartition(".")[2] if ".of" in place or "against" in place else right
    assert re.search(rf"  - {key}(\.0)?: .*; did you mean '{suggested}'\?", said)


def test_the_example_has_every_key_of_every_section():
    """Sections of models that read files of the user have tests of their own beside this one."""
    given = {place[-1] for place, _ in leaves(EVERY_KEY)} | {place[-1] for place in tables(EVERY_KEY)}
    apart = ("rllc.study.huggingface.", "rllc.study.module.")
    own = [each for each in sections(Study, []) if not each.__module__.startswith(apart)]
    assert {name for section in own for name in section.model_fields} - given == {"options"}
    assert read(EVERY_KEY).experiments["theirs"]


LATIN = "results: results/\xe9t\xe9".encode("latin-1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed: 1\nfigures: {}\nseed: 2\n", "seed: on line 1 and again on line 3; keep one of them"),
        ("figures:\n  a: null\nfigures:\n  b: null\n", "figures: on line 1 and again on line 3"),
        (
            "experiments:\n  b: {}\n  a:\n    seeds: [0]\n    seeds: [1]\n",
            "experiments.a.seeds: on line 4 and again on line 5",
        ),
        ("compute: {threads: 1, threads: 2}", "compute.threads: on line 1 and again on line 1"),
        ('{"compute": {"threads": 1,\n "threads": 2}}', "compute.threads: on line 1 and again on line 2"),
        ('"seed": 1\nseed: 2\n', "seed: on line 1 and again on line 2"),
        (LATIN, "byte 17 is not UTF-8; save the file in that encoding"),
        (b"\x00\x01", "unacceptable character #x0000"),
        ("a: &a {b: *a}", "line 1: *a refers to a value that contains it; remove the alias"),
        ("a: &a [*a]", "line 1: *a refers to a value that contains it; remove the alias"),
        ("a: *b", "line 1: found undefined alias"),
        ("a: " + "[" * 3000 + "]" * 3000, "line 1: tables lie in each other more than 30 deep"),
        ('{"a":' * 10**5 + "1" + "}" * 10**5, "line 1: tables lie in each other more than 30 deep"),
        ("- seed: 1", "expected a table of keys, not [{'seed': 1}]"),
        ("seed", "expected a table of keys, not 'seed'"),
        ("seed: 1: 2", "line 1: mapping values are not allowed in this context"),
        ("a: [1,\nb: 2", "line 3: did not find expected ',' or ']'"),
        ("\tseed: 1", "line 1: found character that cannot start any token"),
        ("? [a]\n: 1", "line 1: found unhashable key"),
        ("a: 2020-99-99", "month must be in 1..12"),
        ("a: !!python/object:os.system x", "line 1: could not determine a constructor for the tag"),
        ("seed: 1\n---\nseed: 2", "line 2: but found another document"),
        (
            "experiments:\n  langauge: null\n  language: null\n",
            "experiments.langauge: null removes nothing, no file has it; did you mean 'language'?",
        ),
        ("distributions: {codes: null}", "distributions.codes: null removes nothing, no file has it"),
        ("tokenizers: {9: null}", "tokenizers.9: null removes nothing, no file has it; known here: "),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_file_that_says_two_things_or_none_is_refused(text, words, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        defaults.load([overlay], ROOT)
    assert f"{overlay}: " in str(caught.value) and words in str(caught.value)


def test_formulas_and_escaped_dollars_are_shown():
    for label in "$x_{ind}$", r"$\frac{1}{2}$ {LaTeX}", r"costs \$5", r"\$5 of $x$":
        assert (
            read(put(DEFAULT, "distributions.english.label", label)).distributions["english"].label == label
        )


def test_tables_in_themselves_and_lists_of_lists_of_the_same_come_to_an_end():
    loop, many = {}, [0]
    loop["b"] = loop
    for _ in range(20):
        many = [many] * 9
    for place, value in (("experiments.a", loop), ("figures.a", many)):
        assert {kind for _, kind in refused(put(DEFAULT, place, value))} == {"unstorable"}


def test_anchors_and_merge_keys_are_no_repetition(tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(
        "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [{x: 1}, {x: 1}]\nd: {<<: *a, <<: {z: 1}}\n"
    )
    found = defaults.load([overlay], ROOT)
    assert found["b"] == {"x": 3, "y": 2} and found["d"] == {"x": 1, "y": 2, "z": 1}


def test_of_a_value_and_what_it_holds_the_inner_problem_is_said():
    """A path is one text or several: what is wrong in the second of several is no matter of the first kind."""
    problems = refused(put(EVERY_KEY, ["distributions", "my_text", "path"], ["README.md", 3]))
    mine = [problem for problem in problems if "my_text" in problem[0]]
    assert mine == [("distributions.my_text.path.1", "string_type")]
