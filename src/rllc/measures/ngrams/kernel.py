"""How far a checkpoint is a bigram model, and what it knows of common n-grams (arXiv 2402.02364, App. B.3).

The prediction made at position p, 0 being BOS, is scored on token p + 1.
"""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from tokenizers import Tokenizer
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.measures.errors import block_ratios, error_of_mean, error_of_ratio
from rllc.models.loss import token_losses
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import generator
from rllc.tasks.batch import Batch, next_token_batch
from rllc.tasks.language.tokenizer import learnt

ORDERS = (2, 3, 4)
SPACE = " "
DENSE = 2**14  # tokens up to which the shares of all pairs are one matrix


def ngrams(
    data: Data, *, contexts: int, batch_size: int, vocabulary: int, per_order: int, text_blocks: int
) -> Measurement:
    """Bigram score and n-gram losses; bigrams of all training blocks, n-grams of ``text_blocks`` of them."""
    batches = data.batches("metrics", count=contexts // batch_size, batch_size=batch_size, scored=None)
    training, tokenizer = data.training_contexts(), data.encoder
    known = bigrams(training, int(max(training.max(), *(int(b.contexts.max()) for b in batches))) + 1)
    several = generator(0, "text").permutation(len(training))[:text_blocks]
    texts = tokenizer.decode_batch(training[np.sort(several)].tolist(), skip_special_tokens=True)
    grams = common_ngrams(tokenizer, texts, vocabulary=vocabulary, per_order=per_order)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        score = bigram_score(weights, batches, known, model=model)
        return score.merge(ngram_losses(weights, grams, batches, model=model, bos=data.bos))

    return measure


class SparseBigrams:
    """The matrix of ``bigrams`` of a large vocabulary, of which only the rows asked for are made."""

    def __init__(self, pairs: np.ndarray, size: int):
        """Count pairs, each ``token * size + next``."""
        self._size = size
        pairs, counts = np.unique(pairs, return_counts=True)
        before, after = np.divmod(pairs, size)
        self._first = np.searchsorted(before, np.arange(size + 1))  # where the pairs of a token begin
        self._after, self._counts = after, counts.astype(np.float32)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, tokens: Tensor) -> Tensor:
        """Return the rows of tokens [n]: [n, size]."""
        rows = torch.zeros(len(tokens), self._size)
        for row, token in zip(rows, tokens.tolist(), strict=True):
            own = slice(self._first[token], self._first[token + 1])
            row[self._after[own]] = torch.from_numpy(self._counts[own])
        return (rows / rows.sum(1, keepdim=True).clamp(min=1)).to(tokens.device)


def bigrams(contexts: np.ndarray, size: int) -> Tensor | SparseBigrams:
    """Return shares q(next | token) of the tokens that follow each, unsmoothed: float32 [size, size].

    The row of a token that is never followed by one is zero. The first position, BOS, counts for nothing.
    """
    pairs = contexts[:, 1:-1].astype(np.int64) * size + contexts[:, 2:]
    if size > DENSE:
        return SparseBigrams(pairs.ravel(), size)
    counts = torch.from_numpy(np.bincount(pairs.ravel(), minlength=size**2).reshape(size, size)).float()
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


@torch.no_grad()
def bigram_score(
    weights: Weights, batches: Sequence[Batch], known: Tensor | SparseBigrams, *, model: Model
) -> xr.Dataset:
    """Cross-entropy -sum_v q(v | token) ln p(v | context) of the predictions after each token, and its bound.

    The mean is over all scored positions but that of BOS, where the token has a successor in ``known``
    ([vocab, vocab]). No prediction scores less than ``bigram_entropy``, the mean entropy of q there.

    Returns ``bigram_score``, ``bigram_entropy`` and their difference ``bigram_excess`` (no dims), nats/token,
    and each one's ``_se``, the standard error over contexts, given ``known``. Score and difference also have
    ``_by_block``, of blocks of contexts.
    """
    total, entropy, count = 0.0, 0.0, 0
    of_contexts = []
    if isinstance(known, Tensor):
        known = known.to(batches[0].contexts.device)
    for batch in batches:
        where = batch.positions[batch.positions > 0]
        outputs = model.outputs(weights, batch._replace(positions=where)).log_softmax(-1)
        tokens = batch.contexts[:, where]
        for context, log_p in zip(tokens, outputs, strict=True):
            shares = known[context]
            seen = shares.sum(1) > 0
            score = -float((shares * log_p[:, : len(known)]).sum(-1)[seen].double().sum())
            entropies = torch.special.entr(shares).sum(1)
            least, here = float(entropies[seen].double().sum()), int(seen.sum())
            total, entropy, count = total + score, entropy + least, count + here
            of_contexts.append((score, least, score - least, here))
    *sums, counts = np.asarray(of_contexts).T
    names = ("bigram_score", "bigram_entropy", "bigram_excess")
    means = (total / count, entropy / count, total / count - entropy / count)
    errors = {f"{name}_se": error_of_ratio(each, counts) for name, each in zip(names, sums, strict=True)}
    blocks = {
        f"{name}_by_block": ("block", block_ratios(each, counts))
        for name, each in zip(names, sums, strict=True)
        if name != "bigram_entropy"  # the same at every checkpoint
    }
    return xr.Dataset({**dict(zip(names, means, strict=True)), **errors, **blocks})


