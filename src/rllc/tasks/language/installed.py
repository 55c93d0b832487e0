"""Documents from the standard library and installed packages: text that every machine already has.

The text depends only on Python's micro version, the packages' versions and their builds. Compiled packages
contain the headers of their platform, so ``headers`` (and a little code) can differ between operating
systems, and between the CPU and CUDA wheels of torch. The manifest's hash shows such differences.
"""

import ast
import gc
import hashlib
import importlib.metadata
import os
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics
from typing import NamedTuple

from rllc.tasks.language.documents import Document

STDLIB = "stdlib"
SUFFIXES = {
    "code": frozenset({".py"}),
    "prose": frozenset({".py", ".md", ".rst"}),
    "headers": frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh"}),
    "cython": frozenset({".pyx", ".pxd", ".pxi"}),
    "licences": frozenset({"", ".txt", ".md", ".rst"}),
}
LICENCE = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE|THIRD.?PARTY).*", re.IGNORECASE)
# Tests, vendored code, and files outside of the package.
DROPPED_FOLDERS = (
    frozenset({"test", "tests", "testing", "_testing", "idle_test"})
    | frozenset({"_vendor", "vendor", "vendored", "_vendored", "third_party", "thirdparty"})
    | frozenset({"extern", "_external", "externals", "_externals"})
    | frozenset({"__pycache__", "site-packages", "dist-packages", ".."})
)
# Tests, and files written at build time with the paths and flags of the build machine.
DROPPED_FILES = re.compile(
    r"(_sysconfigdata.*|__config__|_?version|_build_config|sitecustomize|conftest|test_.*|.*_test)\.py"
    r"|(pyconfig.*|_numpyconfig)\.h"
)
MINIMUM_PARAGRAPH = 80
ENGLISH_SHARE = 0.93
# Generated files, and files that repeat lines of others, would be on both sides of the split.
GENERATED = re.compile(r"@generated|DO NOT EDIT", re.IGNORECASE)
GENERATED_WITHIN = 1000
REPEATED_SHARE = 0.5
MINIMUM_LINE = 16
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# The fields of a node that hold statements, and so everything with a docstring; expressions have none.
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
NOT_ENGLISH = re.compile(r"[^A-Za-z .,;]+")


def documents(*, kind: str, packages: Sequence[str], megabytes: float) -> Iterator[Document]:
    """Yield texts of one ``kind`` from ``packages``, ordered by the hash of their names, up to a size.

    kind       ``code``: Python with docstrings removed; ``prose``: English paragraphs from docstrings and
               .md and .rst files (at least 80 characters, 93 % of them letters, spaces or ``.,;``), each
               once, one document per file; ``headers``: C and C++ headers without a mark that they are
               generated, where at most half of the text (in lines of 16 characters or more) occurred in
               earlier headers; ``cython``: .pyx, .pxd and .pxi files, and ``licences``: licences and notices
               of packages, both by the same rule as headers, which keeps each common licence once
    packages   names of installed distributions, and ``stdlib`` for the standard library
    megabytes  stop at the first document that exceeds this size (10^6 bytes of UTF-8)

    Documents are named ``<package>/<path within it>`` and sorted by SHA-256 of that name, so a smaller size
    gives a prefix of a larger one. A repeated text is skipped.

    Raises ValueError for an unknown kind, a package that is not installed or has no list of files, and a
    size of 0 or less.
    """
    if kind not in SUFFIXES:
        raise ValueError(f"unknown kind {kind!r} of installed text: expected one of {list(SUFFIXES)}")
    if not megabytes > 0:
        raise ValueError(f"megabytes is {megabytes}; expected a size above 0")
    if isinstance(packages, str) or not packages:
        raise ValueError(f"packages is {packages!r}; expected a list of names such as ['stdlib', 'numpy']")
    listed = {name: path for package in dict.fromkeys(packages) for name, path in _files(package, kind)}
    extract = {"code": _code, "prose": partial(_prose, set())}.get(kind) or partial(_unlike, set())
    return _until(megabytes * 1e6, listed, extract)


def _until(
    limit: float, listed: dict[str, Path], extract: Callable[[str, str], Iterator[Document]]
) -> Iterator[Document]:
    size = 0
    seen: set[bytes] = set()
    for name in sorted(listed, key=lambda name: hashlib.sha256(name.encode()).digest()):
        try:
            source = listed[name].read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):  # removed since the installation, or in an old encoding
            continue
        for document in extract(source, name):
            data = document.text.encode(errors="replace")
            sha256 = hashlib.sha256(data).digest()
            if sha256 in seen or not data.strip():
                continue
            seen.add(sha256)
            yield document
            size += len(data)
            if size >= limit:
                return


