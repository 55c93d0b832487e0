"""`partial` presents what Snakemake would not make again, and anew where that has changed."""

import xarray as xr

from rllc.store.datasets import read_dataset, write_dataset

DATASET = "results/ci/partial/language/metrics.nc"


def test_parts_of_another_training_are_not_presented(checkout, rules):
    """Of a changed experiment none is taken, and none is made."""
    overlay = checkout.write(
        "config/more.yaml", "experiments: {language: {training: {learning_rate: 5.0e-4}}}\n"
    )
    plan = checkout.plan("partial", overlays=(overlay,))
    assert rules(plan) == {"partial", "gather_partial", "draw_partial"}
    gathered = {wildcards["experiment"] for rule, wildcards in plan if rule == "gather_partial"}
    assert gathered == {"language_1layer", "regression", "sort_1head", "sort_2head_baseline"}


def test_a_new_part_is_presented_in_turn(checkout):
    parts = checkout.root / "results/ci/language/parts/metrics"
    later = parts / "seed0.code.from20.nc"
    content = later.read_bytes()
    for made in (later, checkout.root / "results/ci/language/metrics.nc"):
        made.unlink()
    checkout.snakemake("--", DATASET)
    dataset = xr.load_dataset(checkout.root / DATASET)
    assert dataset.attrs["unfinished"] == "22 of 24 cells of seed, step, distribution"
    later.write_bytes(content)
    checkout.snakemake("--", DATASET)
    dataset = xr.load_dataset(checkout.root / DATASET)
    assert "unfinished" not in dataset.attrs
    assert dataset["loss"].notnull().all()
    write_dataset(read_dataset(later) + 1, later)  # the same part, made anew
    gathered = ("gather_partial", {"experiment": "language", "dataset": "metrics"})
    assert checkout.plan(DATASET) == [gathered]
