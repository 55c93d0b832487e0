import numpy as np
import pytest
import torch
import xarray as xr
from hooked import as_hooked
from intervals import coverages
from scipy import stats

from rllc.measures.metrics.kernel import evaluate
from rllc.models.attention_only import AttentionOnly
from rllc.models.model import TaughtBatches
from rllc.models.transformer import Architecture, forward, shapes
from rllc.models.weights import weight_norm
from rllc.tasks.batch import next_token_batch

ARCHITECTURE = Architecture(n_layers=2, n_heads=2, d_model=12, d_head=4, n_ctx=10, d_vocab=11)
MODEL = AttentionOnly(ARCHITECTURE)


def random_weights(seed: int = 0) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=random) for name, shape in shapes(ARCHITECTURE).items()}


@pytest.fixture
def contexts() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 11, (7, 10))


def test_equal_to_transformer_lens_whatever_the_batches(contexts):
    weights = random_weights()
    with torch.no_grad():
        hooked = as_hooked(weights, ARCHITECTURE)
        expected = hooked(torch.from_numpy(contexts), return_type="loss", loss_per_token=True).numpy()
    batches = [next_token_batch(part, np.arange(9)) for part in (contexts[:4], contexts[4:6], contexts[6:])]
    got = evaluate(weights, batches, model=MODEL, early=1, late=[6, 8])
    assert got.loss_by_position.dims == ("position",)
    assert list(got.position.values) == list(range(9))
    np.testing.assert_allclose(got.loss_by_position, expected.mean(0), rtol=1e-5)
    assert float(got.loss) == pytest.approx(expected.mean(), rel=1e-5)
    assert got.loss_by_position_se.dims == ("position",)
    np.testing.assert_allclose(got.loss_by_position_se, stats.sem(expected), rtol=1e-4)
    assert float(got.loss_se) == pytest.approx(stats.sem(expected.mean(1)), rel=1e-4)
    late = expected[:, [6, 8]].mean()
    assert float(got.icl_score) == pytest.approx(late - expected[:, 1].mean(), abs=1e-5)
    gaps = expected[:, [6, 8]].mean(1) - expected[:, 1]
    assert float(got.icl_score_se) == pytest.approx(stats.sem(gaps), rel=1e-4)


def test_intervals_contain_the_values_of_all_contexts():
    weights = random_weights()
    population = np.random.default_rng(1).integers(0, 11, (2000, 10))
    said = MODEL.outputs(weights, next_token_batch(population, np.arange(9))).argmax(-1)
    right = torch.from_numpy(np.random.default_rng(2).random(2000) < 0.5)  # the contexts that are all right
    targets = torch.where(right[:, None], said, torch.from_numpy(population[:, 1:]))

    def of(rows: np.ndarray) -> xr.Dataset:
        batches = [
            next_token_batch(population[part], np.arange(9))._replace(targets=targets[part])
            for part in np.split(rows, 2)
        ]
        found = evaluate(weights, batches, model=MODEL, early=1, late=8, accuracy=True)
        return found.sel(position=4)

    names = ("loss", "loss_by_position", "icl_score", "accuracy", "sequence_accuracy")
    truth = {name: float(value) for name, value in of(np.arange(2000))[list(names)].items()}
    found = coverages(
        lambda seed: of(np.random.default_rng(seed + 3).integers(0, 2000, 64)), truth, redraws=200, units=64
    )
    assert all(0.89 < share < 0.99 for share in found.values()), found


def test_one_context_has_values_and_no_errors(contexts):
    batches = [next_token_batch(contexts[:1], np.arange(9))]
    found = evaluate(random_weights(), batches, model=MODEL, early=1, late=8, accuracy=True)
    for name, values in found.items():
        assert np.isnan(values).all() == str(name).endswith(("_se", "_by_block")), name


def test_a_model_has_no_loss_against_itself(contexts):
    weights = random_weights()
    batches = TaughtBatches([next_token_batch(contexts, np.arange(9))], weights, MODEL)
    got = evaluate(weights, batches, model=MODEL, early=0, late=8)
    np.testing.assert_allclose(got.loss_by_position, 0, atol=1e-5)
    other = evaluate(random_weights(1), batches, model=MODEL, early=0, late=8)
    assert np.all(other.loss_by_position > 0)


