from rllc.run.command import command


def test_only_what_is_watched_is_shown_while_it_runs():
    plain, watched = command("train", input="blocks"), command("train", watch=True, input="blocks")
    assert "python workflow/scripts/train.py --blocks {input.blocks:q} --code {params.code:q}" in plain
    assert "tee" not in plain and plain.endswith("exit 1; }}")
    assert watched.endswith("2>&1 | tee {log:q}")
