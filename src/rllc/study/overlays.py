"""What is done to the tables of the config before it is checked: entries removed, experiments alike."""

from collections.abc import Callable, Iterator
from typing import Any

from rllc.study.claims import STEPS
from rllc.study.figures import ANIMATIONS, FIGURES, OF_SEVERAL_HEADS
from rllc.study.section import ConfigError, like, nearest
from rllc.study.tasks import TASKS

ALONE = ("label", "settings", "calibration")  # of one experiment alone
TABLES = ("distributions", "tokenizers", "experiments", "figures", "animations", "statistics", "claims")


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """The config with entries set to null removed, and every ``like`` of an experiment replaced by its keys.

    The other's label, further settings and calibration are of that one alone and are not followed.
    With an experiment go its figures, animations and claims, and the distributions that it teaches; with a
    distribution the statistics that have it as a label, and what is made of them.
    Raises ConfigError where an experiment is like one that is not there, or, in a circle, like itself, and
    where one without a task has nearly the name of another.
    """
    config, experiments = dict(config), config.get("experiments")
    texts = _table(config, "distributions")
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
    return _without_texts(config, texts.keys() - _table(config, "distributions").keys())


def with_own_figures(config: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The config with the figures and animations that its experiments have without being asked.

    given  the config before entries set to null were removed: a name in its tables is left as it is there
    """
    tables = {table: config.get(table) for table in ("experiments", "figures", "animations")}
    if not all(isinstance(entries, dict | None) for entries in tables.values()):
        return config  # reading it says why that cannot be
    found = {table: dict(tables[table] or {}) for table in ("figures", "animations")}
    for name, entry in (tables["experiments"] or {}).items():
        task = TASKS.get(str(entry.get("task"))) if isinstance(entry, dict) else None
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
    for key in ("experiment", "versus"):
        if isinstance(entry, dict) and isinstance(entry.get(key), str):
            yield entry[key]


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    return config[name] if isinstance(config.get(name), dict) else {}


def _without_texts(config: dict[str, Any], texts: set[str]) -> dict[str, Any]:
    """The config without statistics of distributions that are gone, and what needs these."""

    def labels(entry: dict[str, Any]) -> set[str]:
        return {str(_table(entry, key).get("distribution")) for key in ("at", "against_at", "divided_by")}

    def others(entry: dict[str, Any]) -> set[str]:
        among = entry.get("among")
        return {str(entry.get(key)) for key in STEPS} | {*map(str, among if isinstance(among, list) else ())}

    if not texts:
        return config
    lost = _falling(
        _table(config, "statistics"), lambda entry, found: labels(entry) & texts or others(entry) & found
    )
    claims = _falling(
        _table(config, "claims"),
        lambda entry, found: str(entry.get("statistic")) in lost or str(entry.get("given")) in found,
    )
    for table, gone in ("statistics", lost), ("claims", claims):
        if gone:
            config[table] = {name: entry for name, entry in config[table].items() if name not in gone}
    return config


def _falling(table: dict[str, Any], falls: Callable[[dict[str, Any], set[str]], Any]) -> set[str]:
    """The entries that fall, by what they are or by others that fall."""
    found: set[str] = set()
    while more := {
        name
        for name, entry in table.items()
        if name not in found and isinstance(entry, dict) and falls(entry, found)
    }:
        found |= more
    return found


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
