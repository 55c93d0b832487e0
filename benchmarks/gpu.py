"""The first ten minutes on a GPU: what the code does there, step by step, each with a time limit and a log.

python benchmarks/gpu.py [--device cuda] [--output build/gpu] [--only sampling ...] [--small]

    place     versions, and one allocation
    tests     those that need a GPU
    sampling  heads at the published size against the generic estimator, in fp32 and TF32, twice for equality
    speed     ms per draw and peak memory: one head of each layer, and all; where the time goes
    training  50 updates, and the same with a resume in the middle
    hessian   two products, whole and in parts, and their peak memory
    published config/gpu.yaml with few steps and draws: training and sampling, seconds per rule beside the
              forecast of CPU seconds
    others    the same for all other measures
    study     config/ci.yaml with compute.device as given, several jobs at once

A step that fails stops no other. --small shrinks the models, so that the script can be tried on a CPU.
Measured: benchmarks/gpu.md.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace as Namespace

import numpy as np
import torch
from cases import PUBLISHED, TEXT, markov

from rllc.estimator.fast_heads import estimate_heads, sample_heads
from rllc.estimator.llc import estimate
from rllc.estimator.samplers.batches import to_device
from rllc.measures.hessian.kernel import hessian_traces
from rllc.models.components import masks
from rllc.models.device import choose, device_name, product_precision
from rllc.models.initial import initial_weights
from rllc.models.loss import next_token_loss
from rllc.models.training import shuffled_batches, train
from rllc.models.transformer import Architecture
from rllc.run import forecast
from rllc.sampler_config import SamplerConfig
from rllc.study.datasets import measured
from rllc.study.defaults import load
from rllc.study.reading import read
from rllc.study.study import GPU_JOBS
from rllc.tasks.batch import Batch, Examples, next_token_batch

SMALL = Architecture(2, 2, 32, 16, n_ctx=128, d_vocab=5000)
PRECISIONS = ("fp32", "tf32")


class Case:
    """A model of the published architecture, untrained, and minibatches, on the device."""

    def __init__(self, device: str, small: bool) -> None:
        self.device, self.architecture = choose(device), SMALL if small else TEXT
        self.size = 4 if small else 32
        self.contexts = markov(4 * self.size, self.architecture.n_ctx, np.random.default_rng(0))
        self.weights = to_device(initial_weights(self.architecture, seed=0), self.device)
        positions = np.arange(self.architecture.n_ctx - 1)
        parts = np.split(self.contexts, 4)
        self.batches: list[Batch] = [to_device(next_token_batch(p, positions), self.device) for p in parts]
        self.heads = [f"{layer}:{self.architecture.n_heads - 1}" for layer in range(2)]

    def timed(self, call: Callable[[], object]) -> tuple[float, float]:
        """Seconds of a second call, and the peak of the GPU's memory in it, GB (NaN on a CPU)."""
        call()
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        begun = time.perf_counter()
        call()
        if on_gpu:
            torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() / 1e9 if on_gpu else float("nan")
        return time.perf_counter() - begun, peak


