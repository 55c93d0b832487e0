import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from rllc.models.initial import initial_weights
from rllc.models.loss import next_token_loss
from rllc.models.training import TrainingDiverged, fresh_batches, rate_factor, shuffled_batches, train
from rllc.models.transformer import Architecture
from rllc.seeds import generator
from rllc.tasks.batch import Examples

MODEL = Architecture(n_layers=2, n_heads=2, d_model=16, d_head=8, n_ctx=12, d_vocab=20)
CONTEXTS = np.random.default_rng(0).integers(0, 20, (40, 12)).astype(np.int16)
RECIPE = {
    "loss": next_token_loss(MODEL), "steps": 30, "learning_rate": 1e-2, "betas": (0.9, 0.95), "eps": 1e-6,
    "weight_decay": 0.05, "warmup": 4, "schedule": "linear", "gradient_clip": 0.5, "late_layers_ramp": 20,
}  # fmt: skip


def run(checkpoints, **changes):
    batches = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1)
    start = initial_weights(MODEL, seed=0)
    return {at.step: at for at in train(start, batches, checkpoints=checkpoints, **{**RECIPE, **changes})}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# A problem small enough to be followed by hand: weights pulled to a target that changes with the step.


class Target(NamedTuple):
    value: Tensor


def pull(weights, batch):
    return sum((w * (w - batch.value)).sum() ** 2 / 7 + (w**3).sum() / 9 for w in weights.values())


def by_hand(start, steps, *, optimizer, lr, betas, eps, decay, warmup, schedule, clip, ramp):
    """Adam and AdamW in float64 from their papers' formulas."""
    w = {name: value.double().numpy().copy() for name, value in start.items()}
    m = {name: np.zeros_like(value) for name, value in w.items()}
    v = {name: np.zeros_like(value) for name, value in w.items()}
    for step in range(steps):
        target = math.sin(step)
        g = {
            name: 2 * (x * (x - target)).sum() * (2 * x - target) / 7 + 3 * x**2 / 9 for name, x in w.items()
        }
        if clip is not None:
            norm = math.sqrt(sum((x**2).sum() for x in g.values()))
            g = {name: x * min(1.0, clip / (norm + 1e-6)) for name, x in g.items()}
        rate = lr * min(1.0, (step + 1) / warmup)
        if schedule == "linear" and step >= warmup:
            rate = lr * (steps - step) / (steps - warmup)
        for name in w:
            own = rate * min(1.0, (step + 1) / ramp) if name.startswith(("blocks.1", "blocks.2")) else rate
            gradient = g[name] + decay * w[name] if optimizer == "adam" else g[name]
            if optimizer == "adamw":
                w[name] = w[name] * (1 - own * decay)
            m[name] = betas[0] * m[name] + (1 - betas[0]) * gradient
            v[name] = betas[1] * v[name] + (1 - betas[1]) * gradient**2
            first = m[name] / (1 - betas[0] ** (step + 1))
            second = v[name] / (1 - betas[1] ** (step + 1))
            w[name] = w[name] - own * first / (np.sqrt(second) + eps)
    return w


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
@pytest.mark.parametrize("schedule", ["constant", "linear"])
@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("ramp", [6, None])
def test_updates_follow_the_formulas(optimizer, schedule, clip, ramp):
    names = ("embed.W_E", "blocks.0.attn.W_Q", "blocks.1.attn.W_Q", "blocks.2.ln1.w", "ln_final.w")
    start = {name: torch.linspace(-1, 1, 5) + i / 10 for i, name in enumerate(names)}
    (end,) = train(
        start, lambda step: Target(torch.tensor(math.sin(step))), loss=pull, steps=10, checkpoints=[10],
        learning_rate=0.05, optimizer=optimizer, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.3, warmup=3,
        schedule=schedule, gradient_clip=clip, late_layers_ramp=ramp or 0,
    )  # fmt: skip
    expected = by_hand(
        start, 10, optimizer=optimizer, lr=0.05, betas=(0.8, 0.9), eps=1e-4, decay=0.3, warmup=3,
        schedule=schedule, clip=clip, ramp=ramp or 1,
    )  # fmt: skip
    for name in names:
        np.testing.assert_allclose(end.weights[name].numpy(), expected[name], rtol=2e-5, atol=2e-6)


