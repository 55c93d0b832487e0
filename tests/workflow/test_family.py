"""A family of models and a task that nobody has thought of: a file, a row and a type each, and every generic
measure."""

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.store.blocks import examples
from rllc.store.checkpoints import load

MODEL = '''
"""Perceptrons of one hidden layer on vectors, with a linear output: y = v . tanh(W x + b)."""

from dataclasses import dataclass

import torch

from rllc.seeds import generator


@dataclass(frozen=True)
class Perceptron:
    width: int
    hidden: int
    heads = ()

    def shapes(self):
        return {"W": (self.hidden, self.width), "b": (self.hidden,), "v": (self.hidden,)}

    def initial_weights(self, *, seed, scale):
        draws = {n: generator(seed, n).standard_normal(shape) for n, shape in self.shapes().items()}
        return {n: scale * torch.tensor(draw, dtype=torch.float32) for n, draw in draws.items()}

    def outputs(self, weights, batch):
        return torch.tanh(batch.contexts @ weights["W"].T + weights["b"]) @ weights["v"]

    def losses(self, outputs, targets):
        return (outputs - targets).square()

    def loss(self, weights, batch):
        return self.losses(self.outputs(weights, batch), batch.targets).mean()

    def masks(self, component):
        if component != "full":
            raise ValueError(f"{component!r} is not `full`")
        return None
'''
MODEL_SECTIONS = '''
class Perceptron(ConfigModel):
    """A perceptron of one hidden layer."""

    family: Literal["perceptron"] = config_field("perceptrons on vectors")
    hidden: Count = config_field("width of the hidden layer")


class PerceptronInitial(ConfigModel):
    """The law of its initial weights."""

    scale: Positive = config_field("standard deviation of every weight")


FAMILIES: dict[str, Family] = {
    "perceptron": Family(
        Perceptron, PerceptronInitial, "rllc.models.perceptron:Perceptron",
        facts=lambda model, tokens: {"width": tokens.width},
        weights=lambda model, tokens: model.hidden * (tokens.width + 2),
        outputs=lambda model, tokens: 1,
        forward=lambda model, tokens, load: 1e-4,
        reads=("vectors",),
    ),
'''
TASK = '''
"""Vectors x ~ N(0, 1) and numbers y = tanh(x_1 + x_2 + ...) + noise."""

import numpy as np

from rllc.seeds import generator
from rllc.tasks.batch import Examples


def blocks(count, *, width, noise, seed):
    random = generator(seed, "noisy sums")
    x = random.standard_normal((count, width), dtype=np.float32)
    return Examples(x, targets=np.tanh(x.sum(1)) + noise * random.standard_normal(count, dtype=np.float32))
'''
TASK_SECTIONS = '''
class NoisySums(ConfigModel):
    """Noisy sums of vectors."""

    source: Literal["noisy_sums"] = config_field("generated vectors; needs a tokenizer of `width`")
    noise: float = config_field("standard deviation of the noise", ge=0)
    label: str = config_field("name in figures")


class Vectors(ConfigModel):
    """Vectors, one in a block."""

    width: Count = config_field("numbers in a vector")
    train_blocks: Count | None = config_field("vectors that are trained on; null: others in every step")
    held_out_blocks: Count = config_field("other vectors")

    @property
    def context(self) -> int:
        return 1

    @property
    def predictions(self) -> int:
        return 1


TASKS: dict[TaskName, Task] = {
    "noisy_sums": Task((NoisySums,), Vectors, "vectors (width)", "rllc.tasks.noisy_sums:blocks", "vectors"),
'''
TYPES = {  # what a config may name, for pydantic and type checkers
    "src/rllc/study/families.py": {
        'Annotated[InContext, Tag("in_context")]\n': 'Annotated[InContext, Tag("in_context")]\n'
        '    | Annotated[Perceptron, Tag("perceptron")]\n',
        "Initial = AttentionOnlyInitial": "Initial = PerceptronInitial | AttentionOnlyInitial",
    },
    "src/rllc/study/tasks.py": {
        'TaskName = Literal["language"': 'TaskName = Literal["noisy_sums", "language"',
        "Distribution = Annotated[Text": "Distribution = Annotated[NoisySums | Text",
        'Annotated[RegressionTokens, Tag("dimension")],': 'Annotated[RegressionTokens, Tag("dimension")]\n'
        '    | Annotated[Vectors, Tag("width")],',
    },
}
CONFIG = """
distributions:
  quiet: {source: noisy_sums, noise: 0.1, label: a little noise}
  loud: {source: noisy_sums, noise: 0.5, label: much noise}
tokenizers:
  triples: {width: 3, train_blocks: 2000, held_out_blocks: 256}
  endless: {width: 3, train_blocks: null, held_out_blocks: 256}
experiments:
  toy:
    task: noisy_sums
    seeds: [0]
    tokenizer: triples
    model: {family: perceptron, hidden: 4}
    initial: {scale: 0.5}
    training: {distribution: quiet, steps: 300, batch_size: 32, optimizer: adam, learning_rate: 1.0e-2, betas: [0.9, 0.999],
               eps: 1.0e-8, weight_decay: 0.0, warmup: 0, schedule: constant, gradient_clip: null, late_layers_ramp: 0,
               keep_state_every: 100}
    checkpoints: {source: train, ratio: null, first: 0, ranges: [], extra: [40], chunks: [0, 100]}
    distributions: [quiet, loud]
    sampling:
      full: {step_size: 1.0e-3, n_beta: 50, localization: 10, chains: 2, draws: 60, burn_in: 20, batch_size: 256,
             scored_positions: null, init_batches: 2, control_chains: 2}
    hessian: {probes: 200, batch_size: 256, scored_positions: null}
    metrics: {contexts: 256, batch_size: 64}
  endless: {like: toy, tokenizer: endless, sampling: null, hessian: null, metrics: null}
figures:
  toy_curves: {draws: stage_fig1a_lm, experiment: toy}
"""
STEPS, TOY = [0, 40, 300], "results/ci/toy"
TARGETS = ("results/ci/figures/toy_curves.png", f"{TOY}/hessian.nc", f"{TOY}/llc.nc", f"{TOY}/metrics.nc")
ENDLESS = "results/ci/endless/checkpoints/seed0/from100.json"


