"""Measures: one rule per folder of `rllc.measures` with a spec, one job per seed, distribution and chunk of checkpoints.

Each job needs a chunk's checkpoints and held-out blocks. If the distribution is a model's predictions, it also
needs the teacher's checkpoints. It makes one part under `<experiment>/parts/`. Heads, chains and draws are inside
a job. Weight refinement is the kind of component, data refinement the distribution.
"""

for spec in MEASURES:
    cells = ("distribution", "seed") if spec.per_distribution else ("seed",)

    rule:
        name:
            spec.name
        input:
            checkpoints=AT.checkpoints(),
            blocks=blocks_of(spec),
            teacher=teacher_of(spec),
            tokenizer=tokenizer_of(spec),
            after=parts_before(spec),
            earlier=chunks_before(spec),
        output:
            output=AT.part(of_distribution=spec.per_distribution),
        log:
            AT.log(spec.name, "experiment", "dataset", *cells, "start"),
        benchmark:
            AT.benchmark(spec.name, "experiment", "dataset", *cells, "start")
        wildcard_constraints:
            dataset=spec.pattern,
        priority: spec.priority
        conda:
            ENVIRONMENT
        threads: STUDY.compute.threads
        resources:
            **forecasted(spec.name),
        params:
            code=code_of_experiment("measure", functions_of(spec)),
            settings=told(measuring),
            # Not among `wildcards` below: Snakemake evaluates the shell text again when a job starts. Variables of
            # this loop then have their last values.
            distribution=lambda wildcards: wildcards.get("distribution", ""),
        message:
            message_of(spec)
        shell:
            command(
                "measure",
                offline=True,
                input="checkpoints blocks teacher tokenizer after earlier",
                wildcards="seed",
                params="distribution",
                output="output",
            )
