"""What code a rule runs, as one short hash.

Snakemake does not look into the modules that a script imports. Every rule therefore carries the hash
of its script and of everything the script imports from this package, each file reduced to its syntax
tree without docstrings, and of the pinned versions of the third-party packages that this code imports.
Editing a comment, a docstring or a README changes no hash; editing the sampler changes those of the
rules that sample.
"""

import ast
import hashlib
import re
import sys
from functools import cache
from pathlib import Path

PACKAGE = "rllc"
ALIASES = {
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "transformer_lens": "transformer-lens",
    "netCDF4": "netcdf4",
}


def fingerprint(script: str | Path, *modules: str, root: str | Path = ".") -> str:
    """Hash of ``script`` and of its import closure inside the package.

    modules  modules that the script imports by name at run time (``rllc.figures.stages``); a static
             reading cannot see them
    root     the repository
    """
    base = Path(root).resolve()
    files = {str(script): base / script} | {
        n: _module_file(base, n) for n in closure(script, *modules, root=base)
    }
    reduced = {name: _reduced(path) for name, path in files.items()}
    parts = {name: tree for name, (tree, _) in reduced.items()}
    packages = {module.split(".")[0] for _, imported in reduced.values() for module in imported}
    pins = _pins(base)
    versions = {
        name: pins[name] for package in packages if (name := ALIASES.get(package, package).lower()) in pins
    }
    text = repr(sorted(parts.items())) + repr(sorted(versions.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def closure(script: str | Path, *modules: str, root: str | Path = ".") -> set[str]:
    """Names of the package's modules that ``script`` imports, at any depth, and of their parents."""
    base = Path(root).resolve()
    queue = [*modules, *_reduced(base / script)[1]]
    seen: set[str] = set()
    while queue:
        name = queue.pop()
        path = _module_file(base, name) if name.split(".")[0] == PACKAGE else None
        if path is not None and name not in seen:
            seen.add(name)
            queue += [*_reduced(path)[1], name.rpartition(".")[0]]
    return seen


def _module_file(root: Path, name: str) -> Path | None:
    stem = root / "src" / Path(*name.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


def _reduced(path: Path) -> tuple[str, tuple[str, ...]]:
    """The file's syntax tree without docstrings, as text, and the modules it imports."""
    stat = path.stat()
    return _read_reduced(path, stat.st_mtime_ns, stat.st_size)


@cache
def _read_reduced(path: Path, _mtime_ns: int, _size: int) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    imported: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from package import name`: name may be a module
            imported += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    own = {name for name in imported if name.split(".")[0] not in sys.stdlib_module_names}
    return _canonical(tree), tuple(sorted(own))


def _canonical(node: object) -> str:
    """A syntax tree as text that does not depend on the Python version: empty fields are left out."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
        inner = ",".join(
            f"{n}={_canonical(v)}" for n, v in fields if n not in ("ctx", "type_comment", "kind")
        )
        return f"{type(node).__name__}({inner})"
    if isinstance(node, list):
        return "[" + ",".join(map(_canonical, node)) + "]"
    return repr(node)


def _pins(root: Path) -> dict[str, str]:
    """Package -> version of the lock."""
    lock = root / "envs" / "requirements.lock"
    pins = re.findall(r"^([A-Za-z0-9_.\-]+)==([^\s;#]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins}
