"""Claims about in-context linear regression, and its stages by the local learning coefficient (LLC).

The work is arXiv 2402.02364 (Sec. 6, App. C). Texts are ours, close to the paper's words, and ``source``
names the section. Thresholds come from these words and were fixed before a result of this code was seen.
``published`` says what the same number is by the authors' own curves (``rllc.claims.published``).
``correction`` says what was changed since, and why.

Claims that name steps of the paper speak of its 500,000 steps. Shorter trainings are not judged by them.
"""

from rllc.claims.parts import parts_of

PARTS = parts_of(__name__, __path__)
