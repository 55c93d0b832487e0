"""Refined LLC of the components that are listed: row."""

from rllc.study.rows import Variable
from rllc.study.sampling import by_type, estimates, sampling_row

MEMBERS = Variable("label sampled: of a type, its heads", "1", ("component",), optional="with types of heads")
MEASURE = sampling_row(
    "other",
    "refined LLC of other components, with the control",
    estimates("rllc", "component") | {"members": MEMBERS},
    after=("attention_scores",),
    after_where=by_type,
)
