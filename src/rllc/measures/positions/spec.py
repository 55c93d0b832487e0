"""Loss without W_pos, and principal components of W_pos: config and spec."""

from rllc.study.config_model import config_field
from rllc.study.contexts import OnContexts
from rllc.study.specs import MeasureSpec, Variable
from rllc.study.values import Distinct, Step
from rllc.units import NATS

BY_POSITION = [0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000]


class Positions(OnContexts):
    """Loss without W_pos, and the principal components of W_pos."""

    at: Distinct[Step] = config_field(
        "positions whose losses are kept, those that a context has", min_length=1, default=BY_POSITION
    )


MEASURE = MeasureSpec(
    name="positions",
    section=Positions,
    about="loss without W_pos, and principal components of W_pos",
    kernel="rllc.measures.positions.kernel:positions",
    variables={
        "loss": Variable("loss, mean over all positions", NATS),
        "loss_se": Variable("standard error over contexts of the loss", NATS, over="contexts"),
        "ablated_loss": Variable("loss with zeros for W_pos, mean over all positions", NATS),
        "ablated_loss_se": Variable(
            "standard error over contexts of the loss with zeros for W_pos", NATS, over="contexts"
        ),
        "position_gain": Variable("loss with zeros for W_pos minus the loss", NATS),
        "position_gain_se": Variable("standard error over contexts of position_gain", NATS, over="contexts"),
        "loss_at": Variable("loss of the prediction made at a position", NATS, ("at",)),
        "loss_at_se": Variable(
            "standard error over contexts of the loss at a position", NATS, ("at",), over="contexts"
        ),
        "ablated_loss_at": Variable(
            "loss of the prediction made at a position, with zeros for W_pos", NATS, ("at",)
        ),
        "ablated_loss_at_se": Variable(
            "standard error over contexts of the loss at a position with zeros for W_pos",
            NATS,
            ("at",),
            over="contexts",
        ),
        "position_score": Variable(
            "score of a row of W_pos on a principal component", "1", ("component", "position")
        ),
        "explained_variance": Variable(
            "share of the variance of W_pos of a principal component", "1", ("component",)
        ),
        "position_norm": Variable("norm of a row of W_pos", "1", ("position",)),
    },
    requires=("attention", "learned_positions", "positions", "tokens"),
)
