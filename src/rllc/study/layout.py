"""Paths of all files. A path names things, never parameters. ``results/README.md`` describes the same layout.

Patterns hold Snakemake wildcards in braces; ``{start}`` is the first step of a chunk of checkpoints.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rllc.study.config_model import ConfigError

# Folders in the results folder that belong to no experiment.
SHARED = (
    "benchmarks", "blocks", "corpora", "figures", "logs", "partial", "tokenizers", "validation",
)  # fmt: skip


def no_folder(path: Path) -> str | None:
    """Return why a path cannot be a folder, and what to do; None if it is one or can become one."""
    try:
        if path.is_dir() or not os.path.lexists(path):
            return None
        if path.is_symlink() and not path.exists():
            return (
                f"{path} is a link to {path.parent / path.readlink()}, which is not there: mount its disk or "
                "make that folder, or remove the link"
            )
    except OSError as error:
        return f"{path} cannot be reached ({error.strerror}): give a folder of your own"
    return f"{path} is no folder; give another"


@dataclass(frozen=True)
class Layout:
    """Path patterns under one results folder."""

    results: str

    def refuse_unusable(self, experiments: Iterable[str] = ()) -> None:
        """Raise ConfigError if the results folder, a folder above it or one in it cannot be a folder."""
        results = Path(self.results)
        inner = [results / name for name in (*SHARED, *experiments)]
        for folder in (*reversed(results.parents), results, *inner):
            if problem := no_folder(folder):
                raise ConfigError(f"results: {problem}")

    def corpus(self) -> str:
        return f"{self.results}/corpora/{{distribution}}.json"

    def tokenizer(self) -> str:
        return f"{self.results}/tokenizers/{{tokenizer}}.json"

    def blocks(self) -> str:
        return f"{self.results}/blocks/{{tokenizer}}/{{distribution}}.json"

    def corpora(self) -> str:
        return f"{self.results}/corpus.nc"

    def checkpoints(self) -> str:
        """Return the manifest of one chunk of checkpoints. The .safetensors files lie beside it."""
        return f"{self.results}/{{experiment}}/checkpoints/seed{{seed}}/from{{start}}.json"

    def part(self, *, of_distribution: bool = True) -> str:
        """Return the path of a part: a job's result for one seed, one chunk and at most one distribution."""
        distribution = ".{distribution}" if of_distribution else ""
        return f"{self.results}/{{experiment}}/parts/{{dataset}}/seed{{seed}}{distribution}.from{{start}}.nc"

    def dataset(self, experiment: str = "{experiment}", name: str = "{dataset}") -> str:
        return f"{self.results}/{experiment}/{name}.nc"

    def downloads(self) -> str:
        """Return the record of what was fetched from the hub."""
        return f"{self.results}/downloads.json"

    def claims(self) -> str:
        return f"{self.results}/claims.nc"

    def claims_page(self) -> str:
        return f"{self.results}/claims.html"

    def validation(self, name: str = "{family}") -> str:
        return f"{self.results}/validation/{name}.nc"

    def figure(self, name: str = "{figure}", suffix: str = "png") -> str:
        return f"{self.results}/figures/{name}.{suffix}"

    def page(self, experiment: str = "{experiment}", name: str = "{page}") -> str:
        return f"{self.results}/{experiment}/{name}.html"

    def animation(self, name: str = "{animation}") -> str:
        return f"{self.results}/figures/{name}.gif"

    def partial_dataset(self, experiment: str = "{experiment}", name: str = "{dataset}") -> str:
        """Return the path of the finished parts of a dataset."""
        return f"{self.results}/partial/{experiment}/{name}.nc"

    def partial_figure(self, name: str = "{figure}", suffix: str = "png") -> str:
        return f"{self.results}/partial/figures/{name}.{suffix}"

    def log(self, rule: str, *wildcards: str) -> str:
        return "/".join([self.results, "logs", rule, *(f"{{{w}}}" for w in wildcards)]) + ".log"

    def benchmark(self, rule: str, *wildcards: str) -> str:
        return "/".join([self.results, "benchmarks", rule, *(f"{{{w}}}" for w in wildcards)]) + ".tsv"
