"""Digests of the values in a results folder, or what differs between two folders.

python benchmarks/digests.py results
python benchmarks/digests.py results other/results
python benchmarks/digests.py older/results results --renamed CHANGELOG.md

A digest is of dims, shape, kind of number and values, in every dataset of the study and of its experiments.
Attributes are in none: they say when and from which commit a file is.
"""

import argparse
import hashlib
import os
import re
import sys
from itertools import count
from pathlib import Path

import numpy as np
import xarray as xr

os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")  # which some shared file systems refuse

Values = dict[tuple[str, str], xr.Variable]  # (dataset, variable) -> values


def values(folder: Path, *, figures: bool = False) -> Values:
    """Every variable and coordinate of the datasets in a results folder, by the dataset's path in it.

    figures  also those beside the figures

    Raises ValueError where there is no such folder, or no dataset in it.
    """
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}: expected one of results, as `results`")
    files = [path for pattern in ("*.nc", "*/*.nc") for path in sorted(folder.glob(pattern))]
    files = [path for path in files if figures or path.parent != folder / "figures"]
    if not files:
        raise ValueError(f"no dataset (*.nc) in {folder} or its experiments: run the study first")
    variables: Values = {}
    for path in files:
        with xr.open_dataset(path, decode_times=False) as dataset:
            for name in sorted(map(str, dataset.variables)):
                variables[path.relative_to(folder).as_posix(), name] = canonical(dataset.variables[name])
    return variables


def canonical(variable: xr.Variable) -> xr.Variable:
    """The same values without attributes, text as unicode, every NaN the same one."""
    data = variable.values
    if data.dtype.kind in "OSU":
        data = np.asarray([str(value) for value in data.ravel()], dtype=str).reshape(data.shape)
    elif data.dtype.kind == "f":
        data = np.where(np.isnan(data), data.dtype.type(np.nan), data)
    return xr.Variable(variable.dims, data)


def renames(file: Path) -> list[tuple[re.Pattern[str], str]]:
    """Patterns of old names and their new names, from rows ``| `old` | `new` |`` of a Markdown file.

    A ``*`` in the old name stands for any text, and each ``*`` in the new name for the same text again.

    Raises ValueError where the file has no such row.
    """
    found = []
    for old, new in re.findall(r"^\| `([\w.*]+)` \| `([\w.*]+)` \|", file.read_text(), re.MULTILINE):
        groups = (rf"\g<{number}>" for number in count(1))
        replacement = "".join(next(groups) if letter == "*" else letter for letter in new)
        found.append((re.compile(re.escape(old).replace(r"\*", "(.*)")), replacement))
    if not found:
        raise ValueError(f"{file} has no row of old and new names: expected lines as | `old` | `new` |")
    return found


def renamed(folder: Values, table: list[tuple[re.Pattern[str], str]], other: Values) -> Values:
    """Return the values under their new names (datasets, variables, dims), where the other folder has
    them."""

    def now(name: str) -> str:
        for old, new in table:
            if match := old.fullmatch(name):
                name = match.expand(new)
        return name

    def moved(dataset: str) -> str:
        path = Path(dataset)
        return path.with_name(f"{now(path.stem)}.nc").as_posix()

    changed: Values = {}
    for (dataset, name), variable in folder.items():
        places = [(moved(dataset), now(name)), (moved(dataset), name), (dataset, name)]
        place = next((place for place in places if place in other), places[-1])
        there = other[place].dims if place in other else ()
        dims = [now(str(dim)) if now(str(dim)) in there else dim for dim in variable.dims]
        changed[place] = xr.Variable(dims, variable.values)
    return changed


def kind(variable: xr.Variable) -> str:
    """The dtype; of text, however long, "text"."""
    return "text" if variable.dtype.kind == "U" else str(variable.dtype)


def digest(variable: xr.Variable) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of a canonical variable."""
    data = np.ascontiguousarray(variable.values)
    content = repr(data.tolist()).encode() if kind(variable) == "text" else data.tobytes()
    facts = f"{kind(variable)} {variable.dims} {variable.shape} ".encode()
    return hashlib.sha256(facts + content).hexdigest()[:12]


def difference(one: xr.Variable, other: xr.Variable) -> str:
    """How two canonical variables differ, in words; empty where they are equal."""
    if digest(one) == digest(other):
        return ""
    for what in ("dims", "shape"):
        if getattr(one, what) != getattr(other, what):
            return f"{what} {getattr(one, what)} and {getattr(other, what)}"
    words = [f"dtype {kind(one)} and {kind(other)}"] if kind(one) != kind(other) else []
    a, b = one.values, other.values
    if "text" in (kind(one), kind(other)):
        return ", ".join([*words, f"{np.sum(a.astype(str) != b.astype(str))} of {a.size} values differ"])
    apart = (a != b) & ~((a != a) & (b != b))  # NaN and NaN are equal
    if not apart.any():
        return ", ".join(words) or "signs of zeros differ"
    words.append(f"{apart.sum()} of {a.size} values differ")
    finite = apart & np.isfinite(a) & np.isfinite(b)
    if finite.any():
        words.append(f"by at most {np.abs(a[finite].astype(float) - b[finite].astype(float)).max():.3g}")
    if (apart & ~finite).any():
        words.append(f"{(apart & ~finite).sum()} of them not finite in one")
    return ", ".join(words)


def compare(one: Values, other: Values, names: tuple[str, str]) -> tuple[int, list[str]]:
    """How many variables are equal, and a line for all that differs or is in one folder alone."""
    equal, lines = 0, []
    datasets = [{dataset for dataset, _ in folder} for folder in (one, other)]
    for dataset in sorted(datasets[0] ^ datasets[1]):
        lines.append(f"{dataset}: only in {names[dataset in datasets[1]]}")
    for dataset, name in sorted({*one, *other}):
        if dataset not in datasets[0] & datasets[1]:
            continue
        a, b = (folder.get((dataset, name)) for folder in (one, other))
        missing = a is None or b is None
        words = f"only in {names[a is None]}" if missing else difference(a, b)
        equal += not words
        lines += [f"{dataset} {name}: {words}"] if words else []
    return equal, lines


def main() -> None:
    """Print the digests of one folder, or compare two; exit status 1 where they differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a results folder, as `results`")
    parser.add_argument("other", type=Path, nargs="?", help="another one, to compare with")
    parser.add_argument("--renamed", type=Path, help="a table of names: those of the first folder, and now")
    parser.add_argument("--figures", action="store_true", help="also the datasets beside the figures")
    arguments = parser.parse_args()
    try:
        folders = (arguments.folder, arguments.other)
        read = [values(folder, figures=arguments.figures) for folder in folders if folder]
        if arguments.renamed and arguments.other:
            read[0] = renamed(read[0], renames(arguments.renamed), read[1])
    except ValueError as error:
        sys.exit(str(error))
    if arguments.other is None:
        for (dataset, name), variable in read[0].items():
            print(f"{digest(variable)}  {dataset}  {name}")
        return
    equal, lines = compare(*read, names=(str(arguments.folder), str(arguments.other)))
    print(f"{equal} variables are equal, {len(lines)} differences", *lines, sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
