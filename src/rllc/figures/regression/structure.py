"""Embeddings, layer norms and unembedding over training (arXiv 2402.02364, Figs. 6b, C.5 to C.7)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, level, sheet
from rllc.figures.regression.inputs import boundaries, ends, most, staged

THIN = {"color": "#888888", "linewidth": 0.5, "alpha": 0.7}
MEAN = {"color": "black", "linewidth": 2.0}
DIRECTIONS = "Dark: the largest."
OF_WEIGHTS = "Read off the weights: there is no sampling error."
OF_TRACE = (
    "The trace is the mean of Hutchinson probes, with its standard error as band; the authors plot the sum "
    "of a number of probes that changes from checkpoint to checkpoint."
)
# dataset -> what of it is drawn beside the last layer norm
CURVATURE = {"hessian": ("hessian_trace", "hessian_trace_se"), "eigenvalues": ("hessian_eigenvalue",)}


@style.styled
def stage_fig6b(datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling") -> Drawing:
    """Weights of the last layer norm; the Hessian's trace and largest eigenvalues where there are any.

    datasets  ``structure``; ``hessian``, ``eigenvalues``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "structure", "unembed_norm_weight", "norm_weight_small")
    data = inputs.of_seeds(source, seeds)[["unembed_norm_weight", "norm_weight_small"]]
    data = data.sel(norm=source["norm"].values[-1]).drop_vars("norm")
    curved = {name: variables for name, variables in CURVATURE.items() if name in datasets}
    for name, variables in curved.items():
        cut = datasets[name][list(variables)].isel(distribution=0).reset_coords(drop=True)
        data = xr.merge([data, cut], join="left", combine_attrs="drop")
    rows, findings = [], []
    trace = {"color": "#117733", "marker": "o"}
    looks = [{"color": c, "marker": "."} for c in style.shades(data.sizes.get("rank", 0))]
    for seed, suffix, one in by_seed(data):
        norms = [Curve(one["unembed_norm_weight"].isel(channel=i), THIN) for i in range(one.sizes["channel"])]
        norms.append(Curve(one["unembed_norm_weight"].mean("channel"), MEAN))
        frame = staged(datasets, seed, setting)
        panels = [Panel(f"last layer norm, weights{suffix}", norms, over=style.zero, **frame)]
        share = float(one["norm_weight_small"][-1])
        said = f"seed {seed}: {share:.0%} of the weights of the last layer norm end below 0.1"
        curves = []
        if "hessian" in curved:
            at = one.sel(step=datasets["hessian"]["step"].values)
            curves.append(Curve(at["hessian_trace"], trace, at["hessian_trace_se"]))
            said += f"; the trace is largest at {_peak(one['hessian_trace'])}"
        if "eigenvalues" in curved:
            top = one["hessian_eigenvalue"].sel(step=datasets["eigenvalues"]["step"].values)
            curves += [Curve(top.isel(rank=i), look) for i, look in enumerate(looks)]
            said += f", the largest eigenvalue at {_peak(one['hessian_eigenvalue'].isel(rank=0))}"
        if curves:
            steps = data["step"].values
            panels.append(Panel(f"Hessian{suffix}", curves, over=style.log_scale, steps=steps, **frame))
        rows.append(Row("weight", panels))
        findings.append(captions.sentence(said))
    keys = [style.key("a channel", **THIN), style.key("mean", **MEAN)]
    if "hessian" in curved:
        keys.append(style.key("trace", **trace))
    keys += [style.key(f"eigenvalue {i + 1}", **look) for i, look in enumerate(looks)]
    rows[0] = rows[0]._replace(keys=keys)
    figure, axes = sheet(rows, panel=(3.3, 2.4), margin=1.3, sharex=True)
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("squared error")
    return captions.drawing(
        figure,
        data,
        *findings,
        captions.when("hessian" in curved, OF_TRACE),
        conditions=[boundaries(datasets, data["seed"], setting), OF_WEIGHTS if not curved else ""],
    )


