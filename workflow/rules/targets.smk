"""Refuse targets that cannot be made before anything is planned, and suggest similar names. No rules.

This file is read after all rules.
"""


def files_to_ask_for():
    """Return the files that a user would ask for by name."""
    files = [*DATASETS, *FIGURE_FILES, *(AT.validation(name) for name in VALIDATED)]
    files += [
        AT.figure(name, suffix)
        for name in STUDY.figures
        for suffix in ("png", "pdf", "nc", "txt")
    ]
    files += [
        AT.dataset(name, dataset)
        for name, entry in EXPERIMENTS.items()
        for dataset in datasets(entry, "calibrate")
    ]
    files += [AT.corpus().format(distribution=name) for name in TEXTS]
    files += [AT.tokenizer().format(tokenizer=name) for name in STUDY.tokenizers]
    return files


refused = targets.refused(
    OPTIONS.targets,
    rules=list(workflow.rules),
    files=files_to_ask_for(),
    results=STUDY.results,
    measured={
        name: [*datasets(entry), *datasets(entry, "calibrate")]
        for name, entry in EXPERIMENTS.items()
    },
    given=[Path(file) for file in workflow.configfiles],
)
if refused:
    raise WorkflowError("\n".join(refused))
