"""Print the components of every model of a study: `snakemake components`."""

from collections.abc import Iterable
from typing import Any

from rllc.job.component_table import component_table
from rllc.job.stage import run
from rllc.job_settings.checkpoints import ListComponents
from rllc.models.model import build


def main(settings: ListComponents) -> None:
    """Print a table for each model, with the experiments that have it. Weights are random: none is read."""
    for facts in _distinct(settings.models.values()):
        names = [name for name, own in settings.models.items() if own == facts]
        described = facts.get("config", {}).get("model_type", facts["family"])
        print(f"{', '.join(names)} ({described}); * is the layer\n")
        print(component_table(build(settings.families[names[0]].load(), facts)), end="\n\n")


def _distinct(models: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for facts in models:
        if facts not in found:
            found.append(facts)
    return found


if __name__ == "__main__":
    run(main, timed=False)
