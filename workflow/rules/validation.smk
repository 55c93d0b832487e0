"""Validation: `snakemake validation`, not part of `all`.

Needs only the config section `validation`. Makes `validation/<family>.nc` with estimates beside exact answers, one
job per family of models (quadratic, potentials, reduced_rank, deep_linear), and their figures.
"""


rule validation:
    """The estimator against exact truths: every dataset and figure."""
    input:
        [AT.validation(family) for family in VALIDATED],
        [AT.figure(name) for name in asked_by("validation", STUDY.figures)],


rule validate:
    """Estimates for one family of models with a known answer."""
    output:
        output=AT.validation(),
    log:
        AT.log("validate", "family"),
    benchmark:
        AT.benchmark("validate", "family")
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("validate"),
    params:
        code=code("validate"),
        settings=told(
            lambda wildcards: Validate(
                getattr(STUDY.validation, wildcards.family).model_dump(),
                derive(STUDY.seed, "validation"),
            )
        ),
    message:
        "validating the estimator: {wildcards.family}"
    shell:
        command(
            "validate",
            wildcards="family",
            output="output",
        )