@pytest.fixture(scope="module")
def toy(fresh):
    """A checkout with the family and the task; ``toy.overlay`` has an experiment of them, which has run."""
    made = fresh()
    made.write("src/rllc/models/perceptron.py", MODEL)
    made.write("src/rllc/tasks/noisy_sums.py", TASK)
    made.edit("src/rllc/study/families.py", "FAMILIES: dict[str, Family] = {\n", MODEL_SECTIONS)
    made.edit("src/rllc/study/tasks.py", "TASKS: dict[TaskName, Task] = {\n", TASK_SECTIONS)
    for file, edits in TYPES.items():
        for old, new in edits.items():
            made.edit(file, old, new)
    made.overlay = made.write("config/toy.yaml", CONFIG)
    made.snakemake(made.overlay, "--", *TARGETS, ENDLESS)
    return made


def opened(toy, name):
    with xr.open_dataset(toy.root / TOY / f"{name}.nc") as dataset:
        return dataset.load()


def loss_of(weights, x, y):
    """The mean squared error, written again."""
    hidden = torch.tanh(torch.einsum("hw,nw->nh", weights["W"], x) + weights["b"])
    return ((torch.einsum("nh,h->n", hidden, weights["v"]) - y) ** 2).sum() / len(x)


def at(toy, step):
    """Weights, double precision, and the held-out vectors and numbers of every distribution."""
    weights = load(toy.root / TOY / f"checkpoints/seed0/step{step:07d}.safetensors")
    held_out = {}
    for name in ("quiet", "loud"):
        every = examples(toy.root / f"results/ci/blocks/triples/{name}.json", "held_out")
        held_out[name] = [torch.tensor(part).double() for part in (every.contexts, every.targets)]
    return {name: w.double() for name, w in weights.items()}, held_out


def test_vectors_come_back_as_they_were_generated(toy):
    every = examples(toy.root / "results/ci/blocks/triples/quiet.json", "train")
    assert every.contexts.shape == (2000, 3)
    assert every.contexts.dtype == every.targets.dtype == np.float32
    assert (every.targets - np.tanh(every.contexts.sum(1))).std() == pytest.approx(0.1, rel=0.1)


def test_a_training_may_have_new_examples_in_every_step(toy):
    """Only what is held out lies on the disk; the fit is as good."""
    assert [path.name for path in (toy.root / "results/ci/blocks/endless").glob("*.arrow")] == [
        "quiet.held_out.arrow"
    ]
    held_out = examples(toy.root / "results/ci/blocks/endless/quiet.json", "held_out")
    x, y = (torch.tensor(part).double() for part in (held_out.contexts, held_out.targets))
    losses = []
    for step in (0, 300):
        weights = load(toy.root / ENDLESS.replace("from100.json", f"step{step:07d}.safetensors"))
        losses.append(loss_of({name: w.double() for name, w in weights.items()}, x, y).item())
    assert losses[1] < 0.5 * losses[0]


