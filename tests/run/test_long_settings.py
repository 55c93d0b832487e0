import json
from pathlib import Path

import pytest

from rllc.run.long_settings import LONGEST, NAME, LongSettings, told, told_files

LONG = json.dumps({"path": [f"a file 'of' {number}.txt" for number in range(2000)]})


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written():
    return [str(file) for file in Path().rglob("*") if file.is_file()]


@pytest.mark.parametrize("text", ["", "{}", "@home/a.txt", "x" * LONGEST])
def test_short_setting_stays_as_it_is(text):
    settings = LongSettings(writes=True)
    assert told(settings.flag(text)) == settings.flag(text) == text
    assert written() == []


def test_long_setting_is_written_only_once_the_run_has_begun():
    settings = LongSettings(writes=False)
    flag = settings.flag(LONG)
    assert len(flag) < 100
    assert written() == []
    settings.write()
    assert told(flag) == LONG
    later = settings.flag(LONG + " ")
    assert later != flag
    assert told(later) == LONG + " "


def test_job_of_a_cluster_writes_what_is_missing():
    """Its flags are those that the main process planned with."""
    planned, job = LongSettings(writes=False).flag(LONG), LongSettings(writes=True).flag(LONG)
    assert planned == job
    assert told(job) == LONG


def test_long_list_of_files_comes_back():
    settings = LongSettings(writes=True)
    files = [f"parts/seed{number}, {{x}} 'y'.nc" for number in range(30_000)]
    (flag,) = settings.files(files)
    assert NAME.fullmatch(flag)
    assert told_files([flag]) == files
    for few in ([], ["@a"], files[:5]):
        assert told_files(settings.files(few)) == few
