"""Claims of arXiv 2402.02364 on the stages of development of language models of one and two layers.

Texts are ours, close to the paper's words, and ``source`` names its section. Thresholds come from the
paper's words and were fixed before a result of this code was seen. ``published`` is the value of the same
statistic on the authors' own data (github.com/timaeus-research/icl, branch submission, commit 8a8b588).
docs/stages.md describes their curves.

The LLC is that of the setting by which the experiment tells stages (``run.experiment.setting``), on the
distribution that ``run.text`` names. Claims of our own repeat some of it at the base setting.

A verdict is of seeds: where a claim speaks of some seeds, it holds as claimed if the verdict is "half".
"""

from rllc.claims.parts import parts_of

PARTS = parts_of(__name__, __path__)
