"""The refined LLC of your own model: any torch module, any loss, any choice of weights.

Run: python examples/own_model.py
"""

import torch

from rllc.estimator.llc import estimate
from rllc.verdicts import reasons

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
x = torch.randn(2000, 2)
y = torch.sin(2 * x[:, :1]) * x[:, 1:] + 0.3 * torch.randn(2000, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(500):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


def loss(weights, batch):
    """Mean loss of the batch, as a function of the weights; with dropout, after model.eval()."""
    inputs, targets = batch
    return torch.nn.functional.mse_loss(torch.func.functional_call(model, weights, (inputs,)), targets)


weights = dict(model.named_parameters())
everywhere = {name: torch.ones_like(w, dtype=torch.bool) for name, w in weights.items()}
components = {
    "full": None,
    "first layer": {name: everywhere[name] for name in ("0.weight", "0.bias")},
    "unit 0": {"0.weight": torch.arange(16)[:, None].expand(16, 2) == 0, "0.bias": torch.arange(16) == 0},
}
batches = [(x, y)]  # all of it, as it is small; else minibatches, one for every move
# docs/settings.md says how to choose these. The pull relaxes in 2 / (step_size localization) = 100 moves.
setting = {
    "n_beta": 1000, "localization": 200, "step_size": 1e-4, "chains": 8, "draws": 600, "burn_in": 200,
    "components": components, "vectorize": True,
}  # fmt: skip
estimates = estimate(loss, weights, batches, **setting, report_control=True)
table = estimates.rename(llc_gradient_off="control")
table = table[["llc", "llc_se", "control", "relaxed", "rhat", "ess", "verdict"]].to_dataframe().round(2)
table["verdict"] = [", ".join(reasons(value)) or "sound" for value in table["verdict"]]
print(table.to_string())
