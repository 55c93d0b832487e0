"""Claims of arXiv 2410.02984, "Differentiation and Specialization of Attention Heads via the Refined LLC".

Thresholds come from the paper's words. Where these are vague ("tight", "similar") the number is ours. All
were fixed before a result of this study was seen, except a few that prototypes had shown at seed 0
(docs/heads.md names them). "Early" ends before a head's prefix-matching score rises towards
``INDUCTION_BEGINS`` (``rllc.claims.heads.curves.before_induction``). Types of heads are those of their
attention scores at the last checkpoint.

Claims are about language models of two layers or more.
"""

from rllc.claims.parts import parts_of

PARTS = parts_of(__name__, __path__)
