"""Claims of the post on list sorting, and of its other algorithmic transformers.

The post is "Measuring Structure Development in Algorithmic Transformers" (Alignment Forum, August 2024).
Texts are ours, close to its words, and ``source`` names its section. Thresholds were fixed before a result
of this code was seen. Where a prototype had shown something, the words of the post decided.
docs/sorting.md says what was changed since.

Each claim is about one experiment of config/sorting.yaml, by its name.

The LLC is read from step 50 on, because the LLC of random weights is no stage of the training. Its largest
value is that of means over three neighbouring checkpoints (a factor of 2.5 to 4 in steps). The largest of
noisy estimates lies above what they estimate, and a flat LLC would seem to fall by 5 % in half of the
seeds. The price is that a fall at the very end shows only in part. ``llc_fall_single`` is the same fall by
single checkpoints.
"""

from rllc.claims.parts import parts_of

PARTS = parts_of(__name__, __path__)
