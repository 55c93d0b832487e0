"""CPU seconds to a standard error of 2, 1 and 0.5 %, plain and with pairs: benchmarks/to_error.md.

python benchmarks/to_error.py [--results results] [--peer .venv-peer/bin/python]
                              [--cases study lists text_128 text_1024]

Measured once per component: CPU seconds and variances of chains, of their controls and of pairs, given the
minibatches. From these follow the cheapest numbers of chains and pairs for an error (4 chains or more), by
the estimator's own rule: beta fitted, and no pairs where chain and control share too little. Heads are
sampled together, and their time divided by their number. devinterp's chains are as good as ours per draw and
cost its CPU time per draw (peer.py), in the same run. ``study`` is the last checkpoint of a finished default
study; devinterp is timed on its model with every position scored, as it knows no other way.
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from cases import BATCHES, make, read, write
from compare import called
from minutes import processor

from rllc.estimator.control_variate import looked_at, pays, stride_of_look
from rllc.estimator.fast_heads import sample_head_pairs, sample_heads
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.sample import sample, sample_pairs
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.sampler_config import SamplerConfig
from rllc.seeds import generator
from rllc.store import manifest
from rllc.store.blocks import examples
from rllc.store.checkpoints import load
from rllc.tasks.batch import batches_of

HERE = Path(__file__).parent
ERRORS = (0.02, 0.01, 0.005)
LEAST = 4
# draws, burn-in, heads of each layer, chains and draws of devinterp: fewer where a draw takes seconds
EXTENT = {"text_1024": (12, 4, 1, 1, 4)}
USUAL = (30, 10, 2, 2, 6)


def study(results: Path) -> tuple[dict, Architecture, list]:
    """Weights, architecture and minibatches of the last checkpoint of the default study."""
    path = sorted((results / "language/checkpoints").glob("seed*/from*.json"))[-1]
    facts = manifest.read(path)
    architecture = Architecture(**{name: value for name, value in facts["model"].items() if name != "family"})
    weights = load(manifest.verified(path, facts["checkpoints"][-1]), shapes(architecture))
    held_out = examples(results / "blocks/bpe/mixture.json", "held_out")
    random = generator(0, "draws")
    return (
        weights,
        architecture,
        list(batches_of(held_out, batch_size=8, count=USUAL[0], scored=32, random=random)),
    )


def plans(
    options: argparse.Namespace,
) -> Iterator[tuple[str, list[str], SamplerConfig, tuple[Callable, Callable]]]:
    """Case, components, setting, and what samples chains and pairs of them."""
    if set(options.cases) - {"study"}:
        make(options.work, "lists", "text_128")
    for case in options.cases:
        if case == "study":
            weights, architecture, batches = study(options.results)
            contexts = np.concatenate([batch.contexts.numpy() for batch in batches[:BATCHES]])
            write(options.work / case, architecture, weights, contexts)
            settings = {"heads": (30, 200, 1e-3), "full": (30, 2000, 1e-4)}
        else:
            weights, architecture, batches, _ = read(options.work / case)
            settings = {"heads": (30, 200, 1e-3), "full": (30, 200, 1e-3)}
        draws, burn_in, count, _, _ = EXTENT.get(case, USUAL)
        layers = range(architecture.n_layers)
        heads = [f"{layer}:{head}" for layer in layers for head in range(count)]
        for kind, names in (("heads", heads), ("full", ["full"])):
            n_beta, localization, step_size = settings[kind]
            setting = SamplerConfig(
                n_beta=n_beta, localization=localization, step_size=step_size,
                chains=LEAST if case in EXTENT else options.chains, draws=draws, burn_in=burn_in,
            )  # fmt: skip
            if kind == "heads":
                at = (weights, architecture, batches)
                yield (
                    case,
                    names,
                    setting,
                    (partial(sample_heads, *at, heads=names), partial(sample_head_pairs, *at, names)),
                )
            else:
                at = (next_token_loss(architecture), weights, batches)
                parts = {"components": {"full": coordinates(weights, None, component="full")}}
                yield (
                    case,
                    names,
                    setting,
                    (partial(sample, *at, **parts), partial(sample_pairs, *at, names, **parts)),
                )


def timed(call: Callable) -> tuple:
    """What a call returns, and its CPU seconds."""
    begun = time.process_time()
    result = call()
    return result, time.process_time() - begun


def measured(names: list[str], setting: SamplerConfig, chains: Callable, pairs: Callable) -> list[dict]:
    """CPU seconds and variances, one row per component."""
    on, seconds_on = timed(lambda: chains(setting=setting))
    off, seconds_off = timed(lambda: chains(setting=looked_at(setting, 1), at_center=on.at_center))
    stride = stride_of_look(setting)
    look = {"setting": looked_at(setting, stride), "at_center": on.at_center[::stride]}
    _, seconds_look = timed(lambda: chains(**look))
    with_pairs = replace(setting, chains=LEAST, antithetic_pairs=2)
    found, seconds_pairs = timed(lambda: pairs(setting=with_pairs))
    x, y = (
        setting.n_beta * (each.loss - on.at_center)[..., setting.burn_in :].mean(-1).numpy()
        for each in (on, off)
    )
    count = len(names) * setting.chains
    rise = setting.n_beta * found.rise
    return [
        {
            "component": name,
            "draws": setting.draws,
            "x": x[row].tolist(),
            "y": y[row].tolist(),
            "spread": rise[row].var(1, ddof=1).mean(),
            "seconds": {
                "chain": seconds_on / count,
                "control": seconds_off / count,
                "look": seconds_look / count,
                "pair": seconds_pairs / (len(names) * rise[row].size),
            },
        }
        for row, name in enumerate(names)
    ]


def cheapest(row: dict, error: float) -> tuple[float, float, int, int]:
    """CPU seconds plain and with pairs to a standard error, and the chains and pairs of the latter.

    With C chains and P pairs of variance V the estimate's variance is smallest at beta = c / (v_y + C V / P),
    with c the covariance of chain and control: (v_x - c beta) / C. Where too little is shared, no pairs: the
    plain chains, and the look at the control that told so.
    """
    seconds = row["seconds"]
    table = np.cov(row["x"], row["y"])
    (var, shared), (_, of_control) = table
    wanted = (error * np.mean(row["x"])) ** 2
    count = max(var / wanted, LEAST)
    plain = count * seconds["chain"]
    if not pays(shared**2 / (var * of_control), np.mean(row["x"]), np.mean(row["y"])):
        return plain, plain + count * seconds["look"], int(np.ceil(count)), 0
    best = (np.inf, 0, 0)
    for chains in range(LEAST, 400):
        needed = var - chains * wanted  # what beta has to take off
        # of the pairs' mean, at most
        noise = np.inf if needed <= 0 else (shared**2 / needed - of_control) / chains
        if noise <= 0:
            continue
        pairs = int(np.ceil(row["spread"] / noise))
        both = chains * (seconds["chain"] + seconds["control"]) + pairs * seconds["pair"]
        best = min(best, (both, chains, pairs))
    return plain, *best


def table(rows: list[dict], options: argparse.Namespace) -> str:
    """The results as Markdown."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    long = EXTENT["text_1024"]
    lines = [
        "# CPU seconds to an error\n",
        f"`{options.command}`; {processor()}, Python {platform.python_version()},",
        f"{packages}.\n",
        f"One thread, n_beta 30, {USUAL[0]} draws per chain, {USUAL[1]} of them burn-in (text_1024:",
        f"{long[0]} and {long[1]}); the study's whole model at localization 2000 and step_size 1e-4,",
        "all else at 200 and 1e-3. sd: of one chain, of what beta times its control leaves of it, of one",
        f"pair, from {options.chains} chains ({LEAST} of text_1024). Shared: squared correlation of chain",
        "and control.",
        "ms: CPU of a draw, of one of the control, of a pair, of devinterp's draw. CPU seconds to a",
        f"standard error, given the minibatches, of 2, 1 and 0.5 % of the estimate: plain chains ({LEAST} at",
        "least) / coupled chains and pairs (their numbers) / devinterp, whose chains are as good as ours",
        "per draw. Gain at 1 %: over plain chains, over devinterp.\n",
        "| case | component | estimate | sd | shared | ms | 2 % | 1 % | 0.5 % | gain |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        (var, shared), (_, of_control) = np.cov(row["x"], row["y"])
        left = var - shared**2 / of_control
        sd = " / ".join(f"{value**0.5:.2g}" for value in (var, left, row["spread"]))
        each = [1e3 * row["seconds"][kind] for kind in ("chain", "control", "pair")]
        each = [each[0] / row["draws"], each[1] / row["draws"], each[2]]
        ms = " / ".join(f"{value:.1f}" for value in [*each, *([row["peer"]] if row["peer"] else [])])
        cells = []
        for error in ERRORS:
            plain, reduced, chains, pairs = cheapest(row, error)
            peer = plain * row["peer"] / each[0] if row["peer"] else None
            cells.append(
                f"{plain:.1f} / {reduced:.1f} ({chains}, {pairs})" + (f" / {peer:.0f}" if peer else "")
            )
            if error == 0.01:
                gain = f"{plain / reduced:.1f}" + (f", {peer / reduced:.1f}" if peer else "")
        first = (row["case"], row["component"], f"{np.mean(row['x']):.3g}", sd)
        lines.append(f"| {' | '.join((*first, f'{shared**2 / var / of_control:.2f}', ms, *cells, gain))} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--peer", help="the Python of devinterp's environment")
    parser.add_argument("--cases", nargs="+", choices=["study", "lists", "text_128", "text_1024"])
    parser.add_argument("--chains", type=int, default=12)
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    parser.add_argument("--output", type=Path, default=HERE / "to_error.md")
    options = parser.parse_args()
    options.cases = options.cases or ["study", "lists", "text_128", "text_1024"]
    peer = " --peer .venv-peer/bin/python" if options.peer else ""
    options.command = f"python benchmarks/to_error.py{peer} --cases {' '.join(options.cases)}"
    torch.set_num_threads(1)
    rows = []
    for case, names, setting, (chains_of, pairs_of) in plans(options):
        for row in measured(names, setting, chains_of, pairs_of):
            row |= {"case": case, "peer": None}
            if options.peer:
                chains, draws = map(str, EXTENT.get(case, USUAL)[3:])
                extent = ["--component", row["component"], "--chains", chains, "--draws", draws]
                row["peer"] = called(options.peer, "peer.py", options.work / case, *extent)["ms_per_draw"]
            rows.append(row)
        options.output.write_text(table(rows, options))
        print(options.output.read_text(), flush=True)


if __name__ == "__main__":
    main()
