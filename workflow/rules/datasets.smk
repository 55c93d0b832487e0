"""Datasets: every part of one measure joined, labelled, and small enough for a notebook.

Makes `<experiment>/<dataset>.nc` (design: results/README.md). `heads.nc` also gets each head's type,
`clusters.nc` is made of `rllc.nc`.
"""


rule gather:
    """One dataset from all its parts."""
    input:
        parts=parts_of,
    output:
        output=AT.dataset(),
    log:
        AT.log("gather", "experiment", "dataset"),
    wildcard_constraints:
        dataset=r"(llc|rllc|components)([.]\w+)?|hessian|ablation|metrics|circuits",
    priority: 20
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        code=code("gather"),
        labels=label_of,
    message:
        "gathering {wildcards.experiment}/{wildcards.dataset}.nc"
    shell:
        command("gather", "input.parts", "params.labels", "output.output")


rule gather_traces:
    """The loss of every draw, where a sampling setting keeps its traces."""
    input:
        parts=traced_parts,
    output:
        output=AT.dataset(name="traces"),
    log:
        AT.log("gather_traces", "experiment"),
    priority: 20
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        code=code("gather_traces"),
        labels=label_of,
    message:
        "gathering {wildcards.experiment}/traces.nc"
    shell:
        command("gather_traces", "input.parts", "params.labels", "output.output")


rule classify_heads:
    """Scores of all heads, and each head's type by its scores at the last checkpoint."""
    input:
        parts=lambda w: parts_of_all(w, "heads"),
    output:
        output=AT.dataset(name="heads"),
    log:
        AT.log("classify_heads", "experiment"),
    priority: 20
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        code=code("classify_heads"),
        thresholds=lambda wildcards: as_json(
            experiment(wildcards).head_types.model_dump()
            if experiment(wildcards).head_types
            else {}
        ),
    message:
        "classifying the heads of {wildcards.experiment}"
    shell:
        command("classify_heads", "input.parts", "params.thresholds", "output.output")


rule cluster:
    """Clusters of heads by their rLLC curves."""
    input:
        rllc=AT.dataset(name="rllc"),
    output:
        output=AT.dataset(name="clusters"),
    log:
        AT.log("cluster", "experiment"),
    benchmark:
        AT.benchmark("cluster", "experiment")
    priority: 20
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(15),
    params:
        code=code("cluster"),
        clustering=lambda wildcards: as_json(
            experiment(wildcards).clustering.model_dump()
        ),
        stream=derive(STUDY.seed, "clustering") % 2**32,
    message:
        "clustering the heads of {wildcards.experiment}"
    shell:
        command(
            "cluster",
            "input.rllc",
            "params.clustering",
            "params.stream",
            "output.output",
        )
