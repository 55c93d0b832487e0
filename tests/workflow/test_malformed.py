"""What Snakemake itself makes of an overlay, before any job."""

import pytest

BRACES = """
distributions: {english: {label: "{LaTeX} and $x_{ind}$"}}
experiments: {language: {label: "{0}"}, sort_1head: {label: "{seed}"}}
"""


def test_braces_in_texts_do_not_end_the_planning(fresh):
    checkout = fresh()
    assert checkout.plan(overlays=(checkout.write("mine.yaml", BRACES),)) == checkout.plan()


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ("seed: 1\nfigures: {}\nseed: 2\n", "seed: on line 1 and again on line 3"),
        ("experiments: [language]", "experiments: "),
    ],
)
def test_a_refusal_is_one_message(fresh, overlay, words):
    checkout = fresh()
    done = checkout.snakemake(checkout.write("mine.yaml", overlay), "-n", check=False)
    said = done.stdout + done.stderr
    assert done.returncode and words in said
    assert "Traceback" not in said and len(said.splitlines()) < 15
