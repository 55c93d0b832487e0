"""How many tokens in context are kept of every head."""

import pytest

from rllc.measures.tokens.spec import MEASURE
from rllc.study import defaults
from rllc.study.config_model import ConfigError
from rllc.study.reading import read
from rllc.study.study import work


def told(**section):
    config = defaults.load([])
    config["experiments"]["language"]["tokens"] |= section
    study = read(config)
    experiment = study.experiments["language"]
    return MEASURE.settings(work(study, experiment, experiment.tokens, [6500]))


@pytest.mark.parametrize(
    ("share", "top", "kept"), [(1e-4, 1000, 95), (1e-4, 50, 50), (0.01, 1000, 1000), (None, 1000, 1000)]
)
def test_kept_tokens_are_at_most_top_and_at_most_a_share_of_those_searched(share, top, kept):
    assert told(searched=7500, share=share, top=top)["top"] == kept  # of 127 tokens a context


def test_a_share_that_keeps_almost_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"tokens\.share: it keeps 9 tokens"):
        told(searched=7500, share=1e-5)
