import inspect
from typing import get_args

import pytest

from rllc.study.distributions import Files, Hub, Installed
from rllc.tasks.language.sources import READERS, read


def test_a_source_reads_with_its_own_settings(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    assert [tuple(d) for d in read("files", path=str(tmp_path / "*.txt"))] == [("text", "a.txt")]


@pytest.mark.parametrize("section", [Files, Hub, Installed])
def test_a_reader_takes_what_its_section_of_the_config_has(section):
    keys = dict(section.model_fields)
    (source,) = get_args(keys.pop("source").annotation)
    assert set(inspect.signature(READERS[source]).parameters) == set(keys) - {"held_out", "label"}
