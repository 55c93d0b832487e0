"""Datasets of figures and animations, and their finished parts while a study runs."""

# --- figures


def declared(wildcards):
    """Return the config entry of a figure or an animation."""
    if hasattr(wildcards, "animation"):
        return STUDY.animations[wildcards.animation]
    return STUDY.figures[wildcards.figure]


def entry(wildcards):
    """Return the spec of a figure or an animation in the tables."""
    if hasattr(wildcards, "animation"):
        return ANIMATIONS[declared(wildcards).draws]
    return FIGURES[declared(wildcards).draws or wildcards.figure]


def drawn(wildcards):
    """Return the datasets that a figure or an animation needs, and optional ones that the experiment makes."""
    name, spec = declared(wildcards).experiment, entry(wildcards)
    if name is None:
        return {
            each: AT.claims() if spec.needs == OF_CLAIMS else AT.validation(each)
            for each in spec.needs
        }
    listed = [*LISTED[name], *datasets(EXPERIMENTS[name], "calibrate"), "corpus"]
    optional = spec.reads(stages=getattr(declared(wildcards), "stages", False))
    used = [dataset for use in optional for dataset in listed if fnmatch(dataset, use)]
    own = {
        dataset: AT.corpora() if dataset == "corpus" else AT.dataset(name, dataset)
        for dataset in (*spec.needs, *used)
    }
    return own | {
        f"{dataset}@{other}": AT.dataset(other, dataset)
        for other in getattr(declared(wildcards), "beside", [])
        for dataset in spec.others or spec.needs
    }


def drawing(wildcards, datasets):
    """Return the settings of a figure or an animation: its function, these datasets, and its options."""
    return {
        "function": NamedFunction(entry(wildcards).draws),
        "datasets": datasets,
        "options": declared(wildcards).options,
    }


def page_inputs(wildcards):
    """Return the datasets that a page needs, and optional ones that the experiment makes."""
    name, spec = wildcards.experiment, PAGES[wildcards.page]
    used = [dataset for dataset in spec.uses if dataset in LISTED[name]]
    return {dataset: AT.dataset(name, dataset) for dataset in (*spec.needs, *used)}


# --- finished parts

PARTIAL = ("partial", "gather_partial", "draw_partial")


@cache
def finished():
    """Return the existing results that no job would make again under this config. Cached."""
    try:
        return dag.current(defaults.as_overlay(config))
    except ValueError as error:
        raise WorkflowError(str(error)) from None


def finished_parts(wildcards):
    """Return the finished parts of a dataset."""
    return [part for part in parts_of(wildcards) if part in finished()]


def labels_of_whole(wildcards):
    """Return the labels of the whole dataset."""
    made = MEASURED[wildcards.experiment][wildcards.dataset]
    coords = {"seed": made.seeds, "step": made.steps or steps(experiment(wildcards))}
    if made.spec.per_distribution:
        coords["distribution"] = made.distributions
    return coords


def finished_datasets(name):
    """Return the datasets of an experiment with at least one finished part."""
    return [
        dataset
        for dataset in LISTED[name]
        if dataset in MEASURED[name]
        and finished_parts(SimpleNamespace(experiment=name, dataset=dataset))
    ]


def finished_inputs(wildcards):
    """Return the datasets of a figure with a finished part; None if a needed one has none."""
    name = declared(wildcards).experiment
    if name is None:  # of no experiment
        return None
    there = {
        dataset: AT.partial_dataset(name, dataset)
        for dataset in finished_datasets(name)
    }
    if AT.corpora() in finished():
        there["corpus"] = AT.corpora()
    wanted = drawn(wildcards)
    if not set(entry(wildcards).needs) <= set(there):
        return None
    others = {
        f"{dataset}@{other}": AT.partial_dataset(other, dataset)
        for other in declared(wildcards).beside
        for dataset in finished_datasets(other)
    }
    there |= others
    return {dataset: there[dataset] for dataset in wanted if dataset in there}


def finished_results(wildcards):
    """Return every dataset with a finished part, and every figure that can be drawn from them."""
    finished = [
        AT.partial_dataset(name, dataset)
        for name in EXPERIMENTS
        for dataset in finished_datasets(name)
    ]
    if not finished:
        raise WorkflowError(
            f"no part of any dataset is finished yet under {STUDY.results}/"
        )
    return finished + [
        AT.partial_figure(figure)
        for figure in asked_by("all", STUDY.figures)
        if finished_inputs(SimpleNamespace(figure=figure))
    ]
