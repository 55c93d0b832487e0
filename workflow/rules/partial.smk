"""What is finished so far: datasets and figures of an unfinished study, in a folder of their own.

`snakemake --nolock partial` may run while a cluster works: it starts no job of the study and writes only
under `<results>/partial/`. Cells that no finished part holds are NaN (`status` missing); captions say so.
"""

PARTIAL = ("partial", "gather_partial", "draw_partial")


def finished_parts(wildcards):
    """The parts of a dataset that are there now."""
    return [part for part in parts_of(wildcards) if Path(part).is_file()]


def unfinished_of(wildcards):
    """The labels of the whole dataset, and what its parts must have been made by to belong to it."""
    made = MEASURED[wildcards.experiment][wildcards.dataset]
    row, section = made.row, Work(STUDY, experiment(wildcards), made.section, [])
    coords = {"seed": made.seeds, "step": made.steps or steps(experiment(wildcards))}
    if row.per_distribution:
        coords["distribution"] = made.distributions
    made_by = {
        "code": code("measure", row.kernel, family(wildcards)),
        row.attribute: row.settings(section),
    }
    return as_json({"coords": coords, "made_by": made_by})


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
    if Path(AT.corpora()).is_file():
        there["corpus"] = AT.corpora()
    wanted = drawn(wildcards)
    if not set(entry(wildcards).needs) <= set(there):
        return None
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


rule partial:
    """Datasets and figures of what is finished."""
    input:
        finished_results,


use rule gather as gather_partial with:
    input:
        [],
    output:
        output=AT.partial_dataset(),
    log:
        AT.log("gather_partial", "experiment", "dataset"),
    params:
        parts=finished_parts,
        unfinished=unfinished_of,
    message:
        "gathering what is finished of {wildcards.experiment}/{wildcards.dataset}.nc"


use rule draw as draw_partial with:
    input:
        datasets=lambda wildcards: list(finished_inputs(wildcards).values()),
    output:
        png=AT.partial_figure(),
        pdf=AT.partial_figure(suffix="pdf"),
        data=AT.partial_figure(suffix="nc"),
        caption=AT.partial_figure(suffix="txt"),
    log:
        AT.log("draw_partial", "figure"),
    params:
        names=lambda wildcards: as_json({"datasets": list(finished_inputs(wildcards))}),
    message:
        "drawing what is finished of {wildcards.figure}"
