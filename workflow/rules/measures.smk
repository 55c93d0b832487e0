"""Measures: one job per experiment, seed, distribution and chunk of checkpoints.

Each needs a chunk's checkpoints and held-out blocks (and a teacher's checkpoints where the distribution is
a model's predictions) and makes one part under `<experiment>/parts/`. Heads, chains and draws are inside a
job. Weight refinement is the kind of component, data refinement the distribution.
"""

BATCH_STREAM = derive(STUDY.seed, "batches")
# What every measuring script is told (rllc.job.measuring.Measuring), before what is its own.
JOB_FLAGS = (
    "input.checkpoints",
    "input.blocks",
    "input.teacher",
    "params.family",
    "params.compute",
    "params.labels",
    "params.stream",
    "params.batch_stream",
    "output.output",
)


rule sample_heads:
    """Refined LLC of every head, with the gradient-off control."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("{setting}.heads"),
    log:
        AT.log("sample_heads", "experiment", "setting", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark(
            "sample_heads", "experiment", "setting", "distribution", "seed", "start"
        )
    priority: 6  # the longest jobs of a small study: first, so that none is left over at its end
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(sampling_cost("heads")),
        runtime=minutes("sample_heads", sampling_cost("heads")),
        gpu=gpus("sample_heads"),
    params:
        code=family_code("sample_heads"),
        family=family,
        sampling=setting_of("heads"),
        compute=compute("sample_heads"),
        labels=labels("seed", "distribution"),
        stream=stream("sgld"),
        batch_stream=BATCH_STREAM,
    message:
        "sampling heads ({wildcards.setting}) of {wildcards.experiment}, seed {wildcards.seed}, "
        "on {wildcards.distribution}, from step {wildcards.start}"
    shell:
        command("sample_heads", *JOB_FLAGS, "params.sampling")


rule sample_full:
    """LLC of the whole model, with the control."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("{setting}.full"),
    log:
        AT.log("sample_full", "experiment", "setting", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark(
            "sample_full", "experiment", "setting", "distribution", "seed", "start"
        )
    priority: 5
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(sampling_cost("full")),
        runtime=minutes("sample_full", sampling_cost("full")),
        gpu=gpus("sample_full"),
    params:
        code=family_code("sample_components"),
        family=family,
        sampling=setting_of("full"),
        compute=compute("sample_full"),
        labels=labels("seed", "distribution"),
        stream=stream("sgld"),
        batch_stream=BATCH_STREAM,
    message:
        "sampling full ({wildcards.setting}) of {wildcards.experiment}, seed {wildcards.seed}, "
        "on {wildcards.distribution}, from step {wildcards.start}"
    shell:
        command("sample_components", *JOB_FLAGS, "params.sampling")


use rule sample_full as sample_other with:
    output:
        output=AT.part("{setting}.other"),
    log:
        AT.log("sample_other", "experiment", "setting", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark(
            "sample_other", "experiment", "setting", "distribution", "seed", "start"
        )
    resources:
        mem_mb=megabytes(sampling_cost("other")),
        runtime=minutes("sample_other", sampling_cost("other")),
        gpu=gpus("sample_other"),
    params:
        code=family_code("sample_components"),
        family=family,
        sampling=setting_of("other"),
        compute=compute("sample_other"),
        labels=labels("seed", "distribution"),
        stream=stream("sgld"),
        batch_stream=BATCH_STREAM,
    message:
        "sampling other components ({wildcards.setting}) of {wildcards.experiment}, seed {wildcards.seed}, "
        "on {wildcards.distribution}, from step {wildcards.start}"


rule trace_hessian:
    """Hutchinson traces of the Hessian, whole and of every head."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("hessian"),
    log:
        AT.log("trace_hessian", "experiment", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark("trace_hessian", "experiment", "distribution", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.hessian(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "trace_hessian", lambda w: cost.hessian(STUDY, experiment(w), int(w.start))
        ),
        gpu=gpus("trace_hessian"),
    params:
        code=family_code("trace_hessian"),
        family=family,
        hessian=lambda wildcards: as_json(parameters.hessian(experiment(wildcards))),
        compute=compute("trace_hessian"),
        labels=labels("seed", "distribution"),
        stream=stream("hessian"),
        batch_stream=BATCH_STREAM,
    message:
        "Hessian traces of {wildcards.experiment}, seed {wildcards.seed}, on {wildcards.distribution}, "
        "from step {wildcards.start}"
    shell:
        command("trace_hessian", *JOB_FLAGS, "params.hessian")


rule ablate:
    """Zero, mean and resample ablation of every head."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("ablation"),
    log:
        AT.log("ablate", "experiment", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark("ablate", "experiment", "distribution", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.ablation(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "ablate", lambda w: cost.ablation(STUDY, experiment(w), int(w.start))
        ),
        gpu=gpus("ablate"),
    params:
        code=family_code("ablate"),
        family=family,
        ablation=lambda wildcards: as_json(parameters.ablation(experiment(wildcards))),
        compute=compute("ablate"),
        labels=labels("seed", "distribution"),
        stream=stream("ablation"),
        batch_stream=BATCH_STREAM,
    message:
        "ablating heads of {wildcards.experiment}, seed {wildcards.seed}, on {wildcards.distribution}, "
        "from step {wildcards.start}"
    shell:
        command("ablate", *JOB_FLAGS, "params.ablation")


rule measure_losses:
    """Loss, loss by position, in-context learning score and weight norm."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("metrics"),
    log:
        AT.log("measure_losses", "experiment", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark("measure_losses", "experiment", "distribution", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.metrics(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "measure_losses",
            lambda w: cost.metrics(STUDY, experiment(w), int(w.start)),
        ),
        gpu=gpus("measure_losses"),
    params:
        code=family_code("measure_losses"),
        family=family,
        metrics=lambda wildcards: as_json(parameters.metrics(experiment(wildcards))),
        compute=compute("measure_losses"),
        labels=labels("seed", "distribution"),
        stream=0,  # nothing in it is random but the batches
        batch_stream=BATCH_STREAM,
    message:
        "losses of {wildcards.experiment}, seed {wildcards.seed}, on {wildcards.distribution}, "
        "from step {wildcards.start}"
    shell:
        command("measure_losses", *JOB_FLAGS, "params.metrics")


rule trace_circuits:
    """Full QK and OV circuits of every head, and what is read off them."""
    input:
        checkpoints=AT.checkpoints(),
    output:
        output=AT.part_of_all("circuits"),
    log:
        AT.log("trace_circuits", "experiment", "seed", "start"),
    benchmark:
        AT.benchmark("trace_circuits", "experiment", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.circuits(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "trace_circuits",
            lambda w: cost.circuits(STUDY, experiment(w), int(w.start)),
        ),
    params:
        code=family_code("trace_circuits"),
        family=family,
        tokens=lambda w: STUDY.tokenizers[experiment(w).tokenizer].numbers,
        circuits=lambda w: as_json(experiment(w).circuits.model_dump()),
        compute=compute("trace_circuits"),
        labels=labels("seed"),
        stream=0,  # nothing in it is random
        batch_stream=0,
    message:
        "circuits of {wildcards.experiment}, seed {wildcards.seed}, from step {wildcards.start}"
    shell:
        command(
            "trace_circuits",
            "input.checkpoints",
            "params.family",
            "params.compute",
            "params.labels",
            "params.stream",
            "params.batch_stream",
            "params.tokens",
            "params.circuits",
            "output.output",
        )


rule score_heads:
    """Previous-token, current-token and prefix-matching scores, and Q-, K- and V-composition."""
    input:
        checkpoints=AT.checkpoints(),
        tokenizer=lambda wildcards: AT.tokenizer().format(
            tokenizer=experiment(wildcards).tokenizer
        ),
    output:
        output=AT.part_of_all("heads"),
    log:
        AT.log("score_heads", "experiment", "seed", "start"),
    benchmark:
        AT.benchmark("score_heads", "experiment", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.patterns(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "score_heads", lambda w: cost.patterns(STUDY, experiment(w), int(w.start))
        ),
        gpu=gpus("score_heads"),
    params:
        code=family_code("score_heads"),
        family=family,
        patterns=lambda wildcards: as_json(experiment(wildcards).patterns.model_dump()),
        compute=compute("score_heads"),
        labels=labels("seed"),
        stream=derive(STUDY.seed, "patterns"),
        batch_stream=0,  # no batches
    message:
        "head scores of {wildcards.experiment}, seed {wildcards.seed}, from step {wildcards.start}"
    shell:
        command(
            "score_heads",
            "input.checkpoints",
            "input.tokenizer",
            "params.family",
            "params.compute",
            "params.labels",
            "params.stream",
            "params.batch_stream",
            "params.patterns",
            "output.output",
        )
