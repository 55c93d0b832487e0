"""Copies of a transformers model in which outputs of heads and MLPs are fixed by its own modules, not by hooks."""

import copy

import torch

from rllc.models.huggingface.components import Components
from rllc.models.huggingface.structure import find_layers


def fixed(projection, columns, value):
    """Return an output projection that does not read some inputs; its bias has what ``value`` there would add."""
    weight = projection.weight.detach()
    weight = weight if isinstance(projection, torch.nn.Linear) else weight.T
    made = torch.nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        made.weight.copy_(torch.where(columns, 0.0, weight))
        made.bias.copy_(weight[:, columns] @ value)
        if projection.bias is not None:
            made.bias += projection.bias
    return made


class Constant(torch.nn.Module):
    """An MLP that writes the same at every position, whatever it reads."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, hidden, residual=None):
        out = self.value.expand(*hidden.shape[:-1], -1)
        return out.clone() if residual is None else out + residual


class Swapped(torch.nn.Module):
    """An output projection that reads some inputs of other contexts."""

    def __init__(self, projection, columns, others):
        super().__init__()
        self.projection, self.columns, self.others = projection, columns, others

    def forward(self, z):
        z = z.clone()
        z[..., self.columns] = z[self.others][..., self.columns]
        return self.projection(z)


class SwappedMLP(torch.nn.Module):
    """An MLP that writes what it would write in other contexts."""

    def __init__(self, mlp, others):
        super().__init__()
        self.mlp, self.others = mlp, others

    def forward(self, hidden):
        return self.mlp(hidden)[self.others]


def replaced(module, old, new):
    """Return a copy of a module in which one of its modules is another one."""
    name = next(name for name, each in module.named_modules() if each is old)
    made = copy.deepcopy(module)
    made.set_submodule(name, new)
    return made


def place(module, component):
    """Return the module that reads a head's output, with its columns, or writes an MLP's."""
    if component.startswith("mlp"):
        return find_layers(module)[int(component.split(":")[1])].mlp[-1], None
    layer, index = map(int, component.split(":")[-2:])
    found = Components(module).units[layer]
    return found.output, found.units[index].columns


def with_output(module, component, value):
    """Return a copy in which a head, a group or an MLP gives one output [width] at every position."""
    old, columns = place(module, component)
    return replaced(module, old, Constant(value) if columns is None else fixed(old, columns, value))


def with_others(module, component, others):
    """Return a copy in which a head, a group or an MLP has its output of other contexts of the batch."""
    old, columns = place(module, component)
    new = SwappedMLP(old, others) if columns is None else Swapped(old, columns, others)
    return replaced(module, old, new)


@torch.no_grad()
def losses(module, tokens):
    """Return the loss of every next token: [context, position]."""
    lost = module(input_ids=tokens).logits[:, :-1].log_softmax(-1)
    return -lost.gather(-1, tokens[:, 1:, None])[..., 0]
