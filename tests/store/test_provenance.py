import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from rllc.store.provenance import attributes

SOURCE = Path(__file__).resolve().parents[2] / "src"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
NONE = "not under git"


def test_facts_are_text_functions_by_name_and_json_in_one_order():
    made = attributes(code="c", kernel=json.dumps, settings={"b": [1, None], "a": 0.5})
    versions = json.loads(made.pop("versions"))
    assert made == {
        "Conventions": "CF-1.11",
        "code": "c",
        "kernel": "json:dumps",
        "settings": '{"a": 0.5, "b": [1, null]}',
    }
    assert {
        name: version(name) for name in ("torch", "numpy", "xarray", "netCDF4")
    }.items() <= versions.items()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """This package in a folder under no git, as an archive of it is unpacked."""
    root = tmp_path_factory.mktemp("archive") / "rllc"
    for name in ("rllc/__init__.py", "rllc/store/__init__.py", "rllc/store/provenance.py"):
        (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, root / "src" / name)
    return root


def committed(folder: Path) -> str:
    """Make a folder with all that is in it a repository; its commit."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").touch()
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "m"]):
        subprocess.run([*GIT, *command], cwd=folder, check=True, env=without_git())
    described = [*GIT, "describe", "--always", "--abbrev=12"]
    return subprocess.run(
        described, cwd=folder, check=True, env=without_git(), capture_output=True, text=True
    ).stdout.strip()


def without_git() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def recorded(root: Path, cwd: Path | None = None, **variables: str) -> str:
    """The commit that a job of the package in ``root`` records."""
    call = "from rllc.store.provenance import stamp; print(stamp()['git_commit'])"
    # -B: a cache beside the source would make a repository dirty
    return subprocess.run(
        [sys.executable, "-B", "-c", call], cwd=cwd or root, check=True, capture_output=True, text=True,
        env=without_git() | {"PYTHONPATH": str(root / "src")} | variables,
    ).stdout.strip()  # fmt: skip


@pytest.fixture
def other(tmp_path):
    """Another repository."""
    committed(tmp_path / "other")
    return tmp_path / "other"


@pytest.fixture
def clone(unpacked, tmp_path):
    """A repository of this package, and its commit."""
    root = shutil.copytree(unpacked, tmp_path / "clone")
    return root, committed(root)


def test_commit_of_a_clone_is_its_own_from_any_folder(clone, other):
    root, commit = clone
    assert recorded(root) == recorded(root, cwd=other) == commit
    (root / "src/rllc/store/provenance.py").open("a").write("\n")
    assert recorded(root) == f"{commit}-dirty"


def test_commit_of_an_archive_unpacked_inside_a_repository_is_none(unpacked, other):
    assert recorded(unpacked) == NONE
    assert recorded(shutil.copytree(unpacked, other / "rllc")) == NONE


def test_commit_of_an_archive_committed_into_a_repository_is_none(unpacked, tmp_path):
    root = shutil.copytree(unpacked, tmp_path / "thesis" / "rllc")
    committed(tmp_path / "thesis")
    assert recorded(root) == NONE


@pytest.mark.parametrize("set_to", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"])
def test_commit_of_a_clone_is_its_own_whatever_git_is_told(clone, other, set_to):
    """As in a hook of another repository, which sets GIT_DIR and GIT_INDEX_FILE."""
    root, commit = clone
    told = {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git/index",
        "GIT_CEILING_DIRECTORIES": root,
    }
    assert recorded(root, **{set_to: str(told[set_to])}) == commit


def test_commit_of_an_archive_is_none_whatever_git_is_told(unpacked, other):
    assert recorded(unpacked, GIT_DIR=str(other / ".git")) == NONE
    assert recorded(unpacked, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(unpacked)) == NONE


def test_commit_of_a_worktree_and_through_a_link_is_that_of_the_clone(clone, tmp_path):
    root, commit = clone
    subprocess.run(
        [*GIT, "worktree", "add", "-q", tmp_path / "tree"], cwd=root, check=True, env=without_git()
    )
    (tmp_path / "link").symlink_to(root)
    assert recorded(tmp_path / "tree") == recorded(tmp_path / "link") == commit


def test_commit_says_why_git_cannot_read_the_clone(clone):
    root, _ = clone
    (root / ".git/HEAD").write_text("nonsense")
    assert recorded(root).startswith("unknown: ")
    assert recorded(root, PATH="/nowhere").startswith("unknown: ")
