"""devinterp's estimate of one component of one case, and its CPU seconds: one line of JSON.

.venv-peer/bin/python benchmarks/peer.py CASE --component 0:1 --chains 4 --draws 20

Runs in an environment of its own (benchmarks/peer.in); it reads the case's files and nothing of rllc. The
baseline is the mean loss at the centre over the same minibatches, each seen equally often. ``ms_per_draw`` is
CPU time from one draw's loss to the next's, the first pair left out; ``cpu_s`` that of the whole call.
"""

import argparse
import json
import logging
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch


def hooked(case: dict, weights: dict[str, torch.Tensor]):
    """The case's model as a HookedTransformer, its weights as they are."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    a = case["architecture"]
    config = HookedTransformerConfig(
        n_layers=a["n_layers"],
        n_heads=a["n_heads"],
        d_model=a["d_model"],
        d_head=a["d_head"],
        n_ctx=a["n_ctx"],
        d_vocab=a["d_vocab"],
        attn_only=True,
        normalization_type="LN",
        eps=a["layer_norm_eps"],
        positional_embedding_type=a["positions"],
        init_weights=False,
        device="cpu",
    )
    model = HookedTransformer(config)
    buffers = {name: value for name, value in model.state_dict().items() if name not in weights}
    model.load_state_dict({**buffers, **weights}, strict=True)
    return model


def restricted(component: str) -> str:
    """The name of a component of ours in devinterp: ``l0h1``, ``l0 mlp``."""
    left, right = component.split(":")
    return f"l{right} mlp" if left == "mlp" else f"l{left}h{right}"


def main() -> None:
    """Estimate once and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("--component", required=True, help='a head "layer:head", "mlp:layer" or "full"')
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=20, help="a multiple of the case's batches")
    options = parser.parse_args()

    from datasets import Dataset
    from devinterp.slt import sampling
    from devinterp.slt.llc import llc
    from devinterp.slt.weight_restrictions import create_param_masks
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    case = json.loads((options.case / "case.json").read_text())
    contexts = np.load(options.case / "contexts.npy")
    if (options.case / "model").exists():
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(options.case / "model", dtype=torch.float32).eval()
    else:
        model = hooked(case, load_file(options.case / "weights.safetensors"))
    data = Dataset.from_dict({"input_ids": contexts}).with_format("torch")
    masks = None
    if options.component != "full":
        masks = create_param_masks(model, restricted(options.component))

    clocks = []  # of each chain, the CPU time at each of its draws
    original = sampling.sample_single_chain

    def timed(*arguments, micro_callback, **named):
        clocks.append([])

        def on_micro(*given, **also):
            clocks[-1].append(time.process_time())
            micro_callback(*given, **also)

        original(*arguments, micro_callback=on_micro, **named)

    sampling.sample_single_chain = timed
    setting = case["setting"]
    with tempfile.TemporaryDirectory() as folder:
        begun, wall = time.process_time(), time.perf_counter()
        result = llc(
            model,
            data,
            {},
            lr=setting["step_size"],
            n_beta=setting["n_beta"],
            localization=setting["localization"],
            param_masks=masks,
            num_chains=options.chains,
            num_draws=options.draws,
            batch_size=case["batch_size"],
            num_init_loss_batches=len(contexts) // case["batch_size"],
            shuffle=False,
            device="cpu",
            output_path=Path(folder) / "samples.zarr",
        )
        by_chain = result.llc_per_chain.values.tolist()
        cpu, wall = time.process_time() - begun, time.perf_counter() - wall
    print(
        json.dumps(
            {
                "component": options.component,
                "llc_chain": by_chain,
                "ms_per_draw": 1e3 * float(np.mean([np.diff(clock[1:]).mean() for clock in clocks])),
                "cpu_s": cpu,
                "wall_s": wall,
                "version": version("devinterp"),
            }
        )
    )


if __name__ == "__main__":
    main()
