"""Resolve the tables of the config before checks: remove null entries, and expand ``like``."""

from collections.abc import Iterator
from typing import Any

from rllc.study.config_model import ConfigError, like, nearest
from rllc.study.figures import ANIMATIONS, FIGURES, OF_SEVERAL_HEADS
from rllc.study.tasks import TASKS

ALONE = ("label", "sampling_variants", "calibration")  # keys that ``like`` does not take over
TABLES = ("distributions", "tokenizers", "experiments", "figures", "animations")


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """Return the config without entries set to null, and with every ``like`` replaced by the other's keys.

    ``like`` does not take over the other's label, further settings and calibration. A removed experiment
    takes its figures and animations with it, and the distributions that it teaches. Raises ConfigError if
    ``like`` names a missing experiment, or forms a circle. Also if an experiment without a task has nearly
    the name of another.
    """
    config, experiments = dict(config), config.get("experiments")
    if isinstance(experiments, dict):
        gone = {name for name, entry in experiments.items() if entry is None}
        config = {name: _without(gone, entries) for name, entries in config.items()}
        kept = {name: entry for name, entry in experiments.items() if entry is not None}
        config["experiments"] = {name: _alike(name, experiments, ()) for name in kept}
        if problems := [*_misspelt(config["experiments"])]:
            raise ConfigError(*problems)
    for table in TABLES:
        if isinstance(config.get(table), dict):
            config[table] = {name: entry for name, entry in config[table].items() if entry is not None}
    return config


def with_own_figures(config: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the config with the figures and animations that experiments have by default.

    given  the config before null entries were removed; names in its tables are not added again
    """
    tables = {table: config.get(table) for table in ("experiments", "figures", "animations")}
    if not all(isinstance(entries, dict | None) for entries in tables.values()):
        return config  # reading the config reports such an entry
    found = {table: dict(tables[table] or {}) for table in ("figures", "animations")}
    for name, entry in (tables["experiments"] or {}).items():
        named = entry.get("task") if isinstance(entry, dict) else None
        task = next((row for task, row in TASKS.items() if task == named), None)
        if task is None:
            continue
        own = {
            "figures": {f"{name}{end}": draws for end, draws in task.figures.items()},
            "animations": {name: task.animation} if task.animation else {},
        }
        for table, rows in ("figures", FIGURES), ("animations", ANIMATIONS):
            for figure, draws in own[table].items():
                if draws in OF_SEVERAL_HEADS and _heads(entry) == 1:
                    continue
                if figure not in (given.get(table) or {}) and all(
                    entry.get(n) is not None for n in rows[draws].needs
                ):
                    options = {"title": entry.get("label") or name}
                    found[table][figure] = {"draws": draws, "experiment": name, "options": options}
    return {**config, **found}


def _heads(entry: dict[str, Any]) -> Any:
    """Return the number of heads of a model in the unchecked config."""
    return entry["model"].get("n_heads") if isinstance(entry.get("model"), dict) else None


def _without(gone: set[str], entries: Any) -> Any:
    """Return a table without the entries of removed experiments."""
    if not gone or not isinstance(entries, dict):
        return entries
    return {name: entry for name, entry in entries.items() if not gone.intersection(_named(entry))}


def _named(entry: Any) -> Iterator[str]:
    if isinstance(entry, dict) and isinstance(entry.get("experiment"), str):
        yield entry["experiment"]


def _misspelt(experiments: dict[str, Any]) -> Iterator[str]:
    """Yield the problems of misspelt experiments: those without a task, with a name like another's."""
    whole = [name for name, entry in experiments.items() if isinstance(entry, dict) and "task" in entry]
    for name, entry in experiments.items():
        if isinstance(entry, dict) and name not in whole and like(name, whole):
            yield (
                f"experiments.{name}.task: missing; there is no experiment {name!r}{nearest(name, whole)} "
                "One of its own needs a task, or `like:` and the name of another"
            )


def _alike(name: str, experiments: dict[str, Any], followed: tuple[str, ...]) -> Any:
    """Return an experiment with the keys that it takes over by ``like``."""
    entry = experiments[name]
    other = entry.get("like") if isinstance(entry, dict) else None
    if other is None:
        return entry
    place = f"experiments.{name}.like"
    if not isinstance(other, str):
        raise ConfigError(f"{place}: give the name of one experiment")
    if other in (*followed, name):
        raise ConfigError(f"{place}: {' is like '.join((*followed, name, other))}, which is a circle")
    if not isinstance(experiments.get(other, {}), dict | None):
        raise ConfigError(f"experiments.{other}: give a table of keys, or null; {name} is like it")
    known = [each for each, entry in experiments.items() if entry is not None]
    if other not in known:
        gone = " any more: its entry is null" if other in experiments else ""
        raise ConfigError(f"{place}: no experiment is called '{other}'{gone}{nearest(other, known)}")
    under = _alike(other, experiments, (*followed, name))
    return _merged({key: value for key, value in under.items() if key not in ALONE}, entry)


def _merged(under: Any, over: Any) -> Any:
    """Return a value merged over another, as Snakemake merges overlays.

    Tables are merged key by key. Everything else is replaced, and so is a table with another ``source``,
    which
    has other keys."""
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    if "source" in over and over["source"] != under.get("source"):
        return over
    return {**under, **{name: _merged(under.get(name), value) for name, value in over.items()}}
