"""The user's function that builds a module: its files, their digest, and the function. Imports no torch.

It is named ``file.py:function`` or ``package.module:function``. Paths are relative to the working directory,
which is the root of the repository in a job, and packages are looked up there first.
"""

import ast
import difflib
import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

FORM = re.compile(r"(?P<place>.+):(?P<function>[A-Za-z_]\w*)")
EXPECTED = "expected file.py:function or package.module:function, such as my_models.py:build"


class Located(NamedTuple):
    """Where a function is.

    file      the Python file that defines it
    module    name of its module; "" for a file
    function  its name
    roots     folders in which imports of the file are looked up
    package   the one package whose modules are the user's own; "": all modules in ``roots`` are
    """

    file: Path
    module: str
    function: str
    roots: tuple[Path, ...]
    package: str = ""


def locate(build: str) -> Located:
    """Find a function by its name, without running code. Raises ValueError where there is none."""
    match = FORM.fullmatch(build)
    if match is None:
        raise ValueError(f"{build!r} names no function: {EXPECTED}")
    place, function, here = match["place"], match["function"], Path.cwd()
    if place.endswith(".py"):
        file = Path(place).expanduser()
        if not file.is_file():
            raise ValueError(f"there is no Python file {file} (from {here}): {EXPECTED}")
        found = Located(file, "", function, tuple(dict.fromkeys((file.resolve().parent, here))))
    else:
        found = _in_package(place, function, here)
    _check_defined(found)
    return found


def source_files(build: str) -> list[Path]:
    """Return the file of a function and the user's own modules that it imports, at any depth.

    Of an installed package these are its modules, not those of other packages. Modules that are imported by a
    name computed at run time are not seen.
    """
    located = locate(build)
    files: dict[Path, None] = {}
    around = _modules((0, located.module), located.file, located)
    queue = [located.file.resolve(), *around]
    while queue:
        file = queue.pop()
        if file not in files:
            files[file] = None
            queue += [each for name in _imports(file) for each in _modules(name, file, located)]
    return [*files]


def source_digest(build: str) -> str:
    """Return a hash of the contents of ``source_files``. Their names and places do not count."""
    digests = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in source_files(build))
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()[:16]


@contextmanager
def imported(build: str) -> Iterator[tuple[Callable[..., Any], Any]]:
    """Context manager: import the function, and yield it with its module, whose imports work meanwhile.

    Raises ValueError where the import fails. Nothing is written beside the user's files.
    """
    located = locate(build)
    added = [str(root) for root in located.roots if str(root) not in sys.path]
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path += added
    try:
        module = _import(located)
        if not callable(function := getattr(module, located.function, None)):
            raise ValueError(f"{located.function} of {located.file} is no function: {EXPECTED}")
        yield function, module
    finally:
        sys.dont_write_bytecode = written
        for root in added:
            with suppress(ValueError):
                sys.path.remove(root)


def _import(located: Located) -> Any:
    try:
        if located.module:
            return importlib.import_module(located.module)
        name = f"own_{hashlib.sha256(str(located.file.resolve()).encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(name, located.file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses of the file look their module up
        spec.loader.exec_module(module)
        return module
    except Exception as error:  # of the user's code
        raise ValueError(
            f"{located.file} cannot be imported: {type(error).__name__}: {error}. Expected a module that "
            "imports from the root of the repository; correct it, or install what it needs"
        ) from error


def _in_package(name: str, function: str, here: Path) -> Located:
    top, *rest = name.split(".")
    spec = PathFinder.find_spec(top, [str(here)])
    local = spec is not None and (spec.origin is not None or bool(rest))
    try:
        spec = spec if local else importlib.util.find_spec(top)
        for index, part in enumerate(rest, 2):
            parent = spec.submodule_search_locations if spec else None
            full = ".".join(name.split(".")[:index])
            spec = PathFinder.find_spec(full, list(parent)) if parent is not None and part else None
    except (ValueError, ImportError):
        spec = None
    if spec is None or not (spec.origin or "").endswith(".py"):
        raise ValueError(f"there is no Python module {name} in {here}, nor installed: {EXPECTED}")
    file = Path(spec.origin or "")
    if local:
        return Located(file, name, function, (here,))
    return Located(file, name, function, (_above(spec, name),), top)


def _above(spec: ModuleSpec, name: str) -> Path:
    """Return the folder that holds the top-level package of a module."""
    depth = name.count(".") + (1 if spec.submodule_search_locations is not None else 0)
    return Path(spec.origin or "").resolve().parents[depth]


def _check_defined(located: Located) -> None:
    """Raise ValueError unless the file defines or imports the function at its top level."""
    names: set[str] = set()
    for node in ast.walk(_tree(located.file)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    if located.function not in names and "*" not in names:
        near = difflib.get_close_matches(located.function, names, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"{located.file} has no function {located.function}: {EXPECTED}{hint}")


def _tree(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes(), filename=str(file))
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{file} is no Python source ({error}): expected a module; correct it") from error


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """Yield level and name of every import of a file; of ``from a import b`` also ``a.b``."""
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield node.level, base
            yield from ((node.level, f"{base}.{alias.name}".lstrip(".")) for alias in node.names)


def _modules(imported_name: tuple[int, str], file: Path, located: Located) -> Iterator[Path]:
    """Yield the user's own files that an import runs: the module, and the packages around it."""
    level, name = imported_name
    parts = [part for part in name.split(".") if part]
    if level:
        roots = (file.parents[level - 1],)
    elif located.package and parts[:1] != [located.package]:
        return
    else:
        roots = located.roots
    for root in roots:
        for length in range(1, len(parts) + 1):
            stem = root.joinpath(*parts[:length])
            candidates = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
            yield from (each.resolve() for each in candidates if each.is_file())
