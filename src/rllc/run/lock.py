"""The lock: exact versions of the installed packages, and the conda environment file made from it.

``make lock`` installs the newest versions that envs/requirements.in allows and then calls this module.
"""

import re
from importlib.metadata import distributions
from pathlib import Path

LOCK, CONDA = Path("envs/requirements.lock"), Path("envs/environment.yaml")
HEADER = """\
# Exact versions of everything, resolved for Python 3.11 on Linux; `make lock` renews it.
# Direct dependencies: envs/requirements.in. torch==2.13.0 accepts any build of 2.13.0 (CPU or CUDA).
"""
OWN = {"rllc", "pip"}
# The reference that Hessian traces are tested against declares torchvision, which it does not need for
# that and whose builds rarely fit the torch at hand. So it comes without dependencies, for tests alone.
WITHOUT_DEPENDENCIES = {"curvlinops-for-pytorch", "backpack-for-pytorch", "torchvision"}


def installed(*, without: set[str]) -> list[str]:
    """Return ``name==version`` of every package in this environment, without local build tags, sorted."""
    found = {d.metadata["Name"]: re.sub(r"\+.*", "", d.version) for d in distributions()}
    names = sorted((name for name in found if name not in without), key=str.lower)
    return [f"{name}=={found[name]}" for name in names]


def pins(lock: str) -> list[str]:
    """Return the pins in the text of a lock file."""
    return [line for line in lock.splitlines() if re.match(r"[A-Za-z0-9]", line)]


def conda(lock: str) -> str:
    """Return the text of a conda environment with the same Python packages."""
    lines = "\n".join(f"      - {pin}" for pin in pins(lock))
    return (
        "# Generated from requirements.lock by `make lock`: conda env create -f envs/environment.yaml\n"
        "name: rllc\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pip\n  - pip:\n"
        + lines
        + "\n"
    )


def main() -> None:
    """Write the lock of this environment and the conda file."""
    LOCK.write_text(
        HEADER + "\n".join(installed(without=OWN | WITHOUT_DEPENDENCIES)) + "\n", encoding="utf-8"
    )
    CONDA.write_text(conda(LOCK.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
