"""Config sections of models of Hugging Face and of their checkpoints. Imports no torch."""

import re
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import PrivateAttr, field_validator, model_validator

from rllc import components
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.huggingface.shape import Shape, shape_of, weight_count
from rllc.study.values import Distinct, Step

NAMED = re.compile(r"step([0-9]+)")  # a revision that says its step
LEARNED_POSITIONS = ("gpt2", "gpt_bigcode", "gpt_neo", "opt")  # architectures that have a table of them
PLACES = {"step", "seed"}  # what braces in a path may hold


class HuggingFace(ConfigModel):
    """A causal language model of Hugging Face, of any architecture that transformers knows."""

    family: Literal["huggingface"] = config_field("models of Hugging Face")
    path: str | None = config_field(
        "hub name, or folder with its config.json; null: that of the checkpoints",
        default=None,
        exclude=True,  # the model does not depend on where it lies
    )
    config: dict[str, Any] | None = config_field(
        "fields of a transformers config, `model_type` included, to train from scratch; `vocab_size` left "
        "out is that of the tokenizer",
        default=None,
    )
    _fields: dict[str, Any] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.config is not None:
            if self.path is not None:
                raise ValueError("give `path` (a model that exists) or `config` (to train one), not both")
            if not isinstance(self.config.get("model_type"), str):
                raise ValueError("config lacks model_type: give the architecture, such as gpt_neox")
            self.describe(self.config)
        return self

    def describe(self, fields: dict[str, Any]) -> None:
        """Take the fields of the model's config.json. Raises ValueError where they describe no shape."""
        shape_of(fields)
        self._fields = fields

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the config. Raises ValueError where they were not read yet."""
        if self._fields is None:
            raise ValueError("the config of the model is not read: expected checkpoints, or model.config")
        return self._fields

    @property
    def shape(self) -> Shape:
        """Return the shape of the model."""
        return shape_of(self.fields)

    @property
    def n_layers(self) -> int:
        """Return the number of layers."""
        return self.shape.n_layers


class HuggingFaceInitial(ConfigModel):
    """The law of the initial weights: that of transformers, which the model's config determines."""


class HuggingFaceCheckpoints(ConfigModel):
    """Checkpoints of Hugging Face: revisions of the hub, or folders. Nothing is copied."""

    source: Literal["huggingface"] = config_field("checkpoints of transformers that already exist")
    revisions: Distinct[str] | dict[int, str] | None = config_field(
        "revisions of the hub in its cache: names such as step1000, or a table of steps and names; null: "
        "`path`, or the one checkpoint `model.path`",
        min_length=1,
        default=None,
    )
    path: str | None = config_field(
        "folders that save_pretrained or a Trainer wrote, as runs/checkpoint-{step}; `{step}` and `{seed}` "
        "are replaced",
        default=None,
    )
    steps: Distinct[Step] | None = config_field(
        "which steps; null: all that there are", unit="steps", min_length=1, default=None
    )
    allow_equal: bool = config_field(
        "whether different steps may have the same weights, which is refused otherwise", default=False
    )
    chunks: list[Step] = config_field("as for trained checkpoints", unit="steps", default=[0])

    @field_validator("revisions", mode="before")
    @classmethod
    def _with_steps(cls, revisions: Any) -> Any:
        """Read the steps of a table as numbers: JSON keeps them as text."""
        if not isinstance(revisions, dict):
            return revisions
        return {int(k) if isinstance(k, str) and k.isdecimal() else k: v for k, v in revisions.items()}

    @field_validator("revisions", mode="after")
    @classmethod
    def _of_one_step_each(cls, revisions: list[str] | dict[int, str] | None) -> Any:
        if isinstance(revisions, dict) and (wrong := [step for step in revisions if step < 0]):
            raise ValueError(f"{wrong[0]} is no step: give whole numbers from 0")
        for name in revisions if isinstance(revisions, list) else ():
            if not NAMED.fullmatch(name):
                raise ValueError(
                    f"{name!r} does not say its step alone, as step1000 does: give a table of steps and "
                    f"names, such as {{1000: {name}}}"
                )
        names = list(revisions.values()) if isinstance(revisions, dict) else []
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} has several steps: give each revision once")
        return revisions

    @field_validator("path")
    @classmethod
    def _only_places_in_braces(cls, path: str | None) -> str | None:
        bare = path or ""
        for place in PLACES:
            bare = bare.replace(f"{{{place}}}", "")
        if set("{}") & set(bare):
            raise ValueError("braces are for `{step}` and `{seed}` alone")
        if (path or "").count("{step}") > 1:
            raise ValueError("`{step}` is in it twice; give it once")
        return path

    @model_validator(mode="before")
    @classmethod
    def _without_a_schedule(cls, data: Any) -> Any:
        """Refuse keys of a training's schedule, which an overlay cannot remove from an experiment."""
        theirs = ("ratio", "first", "ranges", "extra")
        if isinstance(data, dict) and (kept := [name for name in theirs if name in data]):
            raise ValueError(
                f"{', '.join(kept)} are of `source: train`. An overlay cannot take them out: give these "
                "checkpoints an experiment of their own, with `like:` this one and its `checkpoints`"
            )
        return data

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.revisions is not None and self.path is not None:
            raise ValueError("give `revisions` (of the hub) or `path` (folders), not both")
        several = self.revisions is not None or "{step}" in (self.path or "")
        if not several and len(self.steps or ()) != 1:
            raise ValueError(
                "steps: one checkpoint has one step, such as `steps: [143000]`; for several give "
                "`revisions`, or `{step}` in `path`"
            )
        return self

    @property
    def names(self) -> dict[int, str]:
        """Return step -> revision; empty without revisions."""
        if isinstance(self.revisions, dict):
            return self.revisions
        return {int(name.removeprefix("step")): name for name in self.revisions or ()}


