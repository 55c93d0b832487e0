"""Training in segments: one job per chunk of checkpoints. Each resumes where the one before it ended.

The folder of a segment's manifest holds its checkpoints, the training state of its last step, and the loss of
every update so far. While the segment runs, the folder also holds its newest state, in case the job is
killed. All of these record their recipe (data, model, optimisation, seed, code) and are reused only under the
same recipe. A killed segment resumes from its newest state. A segment that gains a checkpoint trains only to
that checkpoint.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllc.models.training import Checkpoint
from rllc.store import manifest as manifests
from rllc.store.blocks import side_digest
from rllc.store.checkpoints import CheckpointError, intact, load, read_metadata, save

log = logging.getLogger(__name__)


def weights_file(folder: Path, step: int) -> Path:
    return folder / f"step{step:07d}.safetensors"


def state_file(folder: Path, step: int) -> Path:
    return folder / f"state{step:07d}.safetensors"


def losses_file(folder: Path, step: int) -> Path:
    return folder / f"losses{step:07d}.safetensors"


def missing_steps(folder: Path, steps: Iterable[int], recipe: str) -> list[int]:
    """Return the steps whose checkpoint is missing or was made by another recipe."""
    return [step for step in steps if not _made_by(weights_file(folder, step), recipe)]


def newest_state(folder: Path, recipe: str, *, at_most: int) -> dict[str, Any] | None:
    """Return the latest intact training state of this recipe up to ``at_most``; None if there is none."""
    for step, file in sorted(_of_steps(folder, "state").items(), reverse=True):
        if step <= at_most and _made_by(file, recipe):
            try:
                return load(file)
            except CheckpointError as error:
                log.warning("%s: an earlier state serves", error)
    return None


@dataclass(frozen=True)
class Segment:
    """One segment of a training: its blocks, the previous segment, seed, code, and the manifest it writes."""

    blocks: Path
    previous: Path | None
    seed: int
    code: str
    checkpoints: Path

    def recipe(self, **settings: Any) -> str:
        """Return everything that the weights depend on as one short hash: data, seed, code and settings."""
        data = side_digest(self.blocks, "train")
        made_by = [data, self.seed, self.code, settings]
        return hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()[:16]


def train_segment(
    train: Callable[..., Iterable[Checkpoint]],
    segment: Segment,
    steps: list[int],
    *,
    model: dict[str, Any],
    recipe: str,
    keep_every: int,
) -> None:
    """Make the checkpoints of ``steps`` that are missing, then write the manifest of all of them.

    train       ``train(checkpoints=, state=)``: a generator of ``Checkpoint`` at these steps, from this state
    model       facts of the model, which checkpoints record
    keep_every  largest number of steps that a killed segment repeats
    """
    folder, last = segment.checkpoints.parent, steps[-1]
    before = manifests.read(segment.previous)["checkpoints"][-1]["step"] if segment.previous else -1
    if segment.previous and read_metadata(weights_file(folder, before)).get("recipe") != recipe:
        raise ValueError(
            f"{weights_file(folder, before)} is of another training than the one that would go on here: made "
            "by other code or settings, or on another kind of device (compute.device: auto takes what each "
            f"job finds). Set compute.device to cpu or cuda, or move {folder} away to train anew"
        )
    missing = missing_steps(folder, steps, recipe)
    ends = (state_file(folder, last), losses_file(folder, last))
    if last not in missing and not all(_made_by(file, recipe) for file in ends):
        missing.append(last)
    if missing:
        state = newest_state(folder, recipe, at_most=missing[0])
        start = 0 if state is None else int(state["step"])
        kept = set(range(start + keep_every, missing[-1], keep_every))
        facts = {"recipe": recipe, "model": model, "seed": segment.seed}
        for checkpoint in train(checkpoints=sorted({*missing, *kept}), state=state):
            now = {**facts, "step": checkpoint.step}
            if checkpoint.step in missing:
                save(checkpoint.weights, weights_file(folder, checkpoint.step), now)
            if checkpoint.step == last:
                save({"losses": checkpoint.state["losses"]}, losses_file(folder, last), now)
            if checkpoint.step in kept or checkpoint.step == last:
                save(checkpoint.state, state_file(folder, checkpoint.step), now)
                _drop_states(folder, after=before, keep={checkpoint.step, last})
        _drop_states(folder, after=before, keep={last})
    entries = [manifests.file_entry(weights_file(folder, step), step=step) for step in steps]
    losses = manifests.file_entry(losses_file(folder, last), step=last)
    manifests.write(
        segment.checkpoints,
        model=model,
        seed=segment.seed,
        checkpoints=entries,
        training_loss=losses,
    )


def _made_by(file: Path, recipe: str) -> bool:
    if not file.is_file():
        return False
    try:
        return read_metadata(file).get("recipe") == recipe and intact(file)
    except CheckpointError:
        return False


def _drop_states(folder: Path, *, after: int, keep: set[int]) -> None:
    """Delete this segment's states and losses except the newest ones and those of the last step."""
    for kind in ("state", "losses"):
        for step, file in _of_steps(folder, kind).items():
            if after < step <= max(keep) and step not in keep and _has_recipe(file):
                file.unlink()


def _of_steps(folder: Path, kind: str) -> dict[int, Path]:
    """Return step -> file of every training state, or of losses. Files of other names are left alone."""
    named = re.compile(rf"{kind}(\d{{7,}})[.]safetensors")
    found = {file: named.fullmatch(file.name) for file in folder.glob(f"{kind}*.safetensors")}
    return {int(match[1]): file for file, match in found.items() if match}


def _has_recipe(file: Path) -> bool:
    """Return whether a file was written by a training of this workflow."""
    try:
        return "recipe" in read_metadata(file)
    except CheckpointError:
        return False
