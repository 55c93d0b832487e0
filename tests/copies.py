"""Copies of the project for tests, of the files that git tracks: nothing else of the user's is read or copied."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = ("src", "workflow")  # where new code belongs to the project before `git add`
SUFFIXES = (".py", ".smk", ".html")
READ = (
    "config",
    "envs",
    "profiles",
    "src",
    "tests",
    "workflow",
)  # of what is new in these, ``left_out`` speaks
ARCHIVED = (
    "Snakefile", "Makefile", "LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "benchmarks", "config",
    "docs", "envs", "examples", "profiles", "slurm", "src", "tests", "workflow",
)  # fmt: skip
ARCHIVE_BYTES = 64_000_000  # ten times the project


def copy_project(
    target: Path, *, root: Path = ROOT, only: Iterable[str] = (), without: Iterable[str] = ()
) -> Path:
    """Copy the project as it is in the working tree to a folder, which is returned.

    Copied are files that git tracks, with their uncommitted changes and without deleted ones; and new ``.py``,
    ``.smk`` and ``.html`` files in ``src`` and ``workflow`` that git does not ignore, so that code can be tried
    before `git add`. ``left_out`` names other new files. Where there is no repository, as in a source archive, these
    are the files in the project's own folders; then data of the user must not lie in them.

    only     the top folders and files to copy; empty: all
    without  those not to copy

    Raises RuntimeError where git refuses the repository, or an archive holds more than the project.
    """
    only, without = set(only), set(without)
    for name in project_files(root):
        top = name.split("/")[0]
        if top in without or (only and top not in only):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name, follow_symlinks=False)
    return target


def project_files(root: Path = ROOT) -> list[str]:
    """Return the files that ``copy_project`` copies, relative to the root."""
    if not _is_repository(root):
        return _archived(root)
    tracked = _listed(root, "--cached")
    new = [name for name in _listed(root, "--others", *CODE) if name.endswith(SUFFIXES)]
    files = [name for name in dict.fromkeys([*tracked, *new]) if os.path.lexists(root / name)]
    return [name for name in files if (root / name).is_symlink() or (root / name).is_file()]  # no submodules


def left_out(root: Path = ROOT) -> list[str]:
    """Return new files in the project's folders that its copies lack, as git does not track them."""
    if not _is_repository(root):
        return []
    copied = set(project_files(root))
    return [name for name in _listed(root, "--others", *READ) if name not in copied]


def check_room(folder: Path, needed: int) -> None:
    """Raise RuntimeError where the file system of a folder has less than the bytes needed."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RuntimeError(
            f"{folder} has {free / 1e9:.1f} GB free: these tests need up to {needed / 1e9:.1f} GB there, which "
            "they free again; make room, or set TMPDIR to a folder elsewhere"
        )


def size(folder: Path) -> int:
    """Return the bytes that the files below a folder take on disk."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # its process may remove it meanwhile
                total += (Path(place) / name).lstat().st_blocks * 512
    return total


def announce(config: pytest.Config, needed: int) -> None:
    """Say, before tests that copy the project start, what disk they need and which new files they lack.

    Raises pytest.UsageError where there is no room.
    """
    if hasattr(config, "workerinput"):
        return  # of pytest-xdist: the process that starts these has said it
    given = config.getoption("basetemp")
    folder = Path(given).resolve().parent if given else Path(tempfile.gettempdir())
    try:
        check_room(folder, needed)
    except RuntimeError as error:
        raise pytest.UsageError(str(error)) from error
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    terminal.write_line(f"These tests need up to {needed / 1e9:.1f} GB in {folder} and leave nothing there.")
    if missing := left_out():
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        names = ", ".join(missing[:5]) + more
        terminal.write_line(f"Their copies lack what git does not track (git add it): {names}")


def kept(config: pytest.Config) -> bool:
    """Whether the developer asked to look at what tests wrote: ``-o tmp_path_retention_policy=all``."""
    return config.getini("tmp_path_retention_policy") == "all"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove all that the tests wrote, as pytest does only where none failed; a folder that was given stays."""
    config = session.config
    if not (hasattr(config, "workerinput") or config.getoption("basetemp") or kept(config)):
        shutil.rmtree(config._tmp_path_factory.getbasetemp(), ignore_errors=True)


def _is_repository(root: Path) -> bool:
    """Whether the root is the top of a working tree of git; one further up is another project's."""
    return (root / ".git").exists() and shutil.which("git") is not None


def _listed(root: Path, *which: str) -> list[str]:
    option, *folders = which
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--exclude-standard", option, "--", *folders],
        env=environment, capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(
            f"git does not list the files of {root}, which tests copy: {os.fsdecode(done.stderr).strip()}"
        )
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _archived(root: Path) -> list[str]:
    """Return the files of the project's own folders where no git says which are tracked."""
    found, size = [], 0
    for top in ARCHIVED:
        path = root / top
        inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
        for file in inside:
            name = file.relative_to(root)
            if "__pycache__" in name.parts or not (file.is_symlink() or file.is_file()):
                continue
            found.append(name.as_posix())
            size += file.lstat().st_size
            if size > ARCHIVE_BYTES:
                raise RuntimeError(
                    f"{root} is no git repository, and its {', '.join(ARCHIVED[7:])} hold more than the project "
                    f"({ARCHIVE_BYTES / 1e6:.0f} MB), up to {name}: tests copy them; move your data elsewhere"
                )
    return found