def _files(package: str, kind: str) -> Iterator[tuple[str, Path]]:
    if package == STDLIB:
        root = Path(sysconfig.get_paths()["include" if kind == "headers" else "stdlib"])
        if not root.is_dir():
            raise ValueError(f"Python's own {kind} are not installed here: remove {STDLIB!r} from packages")
        pairs = ((path.relative_to(root), path) for path in _walk(root))
    else:
        try:
            distribution = importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError as error:
            raise ValueError(
                f"package {package!r} is not installed: install it, or remove it from the list of packages "
                f"(the name of the standard library is {STDLIB!r})"
            ) from error
        if distribution.files is None:
            raise ValueError(
                f"package {package!r} has no list of its files: reinstall it, or remove it from packages"
            )
        root = Path(str(distribution.locate_file("")))
        pairs = ((path, root / path) for path in distribution.files)
    for relative, path in pairs:
        if relative.suffix in SUFFIXES[kind] and _wanted(relative.parts, kind):
            yield f"{package}/{relative.as_posix()}", path


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = set(folders) - DROPPED_FOLDERS
        yield from (Path(here, file) for file in files)


def _wanted(parts: Sequence[str], kind: str) -> bool:
    folders, file = parts[:-1], parts[-1]
    if kind == "licences":  # including those of vendored code
        return LICENCE.fullmatch(file) is not None and ".." not in folders
    return not (
        DROPPED_FOLDERS.intersection(folders)
        or any(folder.endswith((".dist-info", ".data")) for folder in folders)
        or DROPPED_FILES.fullmatch(file)
    )


def _unlike(seen: set[str], source: str, name: str) -> Iterator[Document]:
    if GENERATED.search(source, 0, GENERATED_WITHIN):
        return
    lines = [line for line in map(str.strip, source.split("\n")) if len(line) >= MINIMUM_LINE]
    repeated = sum(len(line) for line in lines if line in seen)
    if repeated <= REPEATED_SHARE * sum(map(len, lines)):
        seen.update(lines)
        yield Document(source, name)


def _code(source: str, name: str) -> Iterator[Document]:
    text = without_docstrings(source)
    if text is not None:
        yield Document(text, name)


def _prose(seen: set[str], source: str, name: str) -> Iterator[Document]:
    if name == f"{STDLIB}/pydoc_data/topics.py":  # the language reference
        texts = {f"{name}:{topic}": [text] for topic, text in topics.items()}
    elif name.endswith(".py"):
        texts = {name: [found.text for found in _docstrings(source) or []]}
    else:
        texts = {name: [source]}
    for title, found in texts.items():
        paragraphs = dict.fromkeys(english_paragraphs("\n\n".join(found)))
        yield Document("\n\n".join(p for p in paragraphs if p not in seen), title)
        seen.update(paragraphs)


def english_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of ``text`` (separated by blank lines) that look like English, one per line."""
    for block in re.split(r"\n[ \t\r]*\n", text):
        paragraph = " ".join(block.split())
        if len(paragraph) >= MINIMUM_PARAGRAPH:
            plain = len(NOT_ENGLISH.sub("", paragraph))
            if plain >= ENGLISH_SHARE * len(paragraph):
                yield paragraph


def without_docstrings(source: str) -> str | None:
    """Return Python ``source`` without the docstrings of module, classes and functions; None if not Python.

    A docstring that is the whole body becomes ``pass``, so the result is valid Python.
    """
    found = _docstrings(source)
    if found is None:
        return None
    lines = re.split("(?<=\n)", source.replace("\r\n", "\n").replace("\r", "\n"))
    for node, alone, _ in sorted(found, key=lambda item: -item.node.lineno):
        assert node.end_lineno is not None  # a parsed node has one
        first, last = node.lineno - 1, node.end_lineno - 1
        before = lines[first].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset :].decode()
        if after.strip().startswith(";"):
            lines[first : last + 1] = [before + "pass" + after]
        elif alone:
            lines[first : last + 1] = [before + "pass\n"]
        else:
            del lines[first : last + 1]
    return "".join(lines)


class _Docstring(NamedTuple):
    """A docstring's node, whether it is the whole body, and its text."""

    node: ast.Expr
    alone: bool
    text: str


def _docstrings(source: str) -> list[_Docstring] | None:
    """Return all docstrings; None where ``source`` is not Python."""
    collecting = gc.isenabled()
    gc.disable()  # a tree has no cycles, but thousands of nodes for the collector to scan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    finally:
        if collecting:
            gc.enable()
    found = []
    for node in _with_blocks(tree):
        if not isinstance(node, DOCUMENTED) or (text := ast.get_docstring(node, clean=False)) is None:
            continue
        first = node.body[0]
        assert isinstance(first, ast.Expr)  # it holds the docstring
        alone = len(node.body) == 1 and not isinstance(node, ast.Module)
        found.append(_Docstring(first, alone, text))
    return sorted(found, key=lambda item: item.node.lineno)


def _with_blocks(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the tree and every statement, handler and case in it."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in BLOCKS:
            # Expressions are not reached from here. In particular lambdas are not, whose body is not a list.
            waiting += getattr(node, block, ())
