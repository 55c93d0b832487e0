"""Import checkpoints into rllc's format."""

from pathlib import Path

from rllc.job.segments import weights_file
from rllc.job.stage import run
from rllc.job_settings.checkpoints import ImportCheckpoints
from rllc.store import manifest
from rllc.store.checkpoints import save
from rllc.store.imported import imported_run
from rllc.store.imported_module import module_run


def main(settings: ImportCheckpoints, seed: int, checkpoints: Path) -> None:
    """Convert the state dicts of one chunk; nothing is trained, no pickled code is run."""
    model = settings.model
    run_of = module_run if model["family"] == "module" else imported_run
    found = run_of(settings.folder, model=model, steps=settings.chunk)
    entries = []
    for step in settings.chunk:
        file = weights_file(checkpoints.parent, step)
        save(found.weights(step), file, {"model": model, "step": step, "seed": seed})
        entries.append(manifest.file_entry(file, step=step))
    manifest.write(checkpoints, model=model, seed=seed, checkpoints=entries)


if __name__ == "__main__":
    run(main)
