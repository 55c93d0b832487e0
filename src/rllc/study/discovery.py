"""Where the specs of measures and analyses stand: their modules, found by their files."""

from pathlib import Path

PATTERNS = {"measures": "measures/*/spec.py", "analyses": "study/analyses/[!_]*.py"}
HERE = Path(__file__).parents[1]


def modules(kind: str, *, package: Path = HERE) -> tuple[str, ...]:
    """Return the names of the modules of a kind, ``measures`` or ``analyses``, in sorted order.

    package  folder of the package: what its files say counts, not what is imported
    """
    files = [path.relative_to(package).with_suffix("") for path in package.glob(PATTERNS[kind])]
    return tuple(sorted(".".join(("rllc", *file.parts)) for file in files))
