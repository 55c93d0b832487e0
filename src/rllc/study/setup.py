"""The setup of an experiment: its model, data, training and checkpoints."""

from typing import Any, Self, TypeVar

from pydantic import ValidationInfo, field_validator, model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.families import Initial, ModelSection, family_of
from rllc.study.huggingface.folders import planned_folders, same_config
from rllc.study.huggingface.sections import HuggingFace
from rllc.study.runs import Checkpoints, Training
from rllc.study.tasks import TaskName
from rllc.study.values import Distinct, Name, Seed

S = TypeVar("S", bound=ConfigModel)


class Setup(ConfigModel):
    """The keys of an experiment that measure nothing. Rows of measures see an experiment as this alone."""

    like: Name | None = config_field(
        "another experiment, whose keys this one takes but for those given here; `label`, "
        "`sampling_variants` and `calibration` are not taken",
        default=None,
    )
    label: str | None = config_field("name in figures; null: its name here", default=None)
    task: TaskName = config_field("which task module makes the data")
    seeds: Distinct[Seed] = config_field("one run per seed", min_length=1)
    model: ModelSection = config_field("family and shape of the model")
    tokenizer: Name = config_field("which of the tokenizers makes its tokens")
    initial: Initial | None = config_field("needed where checkpoints are trained here", default=None)
    training: Training | None = config_field("needed where checkpoints are trained here", default=None)
    checkpoints: Checkpoints = config_field("which steps are measured, and where they come from")
    distributions: Distinct[Name] = config_field("what every measure is taken on", default=[])

    @field_validator("initial", mode="before")
    @classmethod
    def _of_the_family(cls, initial: Any, info: ValidationInfo) -> Any:
        """Read the distribution of the initial weights by the section of the model's family."""
        model = info.data.get("model")  # absent if it is invalid
        if initial is None or model is None:
            return None
        return family_of(model).initial.model_validate(initial)

    @model_validator(mode="after")
    def _with_the_config_of_its_checkpoints(self) -> Self:
        """Read the shape of a model of Hugging Face from the config.json of its checkpoints."""
        if not isinstance(self.model, HuggingFace):
            return self
        if self.checkpoints.source == "huggingface":
            if self.model.config is not None:
                raise ValueError("model.config: take it out; the checkpoints have the config of the model")
            folders = (planned_folders(self.model, self.checkpoints, seed) for seed in self.seeds)
            self.model.describe(same_config([folder for own in folders for folder in own.values()]))
        elif self.model.config is None:
            raise ValueError(
                "model.config: missing; give the fields of a transformers config to train a model, or "
                "checkpoints of `source: huggingface`"
            )
        return self

    @property
    def own_training(self) -> Training:
        """Return the section of the training. Raises ValueError if checkpoints are imported."""
        if self.training is None:
            raise ValueError("the experiment has no training: its checkpoints exist already")
        return self.training

    def get(self, kind: type[S]) -> S | None:
        """Return the experiment's section of a class; None if it has none."""
        return next((section for section in self.__dict__.values() if type(section) is kind), None)

    def need(self, kind: type[S]) -> S:
        """Return the experiment's section of a class. Raises ValueError if it has none."""
        if (section := self.get(kind)) is None:
            raise ValueError(f"the experiment has no section {kind.__name__}, which is read here")
        return section

    def several(self, kind: type[S]) -> dict[str, S]:
        """Return the sections of a class that one key of the experiment holds by name."""
        tables = (table for table in self.__dict__.values() if isinstance(table, dict))
        return {name: each for table in tables for name, each in table.items() if type(each) is kind}
