"""The CI study's list sorting, end to end: lists, circuits, claims, animation."""

import json

import numpy as np
import pyarrow as pa
import xarray as xr
from PIL import Image
from safetensors.numpy import load_file

PAIR, EACH = "sort_2head_baseline", ("seed", "step")
CIRCUITS = {
    "qk": (*EACH, "head", "token", "other_token"),
    "ov": (*EACH, "head", "token", "other_token"),
    "rank": (*EACH, "head", "circuit"),
    "overlap": (*EACH, "pair", "circuit"),
    "token_head": (*EACH, "token"),
    "anti_state": (*EACH, "head"),
    **dict.fromkeys(["rank_sum", "translational_symmetry", "head_overlap", "regions"], EACH),
}


def opened(finished, path):
    with xr.open_dataset(finished.root / "results/ci" / path) as dataset:
        return dataset.load()


def test_circuits_are_the_products_of_the_weights_on_disk(finished):
    """A second computation, in numpy, from the checkpoint."""
    found = opened(finished, f"{PAIR}/circuits.nc")
    for variable, dims in CIRCUITS.items():
        assert set(found[variable].dims) == set(dims), variable
        assert found[variable].attrs["long_name"]
    assert found["step"].values.tolist() == [0, 8, 16, 32, 50, 60]
    assert found["token"].values.tolist() == list(range(12))
    w = load_file(finished.root / f"results/ci/{PAIR}/checkpoints/seed0/step0000060.safetensors")
    at, embedding = "blocks.0.attn.", w["embed.W_E"][:12]
    for head in range(2):
        ov = embedding @ w[at + "W_V"][head] @ w[at + "W_O"][head] @ w["unembed.W_U"][:, :12]
        qk = embedding @ w[at + "W_Q"][head] @ w[at + "W_K"][head].T @ embedding.T
        here = found.isel(seed=0, step=-1, head=head)
        np.testing.assert_allclose(here["ov"], ov, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(here["qk"], qk, rtol=1e-4, atol=1e-5)
        assert here["rank"].sel(circuit="ov") == np.linalg.matrix_rank(ov)


def test_lists_are_sorted_and_no_list_is_on_both_sides(finished):
    folder = finished.root / "results/ci/blocks/numbers"
    about = json.loads((folder / "lists.json").read_text())
    assert about["scored"] == [4, 5, 6, 7]
    sides = {}
    for side, count in (("train", 2000), ("held_out", 200)):
        with pa.memory_map(str(folder / about[side]["file"])) as source:
            rows = pa.ipc.open_stream(source).read_all()["input_ids"].to_pylist()
        assert len(rows) == count
        assert all(row[5:] == sorted(row[:4]) and row[4] == 12 for row in rows)
        sides[side] = {tuple(row) for row in rows}
    assert not sides["train"] & sides["held_out"]


def test_losses_and_accuracies_are_of_the_sorted_half(finished):
    metrics = opened(finished, f"{PAIR}/metrics.nc").isel(seed=0).sel(distribution="lists")
    assert metrics["position"].values.tolist() == [4, 5, 6, 7]
    assert (metrics["sequence_accuracy"] <= metrics["accuracy"]).all()
    assert metrics["accuracy"].isel(step=-1) > metrics["accuracy"].isel(step=0)
    assert "icl_score" not in metrics


def test_claims_say_what_the_datasets_say(finished):
    claims = opened(finished, "claims.nc")
    assert {"sort_1head", PAIR, "language", "language_1layer"} == set(claims["experiment"].values)
    accuracy = opened(finished, f"{PAIR}/metrics.nc")["accuracy"].isel(seed=0, step=-1).item()
    assert claims["final_accuracy"].sel(experiment=PAIR).item() == accuracy
    long = claims["claim"].values[claims["reached"].values > 60]
    assert len(long)
    assert set(claims["verdict"].sel(claim=long).values) == {"not reached"}
    assert claims["verdict"].sel(claim="rank_2heads") in ("holds", "does not", "not reached")


def test_an_animation_has_a_frame_per_checkpoint(finished):
    with Image.open(finished.root / f"results/ci/figures/{PAIR}.gif") as gif:
        assert gif.n_frames == 6
        assert "caption" in json.loads(gif.info["comment"])


def test_a_further_variation_is_one_entry(checkout):
    """Its training, its measures, its figures; nothing of the others is made again but the table of claims."""
    overlay = checkout.write(
        "config/more.yaml",
        "experiments: {sort_3head: {like: sort_2head_baseline, label: three, model: {n_heads: 3}}}\n",
    )
    plan = checkout.plan(overlays=(overlay,))
    others = {rule for rule, wildcards in plan if "sort_3head" not in str(wildcards)}
    assert others <= {"all", "judge", "claims_page", "draw"}
    assert {"train", "sample_heads", "circuits"} <= {rule for rule, _ in plan}
    drawn = {wildcards.get("figure") for rule, wildcards in plan if rule == "draw"}
    assert {"sort_3head", "sort_3head_circuits", "sort_3head_specialization", "claims"} <= drawn