def check_component(model: HuggingFace, component: str) -> str | None:
    """Return why a label names no component of the model, by its config; None: it does.

    The probe (``rllc.models.huggingface.probe``) confirms it when the checkpoints are read.
    """
    shape = model.shape
    try:
        parsed = components.parse(component)
    except ValueError as error:
        return str(error)
    for part in parsed.parts:
        if part.layer >= shape.n_layers:
            return f"component {component!r} is not in this model: its layers are 0 to {shape.n_layers - 1}"
        if part.kind in ("head", "group"):
            if part.kind != shape.unit:
                return _other_unit(component, part, shape)
            if part.index >= shape.groups:
                return (
                    f"component {component!r} is not in this model: its {shape.unit}s are 0 to "
                    f"{shape.groups - 1} in each layer"
                )
        if part.kind == "unembedding" and shape.tied:
            return (
                f"component {component!r} is tied to embedding in this model, both are one matrix: sample "
                "'embedding' instead"
            )
    return None


def _other_unit(component: str, part: components.Part, shape: Shape) -> str:
    if part.kind == "group":
        return f"component {component!r} is not in this model: its heads have keys and values of their own"
    group = f"group:{part.layer}:{part.index * shape.groups // shape.n_heads}"
    return (
        f"component {component!r} shares its keys and values with other heads: sample them together as "
        f"{group!r}"
    )


def check_tokens(model: HuggingFace, tokens: Any) -> Iterator[str]:
    """Yield the problems between a model and its tokens."""
    shape, name = model.shape, "path" if model.config is None else "config"
    if shape.longest is not None and tokens.context > shape.longest:
        yield f"{name}: {shape.longest} positions cannot hold the blocks of {tokens.context} tokens"
    if shape.vocabulary is not None and tokens.vocabulary > shape.vocabulary:
        yield f"{name}: an embedding of {shape.vocabulary} tokens cannot hold the {tokens.vocabulary} tokens"


def facts(model: HuggingFace, tokens: Any) -> dict[str, Any]:
    """Return the fields of the config that the model is built from."""
    fields = {"vocab_size": tokens.vocabulary} if model.shape.vocabulary is None else {}
    return {"config": {**fields, **model.fields}}


def vocabulary(model: HuggingFace, tokens: Any) -> int:
    """Return the number of rows of the embedding."""
    return model.shape.vocabulary or tokens.vocabulary


def weights(model: HuggingFace, tokens: Any) -> int:
    """Return about how many weights the model has."""
    return weight_count(model.shape, vocabulary(model, tokens))


def capabilities(model: HuggingFace) -> frozenset[str]:
    """Return the capabilities that some architectures have alone (``rllc.study.families.CAPABILITIES``)."""
    learned = model.fields.get("model_type") in LEARNED_POSITIONS
    return frozenset({"learned_positions"} if learned else ())


def heads(model: HuggingFace) -> int:
    """Return the number of heads, or of groups where heads share keys and values."""
    return model.shape.n_layers * model.shape.groups
