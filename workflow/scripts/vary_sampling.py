"""Estimates at the base setting with other data, minibatches and noise: one seed, distribution, chunk."""

from functools import partial

import xarray as xr

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.dependence import vary
from rllc.seeds import derive
from rllc.setting import Setting

VARIED = ("dataset_sizes", "batch_sizes", "noise_seeds")


def main(job: Measuring, dependence: dict, steps: dict) -> None:
    """What arXiv 2402.02364 varies in Figs. D.3 to D.5, and the traces of the base setting (Fig. A.1)."""
    varied = {name: dependence[name] for name in VARIED}

    def measure(weights, architecture, step):
        parts = []
        for kind, base in dependence["settings"].items():
            labels = [c for c in dependence["components"] if (c == "full") == (kind == "full")]
            take = partial(job.batches, count=dependence["draws"], scored=base["scored_positions"])
            setting = Setting.of({**base, **dependence}, seed=job.seed(step))
            seeds = {"seed_of": partial(derive, job.stream, "noise"), "step": step}
            how = {"setting": setting, "batch_size": base["batch_size"], "take": take}
            parts.append(vary(weights, architecture, labels, **how, **seeds, **varied))
        return xr.concat(parts, "component").sel(component=dependence["components"]).drop_attrs(deep=False)

    job.write(measure, steps=steps["steps"], dependence=dependence)


if __name__ == "__main__":
    run(main)
