"""Generated tasks: there is neither corpus nor tokenizer to make.

Needs the config's `distributions` of a generated source (rllc.study.tasks), and the `tokenizers` that say what
their blocks hold. Makes `blocks/<tokenizer>/<distribution>.json`, as text does.
"""


rule generate_blocks:
    """Tokens or vectors of a generated task; nothing is on both sides that is generated once."""
    output:
        blocks=AT.blocks(),
    log:
        AT.log("generate_blocks", "tokenizer", "distribution"),
    wildcard_constraints:
        distribution=any_of([name for name in STUDY.distributions if name not in TEXTS]),
    priority: 70
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("generate_blocks"),
    params:
        code=lambda w: code("generate_blocks", GENERATORS[distribution(w).source]),
        settings=told(
            lambda w: parameters.generate_blocks(STUDY, distribution(w), tokenizer(w))
        ),
    message:
        "making {wildcards.tokenizer}, {wildcards.distribution}"
    shell:
        command(
            "generate_blocks",
            output="blocks",
        )
