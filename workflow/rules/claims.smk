"""Claims: what others, or the user, have said of an experiment, judged by functions whose thresholds are fixed.

Needs the datasets of every experiment that the config's `claims` are about. Makes `claims.nc`, a row per claim, and
`claims.html`, the same as a page.
"""

THEIRS = sorted(
    (ROOT / "src/rllc/claims/data").glob("*.csv")
)  # curves of the claimants


rule judge:
    """Every claim on every experiment that it is about."""
    input:
        datasets=[
            AT.dataset(name, each)
            for name, listed in JUDGED.items()
            for each in listed
        ],
        own=claims.files(STUDY),
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
        **fixed(megabytes=2000, minutes=30),
    params:
        code=code("judge"),
        claims=as_json(parameters.claims(STUDY)),
        names=as_json({"datasets": JUDGED}),
        digests=CONTENTS.digest([*claims.files(STUDY), *THEIRS]),
        datasets=listed("datasets"),
        own=listed("own"),
    message:
        "judging the claims"
    shell:
        command(
            "judge",
            params="claims names datasets own",
            output="output",
        )


rule claims_page:
    """The table of claims as a page."""
    input:
        claims=AT.claims(),
    output:
        page=report(
            AT.claims_page(),
            caption="../report/claims.rst",
            category="claims",
            labels={"figure": "claims", "experiment": "all"},
        ),
    log:
        AT.log("claims_page"),
    priority: 10
    localrule: True
    conda:
        ENVIRONMENT
    threads: STUDY.compute.threads
    resources:
        **fixed(megabytes=1000),
    params:
        code=code("write_page", "rllc.figures.claims_page:claims_page"),
        function="rllc.figures.claims_page:claims_page",
        names=as_json({"datasets": ["claims"]}),
        options=as_json({}),
        datasets=listed("claims"),
    message:
        "writing claims.html"
    shell:
        command(
            "write_page",
            params="function names options datasets",
            output="page",
        )
