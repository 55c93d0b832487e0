"""Tests copy what git tracks, and nothing of the user's."""

import os
import shutil
import subprocess
import sys

import copies
import pytest


def git(root, *arguments):
    subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        check=True,
        capture_output=True,
    )


def put(root, name, text="x"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files(root):
    return {
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_symlink() or path.is_file()
    }


TRACKED = (
    "Snakefile",
    "src/rllc/a.py",
    "src/rllc/b.py",
    "config/ci.yaml",
    "docs/ü and spaces.md",
    "results/README.md",
)


@pytest.fixture
def project(tmp_path):
    """A small repository with a link in it."""
    root = tmp_path / "project"
    for name in TRACKED:
        put(root, name)
    put(root, ".gitignore", ".venv-peer/\n*.ignored.py\n")
    (root / "slurm").symlink_to("config")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return root


def test_copy_of_a_repository_has_its_files_changed_ones_and_links(project, tmp_path):
    put(project, "src/rllc/a.py", "changed")
    (project / "src/rllc/b.py").unlink()
    made = copies.copy_project(tmp_path / "copy", root=project, without=["results"])
    assert files(made) == {*TRACKED, ".gitignore", "slurm"} - {"src/rllc/b.py", "results/README.md"}
    assert (made / "src/rllc/a.py").read_text() == "changed"
    assert (made / "slurm").is_symlink()


@pytest.mark.parametrize(
    "name",
    [
        "texts/large.txt",
        ".venv-peer/lib/large.so",
        "large.nc",
        "config/large.bin",
        "src/large.npz",
        "src/a/large.txt",
    ],
)
def test_copy_beside_large_untracked_files_costs_nothing(project, tmp_path, name):
    with put(project, name, "").open("wb") as large:
        large.truncate(10**8)
    made = copies.copy_project(tmp_path / "copy", root=project)
    assert files(made) == {*TRACKED, ".gitignore", "slurm"}


def test_copy_has_new_code_and_names_other_new_files(project, tmp_path):
    for name in (
        "src/rllc/new.py",
        "src/rllc/new.html",
        "workflow/rules/new.smk",
        "src/my.ignored.py",
        "config/new.yaml",
        "mine/new.py",
    ):
        put(project, name)
    made = copies.copy_project(tmp_path / "copy", root=project)
    new = files(made) - {*TRACKED, ".gitignore", "slurm"}
    assert new == {"src/rllc/new.py", "src/rllc/new.html", "workflow/rules/new.smk"}
    assert copies.left_out(project) == ["config/new.yaml"]


def test_copy_is_of_this_repository_whatever_git_variables_say(project, tmp_path, monkeypatch):
    other = tmp_path / "other"
    put(other, "foreign.py")
    git(tmp_path, "init", "-q", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert set(copies.project_files(project)) == {*TRACKED, ".gitignore", "slurm"}


def test_copy_of_an_archive_inside_another_repository_has_the_projects_own_folders(project, tmp_path):
    shutil.rmtree(project / ".git")
    git(tmp_path, "init", "-q")
    put(project, "texts/mine.txt")
    put(project, "src/__pycache__/a.pyc")
    made = copies.copy_project(tmp_path / "copy", root=project)
    assert files(made) == {*TRACKED, "slurm"} - {"results/README.md"}


def test_copy_of_an_archive_with_large_data_is_refused_with_its_name(project, tmp_path):
    shutil.rmtree(project / ".git")
    with (project / "config/large.bin").open("wb") as large:
        large.truncate(10**8)
    with pytest.raises(RuntimeError, match=r"config/large\.bin"):
        copies.copy_project(tmp_path / "copy", root=project)
    assert not (tmp_path / "copy").exists()


def test_copy_of_a_broken_repository_is_refused_with_its_folder(project, tmp_path):
    (project / ".git/HEAD").write_text("nothing")
    with pytest.raises(RuntimeError, match=str(project)):
        copies.copy_project(tmp_path / "copy", root=project)


def test_copy_of_named_folders_has_these_alone(project, tmp_path):
    made = copies.copy_project(tmp_path / "copy", root=project, only=["config"])
    assert files(made) == {"config/ci.yaml"}


def test_room_that_is_not_there_is_refused_with_the_folder(tmp_path):
    copies.check_room(tmp_path, 1)
    with pytest.raises(RuntimeError, match=str(tmp_path)):
        copies.check_room(tmp_path, 10**18)


SESSION = """
import pytest

@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    made = tmp_path_factory.mktemp("shared")
    (made / "large").write_text("x" * 10_000)
    return made

def test_fails(shared, tmp_path):
    (tmp_path / "large").write_text("x" * 10_000)
    assert not tmp_path.exists()

def test_passes(shared, tmp_path):
    (tmp_path / "large").write_text("x" * 10_000)
"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_session_of_tests_that_fails_leaves_no_file_in_the_temporary_folder(processes, tmp_path):
    put(tmp_path, "conftest.py", "from copies import pytest_sessionfinish\n")  # as tests/conftest.py
    script, place = put(tmp_path, "test_session.py", SESSION), tmp_path / "temporary"
    place.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(copies.ROOT / "pyproject.toml"), "--rootdir=.", "-n", processes, script.name],
        cwd=tmp_path, env=environment | {"TMPDIR": str(place)}, capture_output=True, text=True,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert [path for path in place.rglob("*") if path.name == "large"] == []


def test_archive_copies_every_tracked_folder_of_this_project():
    """``ARCHIVED`` names all of them."""
    tops = {name.split("/")[0] for name in copies.project_files()}
    assert {top for top in tops if not top.startswith(".")} - {"results"} <= set(copies.ARCHIVED)
    assert all(os.path.lexists(copies.ROOT / name) for name in copies.ARCHIVED)
