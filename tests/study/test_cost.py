"""What jobs are forecast to cost, counted anew: in passes over so many contexts, floats and operations."""

import importlib
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from rllc.measures.hessian_rank.spec import ORTHOGONALISE
from rllc.measures.token_losses.spec import KINDS
from rllc.measures.tokens.spec import CLASSIFY
from rllc.study import cost, cost_of_inputs, defaults, parameters
from rllc.study.config_model import ConfigModel
from rllc.study.datasets import measured
from rllc.study.families import ELEMENT, FLOPS, IN_CONTEXT_PASS, PASS, Load, family_of
from rllc.study.reading import read
from rllc.study.specs import two_passes
from rllc.study.steps import chunks
from rllc.study.study import work
from rllc.study.table import MEASURES
from rllc.tasks.batch import next_token_batch
from rllc.tasks.regression.sequences import blocks

HERE = Path(__file__).parent


@cache
def study():
    return read(defaults.load([HERE / "every_key.yaml"], HERE.parents[1]))


class Facts:
    """Of a section in its experiment."""

    def __init__(self, experiment, section):
        self.s, self.experiment = section, experiment
        self.tokens = study().tokenizers[experiment.tokenizer]
        family, model = family_of(experiment.model), experiment.model
        self.heads, self.layers = family.heads(model), model.n_layers
        self.outputs, self.weights = family.outputs(model, self.tokens), family.weights(model, self.tokens)

    def one(self, contexts, scored=None, length=None):
        return cost.forward(self.experiment.model, self.tokens, contexts, scored, length=length)

    def logits(self, contexts, scored=None):
        return 4e-6 * contexts * (scored or self.tokens.predictions) * self.outputs


def of_sampling(f, share=1.0, components=1):
    """Three passes a move of a chain, one of its control; the drift-free chains also have a gradient of their own;
    two per pair and kept draw."""
    s = f.s
    a_move = 3 * s.chains + s.control_chains + (3 * (s.drift_free_chains + 1) if s.drift_free_chains else 0)
    passes = s.draws * s.thinning * a_move + 2 * s.antithetic_pairs * (s.draws - s.burn_in)
    return passes * components * share * f.one(s.batch_size, s.scored_positions)


def of_sweeps(f):
    total = 0
    for kind in ("heads", "full"):
        sweep = getattr(f.s, kind)
        heads = len(sweep.components or range(f.heads)) if kind == "heads" else 1
        share = cost.HEAD if kind == "heads" else 1
        stable = [(a, b) for a in sweep.step_size for b in sweep.localization if a * b < 4]
        each = 3 * len(sweep.n_beta) * (sweep.chains + sweep.control_chains + 1) + sweep.control_chains
        passes = len(stable) * sweep.draws * each * heads * share
        traces = 2 * f.s.probes * 8 * heads + sweep.draws
        total += (passes + traces) * f.one(sweep.batch_size, sweep.scored_positions)
    return total


def of_dependence(f):
    total = 0
    for component in f.s.components:
        base = f.experiment.sampling.full if component == "full" else f.experiment.sampling.heads
        runs = 1 + f.s.likelihood + len(f.s.dataset_sizes) + 2 * len(f.s.noise_seeds)
        runs += 1.1 * sum(2 * size / base.batch_size for size in f.s.batch_sizes)
        total += runs * 3 * f.s.chains * f.s.draws * f.one(base.batch_size, base.scored_positions)
    return total


def of_rank(f):
    vectors = f.s.degree // 2 + 1
    products = 4 * vectors * f.one(f.s.contexts, f.s.scored_positions)
    return f.s.probes * (products + ORTHOGONALISE * vectors**2 * f.weights)


