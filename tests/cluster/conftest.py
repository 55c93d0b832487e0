"""A real Slurm for the session, and a tiny study to break."""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import copies
import pytest
from filelock import FileLock

HERE = Path(__file__).parent
NEEDED = 2_000_000_000  # bytes


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"slurm_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


clusters, logins = _load("cluster"), _load("login")


def pytest_sessionstart(session: pytest.Session) -> None:
    copies.announce(session.config, NEEDED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in Path(item.fspath).parents:
            item.add_marker(pytest.mark.slurm)


@pytest.fixture(scope="session")
def login() -> Any:
    """The module that makes checkouts on the login node."""
    return logins


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A private cluster; the tests that need one are skipped where there can be none."""
    reason = clusters.why_not()
    if reason:
        pytest.skip(reason)
    with clusters.started() as running:
        yield running


@pytest.fixture(scope="session")
def accounting() -> Iterator[Any]:
    """A private cluster with a database of accounts."""
    reason = clusters.why_not(accounting=True)
    if reason:
        pytest.skip(reason)
    with clusters.started(accounting=True) as running:
        yield running


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Everything that the tests of this process write, removed at the end: checkouts with results are large."""
    made = tmp_path_factory.mktemp("slurm with spaces")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder that all test processes share."""
    base = tmp_path_factory.getbasetemp()
    made = (base if worker_id == "master" else base.parent) / "slurm in common"
    made.mkdir(exist_ok=True)
    return made


def _once(root: Path, make: Callable[[], None]) -> None:
    """Of the test processes, the first that gets here makes a folder; the others wait for it."""
    done = root.with_suffix(".done")
    with FileLock(root.with_suffix(".lock")):
        if not done.exists():
            make()
            done.touch()


@pytest.fixture(scope="session")
def begun(cluster: Any, common: Path) -> Any:
    """The tiny study, run locally until its checkpoints are there. Read only."""
    root = common / "begun"
    study = logins.Tiny(root, cluster, logins.CI, "config/tiny.yaml")

    def make() -> None:
        logins.fresh(root)
        study.write("config/tiny.yaml", logins.tiny_overlay(root))
        study.snakemake("results/tiny/language/checkpoints/seed0/from20.json", how=study.LOCAL)

    _once(root, make)
    return study


@pytest.fixture(scope="session")
def undisturbed(begun: Any, common: Path) -> Any:
    """The tiny study, run locally until its dataset is there. Read only."""
    root = common / "undisturbed"
    study = logins.Tiny(root, begun.cluster, *begun.overlays)

    def make() -> None:
        logins.copied(begun.root, root)
        study.snakemake(study.RLLC, how=study.LOCAL)

    _once(root, make)
    return study


def _copy(study: Any, root: Path, cluster: Any) -> Iterator[Any]:
    logins.copied(study.root, root)
    yield logins.Tiny(root, cluster, *study.overlays)
    cluster.cancel_all()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def trained(begun: Any, folder: Path, tmp_path: Path) -> Iterator[Any]:
    """A copy of the tiny study as it is before anything is sampled; nothing is left in Slurm afterwards."""
    yield from _copy(begun, folder / tmp_path.name, begun.cluster)


@pytest.fixture
def accounted(begun: Any, accounting: Any, folder: Path, tmp_path: Path) -> Iterator[Any]:
    """The same, for the cluster with accounts."""
    yield from _copy(begun, folder / tmp_path.name, accounting)


@pytest.fixture
def finished(undisturbed: Any, folder: Path, tmp_path: Path) -> Iterator[Any]:
    """A copy of the tiny study at its end; nothing is left in Slurm afterwards."""
    yield from _copy(undisturbed, folder / tmp_path.name, undisturbed.cluster)
