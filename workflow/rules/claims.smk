"""Claims: what others have said of an experiment, judged by statistics whose thresholds stand in the config.

Needs the datasets of every experiment that has one of the config's `statistics`. Makes
`<experiment>/summary.nc`, one number per statistic and seed, and `claims.nc`, all of these side by side with
every claim's verdict.
"""


rule summarise:
    """The statistics of one experiment: one number per seed each."""
    input:
        datasets=lambda w: [
            AT.dataset(w.experiment, dataset) for dataset in SUMMARISED[w.experiment]
        ],
    output:
        output=AT.summary(),
    log:
        AT.log("summarise", "experiment"),
    wildcard_constraints:
        experiment=any_of(SUMMARISED),
    priority: 15
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1000),
    params:
        code=code("summarise"),
        statistics=lambda w: as_json(parameters.statistics(STUDY, experiment(w))),
        names=lambda w: as_json({"datasets": SUMMARISED[w.experiment]}),
        datasets=listed("datasets"),
    message:
        "statistics of {wildcards.experiment}"
    shell:
        command(
            "summarise",
            params="statistics names datasets",
            output="output",
        )


rule judge:
    """Every claim, and the statistics of all experiments."""
    input:
        summaries=[AT.summary(name) for name in SUMMARISED],
    output:
        output=AT.claims(),
    log:
        AT.log("judge"),
    priority: 15
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1000),
    params:
        code=code("judge"),
        claims=as_json(parameters.claims(STUDY)),
        names=as_json(
            {"experiments": {n: EXPERIMENTS[n].label or n for n in SUMMARISED}}
        ),
        summaries=listed("summaries"),
    message:
        "judging the claims"
    shell:
        command(
            "judge",
            params="claims names summaries",
            output="output",
        )