def common_ngrams(
    tokenizer: Tokenizer, texts: Sequence[str], *, vocabulary: int, per_order: int
) -> dict[int, np.ndarray]:
    """The first ``per_order`` n-grams of tokens for each n of ``ORDERS``: int64 [grams, n].

    They are the entries of a larger byte-level BPE, learnt on ``texts``, that the tokenizer splits into n
    tokens, in the order in which they were learnt, which is about that of how common they are. Entries with a
    lone space, and those that are no whole characters, are left out.
    """
    larger = learnt(texts, vocabulary)
    entries = [larger.decode([token]) for token in range(larger.get_vocab_size())]
    split = [tokenizer.encode(text, add_special_tokens=False).ids for text in entries if "�" not in text]
    alone = tokenizer.encode(SPACE, add_special_tokens=False).ids
    whole = [tokens for tokens in split if not (len(alone) == 1 and alone[0] in tokens)]
    orders = {n: [tokens for tokens in whole if len(tokens) == n][:per_order] for n in ORDERS}
    return {n: np.asarray(tokens, dtype=np.int64).reshape(-1, n) for n, tokens in orders.items()}


@torch.no_grad()
def ngram_losses(
    weights: Weights, grams: dict[int, np.ndarray], batches: Sequence[Batch], *, model: Model, bos: int | None
) -> xr.Dataset:
    """Loss on the last token of common n-grams, and of text at the same place.

    ``ngram_loss``      mean loss of g_n after BOS, g_1 .. g_{n-1}; without a BOS (None) after the others
    ``ngram_baseline``  mean loss of the prediction at the same position of the contexts of ``batches``
    ``ngram_score``     baseline / loss. The authors take the baseline one position later.

    Returns these (n), the losses in nats/token; NaN where there is no such n-gram. ``ngram_loss_se`` is the
    standard error over n-grams, taken as a sample of common ones, ``ngram_baseline_se`` over contexts.
    ``ngram_score_se`` is to first order of both, which are independent. An error is NaN where there are
    fewer than two n-grams or contexts.
    """
    place = batches[0].contexts.device
    losses, baselines, errors = [], [], []
    for tokens in grams.values():
        common = tokens if bos is None else np.hstack([np.full((len(tokens), 1), bos), tokens])
        length = common.shape[1]
        # What follows a prediction does not change it, so that contexts end where it is scored.
        texts = np.concatenate([batch.contexts[:, :length].cpu().numpy() for batch in batches])
        for contexts, means in ((common, losses), (texts, baselines)):
            batch = Batch(*(part.to(place) for part in next_token_batch(contexts, np.array([length - 2]))))
            found = _losses(weights, batch, model)
            means.append(float(found.mean()) if len(contexts) else float("nan"))
            errors.append(error_of_mean(found[:, 0].cpu().numpy()))
    of_loss, of_baseline = errors[::2], errors[1::2]
    loss, baseline, loss_se, baseline_se = (
        xr.DataArray(v, {"n": list(grams)}, ["n"]) for v in (losses, baselines, of_loss, of_baseline)
    )
    score = baseline / loss
    relative = np.hypot(loss_se / loss, baseline_se / baseline)
    return xr.Dataset(
        {
            "ngram_loss": loss,
            "ngram_loss_se": loss_se,
            "ngram_baseline": baseline,
            "ngram_baseline_se": baseline_se,
            "ngram_score": score,
            "ngram_score_se": score * relative,
        }
    )


def _losses(weights: Weights, batch: Batch, model: Model) -> Tensor:
    return token_losses(model.outputs(weights, batch), batch.targets).double()
