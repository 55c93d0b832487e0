"""What is finished so far: datasets and figures of an unfinished study, in a folder of their own.

`snakemake --nolock partial` may run while a cluster works: it starts no job of the study and writes only
under `<results>/partial/`. Cells that no finished part holds are NaN (`status` missing); captions say so.
"""


rule partial:
    """Datasets and figures of what is finished."""
    input:
        so_far,


rule gather_partial:
    """One dataset from those of its parts that are finished."""
    output:
        output=AT.partial_dataset(),
    log:
        AT.log("gather_partial", "experiment", "dataset"),
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        code=code("gather_partial"),
        parts=finished_parts,
        coords=lambda wildcards: as_json(
            unfinished.coords(experiment(wildcards), wildcards.dataset)
        ),
        made_by=lambda wildcards: as_json(
            {
                "code": family_code(
                    unfinished.script(experiment(wildcards), wildcards.dataset)
                )(wildcards),
                **unfinished.section(experiment(wildcards), wildcards.dataset),
            }
        ),
        labels=label_of,
        thresholds=lambda wildcards: as_json(
            unfinished.thresholds(experiment(wildcards), wildcards.dataset)
        ),
    message:
        "gathering what is finished of {wildcards.experiment}/{wildcards.dataset}.nc"
    shell:
        command(
            "gather_partial",
            "params.parts",
            "params.coords",
            "params.made_by",
            "params.labels",
            "params.thresholds",
            "output.output",
        )


use rule draw as draw_partial with:
    input:
        datasets=lambda wildcards: list(drawn_so_far(wildcards).values()),
    output:
        png=AT.partial_figure(),
        pdf=AT.partial_figure(suffix="pdf"),
        data=AT.partial_figure(suffix="nc"),
        caption=AT.partial_figure(suffix="txt"),
    log:
        AT.log("draw_partial", "figure"),
    localrule: True
    params:
        code=lambda wildcards: code("draw", entry(wildcards).draws.partition(":")[0]),
        function=lambda wildcards: entry(wildcards).draws,
        names=lambda wildcards: as_json({"datasets": list(drawn_so_far(wildcards))}),
        options=lambda wildcards: as_json(STUDY.figures[wildcards.figure].options),
    message:
        "drawing what is finished of {wildcards.figure}"
