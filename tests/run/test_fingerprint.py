import ast
import os
import re
import sys
import time
from pathlib import Path

import pytest
from copies import copy_project

import rllc
from rllc.run.fingerprint import closure, distribution, fingerprint
from rllc.study.claims import WORKS
from rllc.study.families import FAMILIES
from rllc.study.figures import FIGURES, PAGES
from rllc.study.table import ANALYSES, MEASURES

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "workflow/scripts").glob("*.py"))


def without_docstrings(text):
    return re.sub(r'"""[\s\S]*?"""', "", text)


@pytest.fixture
def project(tmp_path):
    """A small project: script -> package.a -> package.b -> numpy; package.c is not imported."""
    files = {
        "envs/requirements.lock": "numpy==1.0\nmatplotlib==3.0\n",
        "workflow/scripts/s.py": "from rllc.room.a import f\n",
        "src/rllc/__init__.py": "",
        "src/rllc/room/__init__.py": "",
        "src/rllc/room/a.py": '"""Doc."""\nfrom rllc.room import b\n\ndef f():\n    """Doc."""\n    return b.X\n',
        "src/rllc/room/b.py": "import numpy\nX = 1\n",
        "src/rllc/room/c.py": "Y = 1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edited(name, text):
        before = fingerprint("workflow/scripts/s.py", root=tmp_path)
        (tmp_path / name).write_text(text)
        return fingerprint("workflow/scripts/s.py", root=tmp_path) != before

    return tmp_path, edited


@pytest.mark.parametrize(
    ("file", "text", "matters"),
    [
        ("src/rllc/room/b.py", "import numpy\nX = 2\n", True),
        ("src/rllc/room/b.py", "import numpy\n# why\nX  =  1\n", False),
        ("src/rllc/room/a.py", '"""D."""\nfrom rllc.room import b\n\ndef f():\n    return b.X\n', False),
        ("src/rllc/room/c.py", "Y = 2\n", False),
        ("src/rllc/__init__.py", "Z = 1\n", True),
        ("workflow/scripts/s.py", "from rllc.room.a import f\nf()\n", True),
        ("envs/requirements.lock", "numpy==2.0\nmatplotlib==3.0\n", True),
        ("envs/requirements.lock", "numpy==1.0\nmatplotlib==4.0\n", False),
    ],
)
def test_what_is_run_counts_and_nothing_else(project, file, text, matters):
    _, edited = project
    assert edited(file, text) is matters


def test_a_module_imported_at_run_time_must_be_named(project):
    root, _ = project
    before = fingerprint("workflow/scripts/s.py", "rllc.room.c", root=root)
    (root / "src/rllc/room/c.py").write_text("Y = 2\n")
    assert fingerprint("workflow/scripts/s.py", "rllc.room.c", root=root) != before


def test_package_that_finds_its_modules_changes_with_each_of_them(project):
    root, edited = project
    (root / "src/rllc/room/inner").mkdir()
    (root / "src/rllc/room/inner/__init__.py").write_text("")
    assert edited("src/rllc/room/__init__.py", "PARTS = parts_of(__name__, __path__)\n")
    assert edited("src/rllc/room/c.py", "Y = 2\n")
    assert edited("src/rllc/room/d.py", "Z = 1\n")
    assert edited("src/rllc/room/inner/__init__.py", "Z = 1\n")
    assert not edited("src/rllc/other.py", "Z = 1\n")


def test_package_that_finds_its_templates_changes_with_each_of_them(project):
    root, edited = project
    (root / "src/rllc/room/page.html").write_text("<p>{{ text }}</p>\n")
    assert not edited("src/rllc/room/page.html", "<p>{{ words }}</p>\n")
    assert edited("src/rllc/room/__init__.py", "FOLDERS = list(__path__)\n")
    assert edited("src/rllc/room/page.html", "<p>{{ text }}</p>\n")
    assert edited("src/rllc/room/parts.html", "{# none #}\n")
    assert not edited("src/rllc/room/page.html~", "")


def test_fingerprint_of_a_page_follows_templates_and_jinja2_and_that_of_a_figure_does_not(tmp_path):
    copy_project(tmp_path, only=["src", "workflow", "envs"])
    pages = [row.draws.partition(":")[0] for row in PAGES.values()] + ["rllc.figures.claims_page"]
    figure = "rllc.figures.claims"

    def hashes():
        made = {name: fingerprint("workflow/scripts/write_page.py", name, root=tmp_path) for name in pages}
        return made | {figure: fingerprint("workflow/scripts/draw.py", figure, root=tmp_path)}

    def changed():
        nonlocal before
        now, then = hashes(), before
        before = now
        return {name for name in now if now[name] != then[name]}

    before = hashes()
    for template in sorted((tmp_path / "src/rllc/figures/templates").glob("*.html")):
        template.write_text(template.read_text() + "\n")
        assert changed() == set(pages), template.name
    lock = tmp_path / "envs/requirements.lock"
    lock.write_text(lock.read_text().replace("\nJinja2==", "\nJinja2==9"))
    assert changed() == set(pages)


def test_closure_of_the_judge_has_every_module_of_claims_of_a_work():
    names = closure("workflow/scripts/judge.py", root=ROOT)
    for work in WORKS:
        files = [file.stem for file in (ROOT / f"src/rllc/claims/{work}").glob("*.py")]
        expected = {f"rllc.claims.{work}.{name}" for name in files if name != "__init__"}
        assert len(expected) > 5 and expected <= names, work


def test_two_edits_that_cancel_leave_the_fingerprint(project):
    root, _ = project
    before = fingerprint("workflow/scripts/s.py", root=root)
    text = (root / "src/rllc/room/b.py").read_text()
    (root / "src/rllc/room/b.py").write_text("X = 3\n")
    (root / "src/rllc/room/b.py").write_text(text)
    assert fingerprint("workflow/scripts/s.py", root=root) == before


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_thin(script):
    """Read, call, write: the body of a script is at most 25 lines."""
    lines = script.read_text().split("def main", 1)[1].split('if __name__ == "__main__"')[0].splitlines()
    assert len([line for line in lines if line.strip()]) <= 25


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_script_imports_what_the_fingerprint_cannot_see(script):
    """Three places import by name: there every name is part of the fingerprint, or every module of a package is, or
    the digest of the user's own file is a fact of the model.
    The public names of the package, which are imported when they are used, are for users: no module reads one."""
    texts = [script.read_text()]
    for name in closure(f"workflow/scripts/{script.name}", root=ROOT) - {"rllc"}:
        path = ROOT / "src" / Path(*name.split("."))
        texts += [
            file.read_text() for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()
        ]
    dynamic = {text for text in texts if re.search(r"import_module|__import__", text)}
    named, found, users = (
        (ROOT / f"src/rllc/{name}.py").read_text()
        for name in ("job_settings/functions", "claims/parts", "module_source")
    )
    allowed = {"judge": {found}, "import_checkpoints": {users}}
    assert dynamic == {named} | allowed.get(script.stem, set())
    public = rf"from rllc import (.*\b)?({'|'.join(rllc.__all__)})\b|\brllc\.({'|'.join(rllc.__all__)})\("
    assert not [text for text in texts if re.search(public, without_docstrings(text))]


def test_every_rule_carries_the_fingerprint_of_the_script_it_runs():
    checked = 0
    for file in (ROOT / "workflow/rules").glob("*.smk"):
        for block in re.split(r"\n(?=(?:use )?rule )", file.read_text())[1:]:
            if "shell:" not in block:
                assert "params:\n        code=" not in block, block
                continue  # a target runs nothing, and a rule that uses another has that one's params
            ran = re.search(r'command\(\s*"(\w+)"', block)
            carried = re.search(r'code(?:_of_experiment)?\(\s*"(\w+)"', block)
            assert carried, block
            assert ran[1] == carried[1], block
            checked += 1
    assert checked >= 13


def test_the_version_of_every_package_that_is_imported_is_in_the_lock():
    """Under the name that the fingerprint looks for: `import PIL` is of pillow."""
    lock = (ROOT / "envs/requirements.lock").read_text()
    pinned = {re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"^([\w.-]+)==", lock, re.M)}
    imported = set()
    for file in [*SCRIPTS, *(ROOT / "src/rllc").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.partition(".")[0])
    others = imported - sys.stdlib_module_names - {"rllc"}
    assert {"sklearn", "torch", "yaml"} <= others
    assert {package for package in others if distribution(package) not in pinned} == set()


