"""What runs again after what, asked of Snakemake itself."""

import os
import re
import subprocess
import sys

from rllc.store import manifest
from rllc.study.table import MEASURES

AFTER_SAMPLING = {
    "gather",
    "clusters",
    "refinement",
    "classification",
    "staggered",
    "draw",
    "animate",
    "judge",
    "claims_page",
}
SAMPLING = {"sample_heads", "sample_full", "sample_other"}
TEXT = {"read_corpus", "mix_corpora", "make_tokenizer", "make_blocks", "summarise_corpora"}
LIMITS = """
import sys
sys.path.insert(0, "src")
from rllc.run.dag import dag
with dag(sys.argv[1:]) as planned:
    limits = [job.resources.runtime for job in planned.jobs if job.rule.name == "sample_full"]
print(max(limits))
"""


def test_a_second_run_does_nothing(finished):
    assert finished.plan() == []
    assert "Nothing to be done" in finished.snakemake().stderr


def test_docstrings_comments_and_readme_change_nothing(checkout):
    checkout.edit("src/rllc/estimator/samplers/sgld.py", '"""', '"""Edited. ')
    checkout.edit("workflow/scripts/train.py", "def main(", "# a comment\ndef main(")
    checkout.write("README.md", "edited")
    checkout.write("config/README.md", "edited")
    assert checkout.plan() == []


def test_a_figure_edit_draws_that_figure(checkout):
    checkout.edit("src/rllc/figures/stages.py", "import ", "import math\nimport ")
    plan = [job for job in checkout.plan() if job[0] != "all"]
    assert plan == [
        ("draw", {"figure": "stage_fig1a_lm"}),
        ("draw", {"figure": "stage_fig4b_heads"}),
    ]


def test_a_sampler_edit_samples_again_and_never_trains(checkout, rules):
    checkout.edit("src/rllc/estimator/samplers/sgld.py", "import ", "import math\nimport ")
    of_stages = {"stages", "highlights", "milestones", "page"}
    assert rules(checkout.plan()) == SAMPLING | AFTER_SAMPLING | of_stages


def test_an_edit_of_the_head_path_leaves_the_whole_model_alone(checkout, rules):
    checkout.edit("src/rllc/estimator/fast_heads.py", "\nimport ", "\nimport math\nimport ")
    assert rules(checkout.plan()) == {"sample_heads"} | AFTER_SAMPLING


def test_an_added_seed_computes_only_that_seed(checkout, rules):
    overlay = checkout.write("config/more.yaml", "experiments: {language: {seeds: [0, 1]}}\n")
    plan = checkout.plan(overlays=(overlay,))
    assert {wildcards["seed"] for _, wildcards in plan if "seed" in wildcards} == {"1"}
    assert not rules(plan) & TEXT
    assert ("train", {"experiment": "language", "seed": "1", "start": "0"}) in plan


def test_recorded_times_change_forecast_and_time_limits_and_rerun_nothing(checkout):
    """They count after an edit of the code too."""
    dataset = "results/ci/language/llc.nc"
    overlay = checkout.write("config/more.yaml", "experiments: {language: {seeds: [0, 1]}}\n")

    def foretold():
        """The table's row of sample_full, and the longest time limit of its jobs."""
        said = checkout.snakemake(overlay, "-n", "-q", "--", dataset).stdout
        done = subprocess.run(
            [sys.executable, "-c", LIMITS, "config/ci.yaml", overlay],
            cwd=checkout.root, env=checkout.environment(), capture_output=True, text=True,
        )  # fmt: skip
        assert not done.returncode, done.stderr
        return re.search(r"^sample_full .*", said, re.MULTILINE)[0], int(done.stdout.split()[-1])

    assert foretold()[1] == 10  # the shortest
    for file in (checkout.root / "results/ci/benchmarks/sample_full/language").rglob("*.tsv"):
        head, line = file.read_text().splitlines()
        rest = line.partition("\t")[2]
        file.write_text(f"{head}\n1000000\t{rest}\n")
    files = {file: file.stat().st_mtime_ns for file in (checkout.root / "results").rglob("*")}
    assert checkout.plan(dataset) == []
    row, limit = foretold()
    assert re.search(r" \d+ finished jobs?$", row) and limit == 1440  # the longest
    assert {file: file.stat().st_mtime_ns for file in (checkout.root / "results").rglob("*")} == files
    checkout.edit("src/rllc/estimator/samplers/sgld.py", "import ", "import math\nimport ")
    row, limit = foretold()
    assert "finished" in row and limit == 1440


