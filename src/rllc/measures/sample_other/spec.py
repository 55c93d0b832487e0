"""Refined LLC of the components that are listed: spec."""

from rllc.study.sampling import by_type, estimates, sampling_spec
from rllc.study.specs import Variable

MEMBERS = Variable("label sampled: of a type, its heads", "1", ("component",), optional="with types of heads")
MEASURE = sampling_spec(
    "other",
    "refined LLC of other components, with the control",
    estimates("rllc", "component") | {"members": MEMBERS},
    after=("attention_scores",),
    after_where=by_type,
)
