"""The default config: the files it stands in, and how overlays come over them."""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from snakemake.utils import update_config

FILES = ("config/config.yaml", "config/calibration.yaml", "config/claims.yaml", "config/validation.yaml")


def load(overlays: Iterable[Path | str] = (), root: Path = Path()) -> dict[str, Any]:
    """The default config with ``overlays`` over it, the later over the earlier, as Snakemake merges them.

    Tables are merged key by key, everything else is replaced; overlays are merged with each other first. The
    default files are relative to ``root``, the overlays to the working directory.
    """
    over: dict[str, Any] = {}
    for overlay in overlays:
        update_config(over, _read(Path(overlay)))
    config = copy.deepcopy(over)  # its keys stand first
    for file in FILES:
        update_config(config, _read(root / file))
        update_config(config, over)
    return config


def _read(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8")) or {}
