"""What pairs cost and gain as the likelihood takes over from the localization: benchmarks/fallback.md.

python benchmarks/fallback.py [--chains 64]

The whole model and the two heads of ``lists`` (cases.py), from the published n_beta to settings that move
them far from the checkpoint, where chain and control part. Chains, their controls and pairs are sampled and
timed once; estimates of four chains, with the pairs of a call, are then made of chains chosen at random, by
the estimator's own rule. Work is CPU seconds times the variance of an estimate: the CPU seconds to an error.
"""

import argparse
import platform
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from cases import make, read
from minutes import processor
from to_error import timed

from rllc.estimator.control_variate import coefficients, looked_at, memory_of, stride_of_look
from rllc.estimator.fast_heads import sample_head_pairs, sample_heads
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.sample import sample, sample_pairs
from rllc.models.loss import next_token_loss
from rllc.sampler_config import LEAST_CHAINS, SamplerConfig

N_BETA = (30.0, 60.0, 100.0, 250.0, 1000.0)
PAIRS, CALLS = 4, 2000


def rows(names: list[str], setting: SamplerConfig, chains: Callable, pairs: Callable) -> list[str]:
    """Lines of the table, one for each component."""
    stride, of_call = stride_of_look(setting), replace(setting, chains=LEAST_CHAINS, antithetic_pairs=PAIRS)
    chains(setting=replace(setting, chains=1))  # the first call allocates
    on, seconds = timed(lambda: chains(setting=setting))
    off, of_control = timed(lambda: chains(setting=looked_at(setting, 1), at_center=on.at_center))
    look = {"setting": looked_at(setting, stride), "at_center": on.at_center[::stride]}
    _, of_look = timed(lambda: chains(**look))
    found, of_pairs = timed(lambda: pairs(setting=of_call))
    price = np.array([of_look, of_control, of_pairs * setting.chains / LEAST_CHAINS]) / seconds
    first = setting.burn_in
    x, y = (setting.n_beta * (each.loss - on.at_center)[..., first:].numpy() for each in (on, off))
    mean_error = setting.n_beta * np.sqrt((found.rise.var(-1, ddof=1) / PAIRS).mean(-1) / found.rise.shape[1])
    seen = slice(look["setting"].burn_in * stride - first, None, stride)
    beta = partial(coefficients, pairs=PAIRS, memory=memory_of(of_call))
    return [
        f"| {setting.n_beta:g} | {name} | {row(x[n], y[n], seen, beta, mean_error[n], price)} |"
        for n, name in enumerate(names)
    ]


def row(
    x: np.ndarray, y: np.ndarray, seen: slice, beta: Callable, mean_error: float, price: np.ndarray
) -> str:
    """Of calls with chains drawn from x and y [chain, draw].

    price  of a look, of a control, of pairs, over that of chains
    """
    random, calls = np.random.default_rng(0), []
    for _ in range(CALLS):
        some = random.choice(len(x), LEAST_CHAINS, replace=False)
        a, b = x[some], y[some]
        allowed = beta(a[:, seen], b[:, seen]) != 0
        slope = np.where(allowed, beta(a, b), 0.0) if allowed.any() else np.zeros(len(some))
        error = b.mean(-1) - y.mean() - mean_error * random.standard_normal()
        made = [True, allowed.any(), slope.any()]
        calls.append([a.mean(), (a.mean(-1) - slope * error).mean(), 1 + price @ made, slope.any()])
    plain, reduced, cost, used = np.array(calls).T
    ratio = reduced.var() / plain.var()
    shared = np.corrcoef(x.mean(-1), y.mean(-1))[0, 1] ** 2
    return f"{shared:.2f} | {used.mean():.0%} | {cost.mean():.2f} | {ratio:.2f} | {cost.mean() * ratio:.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    make(options.work, "lists")
    weights, architecture, batches, published = read(options.work / "lists")
    heads = [f"0:{head}" for head in range(architecture.n_heads)]
    at, parts = (weights, architecture, batches), {"full": coordinates(weights, None, component="full")}
    of_all = (next_token_loss(architecture), weights, batches)
    print("# What pairs cost where they do not help\n")
    print(f"`python benchmarks/fallback.py --chains {options.chains}`; {processor()}, Python", end=" ")
    print(f"{platform.python_version()}, torch {version('torch')}.\n")
    print(f"Calls of {LEAST_CHAINS} chains of 30 draws, 10 of them burn-in, and {PAIRS} pairs per kept draw,")
    print("over plain ones. Shared: squared correlation of chain and control. Used: calls that took the")
    print("pairs. Work: CPU seconds times variance.\n")
    print("| n_beta | component | shared | used | CPU | variance | work |")
    print("|---|---|---|---|---|---|---|")
    for n_beta in N_BETA:
        setting = SamplerConfig(**published | {"n_beta": n_beta}, chains=options.chains, draws=30, burn_in=10)
        of_heads = partial(sample_heads, *at, heads=heads), partial(sample_head_pairs, *at, heads)
        print(*rows(heads, setting, *of_heads), sep="\n", flush=True)
        whole = (
            partial(sample, *of_all, components=parts),
            partial(sample_pairs, *of_all, ["full"], components=parts),
        )
        print(*rows(["full"], setting, *whole), sep="\n", flush=True)


if __name__ == "__main__":
    main()
