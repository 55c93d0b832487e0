"""The refined LLC of your own model: any torch module, any loss, any choice of weights.

Run: python examples/own_model.py
"""

import torch

from rllc import estimate, reasons

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # which gives the same minimum on every processor
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
x = torch.randn(2000, 2)
y = torch.tanh(2 * x[:, :1]) - torch.tanh(x[:, :1] + 2 * x[:, 1:]) + 0.3 * torch.randn(2000, 1)


def loss(weights, batch):
    """Mean loss of the batch, as a function of the weights; with dropout, after model.eval()."""
    inputs, targets = batch
    return torch.nn.functional.mse_loss(torch.func.functional_call(model, weights, (inputs,)), targets)


def closure():
    lbfgs.zero_grad()
    (value := loss(weights, (x, y))).backward()
    return value


weights = dict(model.named_parameters())
lbfgs = torch.optim.LBFGS(weights.values(), max_iter=200, tolerance_change=0, line_search_fn="strong_wolfe")
lbfgs.step(closure)  # to a minimum: elsewhere chains first walk down, and estimates drift
unit = torch.tensor([True, False])
components = {
    "full": None,
    "first layer": {name: torch.ones_like(weights[name]).bool() for name in ("0.weight", "0.bias")},
    "unit 0": {"0.weight": unit[:, None].expand(2, 2), "0.bias": unit},
}
batches = [(x, y)]  # all of it, as it is small; else minibatches, one for every move
# docs/settings.md says how to choose these. The pull relaxes in 2 / (step_size localization) = 200 moves.
setting = {
    "n_beta": 1000, "localization": 100, "step_size": 1e-4, "chains": 8, "draws": 800, "burn_in": 200,
    "components": components, "vectorize": True,
}  # fmt: skip
estimates = estimate(loss, weights, batches, **setting, report_control=True)
table = estimates.rename(llc_prior_only="control")
shown = ["llc", "llc_se", "control", "equilibrated_variance", "rhat", "ess", "quality"]
table = table[shown].to_dataframe().round(2)
table["quality"] = [", ".join(reasons(value)) or "reliable" for value in table["quality"]]
print(table.to_string())
