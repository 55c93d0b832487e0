"""Which file of a folder of imported checkpoints is which step."""

import re
from pathlib import Path

SUFFIXES = (".safetensors", ".pt", ".pth")


def imported_files(folder: Path) -> dict[int, Path]:
    """The state dict of every step in a folder, ascending: the step is the last number of the name.

    Raises ValueError where the folder is missing or holds no state dict, a name has no number, or two
    have the same.
    """
    if not folder.is_dir():
        raise ValueError(f"imported checkpoints: there is no folder {folder}")
    files: dict[int, Path] = {}
    for path in sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES):
        numbers = re.findall(r"\d+", path.stem)
        if not numbers:
            raise ValueError(f"no step in the name of {path}: rename it, as in step_1000{path.suffix}")
        step = int(numbers[-1])
        if step in files:
            raise ValueError(f"{files[step]} and {path} are both step {step}: keep one of them")
        files[step] = path
    if not files:
        raise ValueError(f"no checkpoint in {folder}: expected files ending in {', '.join(SUFFIXES)}")
    return dict(sorted(files.items()))
