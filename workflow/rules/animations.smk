"""Animations: one target each, `figures/<name>.gif`, with an MP4 beside it if ffmpeg is installed.

`rllc.study.figures` lists the function and the datasets of each animation.
"""


rule animate:
    """One animation; a frame is a checkpoint."""
    input:
        datasets=lambda wildcards: list(drawn(wildcards).values()),
    output:
        gif=AT.animation(),
    log:
        AT.log("animate", "animation"),
    benchmark:
        AT.benchmark("animate", "animation")
    priority: 10
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1500),
    params:
        code=lambda w: code("animate", entry(w).draws),
        settings=told(lambda w: Animate(**drawing(w, drawn(w)), rate=declared(w).rate)),
    message:
        "animating {wildcards.animation}"
    shell:
        command(
            "animate",
            output="gif",
        )
