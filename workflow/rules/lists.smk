"""Tasks on numbers: generated, so there is neither corpus nor tokenizer to make.

Needs the config's `distributions` of source `lists` or `sums`, and the `tokenizers` that say how many numbers
there are. Makes `blocks/<tokenizer>/<distribution>.json`, as text does.
"""


rule make_lists:
    """Lists to sort, or numbers to sum, as blocks of tokens; no list is on both sides."""
    output:
        blocks=AT.blocks(),
    log:
        AT.log("make_lists", "tokenizer", "distribution"),
    wildcard_constraints:
        tokenizer=any_of(NUMBERS),
        distribution=any_of(GENERATED),
    priority: 70
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("make_lists"),
    params:
        code=code("make_lists"),
        distribution=lambda wildcards: as_json(
            distribution(wildcards).model_dump(exclude={"label"})
        ),
        numbers=lambda wildcards: as_json(tokenizer(wildcards).model_dump()),
        stream=derive(STUDY.seed, "lists"),
    message:
        "making {wildcards.tokenizer}, {wildcards.distribution}"
    shell:
        command(
            "make_lists",
            params="distribution numbers stream",
            output="blocks",
        )