def test_equals_torch_on_a_hooked_transformer():
    from hooked import as_hooked  # so that the rest of this file runs where transformer-lens is not

    start = initial_weights(MODEL, seed=0)
    batches = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1)
    settings = {"betas": (0.9, 0.95), "eps": 1e-6, "weight_decay": 0.05}  # eps: keys' biases have no gradient
    (ours,) = train(
        start, batches, loss=next_token_loss(MODEL), steps=3, checkpoints=[3], learning_rate=1e-2, **settings
    )
    hooked = as_hooked(start, MODEL)
    theirs = torch.optim.AdamW(hooked.parameters(), lr=1e-2, **settings)
    losses = []
    for step in range(3):
        theirs.zero_grad()
        loss = hooked(batches(step).contexts, return_type="loss")
        loss.backward()
        theirs.step()
        losses.append(loss.item())
    np.testing.assert_allclose(ours.losses, losses, rtol=1e-5)
    for name, w in hooked.named_parameters():
        # The gradient of b_K is 0 but for rounding; Adam divides it by its own size.
        tolerance = 1e-3 if name.endswith("b_K") else 1e-5
        torch.testing.assert_close(ours.weights[name], w.detach(), rtol=1e-4, atol=tolerance)


def test_resuming_gives_the_same_bits(tmp_path):
    from rllc.store.checkpoints import load, save

    whole = run([0, 7, 12, 25])
    killed = train(
        initial_weights(MODEL, seed=0), shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1),
        checkpoints=[0, 5, 12], **RECIPE,
    )  # fmt: skip
    kept = [next(killed), next(killed)][-1]
    killed.close()
    save(kept.state, tmp_path / "state.safetensors", {"step": kept.step})
    state = load(tmp_path / "state.safetensors")
    resumed = run([7, 12, 25], state=state)
    assert list(resumed) == [7, 12, 25]
    for step, at in resumed.items():
        assert same(at.weights, whole[step].weights)
        assert same(at.state, whole[step].state)
        np.testing.assert_array_equal(at.losses, whole[step].losses)


def test_a_state_may_be_asked_for_again_and_is_not_used_up():
    state = run([9])[9].state
    before = {name: w.clone() for name, w in state.items()}
    first, second = (run([9, 11], state=state) for _ in range(2))
    assert same(first[9].state, state)
    assert same(first[11].state, second[11].state)
    assert same(state, before)


def test_checkpoints_do_not_depend_on_which_are_asked_for_nor_on_reading_them():
    alone = run([11])[11]
    among = {}
    start = initial_weights(MODEL, seed=0)
    batches = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1)
    for at in train(start, batches, checkpoints=[11, 0, 3, 3, 10], **RECIPE):
        among[at.step] = {name: w.clone() for name, w in at.weights.items()}
        for w in [*at.weights.values(), *at.state.values()]:
            w.zero_()
    assert list(among) == [0, 3, 10, 11]
    assert same(among[0], start)
    assert same(among[11], alone.weights)
    assert not same(among[10], among[11])


def test_losses_are_those_of_the_minibatches_before_their_updates():
    checkpoints = run([0, 1, 2, 3])
    batches = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1)
    expected = [RECIPE["loss"](checkpoints[step].weights, batches(step)).item() for step in range(3)]
    assert checkpoints[3].losses.dtype == np.float32
    np.testing.assert_allclose(checkpoints[3].losses, expected, rtol=1e-6)
    assert checkpoints[0].losses.shape == (0,)


def test_training_lowers_the_loss_and_reports_it():
    seen = []
    at = run([30], report=lambda done, loss: seen.append((done, loss)))[30]
    assert at.losses[-5:].mean() < at.losses[:5].mean() - 0.02
    assert seen == [(step + 1, loss) for step, loss in enumerate(at.losses.tolist())]


def test_epochs_are_permutations_and_steps_stand_alone():
    batches = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1)
    rows = [tuple(row) for step in range(5) for row in batches(step).contexts.tolist()]
    assert sorted(rows) == sorted(map(tuple, CONTEXTS.tolist()))
    second = [tuple(row) for step in range(5, 10) for row in batches(step).contexts.tolist()]
    assert sorted(second) == sorted(rows)
    assert second != rows
    fresh = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1)
    assert torch.equal(fresh(7).contexts, batches(7).contexts)
    again = [tuple(row) for step in range(5) for row in batches(step).contexts.tolist()]
    assert again == rows, "an earlier epoch after a later one"
    assert not torch.equal(
        shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=2)(7).contexts, batches(7).contexts
    )
    odd = shuffled_batches(
        Examples(CONTEXTS), batch_size=12, seed=1
    )  # three batches of 12 leave 4 contexts over
    assert odd(2).contexts.shape == odd(3).contexts.shape == (12, 12)
    torch.testing.assert_close(odd(3).targets, odd(3).contexts[:, 1:])


