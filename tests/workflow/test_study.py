"""The CI study, end to end: every dataset of the contract, read by plain xarray."""

import json
import re

import numpy as np
import pytest
import xarray as xr

from rllc.store.labels import COORDINATES, LONGEST
from rllc.study.table import ANALYSES
from rllc.vocabulary import in_full

CELL = ("seed", "step", "distribution")


def estimates(name, *dims):
    """Variables of an LLC dataset, prefix ``name``: estimates, diagnostics, per-chain values."""
    each = [
        name,
        f"{name}_se",
        f"{name}_init",
        f"{name}_prior_only",
        f"{name}_prior_only_se",
        "rhat",
        "ess",
    ]
    chains = [f"{name}_chain", "status"]
    return (
        dict.fromkeys(each, (*CELL, *dims))
        | dict.fromkeys(chains, (*CELL, *dims, "chain"))
        | {"init_loss": CELL}
    )


DATASETS = {
    "llc": estimates("llc"),
    "rllc": estimates("rllc", "head"),
    "rllc.likelihood": estimates("rllc", "head"),
    "components": estimates("rllc", "component"),
    "traces": {
        "loss": ("seed", "step", "component", "distribution", "chain", "draw"),
        "paired_loss": ("seed", "step", "component", "distribution", "chain", "draw"),
    },
    "hessian": {
        "hessian_trace": ("seed", "step", "distribution"),
        "hessian_trace_se": ("seed", "step", "distribution"),
        "hessian_trace_head": ("seed", "step", "head", "distribution"),
        "hessian_trace_head_se": ("seed", "step", "head", "distribution"),
    },
    "hessian_rank": {
        "hessian_rank": ("seed", "step", "distribution", "rank_range", "rank_method"),
        "hessian_rank_low": ("seed", "step", "distribution", "rank_range"),
        "hessian_max_eigenvalue": ("seed", "step", "distribution"),
    },
    "fisher": {
        "fim_trace": ("seed", "step", "distribution"),
        "fim_trace_ggn": ("seed", "step", "distribution"),
        "fisher_data": ("seed", "step", "distribution"),
        "fim_trace_head": ("seed", "step", "head", "distribution"),
    },
    "ablation": {
        "ablation": ("seed", "step", "head", "distribution", "method"),
        "ablation_se": ("seed", "step", "head", "distribution", "method"),
    },
    "attention_scores": {
        "previous_token": ("seed", "step", "head"),
        "previous_token_se": ("seed", "step", "head"),
        "current_token": ("seed", "step", "head"),
        "current_token_se": ("seed", "step", "head"),
        "prefix_matching": ("seed", "step", "head"),
        "prefix_matching_se": ("seed", "step", "head"),
        "prefix_matching_literal": ("seed", "step", "head"),
        "prefix_matching_literal_se": ("seed", "step", "head"),
        "k_composition": ("seed", "step", "head", "later_head"),
        "q_composition": ("seed", "step", "head", "later_head"),
        "v_composition": ("seed", "step", "head", "later_head"),
        "repeat_gap": ("seed", "step"),
        "repeat_gap_se": ("seed", "step"),
        "head_type": ("seed", "head"),
    },
    "metrics": {
        "loss": ("seed", "step", "distribution"),
        "loss_se": ("seed", "step", "distribution"),
        "loss_by_position": ("seed", "step", "distribution", "position"),
        "loss_by_position_se": ("seed", "step", "distribution", "position"),
        "icl_score": ("seed", "step", "distribution"),
        "weight_norm": ("seed", "step", "distribution"),
    },
    "clusters": {
        "cluster": ("seed", "head", "algorithm", "n_clusters"),
        "score": ("seed", "scope", "algorithm", "n_clusters", "index"),
    },
    "stages": {
        "boundary_step": ("setting", "distribution", "seed", "boundary"),
        "llc_smooth": ("setting", "distribution", "seed", "step"),
        "llc_loss_correlation": ("setting", "distribution", "seed"),
    },
    "hessian_stages": {
        "trace_smooth": ("seed", "distribution", "step"),
        "at_boundary": ("seed", "distribution", "step", "kind"),
    },
    "highlights": {
        "gain": ("seed", "stage", "context", "position"),
        "mean_gain": ("seed", "stage", "tokens"),
    },
    "milestones": {"in_order": ("seed", "step"), "first_boundary": ("seed", "step")},
}


def opened(finished, name):
    with xr.open_dataset(finished.root / f"results/ci/language/{name}.nc") as dataset:
        return dataset.load()


