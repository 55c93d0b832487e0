"""One short hash of the code that a rule runs.

Snakemake does not look into the modules that a script imports. Every rule therefore carries the hash
of its script and of everything the script imports from this package, each file reduced to its syntax
tree without docstrings, and of the pinned versions of the third-party packages that this code imports.
Editing a comment, a docstring or a README changes no hash. Editing the sampler changes the hashes of the
rules that sample.

A package whose ``__init__`` reads ``__path__`` finds its modules, or its templates of pages, at run time. It
counts as importing all modules of its folder, so a new module changes the hash. All templates of the folder
count, too, with their comments.
"""

import ast
import hashlib
import re
import sys
from functools import cache, cached_property
from pathlib import Path

PACKAGE = "rllc"
# Packages whose name in the lock differs from the name in imports.
ALIASES = {"sklearn": "scikit-learn", "yaml": "pyyaml", "PIL": "pillow"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LEFT_OUT = {"ctx", "type_comment", "kind"}
FOUND = "__path__"  # read by packages that find their modules and templates
TEMPLATE = ".html"  # ending of templates


def fingerprint(script: str | Path, *modules: str, root: str | Path = ".") -> str:
    """Return the hash of ``script`` and of its import closure inside the package, as its files are now.

    modules  modules that the script imports by name at run time (``rllc.figures.stages``), which its source
             does not show
    root     the repository
    """
    return Source(root).fingerprint(script, *modules)


def closure(script: str | Path, *modules: str, root: str | Path = ".") -> set[str]:
    """Return the names of the modules that ``script`` imports, at any depth, and of their parents."""
    return set(Source(root).closure(script, *modules))


class Source:
    """Cache of the source under ``root``. Each file is read once, at its first use.

    A plan needs a hundred fingerprints, which have most of their files in common.
    """

    def __init__(self, root: str | Path):
        self._root = Path(root).resolve()
        self._files: dict[str, Path | None] = {}
        self._read: dict[Path, tuple[str, tuple[str, ...]]] = {}

    def fingerprint(self, script: str | Path, *modules: str) -> str:
        """Return the hash of ``script``, of these modules, and of all that they import."""
        files = {str(script): self._root / script, **self.closure(script, *modules)}
        reduced = {name: self._reduced(path) for name, path in files.items()}
        parts = {name: digest for name, (digest, _) in reduced.items()}
        packages = {module.split(".")[0] for _, imported in reduced.values() for module in imported}
        named = {distribution(package) for package in packages}
        versions = {name: version for name, version in self._pins.items() if name in named}
        text = repr(sorted(parts.items())) + repr(sorted(versions.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def closure(self, script: str | Path, *modules: str) -> dict[str, Path]:
        """Return the modules that ``script`` imports, at any depth, and their parents: name -> file.

        Templates of these packages are among them, as ``package/file``.
        """
        queue = [*modules, *self._reduced(self._root / script)[1]]
        seen: set[str] = set()
        found: dict[str, Path] = {}
        while queue:
            name = queue.pop()
            if name in seen or name.split(".")[0] != PACKAGE:
                continue
            seen.add(name)
            if path := self._file(name):
                found[name] = path
                imported = self._reduced(path)[1]
                queue += [*imported, name.rpartition(".")[0]]
                if FOUND in imported and path.name == "__init__.py":
                    queue += [f"{name}.{each.stem}" for each in _beside(path)]
                    found |= {f"{name}/{each.name}": each for each in path.parent.glob(f"*{TEMPLATE}")}
        return found

    @cached_property
    def _pins(self) -> dict[str, str]:
        return _pins(self._root)

    def _file(self, module: str) -> Path | None:
        if module not in self._files:
            stem = f"{self._root}/src/{module.replace('.', '/')}"
            here = (Path(f"{stem}.py"), Path(f"{stem}/__init__.py"))
            self._files[module] = next((path for path in here if path.is_file()), None)
        return self._files[module]

    def _reduced(self, path: Path) -> tuple[str, tuple[str, ...]]:
        if path not in self._read:
            self._read[path] = _reduced(path)
        return self._read[path]


def _reduced(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the hash of the file's syntax tree without docstrings, and the modules that it imports.

    Of a template, return the hash of its text, and no modules.
    """
    stat = path.stat()
    # No tool can set the time of the last change of status (ctime), so no replacement goes unseen.
    return _read_reduced(path, (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino))


@cache
def _read_reduced(path: Path, _status: tuple[int, ...]) -> tuple[str, tuple[str, ...]]:
    if path.suffix == TEMPLATE:
        return hashlib.sha256(path.read_bytes()).hexdigest(), ()
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    imported: set[str] = set()
    digest = hashlib.sha256(_canonical(tree, imported).encode()).hexdigest()
    return digest, tuple(sorted(n for n in imported if n.split(".")[0] not in sys.stdlib_module_names))


def _canonical(node: object, imported: set[str]) -> str:
    """Return a syntax tree as text that does not depend on the Python version.

    Empty fields and docstrings are left out. ``imported`` gains the modules that the tree imports. Of
    ``from package import name`` it also gains ``package.name``, which may be a module. It gains ``FOUND``
    where that name is read. Code under ``if TYPE_CHECKING:`` never runs, so it counts for nothing.
    """
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        return _canonical(node.orelse, imported)
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            imported.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Name) and node.id == FOUND:
            imported.add(FOUND)
        inner = []
        for name in node._fields:
            value = getattr(node, name, None)
            if (
                name == "body"
                and isinstance(node, DOCUMENTED)
                and ast.get_docstring(node, clean=False) is not None
            ):
                value = node.body[1:]
            if value is not None and value != [] and name not in LEFT_OUT:
                inner.append(f"{name}={_canonical(value, imported)}")
        return f"{type(node).__name__}({','.join(inner)})"
    if isinstance(node, list):
        return f"[{','.join([_canonical(each, imported) for each in node])}]"
    return repr(node)


def _beside(path: Path) -> list[Path]:
    """Return the modules and packages in the folder of an ``__init__.py``."""
    modules = [file for file in path.parent.glob("*.py") if file != path]
    return [*modules, *(file.parent for file in path.parent.glob("*/__init__.py"))]


def distribution(package: str) -> str:
    """Return the name in the lock of the distribution that a package is imported from."""
    return _normal(ALIASES.get(package, package))


def _pins(root: Path) -> dict[str, str]:
    """Return package -> version of the lock."""
    lock = root / "envs" / "requirements.lock"
    pins = re.findall(r"^([A-Za-z0-9_.\-]+)==([^\s;#]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return {_normal(name): version for name, version in pins}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
