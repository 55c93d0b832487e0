"""A cluster with slurmdbd, where a job runs on an account and squeue soon forgets it, as most clusters are."""


def accounts(cluster):
    """Account and state of every job that the database knows."""
    rows = cluster.run("sacct", "--allocations", "--noheader", "--parsable2", "--format=Account,State")
    return [tuple(row.split("|")) for row in rows.splitlines()]


def test_an_account_that_the_user_does_not_have_is_refused(accounted, accounting):
    given = ("--default-resources", "slurm_account=of_others")
    said = accounted.snakemake(accounted.PART, *given, check=False, seconds=300)
    assert "of_others" in said
    assert "lab" in said  # what could be given instead
    assert accounts(accounting) == []


def test_the_profile_as_it_is_runs_on_the_users_account_and_learns_of_the_end_from_the_database(
    accounted, accounting, undisturbed
):
    said = accounted.snakemake(accounted.PART)
    assert "state of jobs by sacct, since squeue shows ended ones for 20 s only" in said
    assert len(accounted.submitted(said, "sample_heads")) == 1
    accounted.wait_for(lambda: accounts(accounting) == [("lab", "COMPLETED")], 60)
    accounted.check(undisturbed, accounted.PART)
