import json
from importlib.metadata import version

from rllc.store.provenance import attributes, stamp


def test_facts_are_text_functions_by_name_and_json_in_one_order():
    made = attributes(code="c", kernel=json.dumps, settings={"b": [1, None], "a": 0.5})
    versions = json.loads(made.pop("versions"))
    assert made == {
        "Conventions": "CF-1.11",
        "code": "c",
        "kernel": "json:dumps",
        "settings": '{"a": 0.5, "b": [1, null]}',
    }
    assert {
        name: version(name) for name in ("torch", "numpy", "xarray", "netCDF4")
    }.items() <= versions.items()


def test_where_there_is_no_repository_the_commit_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stamp()["git_commit"] == "not under git"
