"""The modules of a work's package, found by being there."""

import sys

from rllc.claims.claim import claims_of, numbers_of
from rllc.claims.parts import parts_of

PART = """
from rllc.claims import claim, number

{order}

@claim("It is so", source="a test", at_least=0)
@number("a number of {name}")
def of_{name}(run):
    return 1.0
"""


def test_parts_stand_by_order_then_by_name_and_need_no_list(tmp_path, monkeypatch):
    package = tmp_path / "some_work"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from rllc.claims.parts import parts_of\n\nPARTS = parts_of(__name__, __path__)\n"
    )
    for name, order in (("z", "ORDER = 1"), ("a", "ORDER = 2"), ("c", ""), ("b", "")):
        (package / f"{name}.py").write_text(PART.format(name=name, order=order))
    (package / "shared.py").write_text("from some_work.z import of_z\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import some_work  # pyright: ignore[reportMissingImports]

    try:
        assert [part.__name__ for part in parts_of("some_work", some_work.__path__)] == [
            f"some_work.{name}" for name in ("z", "a", "b", "c", "shared")
        ]
        assert [each.name for each in claims_of(some_work, "some")] == ["of_z", "of_a", "of_b", "of_c"]
        assert [each.name for each in numbers_of(some_work)] == ["of_z", "of_a", "of_b", "of_c"]
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "some_work"]:
            del sys.modules[name]