def place(case: Case) -> None:
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, built for CUDA {torch.version.cuda}")
    print(device_name(case.device))
    if case.device.type == "cuda":
        free, total = torch.cuda.mem_get_info()
        print(f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free; {torch.cuda.get_arch_list()}")


def tests(case: Case) -> None:
    files = [
        "tests/estimator/test_fast_heads.py",
        "tests/models/test_training.py",
        "tests/models/test_device.py",
    ]
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", "-k", "gpu", "-rs", *files], check=True)


def sampling(case: Case) -> None:
    setting = SamplerConfig(**PUBLISHED, chains=2, draws=3)
    loss = next_token_loss(case.architecture)
    components = {head: masks(head, case.architecture) for head in case.heads}
    found = {}
    for precision in PRECISIONS:
        with product_precision(precision):
            fast = [
                estimate_heads(
                    case.weights, case.architecture, case.batches, heads=case.heads, setting=setting
                )
                for _ in range(2)
            ]
            slow = estimate(loss, case.weights, case.batches, components=components, **asdict(setting))
        found[precision] = fast[0]
        print(
            precision,
            "losses of heads less the generic path's, at most",
            float(abs(fast[0].loss - slow.loss).max()),
        )
        print(precision, "the same twice:", bool((fast[0].loss == fast[1].loss).all()))
    apart = abs(found["fp32"].llc - found["tf32"].llc) / abs(found["fp32"].llc)
    print("TF32 against fp32, relative, at most", float(apart.max()))


def speed(case: Case) -> None:
    every = [f"{layer}:{head}" for layer in range(2) for head in range(case.architecture.n_heads)]
    setting = SamplerConfig(**PUBLISHED, chains=4, draws=6)
    print("| heads | precision | bytes of logits | ms per draw | peak GB |\n|---|---|---|---|---|")
    for heads in ([case.heads[0]], [case.heads[1]], every):
        for precision in PRECISIONS:
            for limit in (2**31, 2**32):

                def sample(heads: list[str] = heads, limit: int = limit) -> None:
                    sample_heads(
                        case.weights,
                        case.architecture,
                        case.batches,
                        heads=heads,
                        setting=setting,
                        max_memory=limit,
                    )

                with product_precision(precision):
                    seconds, peak = case.timed(sample)
                print(
                    f"| {len(heads)} ({heads[-1]}) | {precision} | {limit} | {1e3 * seconds / 6:.1f} |",
                    f"{peak:.1f} |",
                )
    with torch.profiler.profile() as seen:
        sample_heads(
            case.weights, case.architecture, case.batches, heads=every, setting=replace(setting, draws=2)
        )
    key = "self_cuda_time_total" if case.device.type == "cuda" else "self_cpu_time_total"
    print(seen.key_averages().table(sort_by=key, row_limit=20, max_name_column_width=50))


def training(case: Case) -> None:
    batches = shuffled_batches(Examples(case.contexts), batch_size=case.size, seed=0)

    def run(checkpoints: list[int], state: dict | None = None) -> list:
        return list(
            train(
                initial_weights(case.architecture, seed=0), batches, loss=next_token_loss(case.architecture),
                steps=50, checkpoints=checkpoints, learning_rate=1e-3, device=case.device, state=state,
            )
        )  # fmt: skip

    whole = run([25, 50])
    seconds, peak = case.timed(lambda: run([50]))
    (resumed,) = run([50], whole[0].state)
    apart = max(float((resumed.weights[n] - w).abs().max()) for n, w in whole[1].weights.items())
    print(f"{1e3 * seconds / 50:.1f} ms per update of {case.size} contexts, peak {peak:.1f} GB")
    print("weights after a resume less those without, at most", apart)


def hessian(case: Case) -> None:
    loss, batch = next_token_loss(case.architecture), case.batches[0]
    for at_once in (None, len(batch.contexts) // 4):
        of = {"heads": {}, "probes": 2, "seed": 0, "contexts_at_once": at_once}
        for precision in PRECISIONS:
            with product_precision(precision):
                seconds, peak = case.timed(lambda of=of: hessian_traces(loss, case.weights, [batch], **of))
                trace = float(hessian_traces(loss, case.weights, [batch], **of).hessian_trace)
            print(
                f"{at_once or 'all'} contexts at once, {precision}: {trace:.4f}, {seconds:.2f} s,",
                f"peak {peak:.1f} GB",
            )


PACKAGES = ["torch", "numpy", "scipy", "pandas", "matplotlib", "xarray"]  # text for `study` and `published`


def overlaid(config: str, more: dict, output: Path) -> tuple[Path, Path]:
    """Write an overlay for a config; returns it and the folder of results that it names."""
    overlay, results = output / f"{Path(config).stem}_here.yaml", output / Path(config).stem
    overlay.write_text(json.dumps({"results": str(results), **more}))
    return overlay, results


def snakemake(config: str, overlay: Path, *given: str, seconds: float) -> None:
    """Run a config with an overlay as far as it goes in so many seconds."""
    command = [sys.executable, "-m", "snakemake", "--cores", "all", "--keep-going", "--configfile"]
    # Jobs start `python` from the PATH, and import rllc from here.
    first = {"PYTHONPATH": Path("src").resolve(), "PATH": Path(sys.executable).parent}
    here = {name: f"{folder}:{os.environ.get(name, '')}".rstrip(":") for name, folder in first.items()}
    try:
        subprocess.run([*command, config, str(overlay), *given], env=os.environ | here, timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"stopped after {seconds:.0f} s")


def study(case: Case, output: Path) -> None:
    text = {"packages": PACKAGES}
    more = {
        "compute": {"device": case.device.type, "precision": "fp32"},
        "distributions": {"english": text, "code": text, "headers": {"packages": ["torch", "numpy"]}},
    }
    overlay, _ = overlaid("config/ci.yaml", more, output)
    snakemake("config/ci.yaml", overlay, "--resources", "gpu=6", seconds=170)


SAMPLED = ("rllc", "llc")


def published(case: Case, output: Path) -> None:
    at_published_size(case, output, lambda dataset: dataset in SAMPLED)


def others(case: Case, output: Path) -> None:
    at_published_size(case, output, lambda dataset: dataset not in SAMPLED)


def at_published_size(case: Case, output: Path, wanted: Callable[[str], bool]) -> None:
    """Make those datasets that are wanted; print what every rule took beside what a CPU would take."""
    every = {"distributions": ["mixture", "code"]}
    short = {"draws": 40, **every}
    text, size, smaller = {"packages": PACKAGES, "megabytes": 4}, {"n_layers": 2}, {}
    if case.device.type == "cpu":  # only to see that it runs
        size |= {"n_heads": 2, "d_model": 32, "n_ctx": 128}
        short |= {"draws": 4, "batch_size": 4, "init_batches": 2}
        smaller = {"batch_size": 4, "scored_positions": 16}
    precision = "tf32" if case.device.type == "cuda" else "fp32"
    blocks = {"context": size.get("n_ctx", 1024), "train_blocks": 2600, "held_out_blocks": 2600}
    more = {
        "compute": {"device": case.device.type, "precision": precision},
        "distributions": {
            "english": text, "code": text, "headers": {"packages": ["torch", "numpy"], "megabytes": 4},
        },
        "tokenizers": {"bpe": blocks},
        "experiments": {
            "language_1layer": None,
            "language": {
                "model": size,
                "training": {"steps": 200, "keep_state_every": 100},
                "checkpoints": {"extra": [100], "chunks": [0]},
                "distributions": ["mixture", "english", "code"],
                "sampling": {"heads": short, "full": short},
                "sampling_variants": None, "calibration": None, "clusters": {"n_clusters": [2, 3]},
                "hessian": {"probes": 8, **every, **smaller},
                "fisher": {"probes": 4},
                "hessian_rank": {"checkpoints": [200]},
                "tokens": {"checkpoints": [200], "searched": 500, "top": 100},
                "attention_scores": {"sequences": 1000},
                "metrics": {"contexts": 1024, "icl_early": [44, 54], "icl_late": [100, 110]},
            },
        },
        "claims": [], "figures": {"rllc_fig5_one_layer_drllc": None},
    }  # fmt: skip
    overlay, results = overlaid("config/gpu.yaml", more, output)
    study = read(load(["config/gpu.yaml", overlay]))
    names = [name for name in measured(study.experiments["language"]) if wanted(name)]
    datasets = [f"{results}/language/{name}.nc" for name in names]
    snakemake("config/gpu.yaml", overlay, "--", *datasets, seconds=180)
    rows: dict[str, list[float]] = {}
    for path in sorted((results / "benchmarks").rglob("*.tsv")):
        rule, *names, start = path.relative_to(results / "benchmarks").with_suffix("").parts
        if rule not in GPU_JOBS:
            continue
        job = Namespace(experiment=names[0], dataset=names[1], start=start)
        with path.open() as lines:
            seconds = sum(float(row["s"]) for row in csv.DictReader(lines, delimiter="\t"))
        done = rows.setdefault(rule, [0, 0.0, 0.0])
        rows[rule] = [done[0] + 1, done[1] + seconds, done[2] + forecast.of(study, rule, job).cpu_seconds]
    print("| rule | jobs | seconds | forecast CPU seconds | their ratio |\n|---|---|---|---|---|")
    for rule, (jobs, seconds, cpu) in sorted(rows.items(), key=lambda row: -row[1][2]):
        print(f"| {rule} | {jobs} | {seconds:.0f} | {cpu:.0f} | {cpu / seconds:.0f} |")


STEPS = {  # and the seconds that each may take
    place: 60, tests: 90, sampling: 90, speed: 90, training: 60, hessian: 90, published: 240,
    others: 240, study: 200
}  # fmt: skip


def main() -> None:
    """Each step in a process of its own, its words in a log; or, with --step, one step here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--output", type=Path, default=Path("build/gpu"))
    parser.add_argument("--only", nargs="*", default=[step.__name__ for step in STEPS])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        step = globals()[given.step]
        step(Case(given.device, given.small), *([given.output] if step in (study, published, others) else []))
        return
    given.output.mkdir(parents=True, exist_ok=True)
    for step, limit in STEPS.items():
        if step.__name__ not in given.only:
            continue
        log = given.output / f"{step.__name__}.log"
        command = [sys.executable, __file__, *sys.argv[1:], "--step", step.__name__]
        begun = time.monotonic()
        with log.open("w") as words:
            try:
                code = subprocess.run(
                    command, stdout=words, stderr=subprocess.STDOUT, timeout=limit
                ).returncode
            except subprocess.TimeoutExpired:
                code = f"longer than {limit} s"
        print(f"## {step.__name__}: {code or 'done'}, {time.monotonic() - begun:.0f} s ({log})", flush=True)
        print(*log.read_text().splitlines()[-60:], sep="\n", flush=True)


if __name__ == "__main__":
    main()