def test_losses_are_those_of_the_checkpoints_and_fall(toy):
    metrics = opened(toy, "metrics")
    assert metrics["step"].values.tolist() == STEPS
    assert "loss_by_position" not in metrics
    for step in STEPS:
        weights, held_out = at(toy, step)
        for name, (x, y) in held_out.items():
            here = metrics["loss"].sel(seed=0, step=step, distribution=name).item()
            assert here == pytest.approx(loss_of(weights, x, y).item(), rel=1e-5)
    last = metrics["loss"].sel(step=300)
    assert (last < 0.5 * metrics["loss"].sel(step=0)).sel(distribution="quiet").all()
    assert (last.sel(distribution="loud") > last.sel(distribution="quiet") + 0.15).all(), (
        "its noise: 0.24 more"
    )


def test_traces_are_those_of_the_dense_hessian(toy):
    hessian = opened(toy, "hessian")
    for step, name in ((0, "quiet"), (300, "quiet"), (40, "loud")):
        weights, held_out = at(toy, step)
        flat = torch.cat([weights[key].flatten() for key in "Wbv"])

        def of_flat(w, x, y):
            return loss_of({"W": w[:12].reshape(4, 3), "b": w[12:16], "v": w[16:]}, x, y)

        x, y = held_out[name]
        dense = torch.autograd.functional.hessian(lambda w, x=x, y=y: of_flat(w, x, y), flat)
        here = hessian.sel(seed=0, step=step, distribution=name)
        error = here["hessian_trace_se"].item()
        # Of independent signs: the variance is twice the sum of squares off the diagonal.
        off = dense - dense.diag().diag()
        assert error == pytest.approx((2 * off.square().sum() / 200).sqrt().item(), rel=0.3)
        assert abs(here["hessian_trace"].item() - dense.trace().item()) < 4 * error


def test_the_llc_is_sampled_and_drawn(toy):
    llc = opened(toy, "llc")
    assert (llc["status"] == 0).all()
    assert np.isfinite(llc["llc"]).all()
    weights, held_out = at(toy, 300)
    expected = loss_of(weights, *held_out["loud"]).item()  # minibatches hold all that is held out
    here = llc.sel(seed=0, step=300, distribution="loud")
    assert here["init_loss"].item() == pytest.approx(expected, rel=1e-5)
    drawn = xr.load_dataset(toy.root / "results/ci/figures/toy_curves.nc")
    np.testing.assert_array_equal(drawn["llc"].isel(distribution=0), llc["llc"].isel(distribution=0))


def test_what_the_family_lacks_is_refused_with_the_reason(toy):
    overlay = toy.write(
        "config/more.yaml",
        "experiments:\n  toy:\n    ablation: {contexts: 8, batch_size: 4}\n    circuits: {}\n"
        "    attention_scores: {sequences: 8, length: 16}\n    metrics: {accuracy: true}\n"
        "    sampling: {heads: {step_size: 1.0e-3, n_beta: 50, localization: 10, chains: 2, draws: 6, burn_in: 2,\n"
        "      batch_size: 4, scored_positions: null, init_batches: 2, control_chains: 2}}\n",
    )
    done = toy.snakemake(toy.overlay, overlay, "--", *TARGETS, check=False)
    assert done.returncode != 0
    for place, reason in {
        "ablation": "has no attention heads",
        "sampling.heads": "has no attention heads",
        "attention_scores": "has no attention patterns over tokens",
        "circuits": "has no QK and OV circuits",
        "metrics.accuracy": "predicts no tokens, so that no prediction is right or wrong",
    }.items():
        assert f"experiments.toy.{place}: a model of the family perceptron {reason}" in done.stderr


def test_what_does_not_fit_is_refused(toy):
    for wrong, message in {
        "tokenizer: bpe": "experiments.toy.tokenizer: 'bpe' is not of vectors (width), which noisy_sums reads",
        "distributions: [english]": "it reads noisy_sums",
        "model: {family: perceptrom}": "experiments.toy.model.family: there is no family 'perceptrom'; "
        "did you mean 'perceptron'?",
        "initial: {matrix_scale: 1.0}": "experiments.toy.initial: unknown key 'matrix_scale'",
        "model: {family: attention_only}": "experiments.toy.model: unknown key 'hidden'",
    }.items():
        overlay = toy.write("config/wrong.yaml", f"experiments:\n  toy:\n    {wrong}\n")
        done = toy.snakemake(toy.overlay, overlay, "--", *TARGETS, check=False)
        assert done.returncode != 0
        assert message in done.stderr, wrong


def test_a_language_model_is_no_perceptron(toy):
    overlay = toy.write(
        "config/wrong.yaml",
        "experiments:\n  toy:\n    task: sorting\n    tokenizer: numbers\n    training: {distribution: lists}\n"
        "    distributions: [lists]\n",
    )
    done = toy.snakemake(toy.overlay, overlay, "--", *TARGETS, check=False)
    assert "experiments.toy.model.family: perceptron reads vectors, and sorting makes tokens" in done.stderr
