"""Tasks: a row for each, with its config sections. Imports no torch.

A new task is a module in ``rllc.tasks`` and a row here. The row of a generated task names the function that
makes the data, ``function(count, *, seed, **settings) -> rllc.tasks.batch.Examples``. The settings are the
keys of the task's two sections, without the numbers of blocks.

Sections of tokens have ``train_blocks``, ``held_out_blocks``, ``context`` (tokens or vectors of a block) and
``predictions`` (number of them that are scored). Sections of real tokens also have ``vocabulary``. If
``train_blocks`` is null, every minibatch of a training is generated.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.distributions import Files, Hub, Installed, Mixture, Predictions, TextTokens
from rllc.study.values import STAGE, Count, Positive, Seed
from rllc.units import NATS


class Task(NamedTuple):
    """A task: the data that its experiments read.

    distributions  sections of the distributions for training and measures
    tokens         section of the tokenizer; several are told apart by their first key
    about          description of such a tokenizer in an error
    generator      ``module:function`` that makes the data; "": text, which is read
    makes          content of the blocks: tokens or vectors
    figures        default figures of an experiment, by the end of their name
    animation      default animation
    unit           unit of the loss
    """

    distributions: tuple[type[ConfigModel], ...]
    tokens: type[ConfigModel]
    about: str
    generator: str = ""
    makes: Literal["tokens", "vectors"] = "tokens"
    figures: Mapping[str, str] = {}
    animation: str = ""
    unit: str = NATS

    @property
    def sources(self) -> list[str]:
        """Return the values of the key ``source`` of its distributions."""
        return [source_of(section) for section in self.distributions]


def source_of(section: type[ConfigModel]) -> str:
    """Return the value of the key ``source`` of a distribution."""
    (source,) = get_args(section.model_fields["source"].annotation)
    return source


class Lists(ConfigModel):
    """Lists of different numbers, a separator, and the sorted list, which is to be predicted."""

    source: Literal["lists"] = config_field(
        "generated lists to sort; needs a tokenizer of `numbers` and `length`"
    )
    swap: float = config_field(
        "the sorted list is perturbed: from left to right, neighbours a < b are swapped with probability "
        "swap / (b - a)",
        ge=0, le=1, source="the post: 0.4", default=0.0,
    )  # fmt: skip
    label: str = config_field("name in figures")


class Sums(ConfigModel):
    """Sequences of numbers; the sign of the sum so far is to be predicted at each."""

    source: Literal["sums"] = config_field(
        "generated sequences to sum; needs a tokenizer of `largest` and `length`"
    )
    label: str = config_field("name in figures")


class Regression(ConfigModel):
    """Sequences of pairs (x, y = w . x + noise), each with a task w of its own, which is to be inferred."""

    source: Literal["regression"] = config_field(
        "generated sequences of linear regression; needs a tokenizer of `dimension` and `length`"
    )
    noise_variance: Positive = config_field("variance of y - w . x", source=f"{STAGE}, App. F.3: 0.125")
    tasks: Count | None = config_field(
        "w is one of so many tasks, drawn once; null: another in every sequence", default=None
    )
    task_seed: Seed = config_field("which tasks these are", default=0)
    label: str = config_field("name in figures")


class ListTokens(ConfigModel):
    """Numbers as tokens: 0 .. numbers - 1 and a separator."""

    numbers: int = config_field("how many numbers there are", ge=2, source="the post: 51")
    length: int = config_field("numbers in a list, all different", ge=2, source="the post: 10")
    train_blocks: Count = config_field(
        "lists that are trained on", source="the recipe that the post took: 150,000"
    )
    held_out_blocks: Count = config_field("other lists, that everything is measured on")

    @model_validator(mode="after")
    def _long_enough(self) -> "ListTokens":
        if self.length > self.numbers:
            raise ValueError(
                f"a list of {self.length} different numbers needs at least {self.length} numbers, "
                f"not {self.numbers}: lower `length` or raise `numbers`"
            )
        blocks, possible = self.train_blocks + self.held_out_blocks, math.perm(self.numbers, self.length)
        if possible < 2 * blocks:
            raise ValueError(
                f"there are {possible:,} lists of {self.length} of {self.numbers} numbers; {blocks:,} blocks "
                "need twice as many: raise `length` or `numbers`, or ask for fewer blocks"
            )
        return self

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens: the numbers and the separator."""
        return self.numbers + 1

    @property
    def context(self) -> int:
        """Return the tokens of a block: the list, the separator, the sorted list."""
        return 2 * self.length + 1

    @property
    def predictions(self) -> int:
        """Return the number of scored positions: those of the sorted list."""
        return self.length


