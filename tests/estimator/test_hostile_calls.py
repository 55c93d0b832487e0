"""What users hand in by mistake is refused in words that name the argument; what is odd but right is taken."""

from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

from rllc.estimator.fast_heads import estimate_heads
from rllc.estimator.llc import estimate
from rllc.models.transformer import Architecture, shapes
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Batch

SETTING = {"n_beta": 100.0, "localization": 10.0, "step_size": 1e-3, "chains": 2, "draws": 6}
RMSPROP = {"sampler": "rmsprop"}
X, Y = torch.randn(24, 2, generator=torch.Generator().manual_seed(0)), torch.arange(24.0)
POINTS = [0.1 * X[3 * i : 3 * i + 3, 0] for i in range(5)]
PAIRS = list(zip(X.split(4), Y.split(4), strict=True))
NAN = float("nan")


def well(weights, batch):
    return ((weights["w"] - batch) ** 2).mean() + 0.1 * weights["v"].square().sum() + 1


def weights_of(**changes):
    return {"w": torch.tensor([0.1, 0.0, -0.2]), "v": torch.tensor([0.3]), **changes}


def called(**changes):
    given = {"loss": well, "weights": weights_of(), "batches": POINTS, "components": {"all": None}}
    return estimate(**{**given, **SETTING, **changes})


class Stateful:
    """A loss that remembers: every call is another number."""

    def __init__(self):
        self.calls = 0

    def __call__(self, weights, batch):
        self.calls += 1
        return well(weights, batch) + self.calls


