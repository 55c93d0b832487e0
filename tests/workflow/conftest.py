"""A checkout of its own for every test that edits one, with the CI study already run in it."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import copies
import forked
import forked_jobs
import pytest

OVERLAY = "config/ci.yaml"
NEEDED = (
    2_000_000_000  # bytes, of at most four processes at a time, which is what `make workflow-test` starts
)
SHARE = NEEDED // 4  # a finished study takes 50 MB, and few tests have more than two copies


def pytest_sessionstart(session: pytest.Session) -> None:
    copies.announce(session.config, NEEDED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.workflow)


class Checkout:
    """A copy of the project, and what one does in it."""

    def __init__(self, root: Path):
        self.root = root

    @property
    def said(self) -> Path:
        """What the run that finished it wrote to the terminal; of ``finished`` alone."""
        return self.root.parent / "said.txt"

    def snakemake(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the real thing; its output is in the error where it fails."""
        given = ("--cores", "2", "--configfile", OVERLAY, *arguments)
        environment = forked_jobs.environment(self.environment())
        done = forked.snakemake(*given, folder=self.root, environment=environment)
        if check and done.returncode:
            raise AssertionError(f"snakemake failed:\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}")
        return done

    def plan(self, *targets: str, overlays: tuple[str, ...] = ()) -> list[tuple[str, dict[str, str]]]:
        """The jobs that a run would start: (rule, wildcards)."""
        return forked.plan(self.root, [OVERLAY, *overlays], targets, self.environment())

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text that must be there."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} no longer holds {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    @staticmethod
    def environment() -> dict[str, str]:
        """Without what pytest or an outer run of Snakemake set."""
        dropped = ("PYTEST", "PYTHONPATH", "SNAKEMAKE", "OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "NUMBA_")
        return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}

    def copy(self, folder: Path) -> "Checkout":
        """Another like it, in a folder; modification times kept. Locks are of runs that others start in it."""
        locks = shutil.ignore_patterns("locks")
        return Checkout(shutil.copytree(self.root, folder / "rllc", symlinks=True, ignore=locks))

    def write(self, file: str, text: str) -> str:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return file


@pytest.fixture(autouse=True)
def _bounded(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Hold the process to its share of the disk, and remove what the test wrote, whether it passed or not.

    What is for several tests goes at the end of the session: ``copies.pytest_sessionfinish``.
    """
    copies.check_room(tmp_path, SHARE)
    yield
    written = copies.size(tmp_path_factory.getbasetemp())
    if not copies.kept(request.config):
        shutil.rmtree(tmp_path, ignore_errors=True)
        assert written <= SHARE, f"this process keeps {written / 1e6:.0f} MB, NEEDED is for {SHARE / 1e6:.0f}"


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Checkout]:
    """Makes a checkout in which nothing has run: ``copies.copy_project`` says of which files."""

    def copy() -> Checkout:
        root = tmp_path_factory.mktemp("study with spaces") / "rllc"
        return Checkout(copies.copy_project(root, without=["results", "tests"]))

    return copy


@pytest.fixture(scope="session")
def finished(fresh: Callable[[], Checkout], tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which the CI study has run. Read only: take ``checkout`` to change something.

    One for all workers of a run: the first that asks makes it, the others wait.
    """
    mine = tmp_path_factory.getbasetemp()
    with ((mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / "finished").open("a+") as known:
        fcntl.flock(known, fcntl.LOCK_EX)
        known.seek(0)
        if root := known.read():
            return Checkout(Path(root))
        made = fresh()
        done = made.snakemake()
        made.said.write_text(done.stdout + done.stderr, encoding="utf-8")
        known.write(str(made.root))
        return made


@pytest.fixture
def checkout(finished: Checkout, tmp_path: Path) -> Checkout:
    """A copy of ``finished``."""
    return finished.copy(tmp_path)


@pytest.fixture
def rules() -> Callable[[list[tuple[str, dict[str, str]]]], set[str]]:
    """Names of the rules in a plan, without the target rule."""
    return lambda plan: {rule for rule, _ in plan} - {"all"}
