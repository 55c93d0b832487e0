"""A grid of sampling settings, and the centre they are seen from: one seed, one distribution, one chunk."""

import xarray as xr

from rllc.analysis.regime import quantities
from rllc.estimator.choice import estimator
from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.calibration import GRID, at_center, joined, sweep
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.vocabulary import head_labels

LENGTH = ("chains", "draws", "burn_in", "divergence_factor", "control_chains")


def main(job: Measuring, calibration: dict, steps: dict) -> None:
    """Every setting of the grid, all on the same minibatches and with the same noise, and its control."""
    sections = {kind: calibration[kind] for kind in ("heads", "full") if calibration[kind]}

    def measure(weights, architecture, step):
        heads, seed = head_labels(architecture.n_layers, architecture.n_heads), job.seed(step)
        sweeps, centers = [], []
        for kind, section in sections.items():
            size = {"batch_size": section["batch_size"], "scored": section["scored_positions"]}
            batches = job.batches("draws", count=section["draws"], **size)
            labels = ["full"] if kind == "full" else section["components"] or heads
            how = {"components": {label: masks(label, architecture) for label in labels}, "seed": seed}
            loss, probes = next_token_loss(architecture), calibration["probes"]
            centers.append(at_center(loss, weights, batches, probes=probes, **how))
            estimate = estimator(weights, architecture, labels, batches=batches)
            grid, length = ({name: section[name] for name in names} for names in (GRID, LENGTH))
            sweeps.append(sweep(estimate, grid=grid, seed=seed, **length))
        dataset = xr.merge([joined(sweeps), xr.concat(centers, "component")], combine_attrs="drop")
        return dataset.merge(quantities(dataset)).drop_attrs(deep=False)

    job.write(measure, steps=steps["steps"], calibration=calibration)


if __name__ == "__main__":
    run(main)
