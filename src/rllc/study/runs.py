"""Runs: the training of a model, and its checkpoints."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.huggingface.sections import HuggingFaceCheckpoints
from rllc.study.values import Count, Distinct, Name, Positive, Share, Step

MOST = 100_000  # largest number of checkpoints in a range


class Training(ConfigModel):
    """The optimisation."""

    distribution: Name = config_field("what is trained on (its training side)")
    steps: Count = config_field("length", unit="steps")
    batch_size: Count = config_field("contexts per step")
    optimizer: Literal["adamw", "adam"] = config_field("adamw: decoupled weight decay; adam: coupled L2")
    learning_rate: Positive = config_field("peak learning rate")
    betas: list[Share] = config_field("Adam's betas", min_length=2, max_length=2)
    eps: Positive = config_field("Adam's eps")
    weight_decay: float = config_field("weight decay", ge=0)
    warmup: Step = config_field("linear warm-up", unit="steps")
    schedule: Literal["constant", "linear"] = config_field(
        "after the warm-up: constant, or falling linearly to the end"
    )
    end_rate: float = config_field("where a linear schedule ends: share of the peak", ge=0, le=1, default=0.0)
    gradient_clip: Positive | None = config_field("largest gradient norm; null: no clipping")
    late_layers_ramp: Step = config_field(
        "learning rate of layers 1.. rises linearly over this many steps; 0: no ramp (the papers' recipe)",
        unit="steps",
    )
    keep_state_every: Count = config_field(
        "a killed training resumes from at most this long ago", unit="steps"
    )


class TrainedCheckpoints(ConfigModel):
    """Which steps of a training are kept. Adding one moves no other."""

    source: Literal["train"] = config_field("checkpoints of a training of ours")
    ratio: float | None = config_field(
        "all powers of this, rounded down; null: none. 0 and the last step are always kept", ge=1.001
    )
    first: Step = config_field("the smallest power kept", unit="steps")
    ranges: Distinct[Annotated[list[Count], Field(min_length=3, max_length=3)]] = config_field(
        "also every third-th step from the first number to the second, both included",
        unit="steps",
        default=[],
    )
    extra: Distinct[Step] = config_field("explicit further steps", unit="steps")
    chunks: list[Step] = config_field(
        "a job takes the checkpoints from one of these steps to the next", unit="steps"
    )

    @field_validator("ranges")
    @classmethod
    def _of_some_steps(cls, ranges: list[list[int]]) -> list[list[int]]:
        for first, last, every in ranges:
            if not 0 <= (last - first) // every < MOST:
                raise ValueError(
                    f"from {first} to {last}, every {every}, are none or more than {MOST:,} checkpoints"
                )
        return ranges


class ImportedCheckpoints(ConfigModel):
    """Checkpoints that others trained: state dicts of an attention-only HookedTransformer or your module."""

    source: Literal["import"] = config_field("checkpoints that already exist")
    path: str = config_field(
        "folder with one .safetensors or .pt per step, and for attention_only config.json; `{seed}` in it is "
        "replaced"
    )
    chunks: list[Step] = config_field("as for trained checkpoints", unit="steps")

    @model_validator(mode="before")
    @classmethod
    def _without_a_schedule(cls, data: Any) -> Any:
        """Refuse keys of a training's schedule, which an overlay cannot remove from an experiment."""
        theirs = TrainedCheckpoints.model_fields.keys() - cls.model_fields.keys()
        if isinstance(data, dict) and (kept := [name for name in data if name in theirs]):
            raise ValueError(
                f"{', '.join(kept)} are of `source: train`. An overlay cannot take them out: give the "
                "imported checkpoints an experiment of their own, with `like:` this one and its `checkpoints`"
            )
        return data

    @field_validator("path")
    @classmethod
    def _only_the_seed_in_braces(cls, path: str) -> str:
        if set("{}") & set(path.replace("{seed}", "")):
            raise ValueError("braces are for `{seed}` alone")
        return path

    def folder(self, seed: int) -> Path:
        """Return the folder of a seed's checkpoints."""
        return Path(self.path.replace("{seed}", str(seed)))


Checkpoints = Annotated[
    TrainedCheckpoints | ImportedCheckpoints | HuggingFaceCheckpoints, Field(discriminator="source")
]
