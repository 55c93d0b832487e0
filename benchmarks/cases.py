"""The models that both estimators are timed on: weights, contexts and settings, as plain files.

python benchmarks/cases.py FOLDER   writes FOLDER/{lists,text_128,text_1024}/{weights.safetensors,
                                    contexts.npy, case.json}, and FOLDER/neox/model in the place of weights;
                                    a folder that is complete is left alone

    lists      one layer, 2 heads, d_model 96, vocabulary 52, context 21 (ten numbers, a separator, the
               numbers in order), trained 200 steps
    text_128   two layers, 8 heads, d_model 256, vocabulary 5,000, context 128, trained 60 steps on
               a Markov chain with Zipf's frequencies
    text_1024  the same weights at context 1024
    neox       a GPT-NeoX of transformers: 6 layers, 4 heads, d_model 128, vocabulary 50,304, context 128,
               trained 20 steps on the same chain
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from rllc.models.initial import initial_weights
from rllc.models.loss import next_token_loss
from rllc.models.training import shuffled_batches, train
from rllc.models.transformer import Architecture
from rllc.tasks.batch import Batch, Examples, next_token_batch

LISTS = Architecture(1, 2, 96, 48, n_ctx=21, d_vocab=52, positions="standard")
TEXT = Architecture(2, 8, 256, 32, n_ctx=1024, d_vocab=5000)
PUBLISHED = {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3}
NEOX = {
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "hidden_size": 128,
    "intermediate_size": 512,
    "vocab_size": 50304,
    "max_position_embeddings": 128,
}
BATCHES = 4  # minibatches, used again and again, by both in this order


def lists(count: int, random: np.random.Generator) -> np.ndarray:
    """Ten different numbers below 51, the separator 51, and the numbers in order: [count, 21]."""
    numbers = random.random((count, 51)).argsort(1)[:, :10]
    return np.concatenate([numbers, np.full((count, 1), 51), np.sort(numbers, 1)], 1)


def markov(count: int, context: int, random: np.random.Generator) -> np.ndarray:
    """Tokens below 5,000 of Zipf's frequencies; half follow from the token before: [count, context]."""
    share = 1 / np.arange(1, 5001)
    tokens = random.choice(5000, (count, context), p=share / share.sum())
    follows = random.random((count, context)) < 0.5
    for position in range(1, context):
        after = (tokens[:, position - 1] * 7 + 3) % 5000
        tokens[:, position] = np.where(follows[:, position], after, tokens[:, position])
    return tokens


def trained(
    architecture: Architecture, contexts: np.ndarray, *, steps: int, batch_size: int, weight_decay: float
) -> dict[str, torch.Tensor]:
    """Weights after so many AdamW updates at 1e-3, every position scored, each context seen once."""
    batches = shuffled_batches(Examples(contexts), batch_size=batch_size, seed=0)
    (last,) = train(
        initial_weights(architecture, seed=0),
        batches,
        loss=next_token_loss(architecture),
        steps=steps,
        checkpoints=[steps],
        learning_rate=1e-3,
        weight_decay=weight_decay,
    )
    return last.weights


def trained_neox(contexts: np.ndarray, *, batch_size: int):
    """A GPT-NeoX after one AdamW update at 1e-3 for each minibatch of the contexts."""
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    torch.manual_seed(0)
    model = GPTNeoXForCausalLM(GPTNeoXConfig(**NEOX))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for tokens in torch.from_numpy(contexts).split(batch_size):
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
    return model.eval()


def write(folder: Path, architecture: Architecture, weights: dict, contexts: np.ndarray) -> None:
    """One case of an attention-only transformer."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: weight.contiguous() for name, weight in weights.items()}, folder / "weights.safetensors")
    complete(folder, contexts, architecture=asdict(architecture))


def complete(folder: Path, contexts: np.ndarray, **facts: object) -> None:
    """Write contexts and settings; ``case.json`` last: its presence says that the case is complete."""
    np.save(folder / "contexts.npy", contexts)
    case = {**facts, "setting": PUBLISHED, "batch_size": len(contexts) // BATCHES}
    (folder / "case.json").write_text(json.dumps(case, indent=1))


def make(folder: Path, *names: str) -> None:
    """The cases of these names (none: all) that are not there yet."""

    def wanted(*own: str) -> bool:
        return not names or not set(own).isdisjoint(names)

    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    if wanted("lists") and not (folder / "lists" / "case.json").exists():
        weights = trained(LISTS, lists(200 * 512, random), steps=200, batch_size=512, weight_decay=0.005)
        write(folder / "lists", LISTS, weights, lists(BATCHES * 512, random))
    if wanted("text_128", "text_1024") and not (folder / "text_1024" / "case.json").exists():
        weights = trained(TEXT, markov(60 * 8, 128, random), steps=60, batch_size=8, weight_decay=0.05)
        short = {**weights, "pos_embed.W_pos": weights["pos_embed.W_pos"][:128]}
        write(folder / "text_128", replace(TEXT, n_ctx=128), short, markov(BATCHES * 8, 128, random))
        write(folder / "text_1024", TEXT, weights, markov(BATCHES * 8, 1024, random))
    if wanted("neox") and not (folder / "neox" / "case.json").exists():
        random = np.random.default_rng(1)
        trained_neox(markov(20 * 8, 128, random), batch_size=8).save_pretrained(folder / "neox" / "model")
        complete(folder / "neox", markov(BATCHES * 8, 128, random))


def read(folder: Path) -> tuple[dict[str, torch.Tensor], Architecture, list, dict]:
    """A case's weights, architecture, batches (every position scored) and setting."""
    case = json.loads((folder / "case.json").read_text())
    weights = load_file(folder / "weights.safetensors")
    return weights, Architecture(**case["architecture"]), *data(folder)


def data(folder: Path) -> tuple[list[Batch], dict]:
    """A case's batches (every position scored) and setting."""
    case = json.loads((folder / "case.json").read_text())
    contexts = np.load(folder / "contexts.npy")
    positions = np.arange(contexts.shape[1] - 1)
    batches = [
        next_token_batch(part, positions) for part in np.split(contexts, len(contexts) // case["batch_size"])
    ]
    return batches, case["setting"]


def main() -> None:
    """Write the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)


if __name__ == "__main__":
    main()
