import importlib.metadata
import platform

import pytest

from rllc.study.distributions import Files, Installed
from rllc.study.parameters import read_corpus
from rllc.study.texts import files, normalised, versions


def own(*patterns):
    return files(Files(source="files", path=list(patterns), label="x"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    for name in (
        "texts/a.txt",
        "texts/deep/b.txt",
        "texts/[x].txt",
        "texts/a {\nc.txt",
        "texts/é \U0001f600.txt",
    ):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["texts/a.txt"], ["texts/a.txt"]),
        (["texts/**/?.txt"], ["texts/a.txt", "texts/deep/b.txt"]),
        (["texts/deep/*", "texts/deep/b.txt"], ["texts/deep/b.txt"]),
        (["texts/[x].txt"], ["texts/[x].txt"]),
        (["texts/a {\nc.txt"], ["texts/a {\nc.txt"]),
        (["texts/é*"], ["texts/é \U0001f600.txt"]),
    ],
)
def test_files_of_ones_own_are_inputs(folder, patterns, found):
    assert own(*patterns) == found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("none/*.txt", "no file matches 'none/*.txt' (from "),
        ("texts", "texts is a folder: say which files in it, such as texts/**/*.txt"),
        ("texts/", "texts/ is a folder"),
        ("dangling.txt", "no file matches 'dangling.txt'"),
        ("itself.txt", "no file matches 'itself.txt'"),
        ("~nosuchuser/*.txt", "'~nosuchuser/*.txt': "),
        (
            "braces/*",
            "'braces/{x}.txt' has a name in braces, which Snakemake takes for a wildcard: rename it",
        ),
        ("braces/{x}.txt", "'braces/{x}.txt' has a name in braces"),
        ("a\0b", "no file matches 'a\\x00b'"),
        ("", "is a folder"),
        ("loop/**/*.txt", "loop/up links to a folder that contains it: remove the link"),
    ],
)
def test_paths_are_refused_with(folder, pattern, message):
    (folder / "dangling.txt").symlink_to("gone")
    (folder / "itself.txt").symlink_to("itself.txt")
    (folder / "braces").mkdir()
    (folder / "braces" / "{x}.txt").touch()
    (folder / "loop").mkdir()
    (folder / "loop" / "a.txt").touch()
    (folder / "loop" / "up").symlink_to("..")
    (folder / "loop" / "up2").symlink_to("..")  # two of them have 2^40 paths
    with pytest.raises(ValueError) as caught:
        own(pattern)
    assert message in str(caught.value)


def test_a_link_to_another_folder_is_followed(folder):
    (folder / "more").mkdir()
    (folder / "more" / "linked").symlink_to("../texts/deep")
    assert own("more/**/*.txt") == ["more/linked/b.txt"]
    (folder / "more" / "up").symlink_to("..")
    assert own("more/up/texts/deep/**/*.txt") == ["more/up/texts/deep/b.txt"]  # not searched
    assert own("more/*/b.txt") == ["more/linked/b.txt"]


def test_a_reader_is_told_every_key_but_the_split_and_the_label():
    entry = Files(source="files", path="a.txt", label="x", held_out=0.2, field="text")
    told = read_corpus(entry)
    assert told.keywords == {"path": "a.txt", "field": "text", "where": None}
    assert (told.kind, told.held_out) == ("files", 0.2)


def test_versions_are_those_of_python_and_the_packages():
    entry = Installed(
        source="installed",
        kind="code",
        packages=["stdlib", "numpy", "none-such"],
        megabytes=1,
        held_out=0.1,
        label="x",
    )
    numpy = importlib.metadata.version("numpy")
    assert versions(entry) == {
        "python": platform.python_version(),
        "numpy": numpy,
        "none-such": "not installed",
    }


@pytest.mark.parametrize(("packages", "same"), [(["numpy"], True), (["numpy", "stdlib"], False)])
def test_patch_of_python_is_a_cause_of_the_standard_library_alone(monkeypatch, packages, same):
    entry = Installed(
        source="installed", kind="code", packages=packages, megabytes=1, held_out=0.1, label="x"
    )
    found = []
    for python in ("3.11.2", "3.11.7"):
        monkeypatch.setattr("rllc.study.texts.python_version", lambda python=python: python)
        found.append(versions(entry))
    assert (found[0] == found[1]) == same


def test_weights_of_a_mixture_are_shares_whatever_their_order():
    found = normalised({"b": 3.0, "a": 1.0})
    assert list(found.items()) == [("a", 0.25), ("b", 0.75)]
