"""Datasets: all parts of one measure, joined, labelled, and small enough for a notebook.

Makes `<experiment>/<dataset>.nc` (results/README.md), and the datasets of analyses: one rule per analysis of
`rllc.study.analyses`.
"""


rule gather:
    """One dataset from all its parts, with the variables that its row adds at the end."""
    input:
        parts=parts_of,
    output:
        output=AT.dataset(),
    log:
        AT.log("gather", "experiment", "dataset"),
    wildcard_constraints:
        dataset=any_of([TRACES, *(row.pattern for row in MEASURES)]),
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


for row in ANALYSES:

    rule:
        name:
            row.name
        input:
            datasets=files_read_by(row),
        output:
            output=AT.dataset(name=row.name),
        log:
            AT.log(row.name, "experiment"),
        benchmark:
            AT.benchmark(row.name, "experiment")
        priority: 20
        localrule: row.local
        conda:
            ENVIRONMENT
        threads: STUDY.compute.threads
        resources:
            **fixed(megabytes=row.megabytes, minutes=15),
        params:
            code=code("analyse", row.function),
            settings=told(analysing(row)),
        message:
            f"{row.name} of {{wildcards.experiment}}: {row.about}"
        shell:
            command(
                "analyse",
                output="output",
            )
