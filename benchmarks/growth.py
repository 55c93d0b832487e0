"""How the cost of head chains grows, beside a floor: benchmarks/growth.md.

python benchmarks/growth.py [--draws 3] [--chains 2]

Random weights and tokens, every position scored, batches of 8; each row changes one size. The floor is the
time of the necessary products alone, at the speed of a large float32 product measured just before: per chain
and draw those with the head's own weights, those of the layers above, forward and backward, and the
unembedding's, attention counted where a query may look. What chains share on a minibatch is not counted.
"""

import argparse
import platform
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from cases import PUBLISHED, TEXT
from minutes import processor

from rllc.estimator.fast_heads import sample_heads
from rllc.models.initial import initial_weights
from rllc.models.onednn import onednn
from rllc.models.transformer import Architecture
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Examples, batches_of

BATCH = 8
BASE = replace(TEXT, n_ctx=128)
CASES = {
    "layer 0, one head": (BASE, ["0:0"]),
    "layer 1, one head": (BASE, ["1:0"]),
    "layer 0, all heads": (BASE, [f"0:{head}" for head in range(8)]),
    "layer 1, all heads": (BASE, [f"1:{head}" for head in range(8)]),
    "layer 0, four heads, context 512": (replace(BASE, n_ctx=512), [f"0:{head}" for head in range(4)]),
    "layer 1, four heads, context 512": (replace(BASE, n_ctx=512), [f"1:{head}" for head in range(4)]),
    "layer 0, four heads, vocabulary 20,000": (replace(BASE, d_vocab=20000), [f"0:{h}" for h in range(4)]),
    "layer 1, four heads, vocabulary 20,000": (replace(BASE, d_vocab=20000), [f"1:{h}" for h in range(4)]),
}


def operations(layer: int, a: Architecture) -> float:
    """Floating-point operations of one chain's draw of a head in the first or second of two layers."""
    rows, scored, m, k, vocab = BATCH * a.n_ctx, BATCH * (a.n_ctx - 1), a.d_model, a.d_head, a.d_vocab
    attention = 6 * rows * a.n_ctx / 2 * k  # scores, values, and two gradients of each
    own = 2 * 3 * rows * m * k + attention  # projections and their gradients
    written = 3 * rows * m * k  # z W_O and both gradients
    if layer == 1:
        return 2 * (own + written + 3 * scored * k * vocab + 2 * k * m * vocab)
    above = 3 * rows * k * 3 * m + a.n_heads * attention + 2 * scored * m * m
    return 2 * (own + written + above + 2 * scored * m * vocab)


def matmul_speed() -> float:
    """Operations per second of float32 products of the size of an unembedding's."""
    x, W = torch.randn(1024, 256), torch.randn(256, 5000)
    with onednn():
        x @ W
        begun = time.process_time()
        for _ in range(5):
            x @ W
    return 5 * 2 * 1024 * 256 * 5000 / (time.process_time() - begun)


def milliseconds(a: Architecture, heads: list[str], chains: int, draws: int) -> float:
    """CPU time per head, chain and draw: that of so many draws more, without what comes once."""
    random = np.random.default_rng(0)
    contexts = random.integers(0, a.d_vocab, (2 * BATCH, a.n_ctx))
    batches = batches_of(Examples(contexts), batch_size=BATCH, count=2, scored=None, random=random)
    weights = initial_weights(a, seed=0)

    def seconds(count: int) -> float:
        begun = time.process_time()
        setting = SamplerConfig(**PUBLISHED, chains=chains, draws=count)
        sample_heads(weights, a, batches, heads=heads, setting=setting)
        return time.process_time() - begun

    seconds(1)
    return 1e3 * (seconds(draws + 1) - seconds(1)) / draws / chains / len(heads)


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "growth.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "# How the cost of head chains grows\n",
        f"`python benchmarks/growth.py --draws {options.draws} --chains {options.chains}`; {processor()}, "
        f"Python {platform.python_version()}, torch {version('torch')}.\n",
        "Two layers of 8 heads, d_model 256, vocabulary 5,000, context 128, batches of 8, every position",
        "scored, one thread, float32; milliseconds of CPU per head, chain and draw. The floor is the",
        "necessary products at the speed of a large one, measured just before (GFLOP/s).\n",
        "| | chains | ms | floor, ms | floor / ms | GFLOP/s |\n|---|---|---|---|---|---|",
    ]
    cases = [(name, *case, options.chains) for name, case in CASES.items()]
    cases += [(f"layer {layer}, one head", BASE, [f"{layer}:0"], 8) for layer in (0, 1)]
    for name, a, heads, chains in cases:
        speed = matmul_speed()
        spent = milliseconds(a, heads, chains, options.draws)
        floor = 1e3 * operations(int(heads[0][0]), a) / speed
        lines.append(
            f"| {name} | {chains} | {spent:.1f} | {floor:.1f} | {floor / spent:.2f} | {speed / 1e9:.0f} |"
        )
        options.output.write_text("\n".join(lines) + "\n")
    print(options.output.read_text())


if __name__ == "__main__":
    main()
