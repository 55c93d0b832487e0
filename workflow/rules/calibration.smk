"""Calibration: `snakemake calibrate`, not part of `all`.

Makes `<experiment>/calibration.nc` (a grid of sampling settings with its controls), `dependence.nc` (what
estimates depend on beside the setting), `recommendation.nc` (the rule applied to the grid) and their figures,
for every experiment that declares `calibration`. One job per seed, distribution and chunk of checkpoints that
holds one of those listed.
"""


rule calibrate:
    """Every dataset and figure of the calibrations that the config declares."""
    input:
        [
            AT.dataset(name, dataset)
            for name, listed in CALIBRATED.items()
            for dataset in listed
        ],
        [AT.figure(name) for name in asked_by("calibrate", STUDY.figures)],


rule sweep_settings:
    """A grid of sampling settings with its controls, and curvature and gradient at the checkpoint."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("calibration"),
    log:
        AT.log("sweep_settings", "experiment", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark("sweep_settings", "experiment", "distribution", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.calibration(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "sweep_settings",
            lambda w: cost.calibration(STUDY, experiment(w), int(w.start)),
        ),
        gpu=gpus("sweep_settings"),
    params:
        code=family_code("calibrate"),
        family=family,
        calibration=lambda w: as_json(parameters.calibration(experiment(w))),
        steps=listed_steps("calibration"),
        compute=compute("sweep_settings"),
        labels=labels("seed", "distribution"),
        stream=stream("sgld"),
        batch_stream=BATCH_STREAM,
    message:
        "sweeping settings of {wildcards.experiment}, seed {wildcards.seed}, on {wildcards.distribution}, "
        "from step {wildcards.start}"
    shell:
        command("calibrate", *JOB_FLAGS, "params.calibration", "params.steps")


rule vary_sampling:
    """Estimates at the base setting with other data set sizes, minibatch sizes and noise."""
    input:
        checkpoints=AT.checkpoints(),
        blocks=blocks_of,
        teacher=teacher_of,
    output:
        output=AT.part("dependence"),
    log:
        AT.log("vary_sampling", "experiment", "distribution", "seed", "start"),
    benchmark:
        AT.benchmark("vary_sampling", "experiment", "distribution", "seed", "start")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=megabytes(lambda w: cost.dependence(STUDY, experiment(w), int(w.start))),
        runtime=minutes(
            "vary_sampling",
            lambda w: cost.dependence(STUDY, experiment(w), int(w.start)),
        ),
        gpu=gpus("vary_sampling"),
    params:
        code=family_code("vary_sampling"),
        family=family,
        dependence=lambda w: as_json(parameters.dependence(experiment(w))),
        steps=listed_steps("dependence"),
        compute=compute("vary_sampling"),
        labels=labels("seed", "distribution"),
        stream=stream("sgld"),
        batch_stream=BATCH_STREAM,
    message:
        "varying the sampling of {wildcards.experiment}, seed {wildcards.seed}, on {wildcards.distribution}, "
        "from step {wildcards.start}"
    shell:
        command("vary_sampling", *JOB_FLAGS, "params.dependence", "params.steps")


use rule gather as gather_calibration with:
    input:
        parts=calibration_parts("calibration"),
    output:
        output=AT.dataset(name="calibration"),
    log:
        AT.log("gather_calibration", "experiment"),
    params:
        code=code("gather"),
        labels=calibration_labels("calibration"),
    message:
        "gathering {wildcards.experiment}/calibration.nc"


use rule gather as gather_dependence with:
    input:
        parts=calibration_parts("dependence"),
    output:
        output=AT.dataset(name="dependence"),
    log:
        AT.log("gather_dependence", "experiment"),
    params:
        code=code("gather"),
        labels=calibration_labels("dependence"),
    message:
        "gathering {wildcards.experiment}/dependence.nc"


rule recommend:
    """The setting that the rule chooses for each kind of component, or that none is good."""
    input:
        calibration=AT.dataset(name="calibration"),
    output:
        output=AT.dataset(name="recommendation"),
    log:
        AT.log("recommend", "experiment"),
    priority: 20
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        code=code("recommend"),
        rule=lambda w: as_json(experiment(w).calibration.rule.model_dump()),
        known=lambda w: as_json(parameters.known_settings(experiment(w))),
    message:
        "applying the rule to {wildcards.experiment}/calibration.nc"
    shell:
        command(
            "recommend",
            "input.calibration",
            "params.rule",
            "params.known",
            "output.output",
        )
