"""What two rules find in the published LLC curves of arXiv 2402.02364, and whether these are the loss.

Run: python examples/published_stages.py
"""

import numpy as np
import xarray as xr

from rllc.analysis.against_loss import against_loss
from rllc.analysis.plateaus import plateaus
from rllc.analysis.published_stages import published
from rllc.claims.published import DATA

LANGUAGE, REGRESSION = 100 / np.log(100), 0.02 / 3e-4  # n_beta
# curve -> what it is, n_beta, loss of a predictor that knows nothing, last step of a part
CURVES = {
    "lm2": ("language, two layers", LANGUAGE, np.log(5000), None),
    "lm1": ("language, one layer", LANGUAGE, np.log(5000), None),
    "lr1": ("regression, seed 1", REGRESSION, 4.125, 40_000),
    "lr4": ("regression, seed 4", REGRESSION, 4.125, 40_000),
}

rows = np.loadtxt(DATA / "published_llc.csv", delimiter=",", dtype=str, skiprows=4)
for name, (title, n_beta, chance, part) in CURVES.items():
    step, llc, loss = rows[rows[:, 0] == name, 1:].astype(float).T
    late = step > 0
    boundaries = plateaus(step[late], llc[late])[1]
    words = [f"{'' if b.determined else '?'}{b.kind} {step[late][b.at]:,.0f}" for b in boundaries]
    printed = published(step, llc, tolerance=8.0 if part else 2.0, restarts=0)
    print(f"{title}\n  plateaus   {', '.join(words)}")
    print(f"  published  {printed.size} plateaus, {(printed > 900).sum()} of them after step 900")
    for end in filter(None, (part, step[-1])):
        within = (step >= 100) & (step <= end)
        cut = [xr.DataArray(values[within], {"step": step[within]}, ["step"]) for values in (llc, loss)]
        found = against_loss(*cut, n_beta=n_beta)
        low, high = float(found["sampled_loss"].min()), float(found["sampled_loss"].max())
        r = float(found["llc_loss_correlation"])
        print(
            f"  chains     100 to {end:,.0f}: loss {low:.2f} to {high:.2f} (chance {chance:.2f}); r = {r:.5f}"
        )
