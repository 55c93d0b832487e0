"""Measures: one rule per folder of `rllc.measures` with a spec, one job per seed, distribution and chunk of checkpoints.

Each job needs a chunk's checkpoints and held-out blocks. If the distribution is a model's predictions, it also
needs the teacher's checkpoints. It makes one part under `<experiment>/parts/`. Heads, chains and draws are inside
a job. Weight refinement is the kind of component, data refinement the distribution.
"""

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
            settings=told(measuring),
            # Not among `wildcards` below: Snakemake evaluates the shell text again when a job starts. Variables of
            # this loop then have their last values.
            distribution=lambda wildcards: wildcards.get("distribution", ""),
        message:
            message_of(row)
        shell:
            command(
                "measure",
                input="checkpoints blocks teacher tokenizer after",
                wildcards="seed",
                params="distribution",
                output="output",
            )
