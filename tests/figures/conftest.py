import importlib.util
import shutil
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path

import pytest
import xarray as xr
from tests.figures.of_study import figure

from rllc.analysis.clusters import cluster


def _beside(name):
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


synthetic = _beside("synthetic")


@pytest.fixture(scope="session")
def make_study():
    return synthetic.study


@pytest.fixture(scope="session")
def study():
    return synthetic.study()


@pytest.fixture(scope="session")
def sorting():
    """Makers of synthetic datasets of sorting transformers."""
    return _beside("synthetic_sorting")


drawings = _beside("drawings")


@pytest.fixture(scope="session")
def misplaced():
    """Finds what sticks out of a figure or overlaps, axes without a name and keys of nothing."""

    def found(drawing):
        return [*drawings.misplaced(drawing), *drawings.unnamed(drawing), *drawings.unkeyed(drawing)]

    return found


@pytest.fixture(scope="session")
def unlike():
    """Finds where the dataset drawn is not what the figure shows, or not what the datasets have."""
    return drawings.unlike


@pytest.fixture(scope="session")
def errors_are_told():
    """Whether a caption says which errors are drawn, or that none are."""
    words = ("standard error", "uncertainty", "interval", "standard deviation", "sampling error")
    return lambda drawing: any(each in drawing.caption for each in words)


@pytest.fixture(scope="session")
def numbers():
    """Finds the finding of a drawing whose label has all of some words; of several, the one that begins so."""

    def of(drawing):
        def found(*words):
            every = [each for each in drawing.findings if all(word in each.label for word in words)]
            (one,) = every if len(every) < 2 else [each for each in every if each.label.startswith(words[0])]
            return one

        return found

    return of


class Asked(dict):
    """Datasets that note which are asked for by name, and whether all are gone through."""

    def __init__(self, datasets):
        super().__init__(datasets)
        self.names, self.through = set(), False

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        self.names.add(name)
        return super().get(name, default)

    def __contains__(self, name):
        self.names.add(name)
        return super().__contains__(name)

    def __iter__(self):
        self.through = True
        return super().__iter__()

    def items(self):
        self.through = True
        return super().items()

    def are(self, row):
        """Whether they are those of the figure's row: these by name; patterns, and of several, by going through all."""
        told = {*row.needs, *row.reads(stages=True)}
        patterns = {name for name in told if "*" in name}
        asked = {name for name in self.names if not any(map(partial(fnmatch, name), patterns))}
        assert asked - told <= {"hessian"}  # of the control alone: the others say the same without it
        if not self.through:
            assert told - patterns - asked <= {"attention_scores"}  # a sheet of one layer may need no types
        assert self.through == (bool(patterns) or row.several)


@pytest.fixture(scope="session")
def once():
    """Has the figures of some datasets drawn once each: name -> the drawing and what it asked for."""

    def drawn_once(function, datasets):
        @cache
        def make(name):
            given = Asked(datasets)
            return function(name)(given), given

        return make

    return drawn_once


@pytest.fixture(scope="session")
def datasets(study, tmp_path_factory):
    """The synthetic study as it comes back from its files."""
    curves = study["rllc"]["rllc"].sel(distribution=["mixture", "code"])
    made = study | {
        "clusters": cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=["euclidean_kmeans", "ward"])
    }
    folder = tmp_path_factory.mktemp("study")
    for name, data in made.items():
        data.to_netcdf(folder / f"{name}.nc")
    return {name: xr.load_dataset(folder / f"{name}.nc") for name in made}


@pytest.fixture(scope="session")
def made(datasets, once):
    """A figure of the synthetic study by its name, and what it asked for; drawn once. Read only."""
    return once(figure, datasets)


@pytest.fixture(scope="session")
def drawn(made):
    """The figure alone."""
    return lambda name: made(name)[0]


@pytest.fixture(scope="session")
def browser():
    """The program of a real browser without a window."""
    program = shutil.which("chromium-headless-shell")
    if program is None:
        pytest.skip("the page is not tested in a browser: install Debian's chromium-headless-shell")
    return program
