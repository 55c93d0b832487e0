"""Which datasets figures and animations read, and what there is of them while a study is unfinished."""

# --- figures


def declared(wildcards):
    """The config entry of a figure or an animation."""
    if hasattr(wildcards, "animation"):
        return STUDY.animations[wildcards.animation]
    return STUDY.figures[wildcards.figure]


def entry(wildcards):
    """Its row in the table of animations or figures."""
    if hasattr(wildcards, "animation"):
        return ANIMATIONS[declared(wildcards).draws]
    return FIGURES[declared(wildcards).draws or wildcards.figure]


def drawn(wildcards):
    """Datasets that a figure or an animation needs, and those it uses where the experiment makes them."""
    name, row = declared(wildcards).experiment, entry(wildcards)
    if name is None:
        return {
            each: AT.claims() if row.needs == OF_CLAIMS else AT.validation(each)
            for each in row.needs
        }
    listed = [*LISTED[name], *datasets(EXPERIMENTS[name], "calibrate"), "corpus"]
    used = [dataset for use in row.uses for dataset in listed if fnmatch(dataset, use)]
    own = {
        dataset: AT.corpora() if dataset == "corpus" else AT.dataset(name, dataset)
        for dataset in (*row.needs, *used)
    }
    return own | {
        f"{dataset}@{other}": AT.dataset(other, dataset)
        for other in getattr(declared(wildcards), "beside", [])
        for dataset in row.needs
    }


def drawing(wildcards, datasets):
    """What draws a figure or an animation of these datasets, and its options."""
    return {
        "function": NamedFunction(entry(wildcards).draws),
        "datasets": datasets,
        "options": declared(wildcards).options,
    }


def page_inputs(wildcards):
    """Datasets that a page needs, and those it uses where the experiment makes them."""
    name, row = wildcards.experiment, PAGES[wildcards.page]
    used = [dataset for dataset in row.uses if dataset in LISTED[name]]
    return {dataset: AT.dataset(name, dataset) for dataset in (*row.needs, *used)}


# --- what is finished so far

PARTIAL = ("partial", "gather_partial", "draw_partial")


@cache
def finished():
    """Results that are there and that no job would make again under this config, asked for once."""
    try:
        return dag.current(defaults.as_overlay(config))
    except ValueError as error:
        raise WorkflowError(str(error)) from None


def finished_parts(wildcards):
    """The parts of a dataset that are finished."""
    return [part for part in parts_of(wildcards) if part in finished()]


def labels_of_whole(wildcards):
    """The labels that a dataset will have once it is whole."""
    made = MEASURED[wildcards.experiment][wildcards.dataset]
    coords = {"seed": made.seeds, "step": made.steps or steps(experiment(wildcards))}
    if made.row.per_distribution:
        coords["distribution"] = made.distributions
    return coords


def finished_datasets(name):
    """The datasets of an experiment of which at least one part is finished."""
    return [
        dataset
        for dataset in LISTED[name]
        if dataset in MEASURED[name]
        and finished_parts(SimpleNamespace(experiment=name, dataset=dataset))
    ]


def finished_inputs(wildcards):
    """Datasets of a figure, as far as a part is finished; None where it needs one that has none."""
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
    """Every dataset of which a part is finished and every figure that can be drawn of them."""
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