def test_an_added_distribution_computes_only_that_distribution(checkout, rules):
    checkout.write("texts/mine one.md", "Some text of my own, long enough to be cut into blocks. " * 400)
    checkout.write("texts/two.md", "Another text, on which nothing was ever trained, said again. " * 400)
    for number in range(20):
        checkout.write(f"texts/{number}.md", f"Text number {number} speaks of {number} things. " * 60)
    overlay = checkout.write(
        "config/more.yaml",
        "distributions: {mine: {source: files, path: 'texts/*.md', label: Mine}}\n"
        "experiments: {language: {distributions: [mixture, english, code, one_layer, mine]}}\n",
    )
    plan = checkout.plan(overlays=(overlay,))
    assert {wildcards["distribution"] for _, wildcards in plan if "distribution" in wildcards} == {"mine"}
    assert not rules(plan) & {"train", "mix_corpora", "make_tokenizer"}
    assert "sample_heads" in rules(plan)


def test_an_added_checkpoint_leaves_earlier_chunks_alone(checkout):
    """But for measures of roles that heads have at the last checkpoint, which is in the chunk that runs."""
    of_roles = {row.name for row in MEASURES if row.after}
    overlay = checkout.write("config/more.yaml", "experiments: {language: {checkpoints: {extra: [40]}}}\n")
    plan = checkout.plan(overlays=(overlay,))
    starts = {rule: set() for rule, wildcards in plan if "start" in wildcards}
    for rule, wildcards in plan:
        if rule in starts:
            starts[rule].add(wildcards["start"])
    assert {rule for rule, each in starts.items() if each != {"20"}} == of_roles


def test_a_component_that_is_a_type_waits_for_the_heads_of_its_seed_and_one_by_label_does_not(fresh, rules):
    checkout, part = fresh(), "results/ci/language/parts/components/seed0.code.from0.nc"
    last = {"experiment": "language", "dataset": "attention_scores", "seed": "0", "start": "20"}
    plan = checkout.plan(part)
    assert [wildcards for rule, wildcards in plan if rule == "attention_scores"] == [last]
    by_label = "experiments: {language: {sampling: {other: {components: ['1:0+1:1']}}}}\n"
    plan = checkout.plan(part, overlays=(checkout.write("config/labels.yaml", by_label),))
    assert "sample_other" in rules(plan) and "attention_scores" not in rules(plan)


def test_other_thresholds_of_types_sample_again_what_is_chosen_by_type_alone(checkout, rules):
    overlay = checkout.write(
        "config/more.yaml", "experiments: {language: {head_types: {prefix_matching: 0.01}}}\n"
    )
    planned = rules(checkout.plan(overlays=(overlay,)))
    assert planned & SAMPLING == {"sample_other"} and {"induction_ablation", "path_patching"} <= planned
    assert not planned & TEXT and "train" not in planned


def test_a_changed_setting_reaches_every_segment_and_every_part(checkout):
    """Also those behind a segment that runs anyway: two trainings must never be joined."""
    overlay = checkout.write(
        "config/more.yaml", "experiments: {language: {training: {learning_rate: 5.0e-4}}}\n"
    )
    every = {("train", "0"), ("train", "20"), ("sample_heads", "0"), ("sample_heads", "20")}
    plan = checkout.plan("results/ci/language/rllc.nc", overlays=(overlay,))
    assert {(rule, w["start"]) for rule, w in plan if "start" in w} == every
    parts = [w for rule, w in plan if rule == "sample_heads"]
    assert len(parts) == 8


def test_a_changed_setting_is_seen_beside_other_changes(checkout, rules):
    checkout.write("texts/a.md", "A text. " * 200)
    thesis = checkout.write(
        "config/thesis.yaml", "distributions: {mine: {source: files, path: 'texts/*.md', label: Mine}}\n"
        "experiments: {language: {distributions: [mixture, english, code, one_layer, mine]}}\n",
    )  # fmt: skip
    more = checkout.write(
        "config/more.yaml", "experiments: {language: {training: {learning_rate: 5.0e-4}}}\n"
    )
    assert ("train", "0") in {(rule, w.get("start")) for rule, w in checkout.plan(overlays=(thesis, more))}


def test_an_added_checkpoint_computes_only_that_checkpoint(checkout):
    overlay = checkout.write("config/more.yaml", "experiments: {language: {checkpoints: {extra: [6]}}}\n")
    folder = checkout.root / "results/ci/language"
    first = folder / "checkpoints/seed0/from0.json"
    before = {entry["step"]: entry for entry in manifest.read(first)["checkpoints"]}
    cells = {path: path.stat().st_mtime_ns for path in folder.glob("parts/rllc/*.cells/*")}
    later = (folder / "checkpoints/seed0/from20.json").read_bytes()

    checkout.snakemake(overlay, "--", "results/ci/language/rllc.nc")

    after = {entry["step"]: entry for entry in manifest.read(first)["checkpoints"]}
    assert set(after) == {*before, 6}
    assert all(after[step] == entry for step, entry in before.items())
    assert all(path.stat().st_mtime_ns == made for path, made in cells.items())
    assert (folder / "checkpoints/seed0/from20.json").read_bytes() == later
    new = set(folder.glob("parts/rllc/*.cells/*")) - set(cells)
    assert {path.name.partition(".")[0] for path in new} == {"0000006"}
    assert not any(file.name.startswith("state0000006") for file in first.parent.iterdir())