@pytest.mark.parametrize("name", DATASETS)
def test_datasets_have_the_promised_dims_names_and_units(finished, name):
    dataset = opened(finished, name)
    for variable, dims in DATASETS[name].items():
        assert set(dataset[variable].dims) == set(dims), variable
        assert dataset[variable].attrs.get("long_name"), variable
        assert "units" in dataset[variable].attrs or variable in ("status", "cluster"), variable
    assert dataset["seed"].values.tolist() == [0]
    if "step" in dataset.dims:
        some = {"hessian_rank": [0, 16, 60], "milestones": [60], "clusters": [60]}
        steps = some.get(name, [0, 4, 8, 16, 32, 60])
        assert dataset["step"].values.tolist() == steps
    if "head" in dataset.dims:
        assert dataset["head"].values.tolist() == ["0:0", "0:1", "1:0", "1:1"]
        assert dataset["layer"].values.tolist() == [0, 0, 1, 1]
    assert dataset.attrs["created"]
    assert dataset.attrs["git_commit"]
    assert json.loads(dataset.attrs["versions"])["xarray"]
    assert json.loads(dataset.attrs["inputs"])
    codes = json.loads(dataset.attrs["code"]) if name == "traces" else [dataset.attrs["code"]]
    assert {len(code) for code in codes} == {16}
    sections = {"llc": "sampling", "rllc": "sampling", "rllc.likelihood": "sampling", "components": "sampling",
                "traces": "sampling", "attention_scores": "attention_scores", "clusters": "clusters"}  # fmt: skip
    assert json.loads(dataset.attrs[sections.get(name, name)])
    if name not in (row.name for row in ANALYSES):
        assert json.loads(dataset.attrs["compute"]) == {"device": "cpu", "precision": "fp32", "threads": 1}


def test_a_component_that_is_a_type_says_which_heads_it_is(finished):
    found, types = (
        opened(finished, "components"),
        opened(finished, "attention_scores")["head_type"].sel(seed=0),
    )
    members = "+".join(types["head"].values[types.values == "induction"])
    assert set(found["members"].sel(component="induction").values.ravel()) == {members}
    assert found["rllc"].sel(component="induction").notnull().all() == bool(members)
    assert found["rllc"].sel(component="layer:0").notnull().all()


def test_every_variable_of_an_analysis_has_its_words(finished):
    made = [row.name for row in ANALYSES if (finished.root / f"results/ci/language/{row.name}.nc").exists()]
    assert {"clusters", "patched_paths", "staggered", "milestones"} <= set(made)
    for name in made:
        without = [each for each, data in opened(finished, name).items() if not data.attrs.get("long_name")]
        assert not without, name


def test_every_dataset_has_short_names_and_units_on_all_variables_and_coordinates(finished):
    """In every file but parts, which are no results; those of figures too."""
    files = [file for file in (finished.root / "results/ci").rglob("*.nc") if "parts" not in file.parts]
    assert {"claims.nc", "corpus.nc", "rllc.nc", "traces.nc"} <= {file.name for file in files}
    for file in files:
        with xr.open_dataset(file) as dataset:
            for name, variable in dataset.variables.items():
                words = variable.attrs.get("long_name", "")
                assert 0 < len(words) <= LONGEST, (file.name, name, words)
                assert variable.attrs.get("units"), (file.name, name)
            named = set(map(str, dataset.coords)) - set(COORDINATES)
            assert not named, (file.name, "coordinates without words of their own", named)


def test_estimates_of_heads_are_described_as_refined(finished):
    for name, variable in opened(finished, "rllc").data_vars.items():
        assert not re.search(r"\bllc|\bLLC", in_full(variable.attrs, name)), name


def test_training_loss_is_kept_for_every_update_of_trainings_alone(finished):
    loss = opened(finished, "training_loss")["loss"]
    assert loss.dims == ("seed", "step") and loss.dtype == np.float32
    assert loss["step"].values.tolist() == list(range(60))
    assert np.isfinite(loss).all()
    assert loss[0, -5:].mean() < loss[0, :5].mean()


def test_what_a_notebook_does(finished):
    dataset = opened(finished, "rllc")
    curve = dataset.rllc.sel(head="1:1", distribution="code").isel(seed=0)
    assert curve.dims == ("step",)
    assert np.isfinite(curve).all()
    assert dataset["distribution"].values.tolist() == ["mixture", "english", "code", "one_layer"]
    assert dataset["distribution_label"].sel(distribution="code").item() == "Python code"
    assert json.loads(dataset.attrs["sampling"])["n_beta"] == 30
    assert dataset["status"].attrs["flag_meanings"].split() == ["ok", "nonfinite", "diverged", "missing"]


