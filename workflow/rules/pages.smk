"""Pages: static HTML without a script, `<experiment>/<page>.html`, of experiments that have the datasets.

`rllc.study.figures` lists the function and the datasets of each page.
"""


rule page:
    """One page."""
    input:
        datasets=lambda wildcards: list(page_inputs(wildcards).values()),
    output:
        page=report(
            AT.page(),
            caption="../report/page.rst",
            category=lambda wildcards: PAGES[wildcards.page].category,
            labels={"figure": "{page}", "experiment": "{experiment}"},
        ),
    log:
        AT.log("page", "experiment", "page"),
    priority: 10
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1000),
    params:
        code=lambda wildcards: code("write_page", PAGES[wildcards.page].draws),
        settings=told(
            lambda wildcards: Draw(
                NamedFunction(PAGES[wildcards.page].draws),
                page_inputs(wildcards),
                {"title": experiment(wildcards).label or wildcards.experiment},
            )
        ),
    message:
        "writing {wildcards.experiment}/{wildcards.page}.html"
    shell:
        command(
            "write_page",
            output="page",
        )
