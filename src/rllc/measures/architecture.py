"""What kernels of attention heads read of a model beside the functions that every model has."""

from rllc.models.model import Model
from rllc.models.transformer import Architecture


def architecture_of(model: Model) -> Architecture:
    """The architecture of a transformer with heads. Raises TypeError for a model of another family."""
    architecture = getattr(model, "architecture", None)
    if not isinstance(architecture, Architecture):
        raise TypeError(f"a {type(model).__name__} has no `architecture`, which this measure reads")
    return architecture
