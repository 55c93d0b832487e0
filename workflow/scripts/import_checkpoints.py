"""Checkpoints that somebody else trained, in the form of ours."""

from dataclasses import asdict
from pathlib import Path

from rllc.job.segments import weights_file
from rllc.job.stage import run
from rllc.models.transformer import Architecture
from rllc.store import manifest
from rllc.store.checkpoints import checkpoint_metadata, save
from rllc.store.imported import imported_run, imported_weights


def main(folder: Path, architecture: dict, steps: dict, seed: int, checkpoints: Path) -> None:
    """Convert the state dicts of one chunk; nothing is trained, nothing is unpickled."""
    found = imported_run(folder, vocabulary=architecture["d_vocab"], steps=steps["chunk"])
    expected = Architecture(**architecture)
    if found.architecture != expected:
        own, given = asdict(found.architecture), architecture
        differ = [f"{n} {own[n]}, the config's `model` {given[n]}" for n in own if own[n] != given[n]]
        raise ValueError(f"{folder}/config.json says {'; '.join(differ)}")
    entries = []
    for step in steps["chunk"]:
        weights = imported_weights(found.files[step], found.architecture)
        file = weights_file(checkpoints.parent, step)
        save(weights, file, checkpoint_metadata(found.architecture, step=step, seed=seed))
        entries.append(manifest.file_entry(file, step=step))
    manifest.write(checkpoints, architecture=asdict(found.architecture), seed=seed, checkpoints=entries)


if __name__ == "__main__":
    run(main)
