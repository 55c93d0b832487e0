"""What is finished so far: datasets and figures of an unfinished study, in a folder of their own.

`snakemake --nolock partial` may run while a cluster works: it starts no job of the study and writes only
under `<results>/partial/`. Finished is what Snakemake would not make again. Cells that no finished part holds
are NaN (`status` missing); captions say so.
"""


rule partial:
    """Datasets and figures of what is finished."""
    input:
        finished_results,


use rule gather as gather_partial with:
    input:
        parts=finished_parts,
    output:
        output=AT.partial_dataset(),
    log:
        AT.log("gather_partial", "experiment", "dataset"),
    params:
        settings=told(lambda w: gathering(w, finished_parts(w), labels_of_whole(w))),
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
        settings=told(lambda w: Draw(**drawing(w, finished_inputs(w)))),
    message:
        "drawing what is finished of {wildcards.figure}"