def test_rate_factor():
    assert [rate_factor(s, steps=8, warmup=4) for s in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert [rate_factor(s, steps=8, warmup=4, schedule="linear") for s in (3, 4, 6, 7)] == [1, 1, 0.5, 0.25]
    assert rate_factor(0, steps=5, schedule="linear") == 1
    law = {"steps": 8, "warmup": 4, "schedule": "linear", "end_rate": 0.2}
    assert [rate_factor(s, **law) for s in (3, 4, 6, 8)] == pytest.approx([1, 1, 0.6, 0.2])


def test_a_loss_that_is_not_finite_is_named():
    def breaks(weights, batch):
        return pull(weights, batch) * (float("nan") if batch.value == 3 else 1.0)

    going = train(
        {"w": torch.ones(2)}, lambda step: Target(torch.tensor(float(step))), loss=breaks, steps=9,
        checkpoints=[0, 2, 3, 6], learning_rate=1e-3, warmup=2,
    )  # fmt: skip
    assert [next(going).step for _ in range(3)] == [0, 2, 3]
    with pytest.raises(TrainingDiverged, match=r"loss of update 3 is nan, at learning rate 0.001\..*Lower"):
        next(going)


def test_a_weight_that_is_not_finite_is_in_no_checkpoint():
    def corner(weights, batch):
        return weights["w"].sqrt().sum()  # value 0, slope infinite

    going = train(
        {"w": torch.zeros(2)}, lambda step: Target(torch.zeros(())), loss=corner, steps=1,
        checkpoints=[0, 1], learning_rate=1e-3,
    )  # fmt: skip
    next(going)
    with pytest.raises(TrainingDiverged, match="w is not finite after 1 updates"):
        next(going)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "sgd"}, "unknown optimizer 'sgd': expected one of adamw, adam"),
        ({"schedule": "cosine"}, "unknown schedule 'cosine': expected one of constant, linear"),
        ({"precision": "fp8"}, "unknown precision 'fp8': expected one of fp32, tf32, bf16"),
        ({"precision": "tf32"}, '"tf32" needs a CUDA device, not cpu'),
        ({"checkpoints": [31]}, "checkpoints 31 to 31 are not within 0 to 30"),
        ({"checkpoints": []}, "checkpoints is empty"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        run(**{"checkpoints": [2], **changes})


def test_a_state_of_another_model_or_a_later_step_is_refused():
    state = run([4])[4].state
    with pytest.raises(
        ValueError, match=r"checkpoints 2 to 9 are not within 4 to 30.*resume from an earlier"
    ):
        run([2, 9], state=state)
    del state["exp_avg/embed.W_E"]
    with pytest.raises(ValueError, match="the exp_avg in the state do not fit"):
        run([9], state=state)


def test_too_few_contexts():
    with pytest.raises(ValueError, match="40 contexts are too few for one batch of 41"):
        shuffled_batches(Examples(CONTEXTS), batch_size=41, seed=0)


def test_bf16_stays_close_and_keeps_weights_in_fp32():
    exact, rough = run([10])[10], run([10], precision="bf16")[10]
    np.testing.assert_allclose(rough.losses, exact.losses, rtol=2e-2)
    assert not same(rough.weights, exact.weights)
    assert {w.dtype for w in rough.weights.values()} == {torch.float32}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_a_gpu_agrees_and_resumes(precision):
    here = run([30])[30]
    there = run([5, 30], device="cuda", precision=precision)
    np.testing.assert_allclose(there[30].losses, here.losses, rtol=1e-4 if precision == "fp32" else 3e-2)
    resumed = run([30], device="cuda", precision=precision, state=there[5].state)
    np.testing.assert_allclose(resumed[30].losses, there[30].losses, rtol=1e-5)
    assert all(w.device.type == "cpu" for w in there[30].state.values())


def test_fresh_batches_are_new_in_every_step_and_the_same_again():
    def generate(count, *, seed, low):
        values = np.random.default_rng(seed).integers(low, 1000, (count, 4))
        return Examples(values, positions=np.array([1, 3]), targets=-values)

    batches = fresh_batches(generate, {"low": 10}, batch_size=3, seed=1)
    other = fresh_batches(generate, {"low": 10}, batch_size=3, seed=2)
    for step in (0, 7):
        assert torch.equal(batches(step).contexts, batches(step).contexts)
        assert not torch.equal(batches(step).contexts, other(step).contexts)
        assert torch.equal(batches(step).targets, -batches(step).contexts[:, [1, 3]])
    assert not torch.equal(batches(0).contexts, batches(1).contexts)


def test_the_order_of_an_epoch_is_of_a_stream_for_that_alone():
    batches, per_epoch = shuffled_batches(Examples(CONTEXTS), batch_size=8, seed=1), len(CONTEXTS) // 8
    for epoch in range(2):
        first = generator(1, "training order", epoch).permutation(len(CONTEXTS))[:8]
        np.testing.assert_array_equal(batches(epoch * per_epoch).contexts, CONTEXTS[first])