def test_fresh_modification_times_change_nothing(checkout):
    for path in checkout.root.rglob("*"):
        if path.is_file() and not path.is_symlink() and ".snakemake" not in path.parts:
            os.utime(path)
    assert checkout.plan() == []


def test_how_often_states_are_kept_runs_nothing_again(checkout):
    overlay = checkout.write(
        "config/more.yaml", "experiments: {language: {training: {keep_state_every: 30}}}\n"
    )
    assert checkout.plan(overlays=(overlay,)) == []


def test_a_longer_training_goes_on_from_the_old_one(checkout):
    overlay = checkout.write(
        "config/more.yaml", "experiments: {language: {training: {steps: 80}, checkpoints: {extra: [60]}}}\n"
    )
    plan = checkout.plan("results/ci/language/rllc.nc", overlays=(overlay,))
    assert {wildcards["start"] for _, wildcards in plan if "start" in wildcards} == {"20"}


def test_a_further_training_on_a_distribution_runs_nothing_of_the_others(checkout):
    """Its text holds out as much as theirs, so it has seen nothing that they hold out."""
    overlay = checkout.write(
        "config/more.yaml",
        "experiments: {more: {like: language_1layer, metrics: null, training: {distribution: english}}}\n",
    )
    plan = checkout.plan("results/ci/more/checkpoints/seed0/from0.json", "all", overlays=(overlay,))
    assert plan == [("train", {"experiment": "more", "seed": "0", "start": "0"})]


def test_an_upgraded_drawing_library_draws_again(checkout, rules):
    checkout.edit("envs/requirements.lock", "\nmatplotlib==", "\nmatplotlib==9")
    assert rules(checkout.plan()) == {"draw", "animate", "page", "claims_page"}


def test_an_upgraded_torch_trains_again(checkout, rules):
    checkout.edit("envs/requirements.lock", "\ntorch==", "\ntorch==9")
    found = rules(checkout.plan())
    assert {"train", "hessian", "ablation", "attention_scores", *SAMPLING} <= found
    assert not found & {"read_corpus", "mix_corpora"}


def test_more_held_out_text_trains_nothing_again(checkout):
    overlay = checkout.write("config/more.yaml", "tokenizers: {bpe: {held_out_blocks: 300}}\n")
    folder = checkout.root / "results/ci/language/checkpoints/seed0"
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("step*")}
    checkout.snakemake(overlay, "--", "results/ci/language/checkpoints/seed0/from20.json")
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("step*")} == before


def test_one_figure_needs_only_its_own_parts(checkout, rules):
    for part in ("attention_scores", "metrics", "hessian", "ablation"):
        for path in (checkout.root / "results/ci/language/parts").glob(f"{part}/*.nc"):
            path.unlink()
    for made in (
        "language/hessian.nc",
        "language/attention_scores.nc",
        "figures/rllc_fig14_hessian_trace.png",
    ):
        (checkout.root / "results/ci" / made).unlink()
    plan = checkout.plan("results/ci/figures/rllc_fig14_hessian_trace.png")
    assert rules(plan) == {"hessian", "gather", "attention_scores", "draw"}


def test_a_truncated_checkpoint_is_found_and_made_again(checkout, rules):
    folder = checkout.root / "results/ci/language/checkpoints/seed0"
    file = folder / "step0000008.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    done = checkout.snakemake("--", "results/ci/language/checkpoints/seed0/from0.json")
    assert "step0000008.safetensors has" in done.stderr
    assert file.read_bytes() == whole
    assert rules(checkout.plan()) == set()


def test_texts_made_again_with_equal_bytes_start_nothing(checkout, rules):
    """Other code, as another Python: the texts are read again, and a whole study does not follow."""
    checkout.edit("workflow/scripts/read_corpus.py", "FEW = 5", "FEW = 2 + 3")
    assert "train" in rules(checkout.plan()), "what a run does is known once the texts are there"
    files = [*(checkout.root / "results/ci").rglob("*.nc"), *(checkout.root / "results/ci").rglob("*.png")]
    before = {file: file.stat().st_mtime_ns for file in files}
    checkout.snakemake()
    assert {file: file.stat().st_mtime_ns for file in files} == before
    assert checkout.plan() == []
