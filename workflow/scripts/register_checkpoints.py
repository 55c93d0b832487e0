"""Register checkpoints of Hugging Face: record their files, and check that they are the model's."""

from pathlib import Path

from tqdm import tqdm

from rllc.job.stage import log, run
from rllc.job_settings.checkpoints import RegisterCheckpoints
from rllc.models.huggingface.build import model as model_of
from rllc.store import manifest
from rllc.store.registered import check_finite, entry_of
from rllc.store.weights_of_entry import weights_of_entry


def main(settings: RegisterCheckpoints, seed: int, checkpoints: Path) -> None:
    """Record path, size and digest of all files of weights, and confirm the components; nothing is copied."""
    model = model_of(config=settings.model["config"])
    for label in settings.components:
        model.masks(label)
    if settings.heads and len(model.heads) != settings.heads:
        raise ValueError(
            f"the model has {len(model.heads)} heads or groups ({model.heads[0]} to {model.heads[-1]}), and "
            f"{settings.heads} by its config: sample attn:<layer> and mlp:<layer> instead of heads"
        )
    entries = []
    for step, folder in tqdm(sorted(settings.folders.items()), desc="checkpoints", mininterval=5):
        entry = entry_of(folder, step)
        check_finite(weights_of_entry(checkpoints, entry, model), folder)
        entries.append(entry)
    manifest.write(checkpoints, model=settings.model, seed=seed, checkpoints=entries)
    log.info("%s: %d checkpoints, %d heads or groups", checkpoints, len(entries), settings.heads)


if __name__ == "__main__":
    run(main)
