"""Check the checkpoints of Hugging Face together, before anything is planned: no two may be equal.

Published series have held the same weights under different steps (pythia issues 83 and 195, OLMo issue 915).
"""

from collections.abc import Iterator

from rllc.run.contents import Contents
from rllc.study.huggingface.folders import input_files, planned_folders
from rllc.study.huggingface.sections import HuggingFace
from rllc.study.study import Study


def equal_checkpoints(study: Study, contents: Contents) -> Iterator[str]:
    """Yield a problem for each pair of checkpoints of one seed whose files of weights are the same."""
    for name, experiment in study.experiments.items():
        checkpoints = experiment.checkpoints
        if checkpoints.source != "huggingface" or checkpoints.allow_equal:
            continue
        assert isinstance(experiment.model, HuggingFace)
        for seed in experiment.seeds:
            known: dict[str, int] = {}
            for step, folder in planned_folders(experiment.model, checkpoints, seed).items():
                digest = contents.digest(input_files(folder)[1:])
                if digest in known:
                    yield (
                        f"experiments.{name}.checkpoints: steps {known[digest]} and {step} have the same "
                        f"weights ({folder}): expected different checkpoints; get the right files, leave one "
                        "out, or set allow_equal: true"
                    )
                known.setdefault(digest, step)
