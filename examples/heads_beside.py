"""What docs/heads.md puts beside the claims on heads: the same numbers by other measures, and of other heads.

Run after config/eight_heads.yaml: python examples/heads_beside.py [results/eight_heads/language]
"""

import sys
from pathlib import Path

import xarray as xr

from rllc.analysis.head_types import INDUCTION_BEGINS
from rllc.analysis.kcomposition import kcomposition
from rllc.analysis.multigrams import correlation_within
from rllc.analysis.ranks import spearman

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "results/eight_heads/language")
FILES = ("ablation", "path_patching", "attention_scores", "hessian", "hessian_rank", "rllc", "tokens")
ablation, brackets, heads, hessian, rank, rllc, tokens = (
    xr.open_dataset(FOLDER / f"{name}.nc").load() for name in FILES
)
seeds, end = heads["seed"].values.tolist(), int(heads["step"][-1])
multigram = (heads["head_type"] == "multigram").transpose("seed", "head")
text = {"step": end, "distribution": "mixture"}
estimates = rllc["rllc"].sel(text)
methods = ablation["method"].values.tolist()
costs = {name: ablation["ablation"].sel({**text, "method": name}) for name in methods}
trace = hessian["hessian_trace_head"].sel(text)


def line(what: str, *values: float) -> None:
    print(f"{what:<75}", *(f"{value:8.2f}" for value in values))


def pooled(x: xr.DataArray, y: xr.DataArray, chosen: xr.DataArray) -> float:
    """Correlation of the ranks that the chosen heads have within their seeds."""
    return correlation_within(*([v.sel(seed=s).values[chosen.sel(seed=s)] for s in seeds] for v in (x, y)))


print(f"{FOLDER} at step {end:,}")
counts = tokens["unique"].sel(step=end, pattern=["dyck", "skip_ngram", "ngram"]).sum("pattern")
measures = {
    "refined LLC": estimates,
    "without the gradient": rllc["rllc_prior_only"].sel(text),
    "Hessian trace": trace,
    "resample ablation": costs["resample"],
}
for name, measure in measures.items():
    each = [
        pooled(counts, measure, multigram & inside) for inside in (heads["layer"] == 1, heads["layer"] >= 0)
    ]
    line(f"multigrams and {name}: layer 1, both layers", *each)
for name, cost in costs.items():
    line(
        f"refined LLC and {name} ablation: by seed",
        *(spearman(estimates.sel(seed=s), cost.sel(seed=s)) for s in seeds),
    )

ratio = rllc["rllc"].sel(distribution="one_layer") / rllc["rllc"].sel(distribution="mixture")
line("refined LLC on the one-layer model over that on text:")
for s in seeds:
    known = heads["prefix_matching"].sel(seed=s).max("head") >= INDUCTION_BEGINS
    begins = int(heads["step"][known.values][0])
    each, first = ratio.sel(seed=s), int(ratio["step"][1])
    early, late = each.sel(step=slice(50, begins)).mean("step"), each.sel(step=end)
    line(f"  seed {s}: mean |ratio - 1| at step {first}", float(abs(each.sel(step=first) - 1).mean()))
    line(
        "    heads that end below their mean before induction; at 0 or below",
        (late < early).sum(),
        (late <= 0).sum(),
    )
    deep = multigram.sel(seed=s) & (heads["layer"] == 1)
    line(
        "    at the end: multigram heads of layer 1, all others",
        late[deep.values].mean(),
        late[~deep.values].mean(),
    )

every = heads.assign(head_type=xr.full_like(heads["head_type"], "multigram"))
for what, whose in (("multigram heads", heads), ("any heads", every)):
    shares = kcomposition({"attention_scores": whose})["turnaround"].isel(step=-1).values
    line(f"K-composition turns around, pairs of {what}: by seed", *shares)
for s in seeds:
    found = rank.sel(seed=s, distribution="mixture", rank_range="fixed")
    lanczos = found["hessian_rank"].sel({"rank_method": "lanczos"})
    follows = spearman(
        lanczos, hessian["hessian_trace"].sel(seed=s, distribution="mixture", step=rank["step"])
    )
    line(f"Lanczos count at the end, its rank correlation with the trace, seed {s}", lanczos[-1], follows)
clean = brackets["loss"].sel(step=end, condition="clean", closers="all")
line("loss on closing brackets, nats: least, most", clean.min(), clean.max())
