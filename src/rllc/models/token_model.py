"""What all families that predict tokens by logits have in common."""

from torch import Tensor, softmax

from rllc.models.loss import token_losses
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch


class TokenModel:
    """Losses and predictions of a model, from its logits."""

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Return logits: [batch, scored, vocab]."""
        raise NotImplementedError

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each prediction, nats/token."""
        return token_losses(outputs, targets)

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the mean loss over a batch's contexts and scored positions, nats/token."""
        return self.losses(self.outputs(weights, batch), batch.targets).mean()

    def context_losses(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the mean loss of each context over the scored positions, nats/token: [batch]."""
        return self.losses(self.outputs(weights, batch), batch.targets).mean(-1)

    def predictions(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the probabilities of the next token: [batch, scored, vocab]."""
        return softmax(self.outputs(weights, batch), -1)
