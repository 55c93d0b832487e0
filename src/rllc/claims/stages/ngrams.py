"""Claims on bigrams and n-grams."""

import xarray as xr

from rllc.analysis.curves import last, minimum, minimum_step, ratio_at, rise
from rllc.claims.claim import claim
from rllc.claims.run import Run
from rllc.claims.stages.curves import END, LM1_END, LM2_END, one_layer, two_layers

ORDER = 3  # place of these claims among those of the work

SEVERAL = 'It was at least 2. "Several times" is more than twice: now it is at least 3.'


def _ngram_score(run: Run, n: int) -> xr.DataArray:
    return run.curve("ngrams.ngram_score", n=n, distribution=run.text)


@claim(
    "The least bigram score is only 0.3 nats above the bigrams' entropy",
    source="§5.1",
    name="bigram_excess",
    label="least bigram score less the bigrams' entropy",
    unit="nats/token",
    at_most=0.35,
    where=two_layers,
    published="0.33",
)
def bigram_minimum_excess(run: Run) -> xr.DataArray:
    """Return the least bigram score less the entropy of bigrams."""
    return minimum(run.curve("ngrams.bigram_excess", distribution=run.text))


@claim(
    "After the least bigram score, the predictions move away from bigrams",
    source="Fig. 4a",
    name="bigram_departs",
    label="rise of the bigram score from its least value",
    unit="nats/token",
    at_least=0.2,
    where=two_layers,
    published="1.30",
)
def bigram_departure(run: Run) -> xr.DataArray:
    """Return the bigram score at the end less its least value."""
    return rise(run.curve("ngrams.bigram_score", distribution=run.text))


@claim(
    "The bigram score is least at the same checkpoint with one layer as with two",
    source="B.5",
    name="one_layer_same",
    label="step of the least bigram score",
    unit="steps",
    at_least=0.87,
    at_most=1.15,
    where=one_layer,
    versus="language",
    ratio=True,
    published="1 (step 700 for both)",
)
def bigram_minimum_step(run: Run) -> xr.DataArray:
    """Return the checkpoint of the least bigram score."""
    return minimum_step(run.curve("ngrams.bigram_score", distribution=run.text))


@claim(
    "The 3-gram score rises to several times that of text",
    source="§5.2",
    label="3-gram score at the end",
    at_least=3,
    where=two_layers,
    published="4.05 (3.85 as they align it)",
    correction=SEVERAL,
)
def ngram3(run: Run) -> xr.DataArray:
    """Return the 3-gram score at the end."""
    return last(_ngram_score(run, 3))


@claim(
    "The 4-gram score rises to several times that of text",
    source="§5.2",
    label="4-gram score at the end",
    at_least=3,
    where=two_layers,
    published="3.97 (3.86 as they align it)",
    correction=SEVERAL,
)
def ngram4(run: Run) -> xr.DataArray:
    """Return the 4-gram score at the end."""
    return last(_ngram_score(run, 4))


@claim(
    "The 3-gram score improves much in LM2",
    source="§5.2",
    name="ngram3_in_LM2",
    label="3-gram score at step 6,500 over that at 900",
    at_least=1.5,
    where=two_layers,
    reached=END,
    published="2.7",
)
def ngram3_lm2(run: Run) -> xr.DataArray:
    """Return the 3-gram score at the end of LM2 over that at its beginning."""
    return ratio_at(_ngram_score(run, 3), LM1_END, LM2_END)


@claim(
    "The 4-gram score improves much in LM2",
    source="§5.2",
    name="ngram4_in_LM2",
    label="4-gram score at step 6,500 over that at 900",
    at_least=1.5,
    where=two_layers,
    reached=END,
    published="2.3",
)
def ngram4_lm2(run: Run) -> xr.DataArray:
    """Return the 4-gram score at the end of LM2 over that at its beginning."""
    return ratio_at(_ngram_score(run, 4), LM1_END, LM2_END)
