"""Models of Hugging Face before a run: `snakemake download` and `snakemake components`, not part of `all`.

`download` fetches models and tokenizers of the hub into its cache, and writes `downloads.json`. It does so before
the config is read (common.smk), because the shape of a model stands in the config.json that it fetches.
`components` prints the components of every model, and makes nothing.
"""


rule download:
    """Models and tokenizers of the hub, on a machine with a network."""
    localrule: True


rule components:
    """A table of the components of every model: coordinates, share of the weights, and tensors."""
    log:
        AT.log("components"),
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=4000),
    params:
        code=code("components"),
        settings=told(parameters.list_components(STUDY)),
    shell:
        command("components", shown=True, offline=True)
