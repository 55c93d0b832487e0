"""Around every measure: read a chunk's checkpoints and batches, write a part."""

import hashlib
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tokenizers import Tokenizer

from rllc.job.cells import over_steps
from rllc.measures.data import Measurement
from rllc.models.device import choose, computing, device_name
from rllc.models.model import TaughtBatches, build
from rllc.seeds import derive, generator
from rllc.store import manifest as manifests
from rllc.store.blocks import examples, side_digest
from rllc.store.blocks import held_out as facts
from rllc.store.checkpoints import load
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.provenance import attributes
from rllc.tasks.batch import Batch, batches_of
from rllc.tasks.language.tokenizer import bos_id
from rllc.tasks.language.tokenizer import load as read_tokenizer

log = logging.getLogger("rllc")


@dataclass(frozen=True)
class Measuring:
    """One job: one seed, one distribution, one chunk of checkpoints.

    checkpoints   manifest of the chunk
    blocks        manifest of the tokens that are read
    side          of the tokens: held_out, or train, the contexts that are trained on
    teacher       manifest of a model whose predictions are the targets; None: the next tokens are
    tokenizer     the file of the tokenizer; None: the measure does not read it
    after         parts of other measures, of the seed's last chunk of checkpoints
    family        what builds the model, and the teacher
    compute       device and precision
    labels        length-1 coordinates of the result: seed, distribution
    stream        random stream of the measure; per checkpoint, ``seed(step)``
    batch_stream  random stream of the minibatches: the same for all seeds and steps
    code          fingerprint of what computes
    output        the part
    """

    checkpoints: Path
    blocks: Path | None
    side: str
    teacher: Path | None
    tokenizer: Path | None
    after: list[Path]
    family: Callable
    compute: dict
    labels: dict
    stream: int
    batch_stream: int
    code: str
    output: Path

    def seed(self, step: int, *, seeded: bool = False) -> int:
        """The same for all distributions, and ``seeded`` for all steps: contrasts then share their noise."""
        return self.stream if seeded else derive(self.stream, step)

    def batches(self, purpose: str, *, count: int, batch_size: int, scored: int | None) -> Sequence[Batch]:
        """Held-out minibatches on the device, with the teacher's predictions as targets if there is one."""
        place = choose(self.compute["device"])
        random = generator(self.batch_stream, purpose, count, batch_size)
        blocks = self._needed_blocks()
        held_out = examples(blocks, "held_out")
        there = facts(blocks)
        if "documents" in there and count * batch_size > there["contexts"]:
            log.warning(
                "%s: %d contexts are drawn (%s), %d held-out ones are different",
                blocks.stem, count * batch_size, purpose, there["contexts"],
            )  # fmt: skip
        drawn = batches_of(held_out, batch_size=batch_size, count=count, scored=scored, random=random)
        batches = [Batch(*(part.to(place) for part in batch)) for batch in drawn]
        if self.teacher is None:
            return batches
        manifest = manifests.read(self.teacher)
        model = build(self.family, manifest["model"])
        weights = load(manifests.verified(self.teacher, manifest["checkpoints"][-1]), model.shapes())
        return TaughtBatches(batches, {name: w.to(place) for name, w in weights.items()}, model)

    def contexts(self, count: int | None = None) -> np.ndarray:
        """The first contexts of the side, in order, or all; ValueError where there are fewer."""
        every = examples(self._needed_blocks(), self.side).contexts
        if count is not None and len(every) < count:
            raise ValueError(
                f"{self.blocks} has {len(every)} contexts ({self.side}), {count} are asked for: give more "
                "text, or ask for fewer"
            )
        return every[:count]

    def training_contexts(self) -> np.ndarray:
        """The contexts that are not held out."""
        return examples(self._needed_blocks(), "train").contexts

    def part(self, name: str) -> xr.Dataset:
        """The part of the measure ``name``."""
        return read_dataset(next(file for file in self.after if file.parent.name == name))

    @property
    def bos(self) -> int:
        """The token that begins every context."""
        return bos_id(self.encoder)

    @cached_property
    def encoder(self) -> Tokenizer:
        """The tokenizer of the contexts."""
        assert self.tokenizer is not None
        return read_tokenizer(self.tokenizer)

    def entries(self, steps: Collection[int] | None = None) -> list[dict[str, Any]]:
        """The chunk's checkpoints, or those at ``steps``. Raises ValueError where it lacks one of them."""
        every = manifests.read(self.checkpoints)["checkpoints"]
        absent = sorted(set(steps or ()) - {entry["step"] for entry in every})
        if absent:
            raise ValueError(f"{self.checkpoints} has no checkpoint at step {', '.join(map(str, absent))}")
        return every if steps is None else [entry for entry in every if entry["step"] in steps]

    def write(self, measure: Measurement, *, steps: Collection[int] | None = None, **settings: Any) -> None:
        """Write the part: ``measure(weights, model, step)`` of every checkpoint of the chunk.

        steps     these of the chunk's checkpoints; None: all
        settings  the config sections that the measure reads, as plain data; recorded in the part
        """
        manifest = manifests.read(self.checkpoints)
        model = build(self.family, manifest["model"])
        inputs = self._inputs()

        def one(entry: dict[str, Any]) -> xr.Dataset:
            weights = load(manifests.verified(self.checkpoints, entry), model.shapes())
            with computing(self.compute["device"], self.compute["precision"]) as place:
                return measure(place(weights), model, entry["step"])

        computed = {**self.compute, "device": device_name(choose(self.compute["device"]))}
        facts = {**settings, "compute": computed, "code": self.code, "inputs": inputs}
        streams = {"stream": self.stream, "batch_stream": self.batch_stream}
        made_by = {**facts, **streams, "model": manifest["model"]}
        if self.after:
            made_by["after"] = [hashlib.sha256(file.read_bytes()).hexdigest() for file in self.after]
        dataset = over_steps(one, checkpoints=self.entries(steps), made_by=made_by, output=self.output)
        labels = {name: np.asarray([value], dtype=_kind(value)) for name, value in self.labels.items()}
        for name, value in labels.items():
            dataset = dataset.expand_dims({name: value})
        write_dataset(dataset.assign_attrs(attributes(**facts)), self.output)

    def _needed_blocks(self) -> Path:
        """The manifest of the tokens, for a measure that reads them."""
        assert self.blocks is not None
        return self.blocks

    def _inputs(self) -> dict[str, Any]:
        """What is read beside the checkpoints: SHA-256 of the tokens, how many there are, and SHA-256 of the
        teacher's last weights."""
        inputs: dict[str, Any] = {}
        if self.blocks is not None and self.side == "train":
            inputs["train_blocks"] = side_digest(self.blocks, "train")
        elif self.blocks is not None:
            inputs |= {
                "held_out_blocks": side_digest(self.blocks, "held_out"),
                "held_out": facts(self.blocks),
            }
        if self.teacher is not None:
            inputs["teacher"] = manifests.read(self.teacher)["checkpoints"][-1]["sha256"]
        return inputs


def _kind(value: Any) -> type:
    return object if isinstance(value, str) else np.int64
