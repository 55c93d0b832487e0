"""Claims on experiments, of published works or of the user, judged by functions with fixed thresholds.

Needs the datasets of every experiment that the config's `claims` are about. Makes `claims.nc`, with a row per claim,
and `claims.html`, the same table as a page.
"""

THEIRS = sorted(
    (ROOT / "src/rllc/claims/data").glob("*.csv")
)  # curves of the claimants

CLAIMS_PAGE = NamedFunction("rllc.figures.claims_page:claims_page")


rule judge:
    """Every claim on every experiment that it is about."""
    input:
        datasets=[file for each in JUDGED.values() for file in each.values()],
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
        settings=told(claims.judge(STUDY, JUDGED)),
        digests=CONTENTS.digest([*claims.files(STUDY), *THEIRS]),
    message:
        "judging the claims"
    shell:
        command(
            "judge",
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
        code=code("write_page", CLAIMS_PAGE),
        settings=told(Draw(CLAIMS_PAGE, {"claims": AT.claims()}, {})),
    message:
        "writing claims.html"
    shell:
        command(
            "write_page",
            output="page",
        )