@style.styled
def stage_figC5(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Shares of the singular values of W_E and W_pos, and how far W_E lies within the directions of W_pos.

    datasets  ``structure``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    names = ["embedding_share", "position_share", "embedding_rank", "position_rank", "alignment"]
    source = inputs.need(datasets, "structure", *names)
    data = inputs.of_seeds(source, seeds)[names]
    rows, findings = [], []
    first, subspaces = int(data["subspace"][0]), data["subspace"].values.tolist()
    coordinates = style.shades(data.sizes["coordinate"])
    dashes = dict(zip(subspaces, ("-", "--", "-.", ":"), strict=False))
    width = source.sizes.get("channel")
    for seed, suffix, one in by_seed(data):
        frame = staged(datasets, seed, setting)
        tokens, places = (
            _lines(one[f"{n}_share"], d)
            for n, d in (("embedding", "direction"), ("position", "position_direction"))
        )
        aligned = [
            Curve(one["alignment"].sel(subspace=r).isel(coordinate=i), {"color": c, "linestyle": dashes[r]})
            for r in subspaces
            for i, c in enumerate(coordinates)
        ]
        chance = (
            [level((r / width) ** 0.5, color="#CC6677", linestyle=dashes[r]) for r in subspaces]
            if width
            else []
        )
        rows.append(
            Row("share", [
                Panel(f"W_E, singular values²{suffix}", tokens, **frame),
                Panel(f"W_pos, singular values²{suffix}", places, **frame),
                Panel(f"W_E within W_pos{suffix}", aligned, over=all_of(*chance), **frame),
            ])
        )  # fmt: skip
        least, top = (
            one["embedding_share"].isel(direction=-1),
            one["position_share"].isel(position_direction=slice(0, 3)).sum("position_direction"),
        )
        near = one["alignment"].sel(subspace=first).mean("coordinate")
        findings.append(
            f"Seed {seed}: the smallest share of W_E goes from {ends(least, '.3f')}, the three largest of "
            f"W_pos together from {ends(top)}; W_E within the first {first} directions of W_pos from "
            f"{ends(near)}."
        )
    keys = [style.key(f"coordinate {i}" if i else "answer", color=c) for i, c in enumerate(coordinates)]
    keys += [style.key(f"of {r} directions", color="#333333", linestyle=dashes[r]) for r in subspaces]
    keys += [style.key("expected of random", color="#CC6677")]
    rows[0] = rows[0]._replace(keys=keys, heading="right panel")
    figure, axes = sheet(rows, panel=(2.7, 2.3), margin=1.5, sharex=True)
    for line in axes:
        line[2].set_ylabel("|U'u| / |u|")
    return captions.drawing(
        figure,
        data,
        *findings,
        "A length within a subspace is that of the projection; the authors' cosines are of a rotation.",
        conditions=[boundaries(datasets, data["seed"], setting), DIRECTIONS, OF_WEIGHTS],
    )


@style.styled
def stage_figC6(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Weights and biases of the last layer norm, of the unembedding, and of both, channel by channel.

    datasets  ``structure``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    names = [
        "unembed_norm_weight",
        "unembed_norm_bias",
        "unembed_weight",
        "unembed_bias",
        "effective_weight",
        "effective_bias",
    ]
    data = inputs.of_seeds(inputs.need(datasets, "structure", *names), seeds)[names]
    rows, findings = [], []
    for seed, suffix, one in by_seed(data):
        for kind, unembed, product in (("weight", "W_U[0]", "W_U[0] γ"), ("bias", "b_U[0]", "W_U[0] β")):
            norm, both = (_channels(one[f"{of}_{kind}"]) for of in ("unembed_norm", "effective"))
            middle, frame = one[f"unembed_{kind}"], {"over": style.zero, **staged(datasets, seed, setting)}
            panels = [
                Panel(f"last layer norm, {kind}{suffix}", norm, **frame),
                Panel(
                    f"unembedding {unembed}{suffix}",
                    _channels(middle) if "channel" in middle.dims else [Curve(middle, MEAN)],
                    **frame,
                ),
                Panel(f"effective {kind} = {product}{suffix}", both, **frame),
            ]
            rows.append(Row(kind, panels))
        size = abs(one["effective_weight"])
        share = (size.isel(step=-1) < 0.1 * size.isel(step=-1).max("channel")).mean("channel")
        findings.append(
            f"Seed {seed}: the mean |effective weight| goes from {float(size.isel(step=0).mean()):.3f} to "
            f"{float(size.isel(step=-1).mean()):.3f}; {float(share):.0%} of the channels end below a tenth "
            "of the largest."
        )
    rows[0] = rows[0]._replace(keys=[style.key("a channel", **THIN), style.key("mean, or the one", **MEAN)])
    figure, _ = sheet(rows, panel=(2.7, 1.9), margin=1.2, sharex=True)
    return captions.drawing(
        figure, data, *findings, conditions=[boundaries(datasets, data["seed"], setting), OF_WEIGHTS]
    )


@style.styled
def stage_figC7(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Mean and spread of the weights and biases of every layer norm; below, the share smaller than 0.1.

    datasets  ``structure``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    names = [f"norm_{word}_{part}" for word in ("weight", "bias") for part in ("mean", "sd", "small")]
    data = inputs.of_seeds(inputs.need(datasets, "structure", *names), seeds)[names]
    rows, findings = [], []
    look, small = {"color": "#332288"}, {"color": "#CC6677"}
    called = {str(n): _called(str(n)) for n in data["norm"].values}
    for seed, suffix, one in by_seed(data):
        for word in ("weight", "bias"):
            panels = []
            for norm, title in called.items():
                at = one.sel(norm=norm)
                share = partial(_share, at[f"norm_{word}_small"], small)
                drawn = Curve(at[f"norm_{word}_mean"], look, at[f"norm_{word}_sd"])
                frame = {"over": all_of(style.zero, share), **staged(datasets, seed, setting)}
                panels.append(Panel(f"{title}{suffix}", [drawn], **frame))
            rows.append(Row(word, panels))
        last = one.isel(step=-1)
        small_shares = ", ".join(
            f"{called[str(n)]} {float(last['norm_weight_small'].sel(norm=n)):.0%}" for n in called
        )
        means = ", ".join(
            f"{called[str(n)]} {float(last['norm_weight_mean'].sel(norm=n)):.2f}" for n in called
        )
        findings.append(f"Seed {seed}, last step: weights below 0.1: {small_shares}; mean weight: {means}.")
    keys = [
        style.key("mean over channels", **look),
        style.key("share below 0.1\n(right axis)", **small),
    ]
    rows[0] = rows[0]._replace(keys=keys)
    figure, _ = sheet(rows, panel=(2.3, 1.9), margin=1.7, sharex=True)
    return captions.drawing(
        figure,
        data,
        *findings,
        conditions=[
            boundaries(datasets, data["seed"], setting),
            "Shaded: one standard deviation over channels.",
            OF_WEIGHTS,
        ],
    )


def _share(values: xr.DataArray, look: Mapping[str, Any], ax: Axes) -> None:
    """The share, from 0 at the foot of the panel to 1 at its head."""
    ax.plot(values["step"].values, values.values, linewidth=1.0, transform=ax.get_xaxis_transform(), **look)
    for height in (0.0, 0.5, 1.0):
        ax.text(
            1.02, height, f"{height:g}", transform=ax.transAxes, va="center", fontsize=6, color=look["color"]
        )


def _called(norm: str) -> str:
    if norm == "ln_final":
        return "unembedding"
    _, block, part = norm.split(".")
    return f"{'attention' if part == 'ln1' else 'MLP'} {block}"


def _channels(values: xr.DataArray) -> list[Curve]:
    lines = [Curve(values.isel(channel=i), THIN) for i in range(values.sizes["channel"])]
    return [*lines, Curve(values.mean("channel"), MEAN)]


def _lines(values: xr.DataArray, dim: str) -> list[Curve]:
    colors = style.shades(values.sizes[dim])
    return [Curve(values.isel({dim: i}), {"color": c}) for i, c in enumerate(colors)]


def _peak(values: xr.DataArray) -> str:
    peak = most(values.dropna("step"))
    return f"step {style.step_text(float(peak['step']))} ({float(peak):.0f})"
