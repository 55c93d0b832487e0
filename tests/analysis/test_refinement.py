"""What code does to heads of a type: planted ratios, and errors against redrawn chains."""

import numpy as np
import xarray as xr

from rllc.analysis.refinement import GAP, refinement
from rllc.vocabulary import head_coords, head_labels

TYPES = ["multigram", "previous-token", "multigram", "induction", "induction", "multigram"]
OCTAVES = np.asarray([-0.5, 3.0, -0.1, 1.0, 0.5, 0.0])  # of code over mixture, by head
DISTRIBUTIONS = ["mixture", "english", "code"]


def study(noise=0.0, chains=4, seeds=1):
    """Levels 2, 1 and 2 * 2^octaves; chain c has one relative error on all distributions and one of its own."""
    random = np.random.default_rng(0)
    level = np.stack([np.full(6, 2.0), np.full(6, 1.0), 2.0 * 2**OCTAVES], axis=-1)
    shared, own = (random.normal(size=(seeds, 1, 6, n, chains)) for n in (1, 3))
    chain = level[..., None] * (1 + noise * (10 * shared + own))
    dims = ("seed", "step", "head", "distribution")
    rllc = xr.Dataset(
        {
            "rllc": (dims, chain.mean(-1)),
            "rllc_chain": ((*dims, "chain"), chain),
            "rllc_prior_only": (dims, np.tile(level * [1, 1, 4], (seeds, 1, 1, 1))),
            "rllc_prior_only_se": (dims, np.tile(0.01 * level * [1, 1, 4], (seeds, 1, 1, 1))),
            "quality": (dims, np.zeros(chain.shape[:-1], dtype=np.int16)),
        },
        coords={
            "seed": range(seeds), "step": [3000], "distribution": DISTRIBUTIONS, **head_coords(head_labels(2, 3)),
        },
    )  # fmt: skip
    kinds = xr.DataArray([TYPES] * seeds, [("seed", range(seeds)), ("head", rllc["head"].values)])
    return {"rllc": rllc, "attention_scores": kinds.to_dataset(name="head_type")}


def of(datasets):
    made = refinement(datasets, distribution="code", against=["mixture", "english"])
    return made.isel(seed=0, step=0)


def test_planted_ratios_are_found():
    made = of(study())
    np.testing.assert_allclose(made["log2_ratio"].sel(against="mixture"), [0.75, -0.2, 0.95], atol=1e-12)
    np.testing.assert_allclose(made["log2_ratio"].sel(against="english"), [1.75, 0.8, 0.95], atol=1e-12)
    assert made["heads_of_group"].sel(head_group=["induction", "multigram"]).values.tolist() == [2, 3]


def test_the_control_has_its_own_ratio_and_error():
    """Two octaves more on code; each estimate has an error of 1 %."""
    made = of(study())
    control = made["log2_ratio_prior_only"].sel(against="mixture")
    np.testing.assert_allclose(control, [2.75, 1.8, 0.95], atol=1e-12)
    of_head = np.hypot(0.01, 0.01) / np.log(2)
    expected = [
        of_head / np.sqrt(2),
        of_head / np.sqrt(3),
        of_head * np.hypot(1 / np.sqrt(2), 1 / np.sqrt(3)),
    ]
    np.testing.assert_allclose(made["log2_ratio_prior_only_se"].sel(against="mixture"), expected)


def test_errors_are_those_of_redrawn_chains():
    """What chains share cancels: the spread of 400 redrawn studies is the mean error, within 10 %."""
    made = refinement(
        study(noise=0.002, chains=16, seeds=400), distribution="code", against=["mixture", "english"]
    )
    spread = made["log2_ratio"].std("seed", ddof=1)
    error = np.sqrt((made["log2_ratio_se"] ** 2).mean("seed"))
    np.testing.assert_allclose(error, spread, rtol=0.1)


def test_what_cannot_be_said_is_missing_and_faults_are_kept():
    datasets = study()
    datasets["rllc"]["rllc"][0, 0, 3, 2] = -0.1
    datasets["rllc"]["quality"][0, 0, 0, 1] = 16
    made = of(datasets)
    assert np.isnan(made["log2_ratio"].sel(head_group=["induction", GAP])).all()
    assert made["log2_ratio"].sel(head_group="multigram").notnull().all()
    assert made["quality"].sel(against="english").values.tolist() == [0, 16, 16]
    assert not made["quality"].sel(against="mixture").any()
    datasets["attention_scores"]["head_type"][:] = "multigram"
    made = of(datasets)
    assert made["log2_ratio"].sel(head_group="induction").isnull().all()
    assert made["heads_of_group"].sel(head_group="induction") == 0


def test_it_is_kept_as_a_file(tmp_path):
    made = refinement(study(), distribution="code", against=["mixture"])
    made.to_netcdf(tmp_path / "refinement.nc")
    assert xr.load_dataset(tmp_path / "refinement.nc")["head_group"].values.tolist()[-1] == GAP
    assert all({"units", "long_name"} <= set(made[name].attrs) for name in made)
