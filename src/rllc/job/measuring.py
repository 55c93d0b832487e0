"""The frame of every measure: read the checkpoints and batches of a chunk, write a part."""

import hashlib
import logging
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tokenizers import Tokenizer

from rllc.job.cells import over_steps
from rllc.job.series import Series
from rllc.job_settings.measures import Measure
from rllc.measures.data import Measurement
from rllc.models.device import choose, computing, device_name
from rllc.models.model import Model, TaughtBatches, build
from rllc.models.weights import Weights
from rllc.seeds import derive, generator
from rllc.store import manifest as manifests
from rllc.store.blocks import examples, side_digest
from rllc.store.blocks import held_out as facts
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.provenance import attributes
from rllc.store.weights_of_entry import weights_of_entry
from rllc.tasks.batch import Batch, batches_of
from rllc.tasks.language.tokenizer import load as read_tokenizer
from rllc.tasks.language.tokenizer import opening

log = logging.getLogger("rllc")


@dataclass(frozen=True)
class Files:
    """Files that a job of a measure reads, and the part that it writes.

    checkpoints  manifest of the chunk
    blocks       manifest of the tokens; None: the measure reads none
    teacher      manifest of a model whose predictions are the targets; None: the targets are the next tokens
    tokenizer    file of the tokenizer; None: the measure does not read it
    after        parts of other measures, of the seed's last chunk of checkpoints
    earlier      manifests of earlier chunks, for a measure that compares a checkpoint with those before it
    output       the part
    """

    checkpoints: Path
    blocks: Path | None
    teacher: Path | None
    tokenizer: Path | None
    after: list[Path]
    earlier: list[Path]
    output: Path


@dataclass(frozen=True)
class Measuring:
    """One job: one seed, one distribution (None: the measure has none), one chunk of checkpoints.

    code  fingerprint of the code
    """

    settings: Measure
    files: Files
    training_seed: int
    distribution: str | None
    code: str

    @property
    def stream(self) -> int:
        """Return the measure's random stream for this seed."""
        return self.settings.stream

    def seed(self, step: int, *, seeded: bool = False) -> int:
        """Return a random seed: the same for all distributions, so that contrasts share their noise.

        seeded  use the same seed for all steps too
        """
        return self.stream if seeded else derive(self.stream, step)

    def batches(self, purpose: str, *, count: int, batch_size: int, scored: int | None) -> Sequence[Batch]:
        """Return held-out minibatches on the device, with the predictions of a teacher as targets, if any."""
        place = choose(self.settings.compute.device)
        random = generator(self.settings.batch_stream, purpose, count, batch_size)
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
        teacher = self.files.teacher
        if teacher is None:
            return batches
        manifest = manifests.read(teacher)
        model = build(self.settings.family.load(), manifest["model"])
        weights = weights_of_entry(teacher, manifest["checkpoints"][-1], model)
        return TaughtBatches(batches, {name: w.to(place) for name, w in weights.items()}, model)

    def contexts(self, count: int | None = None) -> np.ndarray:
        """Return the first ``count`` contexts of the side, or all. Raises ValueError if there are fewer."""
        every = examples(self._needed_blocks(), self.settings.side).contexts
        if count is not None and len(every) < count:
            raise ValueError(
                f"{self.files.blocks} has {len(every)} contexts ({self.settings.side}), {count} are asked "
                "for: give more text, or ask for fewer"
            )
        return every[:count]

    def before(self, step: int, count: int) -> list[tuple[int, Weights]]:
        """Return step and weights of the last ``count`` checkpoints before ``step``, the latest first."""
        return [*self._series.before(step, count)]

    def training_contexts(self) -> np.ndarray:
        """Return the contexts that are not held out."""
        return examples(self._needed_blocks(), "train").contexts

    def part(self, name: str) -> xr.Dataset:
        """Return the part of the measure ``name``."""
        return read_dataset(next(file for file in self.files.after if file.parent.name == name))

    @property
    def bos(self) -> int | None:
        """Return the token that begins every context; None: none does."""
        return opening(self.encoder, self.settings.bos)

    @cached_property
    def encoder(self) -> Tokenizer:
        """Return the tokenizer of the contexts."""
        assert self.files.tokenizer is not None
        return read_tokenizer(self.files.tokenizer)

    def entries(self, steps: Collection[int] | None = None) -> list[dict[str, Any]]:
        """Return the chunk's checkpoints, or those at ``steps``. Raises ValueError if one is missing."""
        every = manifests.read(self.files.checkpoints)["checkpoints"]
        absent = sorted(set(steps or ()) - {entry["step"] for entry in every})
        if absent:
            raise ValueError(
                f"{self.files.checkpoints} has no checkpoint at step {', '.join(map(str, absent))}"
            )
        return every if steps is None else [entry for entry in every if entry["step"] in steps]

    def write(self, measure: Measurement, *, steps: Collection[int] | None = None, **settings: Any) -> None:
        """Write the part: ``measure(weights, model, step)`` of every checkpoint of the chunk.

        steps     steps of the chunk to measure; None: all
        settings  config sections that the measure reads, as plain data, which the part records
        """
        series, model = self._series, self._model
        inputs, compute = self._inputs(), self.settings.compute

        def one(entry: dict[str, Any]) -> xr.Dataset:
            weights = series.weights(entry["step"])
            with computing(compute.device, compute.precision) as place:
                return measure(place(weights), model, entry["step"])

        computed = asdict(replace(compute, device=device_name(choose(compute.device))))
        facts = {**settings, "compute": computed, "code": self.code, "inputs": inputs}
        streams = {"stream": self.stream, "batch_stream": self.settings.batch_stream}
        made_by = {**facts, **streams, "model": self._facts}
        if self.files.after:
            made_by["after"] = [hashlib.sha256(file.read_bytes()).hexdigest() for file in self.files.after]
        entries = [
            {**entry, "earlier": series.digests_before(entry["step"])} for entry in self.entries(steps)
        ]
        dataset = over_steps(one, checkpoints=entries, made_by=made_by, output=self.files.output)
        if self.distribution is not None:
            dataset = dataset.expand_dims(distribution=np.asarray([self.distribution], dtype=object))
        dataset = dataset.expand_dims(seed=np.asarray([self.training_seed], dtype=np.int64))
        write_dataset(dataset.assign_attrs(attributes(**facts)), self.files.output)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """Return the facts of the model, by the chunk's manifest."""
        return manifests.read(self.files.checkpoints)["model"]

    @cached_property
    def _model(self) -> Model:
        return build(self.settings.family.load(), self._facts)

    @cached_property
    def _series(self) -> Series:
        files = [*self.files.earlier, self.files.checkpoints]
        return Series(files, self._model, earlier=self.settings.earlier)

    def _needed_blocks(self) -> Path:
        """Return the manifest of the tokens, for a measure that reads them."""
        assert self.files.blocks is not None
        return self.files.blocks

    def _inputs(self) -> dict[str, Any]:
        """Return the inputs beside the checkpoints.

        These are the SHA-256 of the tokens, the counts of held-out text, and the SHA-256 of the teacher's
        last
        weights."""
        inputs: dict[str, Any] = {}
        if self.files.blocks is not None and self.settings.side == "train":
            inputs["train_blocks"] = side_digest(self.files.blocks, "train")
        elif self.files.blocks is not None:
            inputs |= {
                "held_out_blocks": side_digest(self.files.blocks, "held_out"),
                "held_out": facts(self.files.blocks),
            }
        if self.files.teacher is not None:
            inputs["teacher"] = manifests.read(self.files.teacher)["checkpoints"][-1]["sha256"]
        return inputs
