"""The layers and the unembedding of a transformers model, and which of them each weight belongs to."""

from torch import nn

from rllc.models.huggingface.model import HuggingFaceModel


class Places:
    """The parts of a model that run one after the other.

    layers       its layers, in order; none where they cannot be found
    unembedding  the module that gives the logits; None where it is not a matrix product
    names        the names of the weights of this module
    """

    def __init__(self, model: HuggingFaceModel):
        try:
            self.layers: list[nn.Module] = [layer.module for layer in model.components.layers]
        except ValueError:
            self.layers = []
        module = model.module
        name_of = {id(weight): name for name, weight in module.named_parameters()}
        last = module.get_output_embeddings()  # pyright: ignore[reportCallIssue]
        self.unembedding = last if isinstance(last, nn.Linear) else None
        own = () if self.unembedding is None else self.unembedding.named_parameters()
        self.names = {part: name_of[id(weight)] for part, weight in own}
        inner = {
            name_of[id(weight)]: index
            for index, layer in enumerate(self.layers)
            for weight in layer.parameters()
        }
        first = module.get_input_embeddings().parameters()  # pyright: ignore[reportCallIssue]
        tied = {name_of[id(weight)]: 0 for weight in first}
        self._layer_of = dict.fromkeys(self.names.values(), len(self.layers)) | inner | tied

    def layer_of(self, name: str) -> int:
        """Return the first layer that a weight acts in; the number of layers for the unembedding.

        All weights outside of the layers count as acting before the first one.
        """
        return self._layer_of.get(name, 0)
