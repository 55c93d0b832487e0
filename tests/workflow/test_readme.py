"""What the README says is what the workflow does."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def edges(text):
    """Arrows between rules, by name."""
    names = dict(re.findall(r"(\w+)\[(\w+)\]", text))
    return {
        (names.get(a, a), names.get(b, b))
        for a, b in re.findall(r"^\s*(\w+)(?:\[\w+\])? --> (\w+)", text, re.M)
    }


def test_the_rule_graph_of_the_docs_is_the_workflows(finished):
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--forceall"],
        cwd=finished.root, env=finished.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    drawn = (ROOT / "docs/development.md").read_text().partition("```mermaid")[2].partition("```")[0]
    expected = {(a, b) for a, b in edges(done.stdout) if "all" not in (a, b) and a != b}
    assert edges(drawn) == expected


def test_every_target_of_make_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / "README.md").read_text(), re.M)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_every_file_that_the_readme_names_exists():
    text = (ROOT / "README.md").read_text() + (ROOT / "config/README.md").read_text()
    named = set(
        re.findall(r"`((?:src|config|docs|benchmarks|examples|profiles|results)/[\w/.]+\.\w+)`", text)
    )
    made = {name for name in named if name.startswith("results/") and name != "results/README.md"}
    own = {"config/thesis.yaml", "config/mine.yaml"}  # the reader's
    assert len(named) > 6
    for name in named - made - own:
        assert (ROOT / name).exists(), name


def test_commands_have_no_comment_behind_them():
    """zsh, pasted into, takes it for arguments: `--configfile config/ci.yaml # tiny` for three files."""
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        blocks = file.read_text().split("```")[1::2]
        commands = re.findall(r"^(?:\.venv/bin/|make |snakemake |ssh ).*", "\n".join(blocks), re.M)
        assert not [line for line in commands if " # " in line], file.name
