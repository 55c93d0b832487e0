import errno
import subprocess
import sys
from pathlib import Path

import lockless
import numpy as np
import pytest
import xarray as xr

PROGRAM = Path(__file__).resolve().parents[1] / "benchmarks/digests.py"


def digests(*arguments, variables=None):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=120,
        env=variables,
    )  # fmt: skip
    return done.returncode, (done.stdout + done.stderr).splitlines()


def dataset(**changes):
    variables = {
        "llc": (("seed", "step"), np.array([[1.0, np.nan, np.inf], [2.0, 0.5, -0.0]])),
        "status": ("step", np.array([0, 1, 2], dtype=np.int8)),
        "text": ("step", np.array(["a", "b", "c"], dtype=object)),
        "alone": ((), 3.0),
    }
    return xr.Dataset(variables | changes, {"seed": [0, 1], "step": [0, 10, 20]})


def folder(path, written, claims=True):
    (path / "language").mkdir(parents=True)
    (path / "figures").mkdir()
    written.to_netcdf(path / "language/llc.nc")
    xr.Dataset({"drawn": written["alone"] + len(path.name)}).to_netcdf(path / "figures/one.nc")
    if claims:
        xr.Dataset({"quality": ("claim", ["holds", "half"])}).to_netcdf(path / "claims.nc")
    return path


def test_digests_are_of_the_values_alone(tmp_path):
    """Attributes, encodings and which NaN it is are none of them; a folder without figures is asked for."""
    one = folder(tmp_path / "one", dataset())
    described = dataset().assign_attrs(date="today")
    described["llc"].attrs["long_name"] = "anything"
    described["llc"].values[0, 1] = -np.float64("nan")
    other = tmp_path / "the_other"
    folder(other, described.assign(text=dataset()["text"].astype(str)))
    (code, lines), (_, others) = digests(one), digests(other)
    assert code == 0 and lines == others
    assert [line.split()[1:] for line in lines if "claims" in line] == [["claims.nc", "quality"]]
    assert len(lines) == 7 and len({line.split()[0] for line in lines}) == 7
    assert digests(one, other) == (0, ["7 variables are equal, 0 differences"])
    code, lines = digests(one, other, "--figures")
    assert code == 1 and lines[1] == "figures/one.nc drawn: 1 of 1 values differ, by at most 6"


def test_what_differs_is_named_with_how(tmp_path):
    one = folder(tmp_path / "one", dataset())
    other = folder(
        tmp_path / "two",
        dataset(
            llc=(("seed", "step"), np.array([[1.0, 4.0, np.inf], [2.25, 0.5, -0.0]])),
            status=("step", np.array([0, 1, 2], dtype=np.int16)),
            text=("step", np.array(["a", "b", "d"], dtype=object)),
            alone=("seed", [3.0, 3.0]),
            new=((), 1.0),
        ),
        claims=False,
    )
    code, lines = digests(one, other)
    assert code == 1
    assert lines == [
        "2 variables are equal, 6 differences",
        f"claims.nc: only in {one}",
        "language/llc.nc alone: dims () and ('seed',)",
        "language/llc.nc llc: 2 of 6 values differ, by at most 0.25, 1 of them not finite in one",
        f"language/llc.nc new: only in {other}",
        "language/llc.nc status: dtype int8 and int16",
        "language/llc.nc text: 1 of 3 values differ",
    ]


@pytest.mark.parametrize(("name", "said"), [("none", "there is no folder"), ("empty", "no dataset")])
def test_a_folder_without_datasets_is_refused(tmp_path, name, said):
    (tmp_path / "empty").mkdir()
    code, lines = digests(tmp_path / name)
    assert code == 1 and len(lines) == 1 and said in lines[0]


def test_digests_without_locks_are_the_same(tmp_path):
    one = folder(tmp_path / "one", dataset())
    assert digests(one) == digests(one, variables=lockless.variables(errno.ENOLCK))


def test_renamed_variables_are_compared_under_their_new_names(tmp_path):
    table = tmp_path / "names.md"
    table.write_text(
        "| before | now |\n|---|---|\n| `*_off*` | `*_prior*` |\n| `icl` | `ablation` |\n| `x` | `y` |\n"
    )
    values = np.arange(3.0)
    for folder, dataset, name, dim in (
        ("old", "icl", "llc_off_se", "x"),
        ("new", "ablation", "llc_prior_se", "y"),
    ):
        (tmp_path / folder).mkdir()
        xr.Dataset({name: (dim, values)}).to_netcdf(tmp_path / folder / f"{dataset}.nc")
    old, new = tmp_path / "old", tmp_path / "new"
    assert digests(old, new)[0] == 1
    assert digests(old, new, "--renamed", table) == (0, ["1 variables are equal, 0 differences"])
    xr.Dataset({"llc_prior_se": ("y", values + 1)}).to_netcdf(new / "ablation.nc")
    assert digests(old, new, "--renamed", table)[0] == 1