def network(*layers):
    """A regression by a small network in train mode, as a user would call ``estimate`` on it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), *layers, nn.Linear(4, 1))

    def loss(weights, batch):
        x, y = batch
        return mse_loss(torch.func.functional_call(model, weights, (x,)).squeeze(1), y)

    return {"loss": loss, "weights": dict(model.named_parameters()), "batches": PAIRS, "model": model}


def in_train_mode(*layers):
    given = network(*layers)
    del given["model"]
    return given


def noisy(weights, batch):
    return well(weights, batch) + 0.1 * torch.rand(())


def hidden_noise(weights, batch):
    """Noise that is 0 where v is 0."""
    return well(weights, batch) + weights["v"].sum() * torch.randn(())


RANDOM = np.random.default_rng(0)


def random_half(weights, batch):
    x, y = batch
    rows = torch.from_numpy(RANDOM.permutation(len(x))[: len(x) // 2])
    return (x[rows] @ weights["w"][:2] - y[rows]).square().mean()


def changes_weights(weights, batch):
    weights["w"].clamp_(-0.1, 0.1)
    return well(weights, batch)


def changes_batch(weights, batch):
    return well(weights, batch.relu_())


def sums(weights, batch):
    return ((weights["w"][:2].sum() * batch[0].sum(1) - batch[1]) ** 2).sum()


def one_chain_alone(weights, batch):
    return well(weights, batch) if weights["w"].sum().item() < 9 else weights["w"].sum()


MEAN = torch.ones(1)
ON = called()
WRONG = {
    # name of the row: (changed arguments, what the message says)
    "n_beta: zero": ({"n_beta": 0.0}, "n_beta is 0.0: expected a positive finite number"),
    "n_beta: negative": ({"n_beta": -1}, "n_beta is -1: expected a positive"),
    "n_beta: nan": ({"n_beta": NAN}, "n_beta is nan: expected"),
    "n_beta: inf": ({"n_beta": float("inf")}, "n_beta is inf: expected"),
    "n_beta: text": ({"n_beta": "100"}, "n_beta is '100': expected a positive"),
    "n_beta: truth": ({"n_beta": True}, "n_beta is True: expected"),
    "n_beta: NumPy's truth": ({"n_beta": np.bool_(True)}, r"n_beta is .*True.*: expected"),
    "n_beta: tensor of truth": ({"n_beta": torch.tensor(True)}, r"n_beta is tensor\(True\): expected"),
    "n_beta: complex": ({"n_beta": 1 + 0j}, r"n_beta is \(1\+0j\): expected"),
    "n_beta: None": ({"n_beta": None}, "n_beta is None: expected"),
    "n_beta: a list": ({"n_beta": [100.0]}, r"n_beta is \[100.0\]: expected"),
    "n_beta: a vector": ({"n_beta": torch.ones(3)}, r"n_beta is tensor\(\[1., 1., 1.\]\): expected"),
    "n_beta: a tensor of nan": ({"n_beta": torch.tensor(NAN)}, r"n_beta is tensor\(nan\): expected"),
    "n_beta: beyond all floats": ({"n_beta": 10**400}, r"n_beta is 10{50,}\.\.\.: expected"),
    "n_beta: a fraction": ({"n_beta": Fraction(1, 3)}, r"n_beta is Fraction\(1, 3\): expected"),
    "localization: negative": ({"localization": -1.0}, r"localization is -1.0: expected 0 \(no pull\) or more"),
    "localization: nan": ({"localization": np.nan}, "localization is nan: expected 0"),
    "localization: text": ({"localization": ""}, "localization is '': expected 0"),
    "localization: array": ({"localization": np.ones(2)}, r"localization is array\(\[1., 1.\]\): expected 0"),
    "step_size: zero": ({"step_size": 0}, "step_size is 0: expected a positive finite number"),
    "step_size: negative": ({"step_size": -1e-3}, "step_size is -0.001: expected"),
    "step_size: inf": ({"step_size": np.float32("inf")}, r"step_size is .*inf.*: expected"),
    "step_size: truth": ({"step_size": False}, "step_size is False: expected"),
    "step_size: complex tensor": ({"step_size": torch.tensor(1j)}, "step_size is tensor.*: expected"),
    "chains: zero": ({"chains": 0}, "chains is 0: expected a whole number, 1 or more"),
    "chains: negative": ({"chains": -2}, "chains is -2: expected"),
    "chains: fractional": ({"chains": 2.5}, "chains is 2.5: expected a whole number"),
    "chains: truth": ({"chains": True}, "chains is True: expected"),
    "chains: a range": ({"chains": range(4)}, r"chains is range\(0, 4\): expected"),
    "draws: zero": ({"draws": 0}, "draws is 0: expected a whole number, 1 or more"),
    "draws: fractional": ({"draws": torch.tensor(6.5)}, "draws is tensor.*: expected a whole number"),
    "draws: inf": ({"draws": float("inf")}, "draws is inf: expected"),
    "draws: text": ({"draws": "6"}, "draws is '6': expected"),
    "burn_in: all draws": ({"burn_in": 6}, "burn_in 6 leaves none of the 6 draws: expected 0 to 5"),
    "burn_in: negative": ({"burn_in": -1}, "burn_in is -1: expected a whole number of draws, 0 or more"),
    "burn_in: a share": ({"burn_in": 0.5}, "burn_in is 0.5: expected a whole number"),
    "burn_in: None": ({"burn_in": None}, "burn_in is None: expected"),
    "thinning: zero": ({"thinning": 0}, "thinning is 0: expected the number of moves per draw"),
    "thinning: fractional": ({"thinning": 1.5}, "thinning is 1.5: expected"),
    "thinning: truth": ({"thinning": True}, "thinning is True: expected"),
    "thinning: common factor": (
        {"thinning": 2, "batches": POINTS[:4]}, "thinning 2 and 4 batches, draws see only every 2th batch"
    ),
    "seed: negative": ({"seed": -1}, "seed is -1: expected a whole number, 0 or more"),
    "seed: fractional": ({"seed": 0.5}, "seed is 0.5: expected"),
    "seed: None": ({"seed": None}, "seed is None: expected"),
    "seed: a generator": ({"seed": torch.Generator()}, "seed is <torch._C.Generator.*: expected"),
    "seed: truth": ({"seed": False}, "seed is False: expected"),
    "divergence_factor: zero": ({"divergence_factor": 0.0}, "divergence_factor is 0.0: expected a positive"),
    "divergence_factor: text": ({"divergence_factor": "5"}, "divergence_factor is '5': expected"),
    "max_memory: zero": ({"max_memory": 0}, "max_memory is 0: expected a number of bytes"),
    "max_memory: negative": ({"max_memory": -1e9}, "max_memory is -1000000000.0: expected"),
    "max_memory: text": ({"max_memory": "1GB"}, "max_memory is '1GB': expected"),
    "max_memory: nan": ({"max_memory": NAN}, "max_memory is nan: expected"),
    "gradient: a number": ({"gradient": 1}, "gradient is 1: expected True or False"),
    "gradient: text": ({"gradient": "False"}, "gradient is 'False': expected True or False"),
    "gradient: None": ({"gradient": None}, "gradient is None: expected True or False"),
    "vectorize: text": ({"vectorize": "no"}, "vectorize is 'no': expected True or False"),
    "report_control: text": ({"report_control": "no"}, "report_control is 'no': expected True or False"),
    "vectorize: a number": ({"vectorize": 2}, "vectorize is 2: expected True or False"),
    "vectorize: a loss of .item()": (
        {"vectorize": True, "loss": one_chain_alone}, r"fails for the chains of component 'all' together \(vectorize"
    ),
    "baseline: unknown": ({"baseline": "mean"}, "unknown baseline 'mean': expected one of paired, init"),
    "baseline: no text": ({"baseline": ["init"]}, r"unknown baseline \['init'\]: expected one of"),
    "baseline: init alone": ({"baseline": "init"}, "needs init_batches: give them"),
    "sampler: unknown": ({"sampler": "hmc"}, "unknown sampler 'hmc': expected one of sgld, rmsprop"),
    "sampler: other case": ({"sampler": "SGLD"}, "unknown sampler 'SGLD': expected one of sgld"),
    "sampler: None": ({"sampler": None}, "unknown sampler None: expected one of"),
    "sampler: a dict": ({"sampler": {"sgld": {}}}, "unknown sampler .*: expected one of"),
    "sampler_options: of another sampler": (
        {"sampler_options": {"decay": 0.5}}, "sampler 'sgld' has no option 'decay': expected none"
    ),
    "sampler_options: unknown": (
        {**RMSPROP, "sampler_options": {"eps": 1}}, "no option 'eps': expected decay, stabilizer"
    ),
    "sampler_options: unknown, no text": ({**RMSPROP, "sampler_options": {1: 1}}, "no option 1: expected decay"),
    "sampler_options: a list": ({"sampler_options": ["decay"]}, "sampler_options is .*: expected constants by name"),
    "sampler_options: False": ({"sampler_options": False}, "sampler_options is False: expected"),
    "decay: one": ({**RMSPROP, "sampler_options": {"decay": 1}}, r"decay is 1: expected 0 \(no memory\) or more"),
    "decay: negative": ({**RMSPROP, "sampler_options": {"decay": -0.1}}, "decay is -0.1: expected"),
    "decay: text": ({**RMSPROP, "sampler_options": {"decay": "0.9"}}, "decay is '0.9': expected"),
    "stabilizer: zero": ({**RMSPROP, "sampler_options": {"stabilizer": 0.0}}, "stabilizer is 0.0: expected"),
    "stabilizer: truth": ({**RMSPROP, "sampler_options": {"stabilizer": True}}, "stabilizer is True: expected"),
    "unknown argument": ({"temperature": 1.0}, "unexpected keyword argument 'temperature'"),
    "batches: empty": ({"batches": []}, "batches is empty.*expected at least one"),
    "batches: None": ({"batches": None}, "batches is a NoneType: expected a sequence"),
    "batches: a data loader": (
        {"batches": DataLoader(TensorDataset(X, Y), batch_size=4, shuffle=True)},
        r"batches is a DataLoader: expected a sequence of batches.*list\(\.\.\.\)",
    ),
    "batches: a generator": ({"batches": (b for b in POINTS)}, "batches is a generator: expected a sequence"),
    "batches: an iterator": ({"batches": iter(POINTS)}, "batches is a list_iterator: expected a sequence"),
    "batches: a dict": ({"batches": dict(enumerate(POINTS))}, "batches is a dict: expected a sequence"),
    "batches: a table": ({"batches": pd.DataFrame({"x": [1.0, 2.0]})}, "batches is a DataFrame: expected a sequence"),
    "batches: a set": ({"batches": {1.0, 2.0}}, "batches is a set: expected a sequence"),
    "batches: text": ({"batches": "train"}, "batches is a str: expected a sequence"),
    "batches: a number": ({"batches": 8}, "batches is a int: expected a sequence"),
    "batches: a tensor without axes": ({"batches": torch.tensor(1.0)}, "batches is a Tensor: expected a sequence"),
    "batches: one Batch": ({"batches": Batch(X, Y, Y)}, "batches is a Batch: expected a sequence"),
    "batches: one pair": (
        {**in_train_mode(), "batches": (X, Y)}, r"the loss fails on batches\[0\], a tensor of torch.float32"
    ),
    "batches: of different types": (
        {"batches": [POINTS[0], (POINTS[1],)]}, r"batches\[1\] is a tuple of 1, batches\[0\] is a tensor of"
    ),
    "batches: of different dtypes": (
        {"batches": [POINTS[0], POINTS[1].double()]}, r"batches\[1\] is a tensor of torch.float64, batches\[0\]"
    ),
    "batches: a None among them": ({"batches": [*POINTS, None]}, r"batches\[5\] is a NoneType, batches\[0\]"),
    "batches: one without examples": ({"batches": [torch.zeros(0, 3)]}, "batch is empty|the loss at the centre is nan"),
    "batches: nan in the first": ({"batches": [POINTS[0] * NAN]}, r"centre is nan on batches\[0\]"),
    "batches: inf in a later one": ({"batches": [POINTS[0], POINTS[1] + np.inf]}, r"centre is inf on batches\[1\]"),
    "batches: another shape than the weights'": ({"batches": [X]}, r"the loss fails on batches\[0\]"),
    "init_batches: empty": ({"init_batches": []}, "init_batches is empty"),
    "init_batches: a generator": ({"init_batches": (b for b in POINTS)}, "init_batches is a generator: expected"),
    "init_batches: of another kind": ({"init_batches": ["a"]}, r"the loss fails on init_batches\[0\], a str"),
    "init_batches: nan": ({"init_batches": [POINTS[0], POINTS[0] * NAN]}, r"centre is nan on init_batches\[1\]"),
    "weights: empty": ({"weights": {}}, "weights is empty, there is nothing to sample"),
    "weights: None": ({"weights": None}, "weights is a NoneType: expected a dict of tensors by name"),
    "weights: a module": ({"weights": nn.Linear(3, 1)}, r"weights is a Linear: expected .*named_parameters\(\)"),
    "weights: parameters()": ({"weights": nn.Linear(3, 1).parameters()}, "weights is a generator: expected a dict"),
    "weights: one tensor": ({"weights": torch.ones(3)}, "weights is a Tensor: expected a dict"),
    "weights: arrays": ({"weights": {"w": np.zeros(3)}}, r"weights\['w'\] is a ndarray: expected tensors by name"),
    "weights: by number": ({"weights": {0: torch.ones(3)}}, r"weights\[0\] is a Tensor: expected tensors by name"),
    "weights: inf": ({"weights": weights_of(w=torch.tensor([0.1, np.inf, 0.0]))}, "weight 'w' has 1 of 3 values"),
    "weights: on meta": ({"weights": weights_of(w=torch.ones(3, device="meta"))}, r"weights\['w'\] is meta"),
    "weights: sparse": ({"weights": weights_of(w=torch.eye(3).to_sparse())}, r"weights\['w'\] is meta or sparse"),
    "weights: half precision": (
        {"weights": {name: w.half() for name, w in weights_of().items()}}, "torch.float16: expected one floating-point dtype, torch.float32 or torch.float64"
    ),
    "weights: of two precisions": ({"weights": weights_of(v=torch.zeros(1).double())}, "expected one floating-point"),
    "weights: integers": ({"weights": {"w": torch.ones(3, dtype=torch.int64)}}, "'all' selects no coordinate"),
    "components: empty": ({"components": {}}, "components is {}, there is nothing to sample"),
    "components: None": ({"components": None}, "components is None, there is nothing to sample: expected"),
    "components: names alone": ({"components": ["full"]}, r"components is \['full'\], .* boolean masks"),
    "components: names that read alike": ({"components": {1: None, "1": None}}, r"components \[1, '1'\] read the same"),
    "components: text": ({"components": "full"}, "components is 'full', .* boolean masks"),
    "components: a list of weights": ({"components": {"a": ["w"]}}, r"components\['a'\] is \['w'\]: expected boolean"),
    "components: a bare mask": (
        {"components": {"a": torch.ones(3, dtype=torch.bool)}}, r"components\['a'\] is tensor.*: expected boolean"
    ),
    "components: a list as mask": ({"components": {"a": {"w": [True] * 3}}}, r"components\['a'\] is .*: expected bool"),
    "components: unknown weight": (
        {"components": {"a": {"u": torch.ones(1) > 0}}}, "'a' has a mask for the unknown weight 'u'"
    ),
    "components: mask of floats": ({"components": {"a": {"w": torch.ones(3)}}}, "torch.float32, expected torch.bool"),
    "components: misshapen mask": ({"components": {"a": {"w": torch.ones(4) > 0}}}, r"shape \[4\], the weight \[3\]"),
    "components: nothing selected": ({"components": {"a": {"w": torch.ones(3) < 0}}}, "'a' selects no coordinate"),
    "components: no masks": ({"components": {"a": {}}}, "'a' selects no coordinate"),
    "components: not read by the loss": (
        {"loss": lambda w, b: w["v"].sum() + 1, "components": {"a": {"w": torch.ones(3) > 0}}},
        "does not read the weights of component 'a'",
    ),
    "loss: None": ({"loss": None}, "loss is None: expected a function of the weights and a batch"),
    "loss: its value": ({"loss": torch.tensor(1.0)}, r"loss is tensor\(1.\): expected a function"),
    "loss: of other arguments": ({"loss": lambda w: w["w"].sum()}, r"the loss fails on batches\[0\].*expected a func"),
    "loss: by way of NumPy": (
        {"loss": lambda w, b: torch.as_tensor(np.square(w["w"].numpy() - b.numpy()).mean())},
        "the loss fails for the chains of component 'all': RuntimeError: .*expected a function",
    ),
    "loss: a number": ({"loss": lambda w, b: 1.0}, "must return a scalar tensor.*it returned float"),
    "loss: None returned": ({"loss": lambda w, b: None}, "it returned NoneType"),
    "loss: a pair returned": ({"loss": lambda w, b: (well(w, b), 0)}, "it returned tuple"),
    "loss: one per example": ({"loss": lambda w, b: (w["w"] - b) ** 2}, r"it returned torch.float32 \[3\]"),
    "loss: a vector of one": ({"loss": lambda w, b: well(w, b)[None]}, r"it returned torch.float32 \[1\]"),
    "loss: an integer": ({"loss": lambda w, b: torch.tensor(1)}, r"it returned torch.int64 \[\]"),
    "loss: complex": ({"loss": lambda w, b: well(w, b) + 0j}, r"it returned torch.complex64 \[\]"),
    "loss: nan": ({"loss": lambda w, b: well(w, b) * NAN}, "the loss at the centre is nan"),
    "loss: a sum": ({"loss": sums, "batches": PAIRS}, "it is a sum over the batch; return the mean"),
    "loss: without the weights' graph": ({"loss": lambda w, b: well(w, b).detach()}, "does not read the weights of"),
    "loss: dropout in train mode": (in_train_mode(nn.Dropout(0.5)), r"evaluated again on the same .*model\.eval\(\)"),
    "loss: batch norm in train mode": (in_train_mode(nn.BatchNorm1d(4)), r"changes a tensor in place.*model\.eval\(\)"),
    "loss: batch norm as a function": (
        {"loss": lambda w, b: well(w, nn.functional.batch_norm(b[:, None], MEAN, MEAN, training=True)[:, 0])},
        "changes a tensor in place",
    ),
    "loss: random numbers added": ({"loss": noisy}, "when it is evaluated again on the same batch: expected a function"),
    "loss: random numbers times 0": (
        {"loss": hidden_noise, "weights": weights_of(v=torch.zeros(1))}, "the loss draws random numbers"
    ),
    "loss: a random half of the batch": ({"loss": random_half, "batches": PAIRS}, "evaluated again on the same batch"),
    "loss: one that counts": ({"loss": Stateful()}, "centre is 2.*, and 3.* when it is evaluated again"),
    "loss: writes to the weights": ({"loss": changes_weights}, "changes a tensor in place that it did not make"),
    "loss: writes to the batch": ({"loss": changes_batch}, "changes a tensor in place that it did not make"),
    "device: unknown": ({"device": "gpu"}, "device is 'gpu': expected a device that torch finds here"),
    "device: absent": ({"device": "cuda:99"}, "device is 'cuda:99': expected a device that torch finds here"),
    "device: meta": ({"device": "meta"}, "device is 'meta': expected"),
    "device: no device": ({"device": 1.5}, "device is 1.5: expected a device"),
    "control_of: a number": ({"control_of": ON["llc"]}, "control_of is a DataArray: expected"),
    "control_of: other data": ({"control_of": xr.Dataset()}, "control_of lacks loss_at_center, init_loss: expected"),
    "control_of: without draws": ({"control_of": ON.drop_dims("draw")}, "control_of lacks loss_at_center: expected the w"),
    "control_of: other draws": ({"control_of": ON, "draws": 5}, "control_of has draws 6, expected was 5"),
    "control_of: other burn-in": ({"control_of": ON, "burn_in": 2}, "control_of has burn_in 0, expected was 2"),
    "control_of: other seed": ({"control_of": ON, "seed": 1}, "control_of has seed 0, expected was 1"),
    "control_of: other step": ({"control_of": ON, "step_size": 2e-3}, "control_of has step_size 0.001, expected was"),
    "control_of: other sampler": ({"control_of": ON, **RMSPROP}, "control_of has sampler sgld, expected was rmsprop"),
    "control_of: a control": ({"control_of": called(gradient=False)}, "control_of has gradient 0, expected was 1"),
    "control_of: a drift-free control": (
        {"control_of": called(drift_free=True)}, "control_of has drift_free 1, expected was 0"
    ),
    "control_of: other batches": ({"control_of": ON, "batches": POINTS[1:]}, "expected the same loss, weights and batch"),
    "control_of: another loss": (
        {"control_of": ON, "loss": lambda w, b: 2 * well(w, b)}, "control_of has the loss .*: expected the same loss"
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", WRONG)
def test_a_wrong_call_is_refused_and_says_what_was_expected(row):
    changes, message = WRONG[row]
    with pytest.raises((ValueError, TypeError), match=message) as raised:
        called(**changes)
    assert "\n" not in str(raised.value)


RIGHT = {
    "numbers: tensors without axes": {name: torch.tensor(value, dtype=torch.float64) for name, value in SETTING.items()},
    "numbers: NumPy's": {"n_beta": np.int64(100), "chains": np.int32(2), "draws": np.uint8(6), "seed": np.int64(0)},
    "numbers: arrays without axes": {"n_beta": np.array(100.0), "localization": np.array(10), "draws": np.array(6)},
    "numbers: whole floats": {"chains": 2.0, "draws": 6.0, "burn_in": 0.0, "thinning": 1.0, "seed": 0.0},
    "numbers: integers for floats": {"n_beta": 100, "localization": 10},
    "truth: NumPy's": {"gradient": np.bool_(True), "vectorize": np.bool_(False)},
    "batches: a tuple": {"batches": tuple(POINTS)},
    "batches: rows of a tensor": {"batches": torch.stack(POINTS)},
    "weights: parameters": {"weights": nn.ParameterDict(weights_of()).state_dict()},
    "weights: another mapping": {"weights": OrderedDict(weights_of())},
    "components: another mapping": {"components": MappingProxyType({"all": None})},
    "components: everything named": {
        "components": {"all": {name: torch.ones_like(w, dtype=torch.bool) for name, w in weights_of().items()}}
    },
    "options: none": {"sampler_options": {}},
    "device: where it is": {"device": torch.device("cpu")},
    "memory: enough": {"max_memory": 1e9},
    "loss: a constant made in it": {"loss": lambda w, b: torch.tensor([0.0]).add_(0.0).sum() + well(w, b)},
    "loss: its own stream": {
        "loss": lambda w, b: well(w, b) + 0 * torch.rand((), generator=torch.Generator().manual_seed(1))
    },
}  # fmt: skip


@pytest.mark.parametrize("row", RIGHT)
def test_an_odd_call_that_is_right_gives_what_the_plain_one_gives(row):
    xr.testing.assert_identical(called(**RIGHT[row]), ON)


TRAINING = {
    "batch norm": lambda: nn.BatchNorm1d(4),
    "dropout": lambda: nn.Dropout(0.5),
    "spectral norm": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
}


@pytest.mark.parametrize("layer", TRAINING)
@pytest.mark.parametrize("more", [{}, {"baseline": "init", "init_batches": PAIRS}, {"vectorize": True}])
def test_a_model_in_train_mode_is_refused_before_it_changes_and_taken_in_eval_mode(layer, more):
    given = network(TRAINING[layer]())
    model = given.pop("model")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(
        ValueError, match=r"expected a function of the weights and the batch alone.*model\.eval\(\)"
    ):
        called(**given, **more)
    model.eval()
    assert np.isfinite(called(**given, **more, step_size=1e-6).llc).all()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_two_more_evaluations_of_one_batch_are_all_that_a_loss_is_asked_for():
    asked = []

    def counted(weights, batch):
        asked.append(batch)
        return well(weights, batch)

    streams = torch.get_rng_state()
    called(loss=counted)
    moves = 6 * (1 + SETTING["chains"]) - 1  # the centre of every batch, once of the one seen twice
    means = 2  # of its first example, once and twice
    assert len(asked) == moves + means + 2
    assert torch.equal(torch.get_rng_state(), streams)


SMALL = Architecture(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=11)
TOKENS = torch.randint(11, (3, 6), generator=torch.Generator().manual_seed(0))
BATCH = Batch(TOKENS, torch.arange(5), TOKENS[:, 1:])
OF_HEADS = {
    "weights: None": ({"weights": None}, "weights is a NoneType: expected a dict of tensors by name"),
    "weights: of another model": ({"weights": {"w": torch.ones(2)}}, "does not hold the weights of the model"),
    "architecture: a dict": ({"architecture": {"n_layers": 2}}, "architecture is .*: expected an rllc.models.transf"),
    "batches: empty": ({"batches": []}, "batches is empty.*expected at least one"),
    "batches: a generator": ({"batches": (b for b in [BATCH])}, "batches is a generator: expected a sequence"),
    "batches: one": ({"batches": BATCH}, "batches is a Batch: expected a sequence"),
    "batches: tokens alone": ({"batches": [TOKENS]}, "batches hold a tensor of torch.int64: expected an rllc.tasks.b"),
    "batches: too long": ({"batches": [Batch(TOKENS.repeat(1, 2), *BATCH[1:])]}, r"expected contexts \[batch, up to 6\]"),
    "batches: unknown tokens": ({"batches": [BATCH._replace(contexts=TOKENS + 1)]}, "batches hold token 11: expected 0 to 10"),
    "batches: targets of all positions": ({"batches": [BATCH._replace(targets=TOKENS)]}, r"and targets \[batch, scored\]"),
    "heads: unknown": ({"heads": ["2:0"]}, "heads has the unknown label '2:0': choose from 0:0, 0:1, 1:0, 1:1"),
    "heads: twice": ({"heads": ["0:0", "0:0"]}, "heads has '0:0' twice"),
    "heads: text": ({"heads": "0:0"}, "heads is '0:0': expected a list of labels"),
    "heads: a number": ({"heads": 0}, "heads is 0: expected a list of labels"),
    "heads: none": ({"heads": []}, "heads is empty: choose from 0:0, 0:1"),
    "setting: a dict": ({"setting": SETTING}, "setting is .*: expected an rllc.sampler_config.SamplerConfig"),
    "max_memory: text": ({"max_memory": "1GB"}, "max_memory is '1GB': expected a number of bytes"),
    "device: unknown": ({"device": "gpu"}, "device is 'gpu': expected a device"),
    "init_batches: a generator": ({"init_batches": iter([BATCH])}, "init_batches is a list_iterator: expected"),
    "control_of: a number": ({"control_of": 1.0}, "control_of is a float: expected"),
}  # fmt: skip


def heads_called(**changes):
    random = torch.Generator().manual_seed(0)
    weights = {name: torch.randn(shape, generator=random) for name, shape in shapes(SMALL).items()}
    given = {
        "weights": weights,
        "architecture": SMALL,
        "batches": [BATCH],
        "setting": SamplerConfig(**SETTING),
        **changes,
    }
    return estimate_heads(**given)


@pytest.mark.parametrize("row", OF_HEADS)
def test_a_wrong_call_for_heads_is_refused_and_says_what_was_expected(row):
    changes, message = OF_HEADS[row]
    with pytest.raises(ValueError, match=message):
        heads_called(**changes)


def test_a_control_of_heads_on_other_batches_is_refused():
    on = heads_called()
    assert np.isfinite(heads_called(control_of=on).llc).all()
    other = Batch(TOKENS.flip(0), BATCH.positions, BATCH.targets)
    with pytest.raises(ValueError, match="expected the same loss, weights and batches"):
        heads_called(control_of=on, batches=[other])


def test_a_drift_free_control_of_heads_whose_first_batch_does_not_fit_is_refused():
    """Its chains read gradients in the burn-in, so the first batch is used before the first kept draw."""
    setting = SamplerConfig(**SETTING, burn_in=3)
    on = heads_called(batches=[BATCH] * 4, setting=setting)
    batches = [BATCH._replace(contexts=TOKENS + 1), BATCH, BATCH, BATCH]
    with pytest.raises(ValueError, match="batches hold token 11: expected 0 to 10"):
        heads_called(control_of=on, batches=batches, setting=replace(setting, drift_free=True))


@pytest.mark.parametrize(("kind", "draw"), [({"gradient": False}, 4), ({"drift_free": True}, 1)], ids=str)
def test_a_control_of_heads_whose_first_kept_batch_alone_agrees_is_refused(kind, draw):
    batches = [Batch(TOKENS.roll(shift, 0), BATCH.positions, BATCH.targets) for shift in range(3)]
    setting = SamplerConfig(**SETTING, burn_in=3)  # draw 3 uses batches[0]
    on = heads_called(batches=batches, setting=setting)
    control = replace(setting, **kind)
    assert np.isfinite(heads_called(control_of=on, batches=batches, setting=control).llc).all()
    other = [batches[0], batches[2], batches[1]]
    with pytest.raises(ValueError, match=f"batch of draw {draw}, .*expected the same loss"):
        heads_called(control_of=on, batches=other, setting=control)


def test_a_control_with_antithetic_pairs_is_refused_by_their_name():
    setting = SamplerConfig(**SETTING | {"chains": 4}, antithetic_pairs=2)
    on = heads_called(setting=setting)
    with pytest.raises(ValueError, match="antithetic_pairs is 2 for a control: expected 0"):
        heads_called(control_of=on, setting=setting)


@pytest.mark.parametrize("more", [{}, {"vectorize": True}, {"drift_free": True}, RMSPROP], ids=str)
def test_estimate_in_inference_mode_is_refused_with_its_name(more):
    """No gradient is to be had there, whatever the loss reads."""
    with torch.inference_mode(), pytest.raises(ValueError, match="inference_mode"):
        called(**more)


def test_estimate_of_heads_in_inference_mode_equals_that_outside():
    """Its gradients are written out."""
    with torch.inference_mode():
        found = heads_called()
    xr.testing.assert_identical(found, heads_called())


@pytest.mark.parametrize("vectorize", [False, True])
def test_estimate_of_weights_made_in_inference_mode_equals_that_of_others(vectorize):
    with torch.inference_mode():
        weights = weights_of()
        points = [point.clone() for point in POINTS]
    masks = {"v": {"v": torch.tensor([True])}}  # "w" is then a constant of the graph
    found = called(weights=weights, batches=points, components=masks, vectorize=vectorize)
    xr.testing.assert_identical(found, called(components=masks, vectorize=vectorize))


def test_estimate_in_no_grad_equals_that_outside():
    with torch.no_grad():
        found = called()
    xr.testing.assert_identical(found, called())
