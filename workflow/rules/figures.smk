"""Figures: one target each, `figures/<name>.png`, with PDF, the dataset drawn and the caption.

`rllc.study.figures` lists the function and the datasets of each figure.
"""


rule draw:
    """One figure."""
    input:
        datasets=lambda wildcards: list(drawn(wildcards).values()),
    output:
        png=report(
            AT.figure(),
            caption="../report/figure.rst",
            category=lambda wildcards: entry(wildcards).category,
            labels=lambda wildcards: {
                "figure": wildcards.figure,
                "experiment": declared(wildcards).experiment or "none",
            },
        ),
        pdf=AT.figure(suffix="pdf"),
        data=AT.figure(suffix="nc"),
        caption=AT.figure(suffix="txt"),
    log:
        AT.log("draw", "figure"),
    priority: 10
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1000),
    params:
        code=lambda wildcards: code("draw", entry(wildcards).draws),
        settings=told(lambda wildcards: Draw(**drawing(wildcards, drawn(wildcards)))),
    message:
        "drawing {wildcards.figure}"
    shell:
        command(
            "draw",
            output="png pdf data caption",
        )
