"""Datasets and figures of the finished parts of a study that still runs.

`snakemake --nolock partial` may run while a cluster works. It starts no job of the study and writes only under
`<results>/partial/`. A part is finished if Snakemake would not make it again. Cells without a finished part are NaN
(`status` missing), and captions say so.
"""


rule partial:
    """Datasets and figures of finished parts."""
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
