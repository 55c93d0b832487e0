"""Datasets: all parts of one measure, joined, labelled, and small enough for a notebook.

Makes `<experiment>/<dataset>.nc` (results/README.md), and the datasets of analyses: one rule per analysis of
`rllc.study.analyses`.
"""


rule gather:
    """One dataset from all its parts, with the variables that its spec adds at the end."""
    input:
        parts=parts_of,
    output:
        output=AT.dataset(),
    log:
        AT.log("gather", "experiment", "dataset"),
    wildcard_constraints:
        dataset=any_of([TRACES, *(spec.pattern for spec in MEASURES)]),
    priority: 20
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(),
    params:
        code=lambda w: code("gather", added_by(w)),
        settings=told(lambda w: gathering(w, parts_of(w))),
    message:
        "gathering {wildcards.experiment}/{wildcards.dataset}.nc"
    shell:
        command(
            "gather",
            output="output",
        )


for spec in ANALYSES:

    rule:
        name:
            spec.name
        input:
            datasets=files_read_by(spec),
        output:
            output=AT.dataset(name=spec.name),
        log:
            AT.log(spec.name, "experiment"),
        benchmark:
            AT.benchmark(spec.name, "experiment")
        priority: 20
        localrule: spec.local
        conda:
            ENVIRONMENT
        threads: STUDY.compute.threads
        resources:
            **fixed(megabytes=spec.megabytes, minutes=15),
        params:
            code=code("analyse", spec.function),
            settings=told(analysing(spec)),
        message:
            f"{spec.name} of {{wildcards.experiment}}: {spec.about}"
        shell:
            command(
                "analyse",
                output="output",
            )
