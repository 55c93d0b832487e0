"""Measures: one rule per row of `rllc.study.measures`, one job per seed, distribution and chunk of checkpoints.

Each needs a chunk's checkpoints and held-out blocks (and a teacher's checkpoints where the distribution is
a model's predictions) and makes one part under `<experiment>/parts/`. Heads, chains and draws are inside a
job. Weight refinement is the kind of component, data refinement the distribution.
"""

BATCH_STREAM = derive(STUDY.seed, "batches")

for row in MEASURES:
    cells = ("distribution", "seed") if row.per_distribution else ("seed",)

    rule:
        name:
            row.name
        input:
            checkpoints=AT.checkpoints(),
            blocks=blocks_of(row),
            teacher=teacher_of(row),
            tokenizer=tokenizer_of(row),
            after=parts_before(row),
        output:
            output=AT.part(of_distribution=row.per_distribution),
        log:
            AT.log(row.name, "experiment", "dataset", *cells, "start"),
        benchmark:
            AT.benchmark(row.name, "experiment", "dataset", *cells, "start")
        wildcard_constraints:
            dataset=row.pattern,
        priority: row.priority
        conda:
            ENVIRONMENT
        threads: STUDY.compute.threads
        resources:
            **forecasted(row.name),
        params:
            code=code_of_experiment("measure", functions_of(row)),
            family=family,
            kernel=row.kernel,
            settings=settings_of(row),
            attribute=row.attribute,
            steps=steps_of,
            compute=compute(row.name),
            labels=labels(*cells),
            side=side_of(row),
            stream=stream_of(row),
            batch_stream=BATCH_STREAM if row.per_distribution else 0,
        message:
            message_of(row)
        shell:
            command(
                "measure",
                input="checkpoints blocks teacher tokenizer after",
                params="family kernel settings attribute steps compute labels side stream batch_stream",
                output="output",
            )
