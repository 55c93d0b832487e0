"""A grid of sampling settings, and the centre they are seen from: one seed, one distribution, one chunk."""

import xarray as xr

from rllc.analysis.regime import quantities
from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.calibration import at_center, estimator, joined, sweep

GRID = ("n_beta", "localization", "step_size", "chains", "control_chains")


def main(job: Measuring, calibration: dict, steps: dict) -> None:
    """Every setting of the grid, all on the same minibatches and with the same noise, and its control."""
    sections = {kind: calibration[kind] for kind in ("heads", "full") if calibration[kind]}

    def measure(weights, model, step):
        seed, probes = job.seed(step), calibration["probes"]
        sweeps, centers = [], []
        for kind, section in sections.items():
            size = {"batch_size": section["batch_size"], "scored": section["scored_positions"]}
            batches = job.batches("draws", count=section["draws"], **size)
            labels = ["full"] if kind == "full" else section["components"] or model.heads
            length = {name: section[name] for name in ("draws", "burn_in", "divergence_factor")}
            how = {"components": {label: model.masks(label) for label in labels}, "seed": seed}
            centers.append(at_center(model.loss, weights, batches, probes=probes, **how))
            estimate = estimator(weights, model.architecture, labels, batches=batches, seed=seed, **length)
            sweeps.append(sweep(estimate, **{name: section[name] for name in GRID}))
        dataset = xr.merge([joined(sweeps), xr.concat(centers, "component")], combine_attrs="drop")
        return dataset.merge(quantities(dataset)).drop_attrs(deep=False)

    job.write(measure, steps=steps["steps"], calibration=calibration)


if __name__ == "__main__":
    run(main)
