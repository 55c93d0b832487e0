"""Validation: `snakemake validation`, not part of `all`.

Needs nothing but the config section `validation`. Makes `validation/<family>.nc`, the estimator on models with
exact answers beside these answers, one job per family (quadratic, potentials, reduced_rank, deep_linear), and
their figures.
"""


rule validation:
    """The estimator against exact truths: every dataset and figure."""
    input:
        [AT.validation(family) for family in VALIDATED],
        [AT.figure(name) for name in asked_by("validation", STUDY.figures)],


rule validate:
    """Sample one family of models whose answer is known."""
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
