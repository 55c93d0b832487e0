"""`snakemake validation` plans its own jobs and none of the experiments', and `all` none of the validation's."""

import json

import pytest

FAMILIES = ("deep_linear", "potentials", "quadratic", "reduced_rank")


@pytest.fixture(scope="module")
def untouched(fresh):
    """A checkout without results."""
    return fresh()


def test_the_target_plans_its_jobs_and_no_others(untouched):
    jobs = untouched.plan("validation")
    figures = sorted([*FAMILIES, "landscapes"])
    expected = [("draw", {"figure": f"validation_{name}"}) for name in figures]
    expected += [("validate", {"family": family}) for family in FAMILIES]
    assert [job for job in jobs if job[0] != "validation"] == expected


def test_the_default_target_leaves_it_out(untouched):
    jobs = untouched.plan()
    assert len(jobs) > 20
    assert not [job for job in jobs if "validat" in json.dumps(job)]
