"""What is done to the tables of the config before it is checked: entries removed, experiments alike."""

from collections.abc import Iterator
from typing import Any

from rllc.study.figures import ANIMATIONS, FIGURES, OF_SEVERAL_HEADS
from rllc.study.section import ConfigError, like, nearest
from rllc.study.tasks import TASKS

ALONE = ("label", "settings", "calibration")  # of one experiment alone
TABLES = ("distributions", "tokenizers", "experiments", "figures", "animations")


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """The config with entries set to null removed, and every ``like`` of an experiment replaced by its keys.

    The other's label, further settings and calibration are of that one alone and are not followed.
    With an experiment go its figures and animations, and the distributions that it teaches.
    Raises ConfigError where an experiment is like one that is not there, or, in a circle, like itself, and
    where one without a task has nearly the name of another.
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
    """The config with the figures and animations that its experiments have without being asked.

    given  the config before entries set to null were removed: a name in its tables is left as it is there
    """
    tables = {table: config.get(table) for table in ("experiments", "figures", "animations")}
    if not all(isinstance(entries, dict | None) for entries in tables.values()):
        return config  # reading it says why that cannot be
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
    """Of the model as written, which nothing has checked yet."""
    return entry["model"].get("n_heads") if isinstance(entry.get("model"), dict) else None


def _without(gone: set[str], entries: Any) -> Any:
    """A table without the entries that name an experiment that is gone."""
    if not gone or not isinstance(entries, dict):
        return entries
    return {name: entry for name, entry in entries.items() if not gone.intersection(_named(entry))}


def _named(entry: Any) -> Iterator[str]:
    if isinstance(entry, dict) and isinstance(entry.get("experiment"), str):
        yield entry["experiment"]


def _misspelt(experiments: dict[str, Any]) -> Iterator[str]:
    """An overlay's keys of an experiment that there is not: no whole one, and its name is near another's."""
    whole = [name for name, entry in experiments.items() if isinstance(entry, dict) and "task" in entry]
    for name, entry in experiments.items():
        if isinstance(entry, dict) and name not in whole and like(name, whole):
            yield (
                f"experiments.{name}.task: missing; there is no experiment {name!r}{nearest(name, whole)} "
                "One of its own needs a task, or `like:` and the name of another"
            )


def _alike(name: str, experiments: dict[str, Any], followed: tuple[str, ...]) -> Any:
    """An experiment with the keys of those that it is like."""
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
    """As Snakemake merges overlays: tables key by key, everything else replaced; so is a table of another
    ``source``, which has other keys."""
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    if "source" in over and over["source"] != under.get("source"):
        return over
    return {**under, **{name: _merged(under.get(name), value) for name, value in over.items()}}