def test_training_depends_on_nothing_that_only_measures():
    """Else an edit of how parts are written would train every model again."""
    names = closure("workflow/scripts/train.py", root=ROOT)
    light = {"rllc.job.cells", "rllc.store.provenance", "rllc.job.measuring", "rllc.store.datasets"}
    assert not names & light
    assert not {name for name in names if name.startswith("rllc.measures")}


def test_what_the_figures_draw_with_is_light():
    """One figure redraws in seconds: no torch on the way."""
    source = ROOT / "src/rllc"
    of_measures = sorted(source.glob("measures/*/figure.py"))
    modules = [*sorted((source / "figures").rglob("*.py")), *of_measures]
    assert len(modules) > 20 and of_measures
    for module in modules:
        name = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts)
        names = closure("workflow/scripts/draw.py", name, root=ROOT)
        own = {name, name.rpartition(".")[0], "rllc.measures"} if module in of_measures else set()
        heavy = ("rllc.models", "rllc.measures", "rllc.tasks")
        assert not {each for each in names - own if each.startswith(heavy)}


def test_a_row_more_changes_no_fingerprint(tmp_path):
    """Of no script, with whatever kernel, family, analysis or figure it is given."""
    copy_project(tmp_path, only=["src", "workflow", "envs"])
    rows = [*MEASURES, *ANALYSES]
    finishes = [row.finish.function for row in MEASURES if row.finish]
    functions = {
        "measure": [row.kernel for row in MEASURES],
        "analyse": [row.function for row in ANALYSES],
        "gather": finishes,
        "draw": [row.draws for row in FIGURES.values()],
        "train": [family.model for family in FAMILIES.values()],
    }

    def all_of_them():
        return {
            (script.stem, function): fingerprint(
                f"workflow/scripts/{script.name}",
                *([function.partition(":")[0]] if function else []),
                root=tmp_path,
            )
            for script in SCRIPTS
            for function in (None, *functions.get(script.stem, ()))
        }

    before = all_of_them()
    assert len(before) > len(rows) + len(SCRIPTS)
    rooms = ("study/table", "measures/hessian/spec", "study/families", "study/tasks", "study/figures")
    for module in rooms:
        file = tmp_path / f"src/rllc/{module}.py"
        file.write_text(file.read_text() + "\nMORE = 1\n")
    assert all_of_them() == before
    (tmp_path / "src/rllc/measures/hessian/kernel.py").write_text("X = 1\n")
    after = all_of_them()
    changed = {function for key, function in before if before[key, function] != after[key, function]}
    assert "rllc.measures.hessian.kernel:hessian" in changed
    assert "rllc.measures.ablation.kernel:ablation" not in changed


def test_source_replaced_with_its_size_and_time_kept_has_another_fingerprint(project):
    """As an archive that unpacks with fixed times does, within one process."""
    root, _ = project
    file = root / "src/rllc/room/b.py"
    before, status = fingerprint("workflow/scripts/s.py", root=root), file.stat()
    time.sleep(0.02)  # the clock of a file system ticks every few milliseconds
    file.write_text("import numpy\nX = 2\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.stat().st_size == status.st_size
    assert fingerprint("workflow/scripts/s.py", root=root) != before


def test_imports_for_types_alone_change_no_fingerprint(project):
    root, edited = project
    text = (root / "src/rllc/room/b.py").read_text()
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rllc.room import {}\n" + text
    assert edited("src/rllc/room/b.py", for_types.format("c"))
    assert not edited("src/rllc/room/b.py", for_types.format("c, a"))
    assert not edited("src/rllc/room/c.py", "Y = 2\n")
