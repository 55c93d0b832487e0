"""The README and the page on own models as their readers take them: snippets and commands."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_MODELS = (ROOT / "docs/own_models.md").read_text(encoding="utf-8")


def snippet(language: str, holding: str, text: str = README) -> str:
    """Return the one code block in a language that holds a text. Language "": commands."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (found,) = [code for kind, code in blocks if kind == language and holding in code]
    return found


def command(holding: str, text: str = README) -> list[str]:
    """Return the arguments of the one Snakemake command that holds a text, without the program."""
    lines = re.findall(r"^\.venv/bin/snakemake .*", text, re.MULTILINE)
    (found,) = [line for line in lines if holding in line]
    return shlex.split(found)[1:]


def small(arguments: list[str]) -> list[str]:
    """Return a command's overlays and targets as a study in results/ci takes them, behind its own overlay."""
    assert arguments[:2] == ["--cores", "all"], arguments
    rest = [each for each in arguments[2:] if each not in ("--configfile", "--")]
    targets = [each.replace("results/", "results/ci/") for each in rest if each.startswith("results/")]
    return [*(each for each in rest if not each.startswith("results/")), "--", *targets]
