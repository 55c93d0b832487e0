import pytest

from rllc.tasks.language.sources import read


def test_a_source_reads_with_its_own_settings(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    assert [tuple(d) for d in read("files", path=str(tmp_path / "*.txt"))] == [("text", "a.txt")]


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        ("file", {}, "no source 'file' \\(did you mean 'files'"),
        ("files", {"paths": "x"}, "no setting 'paths' \\(did you mean 'path'"),
        ("installed", {"kind": "code"}, r"needs \['packages', 'megabytes'\]"),
    ],
)
def test_unknown_or_missing_settings_are_refused(source, settings, message):
    with pytest.raises(ValueError, match=message):
        read(source, **settings)
