"""The default config: its files, the merge with overlays, and checks of the files."""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from snakemake.utils import update_config

from rllc.study.config_model import ConfigError, nearest
from rllc.study.problems import DEEPEST

FILES = ("config/config.yaml", "config/calibration.yaml", "config/validation.yaml")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
REMOVABLE = ("distributions", "tokenizers", "experiments")  # tables whose entries a null removes


def load(overlays: Iterable[Path | str] = (), root: Path = Path()) -> dict[str, Any]:
    """Return the default config merged with ``overlays``, in order, as Snakemake merges them.

    Tables are merged key by key. Everything else is replaced. Overlays are merged with each other first. The
    default files are relative to ``root``, the overlays to the working directory.

    Raises ConfigError if a file is not a table in YAML or JSON, or ``refuse`` refuses it.
    """
    overlays = [Path(overlay) for overlay in overlays]
    refuse([*overlays, *(root / file for file in FILES)])
    over: dict[str, Any] = {}
    for overlay in overlays:
        update_config(over, _read(overlay))
    config = copy.deepcopy(over)  # its keys come first
    for file in FILES:
        update_config(config, _read(root / file))
        update_config(config, over)
    return config


def as_overlay(config: dict[str, Any]) -> dict[str, Any]:
    """Return the overlay that turns the default config into this merged one.

    If one overlay adds an entry and another removes it, the null is left out: it would remove nothing.
    """
    own = load()
    kept = {
        table: {
            name: entry for name, entry in config[table].items() if entry is not None or name in own[table]
        }
        for table in REMOVABLE
        if table in config
    }
    return {**config, **kept}


def refuse(files: Iterable[Path | str]) -> None:
    """Raise ConfigError if a file repeats a key in one table: all but the last value would be dropped.

    Also if a file is not UTF-8, or its tables are nested without end. Also if null removes an experiment, a
    distribution or a tokenizer that no file has. Snakemake reads the files itself and checks none of this.
    """
    files = [Path(file) for file in files]
    if problems := [problem for file in files for problem in _problems(file)]:
        raise ConfigError(*problems)
    if problems := [*_removing_nothing({file: _read(file) for file in files})]:
        raise ConfigError(*problems)


def read_values(config: dict[str, Any], entries: Iterable[str] | None) -> None:
    """Read the entries of ``--config`` into the config as if they came from an overlay.

    Snakemake itself reads every number in a table or list as text.

    entries  each ``key=value``, as on the command line

    Raises ConfigError if a value is not YAML, or repeats a key in one table.
    """
    for entry in entries or ():
        key, _, value = entry.partition("=")
        if isinstance(config.get(key), int | float):  # Snakemake has read a number or a boolean already
            continue
        found = None
        try:
            problems = [*_ambiguous(value)]
            found = LOADER(value).get_single_data()
        except yaml.YAMLError as error:
            problems = [_said(error)]
        if problems:
            raise ConfigError(*(f"--config {key}={value}: {problem}" for problem in problems))
        update_config(config, {key: found})


def _read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    try:
        try:
            found = json.loads(text)
        except ValueError:
            found = LOADER(text).get_single_data()
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{file}: {_said(error)}") from None
    if not isinstance(found, dict | None):
        raise ConfigError(f"{file}: expected a table of keys, not {found!r}")
    return found or {}


def _problems(file: Path) -> Iterator[str]:
    try:
        text = file.read_text(encoding="utf-8")
        yield from (f"{file}: {problem}" for problem in _ambiguous(text))
    except UnicodeDecodeError as error:
        yield f"{file}: byte {error.start} is not UTF-8; save the file in that encoding"
    except yaml.YAMLError as error:
        yield f"{file}: {_said(error)}"


def _removing_nothing(configs: Mapping[Path, dict[str, Any]]) -> Iterator[str]:
    """Yield the problems of entries set to null that no file has, as ``langauge: null``."""
    for table in REMOVABLE:
        entries = {f: c[table] for f, c in configs.items() if isinstance(c.get(table), dict)}
        there = {str(n) for each in entries.values() for n, entry in each.items() if entry is not None}
        for file, each in entries.items():
            for name in (str(n) for n, entry in each.items() if entry is None and str(n) not in there):
                yield f"{file}: {table}.{name}: null removes nothing, no file has it{nearest(name, there)}"


def _said(error: Exception) -> str:
    """Return the text of an error in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())


class _Open(NamedTuple):
    """A table or list that is being read.

    keys   keys of a table with their lines; None: a list
    nodes  the key of every key and value read so far
    """

    anchor: str | None
    keys: dict[str, int] | None
    nodes: list[str]


def _ambiguous(text: str) -> Iterator[str]:
    """Yield the problems of repeated keys, tables that contain themselves, and unlimited depth."""
    stack: list[_Open] = []
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            line, name = event.start_mark.line + 1, getattr(event, "value", "")
            if isinstance(event, yaml.AliasEvent) and event.anchor in [each.anchor for each in stack]:
                yield f"line {line}: *{event.anchor} refers to a value that contains it; remove the alias"
            if stack and (keys := stack[-1].keys) is not None and len(stack[-1].nodes) % 2 == 0:
                if name in keys and name != "<<":
                    place = ".".join([*(each.nodes[-1] for each in stack[:-1] if each.keys), name])
                    yield f"{place}: on line {keys[name]} and again on line {line}; keep one of them"
                keys[name] = line
                stack[-1].nodes.append(name)
            elif stack:
                stack[-1].nodes.append(stack[-1].nodes[-1] if stack[-1].nodes else "")
            if isinstance(event, yaml.CollectionStartEvent):
                table = isinstance(event, yaml.MappingStartEvent)
                stack.append(_Open(event.anchor, {} if table else None, []))
                if len(stack) > DEEPEST:
                    yield f"line {line}: tables lie in each other more than {DEEPEST} deep"
                    return
