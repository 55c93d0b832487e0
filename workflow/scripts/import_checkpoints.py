"""Checkpoints that somebody else trained, in the form of ours."""

from pathlib import Path

from rllc.job.segments import weights_file
from rllc.job.stage import run
from rllc.store import manifest
from rllc.store.checkpoints import save
from rllc.store.imported import imported_run, imported_weights


def main(folder: Path, model: dict, steps: dict, seed: int, checkpoints: Path) -> None:
    """Convert the state dicts of one chunk; nothing is trained, nothing is unpickled."""
    found = imported_run(folder, vocabulary=model["d_vocab"], steps=steps["chunk"])
    own = found.model.facts()
    differ = [f"{n} {own[n]}, the config's `model` {model[n]}" for n in own if own[n] != model[n]]
    if differ:
        raise ValueError(f"{folder}/config.json says {'; '.join(differ)}")
    entries = []
    for step in steps["chunk"]:
        weights, file = (
            imported_weights(found.files[step], found.model),
            weights_file(checkpoints.parent, step),
        )
        save(weights, file, {"model": model, "step": step, "seed": seed})
        entries.append(manifest.file_entry(file, step=step))
    manifest.write(checkpoints, model=model, seed=seed, checkpoints=entries)


if __name__ == "__main__":
    run(main)
