"""Blocks of generated tasks, which need neither corpus nor tokenizer.

Needs the config's `distributions` of a generated source (rllc.study.tasks), and the `tokenizers` that describe
their blocks. Makes `blocks/<tokenizer>/<distribution>.json`, as for text.
"""


rule generate_blocks:
    """Tokens or vectors of a generated task. If both sides are generated once, they share no example."""
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
