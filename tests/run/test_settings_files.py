import json
from pathlib import Path

import pytest

from rllc.job_settings.text import MixCorpora
from rllc.run.settings_files import SettingsFiles


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def settings(stream):
    return MixCorpora({"a": Path("a.json")}, {"a": 1.0}, stream)


def written():
    return sorted(str(file) for file in Path().rglob("*") if file.is_file())


def test_only_files_of_a_runs_own_jobs_are_written_and_only_once_it_begins():
    files = SettingsFiles(writes=False)
    names = [files.name(settings(stream)) for stream in range(3)]
    assert written() == []
    files.write([names[1], names[1]])
    assert written() == [names[1]]
    assert json.loads(Path(names[1]).read_text()) == {
        "corpora": {"a": "a.json"},
        "weights": {"a": 1.0},
        "stream": 1,
    }


def test_name_changes_with_the_settings_alone():
    files, others = SettingsFiles(writes=False), SettingsFiles(writes=False)
    assert files.name(settings(1)) == others.name(settings(1)) != others.name(settings(2))


def test_job_of_a_cluster_writes_what_is_missing_under_the_name_that_was_planned():
    planned, made = (
        SettingsFiles(writes=False).name(settings(1)),
        SettingsFiles(writes=True).name(settings(1)),
    )
    assert written() == [planned] == [made]


def test_file_that_is_not_whole_is_written_anew_and_a_whole_one_is_left_alone():
    files = SettingsFiles(writes=False)
    name = files.name(settings(1))
    files.write([name])
    whole, changed = Path(name).read_bytes(), Path(name).stat().st_mtime_ns
    files.write([name])
    assert Path(name).stat().st_mtime_ns == changed
    Path(name).write_bytes(whole[:20])
    files.write([name])
    assert Path(name).read_bytes() == whole
