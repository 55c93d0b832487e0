import ast
import contextlib
import importlib
import io
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.func import hessian, vmap

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples/own_model.py"
OTHER_NUMERICS = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}


@pytest.fixture
def _float64():
    """As the example sets it for its process; other tests keep theirs."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def own_model():
    """Return the names of the script once it has run, and what it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names = runpy.run_path(str(SCRIPT))
    torch.set_default_dtype(torch.float32)
    return names | {"printed": printed.getvalue()}


def trained(*, seed=0, noise=0.0):
    """Return the names of the script up to its trained weights, from initial weights that are a little off."""
    text = SCRIPT.read_text().partition("unit = ")[0]
    for old, new in (
        ("torch.manual_seed(0)", f"torch.manual_seed({seed})"),
        ("lbfgs.step(closure)", "start(weights); lbfgs.step(closure)"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)

    def start(weights):
        random = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in weights.values():
                weight += noise * torch.randn(weight.shape, generator=random)

    names = {"start": start}
    exec(text, names)
    return names


def along(names, component):
    """Return a component's coordinates at the trained weights, and the loss as a function of them."""
    weights = {name: weight.detach() for name, weight in names["weights"].items()}
    center = torch.cat([weight.flatten() for weight in weights.values()])
    masks = names["components"][component] if component else None
    chosen = {
        name: torch.ones_like(weight) if masks is None else masks.get(name, torch.zeros_like(weight))
        for name, weight in weights.items()
    }
    moved = torch.cat([mask.flatten().bool() for mask in chosen.values()]).nonzero()[:, 0]
    sizes = [weight.numel() for weight in weights.values()]

    def loss(coordinates):
        parts = center.index_put((moved,), coordinates).split(sizes)
        shaped = {name: part.view(weights[name].shape) for name, part in zip(weights, parts, strict=True)}
        return names["loss"](shaped, (names["x"], names["y"]))

    return center[moved], loss


def localised_posterior(names, component, *, draws=4000):
    """Return n_beta times the mean rise of the loss by importance sampling from a wider Laplace approximation."""
    n_beta, localization = names["setting"]["n_beta"], names["setting"]["localization"]
    center, loss = along(names, component)
    size = len(center)
    precision = n_beta * hessian(loss)(center) + localization * torch.eye(size)
    root = 1.2 * torch.linalg.inv(torch.linalg.cholesky(precision)).T
    normal = torch.randn(draws, size, generator=torch.Generator().manual_seed(1))
    away = normal @ root.T
    rise = n_beta * (vmap(loss, chunk_size=250)(center + away) - loss(center))
    logs = -rise - localization / 2 * away.square().sum(1) + normal.square().sum(1) / 2
    shares = torch.softmax(logs, 0)
    assert 1 / shares.square().sum() > draws / 10
    return float(shares @ rise)


def test_own_model_estimates_the_localised_posterior_and_all_are_reliable(own_model, _float64):
    estimates = own_model["estimates"]
    assert own_model["printed"].count("reliable") == len(own_model["components"]) == 3
    truth = [localised_posterior(own_model, name) for name in estimates["component"].values]
    np.testing.assert_allclose(estimates["llc"], truth, rtol=0.1)  # its own error is 5 to 7 %
    assert len(SCRIPT.read_text().splitlines()) <= 50


def test_own_model_under_other_numerics_prints_the_same_table(own_model):
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=os.environ | OTHER_NUMERICS,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == own_model["printed"]


@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-4])
def test_own_model_from_weights_a_little_off_comes_to_the_same_minimum(noise, _float64):
    exact, other = trained()["weights"], trained(noise=noise)["weights"]
    for name in exact:
        torch.testing.assert_close(other[name], exact[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_own_model_of_any_seed_comes_to_a_regular_minimum(seed, _float64):
    names = trained(seed=seed)
    center, loss = along(names, None)
    assert torch.func.grad(loss)(center).abs().max() < 1e-6
    assert torch.linalg.eigvalsh(hessian(loss)(center)).min() > 0.005
    assert loss(center) < 1.1 * 0.3**2  # the noise of the data


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda each: each.stem)
def test_what_examples_import_is_there(script):
    """Also of those that take a finished study."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "rllc":
            module = importlib.import_module(node.module)
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []


def test_huggingface_model_prints_a_row_per_component():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names = runpy.run_path(str(ROOT / "examples/huggingface_model.py"))
    header, _, *rows = printed.getvalue().splitlines()
    assert header.split() == ["llc", "llc_se", "rhat", "ess"]
    assert [row.split()[0] for row in rows] == names["components"]
    assert (names["estimates"]["llc_se"] > 0).all()


def test_library_example_of_the_readme_runs_on_a_folder(tmp_path):
    from readme import snippet
    from tiny_transformers import tiny_model, tokens_of

    module = tiny_model("gpt_neox")
    module.save_pretrained(tmp_path)
    lines = snippet("python", "estimate_heads").replace("path/to/folder", str(tmp_path))
    found = {"tokens": tokens_of(module, count=16)}
    exec(lines, found)
    assert found["estimates"]["component"].values.tolist() == ["0:1", "mlp:1", "embedding"]
    assert found["estimates"]["llc"].notnull().all()
