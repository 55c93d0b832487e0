"""The drift-free control on wells whose slope and minibatch noise are known."""

import numpy as np
import pytest
import torch

from rllc.estimator.llc import estimate
from rllc.estimator.with_controls import with_control
from rllc.quality import reasons
from rllc.sampler_config import SamplerConfig
from rllc.validation.truths import quadratic as truths

CURVATURE = torch.tensor([2.0, 0.5, 4.0, 1.0], dtype=torch.float64)
CENTER = {"w": torch.zeros(4, dtype=torch.float64)}
COMPONENTS = {"full": None, "half": {"w": torch.tensor([True, False, True, False])}}
LAW = {"n_beta": 50.0, "localization": 20.0, "step_size": 4e-3, "seed": 2}


def sloping(weights, batch):
    """A well with the slope ``batch`` at its centre."""
    return (0.5 * CURVATURE * weights["w"] ** 2 + batch * weights["w"]).sum() + 3.0


def noisy(count):
    generator = torch.Generator().manual_seed(0)
    return [0.3 + torch.randn(4, generator=generator, dtype=torch.float64) for _ in range(count)]


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("extent", [{}, {"burn_in": 4}, {"thinning": 3, "burn_in": 2}])
def test_chains_walk_as_in_the_well_without_slopes(vectorize, extent):
    """With slopes of either sign they are at the same places: the mean of the two losses is the flat well's."""
    slopes = noisy(40)

    def run(batches, **more):
        return estimate(
            sloping, CENTER, batches, components=COMPONENTS, chains=3, draws=12, vectorize=vectorize,
            **LAW, **extent, **more,
        )  # fmt: skip

    flat = run([torch.zeros_like(slope) for slope in slopes])
    up, down = (run([sign * slope for slope in slopes], drift_free=True) for sign in (1, -1))
    np.testing.assert_allclose((up["loss"] + down["loss"]) / 2, flat["loss"], rtol=1e-12)
    assert float(abs(up["loss"] - down["loss"]).max()) > 0.1
    for one in (up, down):
        np.testing.assert_allclose(one["acceptance"], flat["acceptance"], rtol=1e-9)
    uphill = run(slopes)
    assert abs(float((uphill["llc"] - flat["llc"]).sel(component="full"))) > 0.5


def test_the_estimate_less_its_drift_free_control_is_what_was_walked():
    """On a slope without noise the mean path is deterministic: w <- w - (step/2)(n_beta (h w + g) + pull w)."""
    slope, draws, chains = torch.tensor([0.5, -0.3, 0.2, 0.4], dtype=torch.float64), 25, 400
    setting = SamplerConfig(**LAW, chains=chains, draws=draws, burn_in=5)
    path, h, g = np.zeros((draws, 4)), CURVATURE.numpy(), slope.numpy()
    for t in range(draws - 1):
        force = LAW["n_beta"] * (h * path[t] + g) + LAW["localization"] * path[t]
        path[t + 1] = path[t] - LAW["step_size"] / 2 * force
    rise = (0.5 * h * path**2 + g * path).sum(1)[5:].mean()
    found = with_control(
        lambda **how: _estimate([slope], **how), setting=setting, name="llc", control_chains=2,
        drift_free_chains=chains, keep_traces=False,
    )  # fmt: skip
    walked = float((found["llc"] - found["llc_drift_free"]).sel(component="full"))
    equilibrium = -0.5 * (LAW["n_beta"] * g) ** 2 @ (1 / (LAW["n_beta"] * h + LAW["localization"]))
    assert walked == pytest.approx(LAW["n_beta"] * rise, rel=0.02)
    assert abs(LAW["n_beta"] * rise / equilibrium - 1) > 0.05  # so that equilibrium would be seen to be wrong
    flat = truths.transient(h, draws=draws, burn_in=5, **{k: v for k, v in LAW.items() if k != "seed"})
    assert float(found["llc_drift_free"].sel(component="full")) == pytest.approx(flat, rel=0.05)
    assert float(found["llc_drift_free_se"].sel(component="full")) > 0
    assert "drift_dominated" in reasons(found["quality"].sel(component="full").item())


def _estimate(batches, **how):
    from rllc.estimator.llc import estimate_components

    return estimate_components(sloping, CENTER, batches, components={"full": None}, vectorize=True, **how)


def test_drift_free_needs_the_gradient_and_sgld():
    for more in ({"gradient": False}, {"sampler": "rmsprop"}):
        with pytest.raises(ValueError, match=r"drift_free .*expected gradient=True"):
            SamplerConfig(
                n_beta=1.0, localization=1.0, step_size=0.1, chains=2, draws=2, drift_free=True, **more
            )