class SumTokens(ConfigModel):
    """Numbers as tokens, from -largest to largest, and three answers: negative, zero, positive."""

    largest: Count = config_field("numbers are drawn from -largest to largest")
    length: int = config_field("numbers in a sequence", ge=2)
    train_blocks: Count = config_field("sequences that are trained on")
    held_out_blocks: Count = config_field("other sequences, that everything is measured on")

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens: the numbers and the answers."""
        return self.numbers + len(self.answers)

    @property
    def numbers(self) -> int:
        """Return the count of different numbers."""
        return 2 * self.largest + 1

    @property
    def answers(self) -> tuple[str, ...]:
        """Return the names of the answers, whose tokens follow the numbers."""
        return ("negative", "zero", "positive")

    @property
    def context(self) -> int:
        """Return the tokens of a block."""
        return self.length

    @property
    def predictions(self) -> int:
        """Return the number of scored positions: all."""
        return self.length


class RegressionTokens(ConfigModel):
    """Pairs of an input and an answer as vectors of dimension + 1 numbers."""

    dimension: Count = config_field("coordinates of an input", source=f"{STAGE}, App. F.3: 4")
    length: Count = config_field("pairs in a sequence", ge=2, source=f"{STAGE}, App. F.3: 8")
    train_blocks: Count | None = config_field("sequences that are trained on; null: others in every step")
    held_out_blocks: Count = config_field("other sequences, that losses and estimates are of")

    @property
    def context(self) -> int:
        """Return the vectors of a block."""
        return 2 * self.length

    @property
    def predictions(self) -> int:
        """Return the number of scored positions: those of the inputs."""
        return self.length


Text = Installed | Files | Hub | Mixture | Predictions
TaskName = Literal["language", "sorting", "cumulative_sum", "regression"]
TASKS: dict[TaskName, Task] = {
    "language": Task(
        get_args(Text), TextTokens, "text (vocabulary, context)",
    ),
    "sorting": Task(
        (Lists,), ListTokens, "lists (numbers, length)", "rllc.tasks.sorting.lists:blocks",
        figures={"": "sort_curves", "_circuits": "sort_circuits", "_specialization": "sort_specialization"},
        animation="sort_animation",
    ),
    "cumulative_sum": Task(
        (Sums,), SumTokens, "sums (largest, length)", "rllc.tasks.sorting.sums:blocks",
        figures={"": "sort_curves", "_circuits": "sort_circuits"},
    ),
    "regression": Task(
        (Regression,), RegressionTokens, "regressions (dimension, length)",
        "rllc.tasks.regression.sequences:blocks", "vectors", unit="squared error",
    ),
}  # fmt: skip

# source -> generator of such a distribution; text has none
GENERATORS = {source: row.generator for row in TASKS.values() if row.generator for source in row.sources}
# first key -> section of tokens
TOKENS = {next(iter(row.tokens.model_fields)): row.tokens for row in TASKS.values()}


def _form(entry: Any) -> str:
    """Return the section of tokens of an entry, by a key that only one section has; else text."""
    has = entry.__contains__ if isinstance(entry, dict) else lambda name: hasattr(entry, name)
    return next((name for name in reversed(TOKENS) if has(name)), next(iter(TOKENS)))


Distribution = Annotated[Text | Lists | Sums | Regression, Field(discriminator="source")]
Tokenizer = Annotated[
    Annotated[TextTokens, Tag("vocabulary")]
    | Annotated[ListTokens, Tag("numbers")]
    | Annotated[SumTokens, Tag("largest")]
    | Annotated[RegressionTokens, Tag("dimension")],
    Discriminator(_form),
]


def settings(distribution: ConfigModel, tokens: ConfigModel) -> dict[str, Any]:
    """Return the arguments of a generator: the keys of both sections that determine the data."""
    how = distribution.model_dump(exclude={"source", "label"})
    return how | tokens.model_dump(exclude={"train_blocks", "held_out_blocks"})
