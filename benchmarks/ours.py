"""rllc's estimates of components of one case, and their CPU seconds: one line of JSON.

python benchmarks/ours.py CASE --components 0:0,0:1 --chains 4 --draws 20

Heads go through ``estimator.fast_heads.estimate_heads``, everything else through ``estimator.llc.estimate``.
Components of a model of transformers have the losses that ``rllc.estimate_heads`` chooses for them.
``ms_per_draw`` is CPU time per chain and component from one minibatch to the next, the first pair left out;
``cpu_s`` that of the whole call.
"""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

import torch
from cases import data, read

from rllc.components import kind
from rllc.estimator.fast_heads import estimate_heads
from rllc.estimator.huggingface.paths import losses_around
from rllc.estimator.llc import estimate_components
from rllc.models.components import masks
from rllc.models.device import computing
from rllc.models.huggingface.loading import load
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.loss import next_token_loss
from rllc.sampler_config import SamplerConfig


class Clocked(list):
    """Batches that note the CPU time at which each was asked for."""

    def __init__(self, batches: list) -> None:
        super().__init__(batches)
        self.clock: list[float] = []

    def __getitem__(self, index):
        self.clock.append(time.process_time())
        return super().__getitem__(index)


def of_transformers(
    folder: Path, components: list[str], batches: Clocked, generic: bool, setting: SamplerConfig
):
    """The estimate of components of a model of transformers; ``generic``: by its plain loss."""
    model = HuggingFaceModel(load(folder / "model"))
    weights, chosen = model.weights(), {name: model.masks(name) for name in components}
    loss, losses = (model.loss, {}) if generic else losses_around(model, weights, chosen)
    return estimate_components(loss, weights, batches, components=chosen, losses=losses, setting=setting)


def main() -> None:
    """Estimate once and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("--components", required=True, help='heads "0:0,0:1", or "full"')
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--precision", default="fp32", help="fp32, tf32 or bf16")
    parser.add_argument("--generic", action="store_true", help="everything by the plain loss")
    options = parser.parse_args()
    torch.set_num_threads(1)
    foreign = (options.case / "model").exists()
    weights, architecture = ({}, None) if foreign else read(options.case)[:2]
    components = options.components.split(",")
    batches, setting = data(options.case)
    batches = Clocked(batches)
    setting = SamplerConfig(**setting, chains=options.chains, draws=options.draws)
    with computing(options.device, options.precision) as place:
        weights = place(weights)
        begun, wall = time.process_time(), time.perf_counter()
        if foreign:
            result = of_transformers(options.case, components, batches, options.generic, setting)
        elif kind(components[0]) == "heads" and not options.generic:
            result = estimate_heads(weights, architecture, batches, heads=components, setting=setting)
        else:
            chosen = {name: masks(name, architecture) for name in components}
            loss = next_token_loss(architecture)
            result = estimate_components(loss, weights, batches, components=chosen, setting=setting)
        cpu, wall = time.process_time() - begun, time.perf_counter() - wall
    clock = batches.clock[-options.draws :]
    per_draw = (clock[-1] - clock[1]) / (options.draws - 2)
    print(
        json.dumps(
            {
                "components": components,
                "llc_chain": result["llc_chain"].values.tolist(),
                "ms_per_draw": 1e3 * per_draw / options.chains / len(components),
                "cpu_s": cpu,
                "wall_s": wall,
                "version": version("rllc"),
                "torch": torch.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
