"""What an unfinished dataset would hold, and what its parts must have been made by to belong to it."""

from typing import Any

from rllc.study import datasets as products
from rllc.study import parameters
from rllc.study.steps import steps
from rllc.study.study import Experiment

SCRIPTS = {
    "hessian": "trace_hessian",
    "ablation": "ablate",
    "metrics": "measure_losses",
    "heads": "score_heads",
    "circuits": "trace_circuits",
}


def script(experiment: Experiment, dataset: str) -> str:
    """The script that makes the parts of a dataset."""
    sampled = products.sampled_dataset(dataset)
    if sampled:
        return "sample_heads" if sampled[1] == "heads" else "sample_components"
    return SCRIPTS[dataset]


def section(experiment: Experiment, dataset: str) -> dict[str, Any]:
    """The config section that a dataset's parts record, by its name; nothing where it cannot be partial."""
    sampled = products.sampled_dataset(dataset)
    if sampled:
        return {"sampling": parameters.sampling(products.sampling(experiment, *sampled))}
    if dataset == "heads":
        return {"patterns": experiment.patterns.model_dump()}
    if dataset == "circuits":
        return {"circuits": experiment.circuits.model_dump()}
    reader = {"hessian": parameters.hessian, "ablation": parameters.ablation, "metrics": parameters.metrics}
    return {dataset: reader[dataset](experiment)} if dataset in reader else {}


def coords(experiment: Experiment, dataset: str) -> dict[str, list[Any]]:
    """The labels of the whole dataset."""
    found: dict[str, list[Any]] = {"seed": list(experiment.seeds), "step": steps(experiment)}
    if dataset not in products.OF_ALL:
        found["distribution"] = products.distributions(experiment, dataset)
    return found


def thresholds(experiment: Experiment, dataset: str) -> dict[str, Any]:
    """Scores from which a head has a type; for heads.nc only."""
    return experiment.head_types.model_dump() if dataset == "heads" and experiment.head_types else {}
