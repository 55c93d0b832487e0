"""Check that there is enough held-out text for the chains, once it has been cut into contexts."""

import json
from pathlib import Path

from rllc.study.datasets import contexts, is_text, measured
from rllc.study.layout import Layout
from rllc.study.study import Study


def scarce(study: Study) -> list[str]:
    """Return a warning for each text with fewer different held-out contexts than one chain draws."""
    warnings = []
    for (tokenizer, name), (drawn, by) in _drawn(study).items():
        file = Path(Layout(study.results).blocks().format(tokenizer=tokenizer, distribution=name))
        try:
            held = json.loads(file.read_text(encoding="utf-8"))["held_out"]
            there, documents = held["distinct"], held["documents"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not made yet, or made by other code, so it will be made again
        if there < drawn:
            warnings.append(
                f"distributions.{name}: documents held out and used {documents:,}, different contexts "
                f"{there:,}, and each chain of {by} draws {drawn:,}: estimates are of these few. Give more "
                "text, more and shorter documents, or a larger `held_out`"
            )
    return warnings


def _drawn(study: Study) -> dict[tuple[str, str], tuple[int, str]]:
    """Return (tokenizer, text) -> the most contexts that a chain draws of it, and the chain's dataset."""
    most: dict[tuple[str, str], tuple[int, str]] = {}
    for name, experiment in study.experiments.items():
        for dataset, made in measured(experiment).items():
            if not hasattr(made.section, "draws") or not hasattr(made.section, "batch_size"):
                continue
            drawn = made.section.draws * getattr(made.section, "thinning", 1) * made.section.batch_size
            for distribution in made.distributions:
                text = contexts(study, distribution)
                if is_text(study.distributions[text]):
                    at = (experiment.tokenizer, text)
                    most[at] = max(most.get(at, (0, "")), (drawn, f"{name}/{dataset}.nc"))
    return most
