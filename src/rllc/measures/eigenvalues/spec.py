"""Largest eigenvalues of the Hessian: config and spec."""

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost
from rllc.study.specs import MeasureSpec, Variable, Work
from rllc.study.values import STAGE, Count, Distinct, Name, Share
from rllc.units import NATS

PRODUCTS = 40  # of a Hessian with a vector, until three eigenvalues are known to a thousandth


class Eigenvalues(ConfigModel):
    """The largest eigenvalues of the Hessian."""

    count: Count = config_field("how many", source=f"{STAGE}, Fig. 6b: 3")
    contexts: Count = config_field(
        "contexts of the one minibatch", source=f"{STAGE}, App. C.2: 1,024 samples"
    )
    scored_positions: Count | None = config_field("as in sampling", default=None)
    tolerance: Share = config_field("relative accuracy", default=1e-3)
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )


def _cost(work: Work[Eigenvalues]) -> Cost:
    size = (work.section.contexts, work.section.scored_positions)
    seconds = len(work.steps) * PRODUCTS * 4 * work.forward(*size)
    return Cost(START + seconds, 1200 + 20 * work.logits(*size))


MEASURE = MeasureSpec(
    name="eigenvalues",
    section=Eigenvalues,
    about="largest eigenvalues of the Hessian",
    kernel="rllc.measures.eigenvalues.kernel:eigenvalues",
    variables={
        "hessian_eigenvalue": Variable("largest eigenvalues of the Hessian of the loss", NATS, ("rank",)),
        "hessian_products": Variable("products with the Hessian that the eigenvalues took", "1"),
    },
    cost=_cost,
    stream="eigenvalues",
)
