import pytest
from copies import copy_project

from rllc.run import plan


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The rules and the planning modules, in a copy; the environment as it is before a run."""
    copy_project(tmp_path, only=["Snakefile", "workflow", "src", "envs"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(plan.VARIABLE, raising=False)
    return tmp_path


def test_a_job_gets_the_config_and_the_codes_of_its_plan(project):
    config = {"seed": 0, "figures": {"a": None}, "rate": 1e-3}
    file = plan.keep(config, {"train": "abc"}, root=project)
    assert plan.keep(config, {"train": "abc"}, root=project) == file
    kept = plan.kept(root=project)
    assert (kept["config"], kept["codes"]) == (config, {"train": "abc"})
    assert plan.keep({**config, "seed": 1}, {}, root=project) != file


def test_a_job_that_was_told_nothing_has_no_plan(project, monkeypatch):
    assert plan.kept(root=project) is None
    monkeypatch.setenv(plan.VARIABLE, str(project / "gone.json"))
    assert plan.kept(root=project) is None


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("workflow/rules/measures.smk", "for spec in MEASURES:", "for spec in MEASURES[1:]:", True),
        ("src/rllc/study/parameters.py", "def model", "MORE = 1\n\n\ndef model", True),
        ("src/rllc/measures/positions/spec.py", "class Positions", "MORE = 1\n\n\nclass Positions", True),
        ("src/rllc/measures/sample_full/spec.py", "MEASURE =", "MORE = 1\nMEASURE =", True),
        ("src/rllc/study/analyses/recommendation.py", "ANALYSIS =", "MORE = 1\nANALYSIS =", True),
        ("src/rllc/measures/positions/kernel.py", "import ", "import math\nimport ", False),
        ("src/rllc/study/claims.py", "def files", "MORE = 1\n\n\ndef files", True),
        ("src/rllc/job_settings/measures.py", "@dataclass", "MORE = 1\n\n\n@dataclass", True),
        ("src/rllc/job_settings/file.py", "def as_text", "MORE = 1\n\n\ndef as_text", True),
        ("src/rllc/study/layout.py", "@dataclass", "MORE = 1\n\n\n@dataclass", True),
        ("src/rllc/run/command.py", "def command", "MORE = 1\n\n\ndef command", True),
        ("src/rllc/study/texts.py", "def files", "MORE = 1\n\n\ndef files", True),
        ("workflow/rules/measures.smk", "for spec in", "# a comment\n\nfor spec in", False),
        ("src/rllc/estimator/samplers/sgld.py", "import ", "import math\nimport ", False),
    ],
)
def test_a_job_stops_where_its_rule_may_say_something_else_by_now(project, file, old, new, changes):
    plan.keep({}, {}, root=project)
    path = project / file
    path.write_text(path.read_text().replace(old, new, 1))
    if changes:
        with pytest.raises(plan.Changed, match=r"changed after this job was planned.*Run snakemake again"):
            plan.kept(root=project)
    else:
        assert plan.kept(root=project)
