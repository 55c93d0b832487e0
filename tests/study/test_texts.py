import importlib.metadata
import platform

from rllc.study.distributions import Installed
from rllc.study.texts import versions


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
