"""Which models and tokenizers of the hub a config asks for. Imports no torch and uses no network.

A config can be read only where the config.json of its models is there, since their shape stands in it. So
this module reads no more of the config than names: ``snakemake download`` calls it before the config is read.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from rllc.study.config_model import ConfigError
from rllc.study.huggingface.folders import hub_revisions
from rllc.study.huggingface.sections import HuggingFace, HuggingFaceCheckpoints
from rllc.study.overlays import resolved
from rllc.study.tokenizer_files import local_path


class Wanted(NamedTuple):
    """A revision of a repository of the hub.

    key      where the config asks for it
    weights  whether config and weights are wanted; else only the tokenizer.json
    """

    repository: str
    revision: str
    key: str
    weights: bool


def wanted(config: dict[str, Any]) -> list[Wanted]:
    """Return what the experiments of a merged config read from the hub, each once, in the order of steps.

    Sections that are invalid are left out: reading the config reports them. Raises ConfigError where a step
    has no revision, or ``like`` is wrong.
    """
    config = resolved(config)
    found: dict[tuple[str, str, bool], Wanted] = {}
    for each in (*_tokenizers(config), *_models(config)):
        found.setdefault((each.repository, each.revision, each.weights), each)
    return list(found.values())


def _entries(config: dict[str, Any], table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = config.get(table)
    if isinstance(entries, dict):
        yield from ((str(name), entry) for name, entry in entries.items() if isinstance(entry, dict))


def _models(config: dict[str, Any]) -> Iterator[Wanted]:
    for name, entry in _entries(config, "experiments"):
        key = f"experiments.{name}"
        model, checkpoints = entry.get("model"), entry.get("checkpoints")
        if not isinstance(model, dict) or model.get("family") != "huggingface":
            continue
        if not isinstance(checkpoints, dict) or checkpoints.get("source") != "huggingface":
            continue
        try:
            sections = HuggingFace.model_validate(model), HuggingFaceCheckpoints.model_validate(checkpoints)
        except ValidationError:
            continue
        try:
            revisions = hub_revisions(*sections)
        except ValueError as error:
            raise ConfigError(f"{key}.{error}") from None
        for _, revision in sorted(revisions.items()):
            yield Wanted(str(sections[0].path), revision, key, weights=True)


def _tokenizers(config: dict[str, Any]) -> Iterator[Wanted]:
    used = {entry.get("tokenizer") for _, entry in _entries(config, "experiments")}
    for name, entry in _entries(config, "tokenizers"):
        repository = entry.get("pretrained")
        if name not in used or not isinstance(repository, str):
            continue
        try:
            local = local_path(repository) is not None
        except ValueError:  # reading the config reports it
            continue
        if not local:
            yield Wanted(repository, "main", f"tokenizers.{name}.pretrained", weights=False)
