"""Checkpoints: trained here, imported, or of Hugging Face.

Needs blocks of the training distribution. Makes `<experiment>/checkpoints/seed<n>/from<step>.json`, one manifest
per chunk of checkpoints. The safetensors files lie beside it. Trainings also make `<experiment>/training_loss.nc`.

A segment of a training resumes from the last state of the one before. If a segment gains a checkpoint, the later
segments start too, find all of their checkpoints, and end. So do their measures. An `ancient` input would avoid
these starts, but would hide changed settings.
"""

SOURCES = {name: entry.checkpoints.source for name, entry in EXPERIMENTS.items()}


rule train:
    """One segment of a training, from the last state of the one before."""
    input:
        blocks=lambda w: blocks_for(w, experiment(w).training.distribution),
        previous=segment_before,
    output:
        checkpoints=AT.checkpoints(),
    log:
        AT.log("train", "experiment", "seed", "start"),
    benchmark:
        AT.benchmark("train", "experiment", "seed", "start")
    wildcard_constraints:
        experiment=any_of(n for n, source in SOURCES.items() if source == "train"),
    priority: 50
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("train"),
    params:
        code=code_of_experiment("train", training_functions),
        settings=told(
            lambda w: parameters.train(STUDY, w.experiment, int(w.seed), int(w.start))
        ),
        keep_every=state_kept_every,
    message:
        "training {wildcards.experiment}, seed {wildcards.seed}, from step {wildcards.start}"
    shell:
        command(
            "train",
            offline=True,
            input="blocks previous",
            wildcards="seed",
            params="keep_every",
            output="checkpoints",
            watch=True,
        )


rule training_loss:
    """The loss of every update, of all seeds."""
    input:
        checkpoints=lambda wildcards: list(last_checkpoints(wildcards).values()),
    output:
        output=AT.dataset(name=TRAINING_LOSS),
    log:
        AT.log("training_loss", "experiment"),
    wildcard_constraints:
        experiment=any_of(n for n, source in SOURCES.items() if source == "train"),
    priority: 20
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1000),
    params:
        code=code("training_loss"),
        settings=told(
            lambda w: TrainingLoss(last_checkpoints(w), TASKS[experiment(w).task].unit)
        ),
    message:
        "training loss of {wildcards.experiment}"
    shell:
        command(
            "training_loss",
            output="output",
        )


rule import_checkpoints:
    """Imported state dicts, in the format of rllc's checkpoints."""
    input:
        files=ancient(imported),
    output:
        checkpoints=AT.checkpoints(),
    log:
        AT.log("import_checkpoints", "experiment", "seed", "start"),
    wildcard_constraints:
        experiment=any_of(n for n, source in SOURCES.items() if source == "import"),
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(),
    params:
        code=code("import_checkpoints"),
        contents=lambda wildcards: CONTENTS.digest(imported(wildcards)),
        settings=told(
            lambda w: parameters.import_checkpoints(
                STUDY, w.experiment, int(w.seed), int(w.start)
            )
        ),
    message:
        "importing {wildcards.experiment}, seed {wildcards.seed}, from step {wildcards.start}"
    shell:
        command(
            "import_checkpoints",
            wildcards="seed",
            output="checkpoints",
        )


rule register_checkpoints:
    """Checkpoints of Hugging Face, recorded where they are; nothing is copied."""
    input:
        files=ancient(registered),
    output:
        checkpoints=AT.checkpoints(),
    log:
        AT.log("register_checkpoints", "experiment", "seed", "start"),
    wildcard_constraints:
        experiment=any_of(n for n, source in SOURCES.items() if source == "huggingface"),
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("register_checkpoints"),
    params:
        code=code("register_checkpoints"),
        contents=lambda wildcards: CONTENTS.digest(registered(wildcards)),
        settings=told(
            lambda w: parameters.register_checkpoints(
                STUDY, w.experiment, int(w.seed), int(w.start)
            )
        ),
    message:
        "registering {wildcards.experiment}, seed {wildcards.seed}, from step {wildcards.start}"
    shell:
        command(
            "register_checkpoints",
            offline=True,
            wildcards="seed",
            output="checkpoints",
        )
