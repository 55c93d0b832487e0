from types import SimpleNamespace

import pytest

from rllc.run import dag

SNAKEFILE = """
rule all:
    input: config["asked"]

rule make:
    output: "{name}.txt"
    shell: "touch {output}"
"""


def test_what_is_finished_is_what_no_job_would_make_again(tmp_path, monkeypatch, capsys):
    """What `current` asks another process is answered by this one."""

    def run(command, **_):
        monkeypatch.setattr("sys.argv", command[2:])
        try:
            dag.main()
        except SystemExit as error:
            return SimpleNamespace(returncode=1, stderr=str(error))
        return SimpleNamespace(returncode=0, stdout=capsys.readouterr().out)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dag, "subprocess", SimpleNamespace(run=run))
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    for name in ("done", "asked_for_by_nobody"):
        (tmp_path / f"{name}.txt").touch()
    assert dag.current({"asked": ["done.txt", "missing.txt"]}) == {"done.txt"}
    with pytest.raises(ValueError, match=r"(?s)finished results are unknown: .*asked"):
        dag.current({})
