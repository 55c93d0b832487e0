"""An installed package has all files of the source that are no modules."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

from copies import project_files

ROOT = Path(__file__).resolve().parents[1]


def test_package_data_names_every_file_that_is_no_module():
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    patterns = [
        f"src/{package.replace('.', '/')}/{pattern}" for package, each in given.items() for pattern in each
    ]
    files = [name for name in project_files() if name.startswith("src/") and not name.endswith(".py")]
    assert "src/rllc/figures/templates/page.html" in files
    assert [name for name in files if not any(fnmatch(name, pattern) for pattern in patterns)] == []
