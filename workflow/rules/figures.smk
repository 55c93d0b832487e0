"""Figures: each its own target, `figures/<name>.png`, with PDF, the dataset drawn and the caption.

Which function draws a figure and which datasets it reads stands in `rllc.study.figures`.
"""

from fnmatch import fnmatch


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
    return {
        dataset: AT.corpora() if dataset == "corpus" else AT.dataset(name, dataset)
        for dataset in (*row.needs, *used)
    }


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
        function=lambda wildcards: entry(wildcards).draws,
        names=lambda wildcards: as_json({"datasets": list(drawn(wildcards))}),
        options=lambda wildcards: as_json(declared(wildcards).options),
    message:
        "drawing {wildcards.figure}"
    shell:
        command(
            "draw",
            input="datasets",
            params="function names options",
            output="png pdf data caption",
        )