def test_the_estimate_is_n_beta_times_the_mean_paired_loss(finished):
    """A second computation, from the traces on disk."""
    rllc, traces = opened(finished, "rllc"), opened(finished, "traces")
    kept = traces["paired_loss"].sel(component=rllc["head"].values).isel(draw=slice(4, 8))
    expected = 30 * kept.mean("draw").rename(component="head")
    got = rllc["rllc_chain"]
    np.testing.assert_allclose(got.transpose(*expected.dims).values, expected.values, rtol=1e-4, atol=1e-4)
    plain = rllc["rllc_init"] - rllc["rllc"] + rllc["rllc_chain"].mean("chain")  # without what pairs change
    by_init = 30 * (
        traces["loss"].sel(component=rllc["head"].values).isel(draw=slice(4, 8)).mean(["draw", "chain"])
        - rllc["init_loss"]
    ).rename(component="head")
    np.testing.assert_allclose(plain.transpose(*by_init.dims).values, by_init.values, rtol=1e-3, atol=1e-3)


def test_a_model_is_its_own_best_teacher_and_step_0_is_far_from_it(finished):
    """KL to the one-layer model: positive, and smaller after training than before."""
    loss = opened(finished, "metrics")["loss"].sel(distribution="one_layer").isel(seed=0)
    assert (loss > 0).all()
    assert loss.isel(step=-1) < loss.isel(step=0)


def test_the_mixture_has_the_shares_of_the_config(finished):
    text = json.loads((finished.root / "results/ci/corpora/mixture.json").read_text())["text"]
    for name, share in {"english": 0.45, "code": 0.35, "headers": 0.2}.items():
        assert text["training_shares"]["share"][name] == pytest.approx(share, abs=0.1), name
        part = json.loads((finished.root / f"results/ci/corpora/{name}.json").read_text())["text"]
        assert text["training_shares"]["characters"][name] <= part["characters"] - part["held_out_characters"]


def test_the_summary_says_of_each_distribution_what_its_manifest_says(finished):
    with xr.open_dataset(finished.root / "results/ci/corpus.nc") as summary:
        for name in ("english", "code", "mixture"):
            text = json.loads((finished.root / f"results/ci/corpora/{name}.json").read_text())["text"]
            assert summary["documents"].sel(distribution=name) == text["documents"]
            assert summary["characters"].sel(distribution=name) == text["characters"]
        assert summary["distribution_label"].sel(distribution="english") == "English prose"


def test_every_figure_has_its_picture_its_data_and_its_caption(finished):
    folder = finished.root / "results/ci/figures"
    names = {path.stem for path in folder.glob("*.png")}
    assert len(names) >= 13
    for name in names:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (folder / f"{name}.txt").read_text().strip()
        with xr.open_dataset(folder / f"{name}.nc") as data:
            assert data.sizes
            assert data.attrs["caption"]


def test_no_half_written_file_is_left(finished):
    left = [path for path in (finished.root / "results").rglob(".*") if path.is_file()]
    assert left == []


def test_nothing_in_a_result_names_this_machine(finished):
    for path in (finished.root / "results/ci/language").glob("*.nc"):
        with xr.open_dataset(path) as dataset:
            assert str(finished.root) not in json.dumps(dataset.attrs, default=str)


def test_intermediate_results_do_not_depend_on_the_day(finished):
    """Dates and commits would defeat comparison by content."""
    for path in (finished.root / "results/ci/language/parts").rglob("*.nc"):
        with xr.open_dataset(path) as dataset:
            assert not {"created", "git_commit"} & set(dataset.attrs), path


def test_waiting_jobs_are_left_alone_while_all_cores_are_busy(fresh, monkeypatch):
    """Looked at when a job ends, and not once a second: two jobs of five seconds or more, on one core."""
    checkout = fresh()
    slow = checkout.root / "slow.sh"
    slow.write_text('python() { sleep 5; command python "$@"; }\n')
    monkeypatch.setenv("BASH_ENV", str(slow))  # what the shell of every job reads
    targets = (f"results/ci/corpora/{name}.json" for name in ("headers", "english"))
    done = checkout.snakemake("--cores", "1", "--verbose", *targets)
    assert 2 <= (done.stdout + done.stderr).count("Ready jobs: ") <= 3