def test_a_teacher_is_asked_again_only_where_its_predictions_have_no_room(contexts, monkeypatch):
    asked = []

    class Teacher(AttentionOnly):
        def predictions(self, weights, batch):
            asked.append(len(batch.contexts))
            return super().predictions(weights, batch)

    batches = [next_token_batch(contexts[part], np.arange(9)) for part in (slice(0, 4), slice(4, 7))]
    monkeypatch.setattr(TaughtBatches, "KEPT", 4 * 9 * MODEL.architecture.d_vocab * 4)  # of the first
    taught = TaughtBatches(batches, random_weights(), Teacher(MODEL.architecture))
    first, again = list(taught), list(taught)
    assert asked == [4, 3, 3]
    for batch, one, other in zip(batches, first, again, strict=True):
        assert torch.equal(one.targets, MODEL.predictions(random_weights(), batch))
        assert torch.equal(one.targets, other.targets)
    with pytest.raises(IndexError):
        taught[2]


def test_weight_norm():
    assert weight_norm({"a": torch.full((2, 2), 2.0), "b": torch.tensor([3.0])}) == 5.0
    weights = random_weights()
    everything = torch.cat([w.flatten() for w in weights.values()])
    assert weight_norm(weights) == pytest.approx(everything.norm().item(), rel=1e-6)


def test_bad_input_is_refused(contexts):
    weights = random_weights()
    batches = [next_token_batch(contexts, np.arange(9)), next_token_batch(contexts, np.arange(1, 9))]
    with pytest.raises(ValueError, match="different positions"):
        evaluate(weights, batches, model=MODEL, early=1, late=8)
    with pytest.raises(ValueError, match=r"late = 9 .* \(0 .. 8\)"):
        evaluate(weights, batches[:1], model=MODEL, early=1, late=9)
    with pytest.raises(ValueError, match="early = "):
        evaluate(weights, batches[:1], model=MODEL, early=[], late=8)
    with pytest.raises(ValueError, match="no batches"):
        evaluate(weights, [], model=MODEL, early=1, late=8)


def test_accuracy_counts_predictions_and_whole_contexts(contexts):
    """By the logits of one context at a time; three contexts are made right throughout."""
    weights, rows = random_weights(), torch.from_numpy(contexts)
    said = torch.stack([forward(weights, row[None], ARCHITECTURE)[0, :9].argmax(-1) for row in rows])
    wanted = torch.where(torch.arange(7)[:, None] < 3, said, rows[:, 1:])
    batches = [
        next_token_batch(contexts[part], np.arange(9))._replace(targets=wanted[part])
        for part in (slice(0, 4), slice(4, 7))
    ]
    found = evaluate(weights, batches, model=MODEL, accuracy=True)
    right = (said == wanted).tolist()
    assert found["accuracy"].item() == pytest.approx(sum(map(sum, right)) / 63)
    assert found["sequence_accuracy"].item() == pytest.approx(sum(map(all, right)) / 7)
    assert 3 / 7 <= found["sequence_accuracy"].item() < found["accuracy"].item() < 1
    shares = [sum(row) / 9 for row in right]
    assert found["accuracy_se"].item() == pytest.approx(stats.sem(shares))
    assert found["sequence_accuracy_se"].item() == pytest.approx(stats.sem([all(row) for row in right]))
    assert "icl_score" not in found


def test_probabilities_have_no_accuracy(contexts):
    weights = random_weights()
    batches = TaughtBatches([next_token_batch(contexts, np.arange(9))], weights, MODEL)
    with pytest.raises(ValueError, match="probabilities have no accuracy"):
        evaluate(weights, batches, model=MODEL, accuracy=True)


def test_blocks_of_contexts_have_the_mean_of_all():
    contexts = np.random.default_rng(0).integers(0, 11, (32, 10))
    batches = [next_token_batch(part, np.arange(9)) for part in np.split(contexts, 4)]
    got = evaluate(random_weights(), batches, model=MODEL, early=1, late=[6, 8])
    first = evaluate(
        random_weights(), [next_token_batch(contexts[:2], np.arange(9))], model=MODEL, early=1, late=[6, 8]
    )
    for name in ("loss", "icl_score"):
        assert got[f"{name}_by_block"].dims == ("block",)
        assert float(got[f"{name}_by_block"].mean()) == pytest.approx(float(got[name]), rel=1e-6)
        assert float(got[f"{name}_by_block"][0]) == pytest.approx(float(first[name]), rel=1e-5)