def of_fisher(f):
    """Contexts are generated token by token, of half their length in the mean."""
    length = f.tokens.context
    generated = length * f.one(f.s.probes * f.s.batch_size, 1, length // 2)
    return 14 * f.s.probes * f.one(f.s.batch_size) + generated


def kept_tokens(f):
    return min(f.s.top, int(f.s.share * f.s.searched * f.tokens.predictions))


def memory_of_tokens(f):
    kept = 2 * f.heads * kept_tokens(f) + f.s.searched
    attention = f.s.batch_size * f.heads * f.tokens.context**2
    return 900 + 8 * f.logits(f.s.batch_size) + 2 * 4e-6 * (f.tokens.context * kept + attention)


def at(key, scored=None):
    return lambda f: f.logits(getattr(f.s, key), scored and getattr(f.s, scored))


def largest_sweep(f):
    return max(f.logits(s.batch_size, s.scored_positions) for s in (f.s.heads, f.s.full))


# spec -> seconds at each checkpoint; megabytes; seconds of the job, beside; bytes of each checkpoint, of the job
BATCH, SCORED = at("batch_size"), at("batch_size", "scored_positions")
# Of a spec without a cost.
DEFAULT = (
    lambda f: 2 * f.one(getattr(f.s, "contexts", None) or f.s.sequences),
    lambda f: 900 + 8 * (BATCH(f) if hasattr(f.s, "batch_size") else at("sequences")(f)),
)
EXPECTED = {
    "sample_heads": (lambda f: of_sampling(f, cost.HEAD, f.heads), lambda f: 900 + 10 * SCORED(f)),
    "sample_full": (of_sampling, lambda f: 900 + 10 * SCORED(f)),
    "sample_other": (lambda f: of_sampling(f, 1, 3), lambda f: 900 + 10 * SCORED(f)),
    "hessian": (
        lambda f: 8 * f.s.probes * f.one(f.s.batch_size, f.s.scored_positions),
        lambda f: 1200 + 20 * at("contexts_at_once", "scored_positions")(f),
    ),
    "eigenvalues": (
        lambda f: 160 * f.one(f.s.contexts, f.s.scored_positions),
        lambda f: 1200 + 20 * at("contexts", "scored_positions")(f),
    ),
    "fisher": (of_fisher, lambda f: 1200 + 20 * BATCH(f)),
    "hessian_rank": (
        of_rank,
        lambda f: 1200 + 20 * at("contexts", "scored_positions")(f) + 4e-6 * (f.s.degree // 2 + 1) * f.weights,
    ),
    "ablation": (lambda f: (3 * f.heads + 2) * f.one(f.s.contexts), lambda f: 900 + 8 * BATCH(f)),
    "attention_scores": (lambda f: 3 * f.one(f.s.sequences, length=f.s.length), lambda f: 700),
    "circuits": (
        lambda f: f.heads * 20 * f.tokens.vocabulary**3 / FLOPS, lambda f: 700, lambda f: 0,
        lambda f: (8 * f.heads * f.tokens.vocabulary**2, 0),
    ),
    "tokens": (
        lambda f: (f.heads + 3) * f.one(f.s.searched) + 2 * f.heads * kept_tokens(f) * CLASSIFY, memory_of_tokens, lambda f: 0,
        lambda f: (f.heads * (f.s.shown * 6 * f.tokens.context * 8 + 30 * kept_tokens(f)), 2e5),
    ),
    "path_patching": (
        lambda f: (1.6 + f.heads / 10) * f.one(2 * f.s.examples), lambda f: 900 + 8 * BATCH(f), lambda f: cost.START,
    ),
    "token_losses": (
        lambda f: f.one(f.s.contexts), lambda f: 900 + 8 * BATCH(f),
        lambda f: KINDS * f.s.contexts * f.tokens.predictions,
        lambda f: (8 * f.s.contexts * f.tokens.predictions, 50 * f.s.contexts * f.tokens.predictions),
    ),
    "integrity": (
        lambda f: f.one(f.s.contexts) + 4 * 4e-6 * f.weights / cost.HASHED, lambda f: 900 + 8 * BATCH(f),
    ),
    "regression_predictions": (lambda f: 2 * len(f.s.scales) * f.one(f.s.sequences), lambda f: 1500),
    "calibration": (
        of_sweeps, lambda f: 1200 + 20 * largest_sweep(f), lambda f: 0, lambda f: (1e6, 0),
    ),
    "dependence": (of_dependence, lambda f: 1200),
}  # fmt: skip
USUAL = (None, None, lambda f: 0, lambda f: (0, 2e5))


def test_every_measure_costs_the_passes_that_it_makes():
    counted = set()
    for experiment in study().experiments.values():
        for made in measured(experiment).values():
            given = DEFAULT if made.spec.cost is two_passes else EXPECTED[made.spec.name]
            seconds, megabytes, once, disk = (*given, *USUAL[len(given) :])
            facts, n = Facts(experiment, made.section), 3
            found = made.spec.cost(work(study(), experiment, made.section, [0] * n))
            each, rest = disk(facts)
            expected = (cost.START + n * seconds(facts) + once(facts), megabytes(facts), n * each + rest)
            assert (found.cpu_seconds, found.megabytes, found.disk_bytes) == pytest.approx(expected), (
                made.spec.name
            )
            counted.add(made.spec.name)
    assert counted == {spec.name for spec in MEASURES} >= EXPECTED.keys()


class NoContexts(ConfigModel):
    """A section that says nothing of contexts."""


class LongSequences(ConfigModel):
    """Sequences of a length of their own."""

    sequences: int = 30
    length: int = 7


def test_default_cost_of_a_section_without_contexts_is_that_of_all_held_out_ones():
    experiment = study().experiments["language"]
    held_out = study().tokenizers[experiment.tokenizer].held_out_blocks
    found = two_passes(work(study(), experiment, NoContexts(), [0, 1, 2]))
    facts = Facts(experiment, None)
    assert found.cpu_seconds == pytest.approx(cost.START + 3 * 2 * facts.one(held_out))
    assert found.megabytes == pytest.approx(900 + 8 * facts.logits(held_out))


def test_default_cost_counts_sequences_of_the_length_that_the_section_says():
    experiment = study().experiments["language"]
    found = two_passes(work(study(), experiment, LongSequences(), [0]))
    facts = Facts(experiment, None)
    assert found.cpu_seconds == pytest.approx(cost.START + 2 * facts.one(30, length=7))
    assert found.megabytes == pytest.approx(900 + 8 * facts.logits(30, 7))


class LargeBatches(ConfigModel):
    """Batches larger than the contexts there are."""

    contexts: int = 4
    batch_size: int = 1000


def test_default_cost_holds_no_more_contexts_in_memory_than_there_are():
    experiment = study().experiments["language"]
    found = two_passes(work(study(), experiment, LargeBatches(), [0]))
    assert found.megabytes == pytest.approx(900 + 8 * Facts(experiment, None).logits(4))


def test_a_training_costs_three_passes_a_step_and_keeps_its_checkpoints():
    """The last segment of those cut at step 221, with its checkpoints and three more files as large."""
    experiment = study().experiments["language"]
    checkpoints = experiment.checkpoints.model_copy(update={"chunks": [0, 221]})
    experiment = experiment.model_copy(update={"checkpoints": checkpoints})
    start = chunks(experiment)
    facts, batch = Facts(experiment, None), experiment.training.batch_size
    found = cost_of_inputs.training(study(), experiment, 221)
    steps = start[221][-1] - start[0][-1]
    assert found.cpu_seconds == pytest.approx(cost.START + 3 * steps * facts.one(batch))
    assert found.megabytes == pytest.approx(900 + 8 * facts.logits(batch))
    assert found.disk_bytes == 4 * facts.weights * (len(start[221]) + 3)


@pytest.mark.parametrize("name", ["language", "language_1layer", "in_pairs"])
def test_a_forward_pass_has_the_operations_that_torch_counts(name):
    experiment = study().experiments[name]
    tokens, family, size = study().tokenizers[experiment.tokenizer], family_of(experiment.model), 3
    facts = parameters.model(study(), experiment)
    facts.pop("family")
    module, _, function = family.model.partition(":")
    model = getattr(importlib.import_module(module), function)(**facts)
    if family.reads == ("vectors",):
        law = {"dimension": tokens.dimension, "noise_variance": 0.1, "tasks": None, "task_seed": 0}
        every = blocks(size, seed=1, length=tokens.length, **law)
        batch, overhead = every.batch(np.arange(size), every.scorable()), IN_CONTEXT_PASS
    else:
        batch = next_token_batch(np.zeros((size, tokens.context), int), np.arange(tokens.predictions))
        overhead = PASS
    weights = {weight: torch.zeros(shape) for weight, shape in model.shapes().items()}
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        model.outputs(weights, batch)
    load = Load(size, tokens.context, tokens.predictions, tokens.predictions)
    elements = size * tokens.context * experiment.model.d_model
    beside = experiment.model.n_layers * (overhead + ELEMENT * elements)
    found = family.forward(experiment.model, tokens, load) - beside
    assert found * FLOPS == pytest.approx(counted.get_total_flops(), rel=0.05)
    assert not math.isclose(found, 0)


def test_one_layer_that_reads_more_contexts_than_there_are_tokens_projects_tokens():
    """Queries, keys and values are then of tokens and positions, whose number does not grow with contexts."""
    experiment = study().experiments["sort_1head"]
    model, tokens = experiment.model, study().tokenizers[experiment.tokenizer]
    width, length, predictions = model.n_heads * model.d_head, tokens.context, tokens.predictions

    def products(size, layers=1):
        several = model.model_copy(update={"n_layers": layers})
        seconds = family_of(model).forward(several, tokens, Load(size, length, predictions, predictions))
        return FLOPS * (seconds - layers * (PASS + ELEMENT * size * length * model.d_model)) / size

    logits = 2 * predictions * model.d_model * tokens.vocabulary
    projections = 2 * length * 4 * model.d_model * width
    assert products(tokens.vocabulary) == pytest.approx(4 * length * predictions * width + logits)
    few = products(tokens.vocabulary - 1)
    assert few == pytest.approx(4 * length * predictions * width + logits + projections)
    two = products(tokens.vocabulary, layers=2)
    assert two == pytest.approx(2 * (4 * length * length * width + projections) + logits)
