"""Where the time of a draw goes, of heads and of the whole model, by kind of operation: benchmarks/where.md.

python benchmarks/where.py [--work build/bench]

From PyTorch's profiler, which counts wall time: run it alone. Heads of one layer, all in one call.
"""

import argparse
import platform
import time
from importlib.metadata import version
from pathlib import Path

import torch
from cases import make, read
from minutes import processor
from torch.profiler import ProfilerActivity, profile

from rllc.estimator.fast_heads import sample_heads
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.sample import sample
from rllc.models.loss import next_token_loss
from rllc.sampler_config import SamplerConfig

CASES = {
    "lists": ["0:0", "0:1"],
    "text_128, layer 0": [f"0:{head}" for head in range(8)],
    "text_128, layer 1": [f"1:{head}" for head in range(8)],
    "lists, whole": ["full"],
    "text_128, whole": ["full"],
}
# the first whose word is in an operation's name
KINDS = {
    "attention, fused": ("scaled_dot_product",),
    "products": ("mm", "vecdot", "dot", "linear_pointwise"),
    "exponentials, softmax": ("exp", "softmax", "log"),
    "looking up and its gradient": ("index", "embedding", "gather", "scatter", "sort", "unique"),
    "copies and new memory": ("copy", "fill", "empty", "zero", "ones", "cat", "clone", "expand", "view"),
    "normals": ("normal",),
    "elementwise and sums": ("",),
}


def shares(folder: Path, heads: list[str]) -> tuple[float, dict[str, float]]:
    """CPU ms per component, chain and draw without the profiler, and with it the share of each kind."""
    weights, architecture, batches, setting = read(folder)
    setting = SamplerConfig(**setting, chains=4, draws=4)

    def draws() -> None:
        if heads == ["full"]:
            parts = {"full": coordinates(weights, None, component="full")}
            sample(next_token_loss(architecture), weights, batches, components=parts, setting=setting)
        else:
            sample_heads(weights, architecture, batches, heads=heads, setting=setting)

    draws()
    begun = time.process_time()
    draws()
    spent = 1e3 * (time.process_time() - begun) / len(heads) / 4 / 4
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        draws()
    totals = dict.fromkeys(KINDS, 0.0)
    for event in seen.key_averages():
        kind = next(kind for kind, words in KINDS.items() if any(word in event.key for word in words))
        totals[kind] += event.self_cpu_time_total
    whole = sum(totals.values())
    return spent, {kind: total / whole for kind, total in totals.items()}


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "where.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    make(options.work, "lists", "text_128")
    found = [shares(options.work / name.partition(",")[0], heads) for name, heads in CASES.items()]
    lines = [
        "# Where the time of a draw goes\n",
        f"`python benchmarks/where.py`; {processor()}, Python {platform.python_version()}, "
        f"torch {version('torch')}. One thread, float32, 4 chains.\n",
        f"| | {' | '.join(CASES)} |",
        f"|---|{'---|' * len(CASES)}",
        f"| ms per component, chain and draw | {' | '.join(f'{spent:.1f}' for spent, _ in found)} |",
        *(f"| {kind} | {' | '.join(f'{share[kind]:.0%}' for _, share in found)} |" for kind in KINDS),
    ]
    options.output.write_text("\n".join(lines) + "\n")
    print(options.output.read_text())


if __name__ == "__main__":
    main()
