"""Text: from named sources to documents, a tokenizer, and blocks of tokens.

Needs the config's `distributions` and `tokenizers`. Makes, under the results folder,
`corpora/<distribution>.json`, `tokenizers/<tokenizer>.json`, `blocks/<tokenizer>/<distribution>.json`
(manifests; the Arrow tables lie beside them) and `corpus.nc`.

If a text is made again with the same bytes, no job that depends on it runs again (`rllc.run.early_cutoff`).
"""

from rllc.study.local import tokenizer_files
from rllc.study.texts import files

READ_WITH = used_texts(STUDY)  # text -> the tokenizer it is read with
CORPORA = {name: AT.corpus().format(distribution=name) for name in READ_WITH}
BLOCKS = {
    name: AT.blocks().format(distribution=name, tokenizer=tokens)
    for name, tokens in READ_WITH.items()
}
MIXED = [
    name for name, entry in STUDY.distributions.items() if entry.source == "mixture"
]
READ = [
    name
    for name, entry in STUDY.distributions.items()
    if entry.source in ("installed", "files", "hub")
]


rule read_corpus:
    """Documents of one source, deduplicated and split by hash; local, since it may need the network."""
    input:
        texts=ancient(lambda wildcards: files(distribution(wildcards))),
    output:
        corpus=AT.corpus(),
    log:
        AT.log("read_corpus", "distribution"),
    benchmark:
        AT.benchmark("read_corpus", "distribution")
    wildcard_constraints:
        distribution=any_of(READ),
    priority: 100
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("read_corpus"),
    params:
        code=code("read_corpus"),
        contents=lambda wildcards: CONTENTS.digest(files(distribution(wildcards))),
        settings=told(lambda wildcards: parameters.read_corpus(distribution(wildcards))),
    message:
        "reading {wildcards.distribution}"
    shell:
        command(
            "read_corpus",
            output="corpus",
            watch=True,
        )


rule mix_corpora:
    """Several distributions, interleaved by share of characters."""
    input:
        parts=lambda wildcards: list(mixed(wildcards).values()),
    output:
        corpus=AT.corpus(),
    log:
        AT.log("mix_corpora", "distribution"),
    wildcard_constraints:
        distribution=any_of(MIXED),
    priority: 90
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("mix_corpora"),
    params:
        code=code("mix_corpora"),
        settings=told(
            lambda wildcards: parameters.mix_corpora(
                STUDY, distribution(wildcards), mixed(wildcards)
            )
        ),
    message:
        "mixing {wildcards.distribution}"
    shell:
        command(
            "mix_corpora",
            output="corpus",
        )


rule make_tokenizer:
    """A byte-level BPE trained on a corpus, or a named tokenizer; local, as above."""
    input:
        corpus=lambda wildcards: expand(
            AT.corpus(),
            distribution=[name for name in [tokenizer(wildcards).corpus] if name],
        ),
        file=ancient(lambda wildcards: tokenizer_files(tokenizer(wildcards))),
    output:
        output=AT.tokenizer(),
    log:
        AT.log("make_tokenizer", "tokenizer"),
    priority: 80
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(),
    params:
        code=code("make_tokenizer"),
        contents=lambda wildcards: CONTENTS.digest(
            tokenizer_files(tokenizer(wildcards))
        ),
        settings=told(lambda wildcards: parameters.make_tokenizer(tokenizer(wildcards))),
    message:
        "making tokenizer {wildcards.tokenizer}"
    shell:
        command(
            "make_tokenizer",
            input="corpus",
            output="output",
        )


rule make_blocks:
    """Documents as blocks of tokens, one context each; training and held-out side share no document."""
    input:
        corpus=AT.corpus(),
        tokenizer=AT.tokenizer(),
        trained_on=lambda wildcards: expand(
            AT.corpus(), distribution=trained_on(STUDY, wildcards.distribution)
        ),
    output:
        blocks=AT.blocks(),
    log:
        AT.log("make_blocks", "tokenizer", "distribution"),
    benchmark:
        AT.benchmark("make_blocks", "tokenizer", "distribution")
    wildcard_constraints:
        distribution=any_of(TEXTS),
    priority: 70
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **forecasted("make_blocks"),
    params:
        code=code("make_blocks"),
        settings=told(
            lambda wildcards: parameters.make_blocks(STUDY, tokenizer(wildcards))
        ),
    message:
        "tokenizing {wildcards.distribution}"
    shell:
        command(
            "make_blocks",
            input="corpus tokenizer trained_on",
            output="blocks",
            watch=True,
        )


rule summarise_corpora:
    """Amount and predictability of the text of every distribution."""
    input:
        corpora=list(CORPORA.values()),
        blocks=list(BLOCKS.values()),
    output:
        output=AT.corpora(),
    log:
        AT.log("summarise_corpora"),
    priority: 60
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(),
    params:
        code=code("summarise_corpora"),
        settings=told(
            SummariseCorpora(
                parameters.labels(STUDY, CORPORA), CORPORA, READ_WITH, BLOCKS
            )
        ),
    message:
        "summarising all distributions of text"
    shell:
        command(
            "summarise_corpora",
            output="output",
        )
