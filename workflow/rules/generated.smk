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
        code=lambda w: code("generate_blocks", generator(w)),
        generator=generator,
        settings=lambda w: as_json(generator_settings(distribution(w), tokenizer(w))),
        train=lambda w: (
            "" if tokenizer(w).train_blocks is None else tokenizer(w).train_blocks
        ),
        held_out=lambda w: tokenizer(w).held_out_blocks,
        stream=derive(STUDY.seed, "lists"),  # named after the first such task
    message:
        "making {wildcards.tokenizer}, {wildcards.distribution}"
    shell:
        command(
            "generate_blocks",
            params="generator settings train held_out stream",
            output="blocks",
        )
