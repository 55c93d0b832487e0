"""Embeddings, layer norms and unembedding over training (arXiv 2402.02364, Figs. 6b, C.5 to C.7)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.findings import at_end, fitting, known, largest, percent
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, level, sheet
from rllc.figures.regression.inputs import of_stages, staged

THIN = {"color": "#888888", "linewidth": 0.5, "alpha": 0.7}
MEAN = {"color": "black", "linewidth": 2.0}
TOTAL = {"color": "#CC3311", "linewidth": 1.6, "linestyle": "--"}  # of an effective bias
EFFECTIVE = {"weight": "effective weight =", "bias": "effective bias, parts"}
# dataset -> its quantities beside the last layer norm
CURVATURE = {"hessian": ("hessian_trace", "hessian_trace_se"), "eigenvalues": ("hessian_eigenvalue",)}


@style.styled
def stage_fig6b(datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling") -> Drawing:
    """Weights of the last layer norm; the Hessian's trace and largest eigenvalues, if measured.

    datasets  ``structure``; ``hessian``, ``eigenvalues``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "structure", "unembed_norm_weight", "norm_weight_small")
    data = inputs.of_seeds(source, seeds)[["unembed_norm_weight", "norm_weight_small"]]
    data = data.sel(norm=source["norm"].values[-1]).drop_vars("norm")
    curved = {name: variables for name, variables in CURVATURE.items() if name in datasets}
    for name, variables in curved.items():
        cut = datasets[name][list(variables)].isel(distribution=0).reset_coords(drop=True)
        parts = [each.drop_attrs(deep=False) for each in (data, cut)]
        data = xr.merge(parts, join="left", combine_attrs="override")
    rows = []
    trace = {"color": "#117733", "marker": "o"}
    looks = [{"color": c, "marker": "."} for c in style.shades(data.sizes.get("rank", 0))]
    for seed, suffix, one in by_seed(data):
        norms = [Curve(one["unembed_norm_weight"].isel(channel=i), THIN) for i in range(one.sizes["channel"])]
        norms.append(Curve(one["unembed_norm_weight"].mean("channel"), MEAN))
        frame = staged(datasets, seed, setting)
        panels = [Panel(f"last layer norm, weights{suffix}", norms, over=style.zero, **frame)]
        curves = []
        if "hessian" in curved:
            at = one.sel(step=datasets["hessian"]["step"].values)
            curves.append(Curve(at["hessian_trace"], trace, at["hessian_trace_se"]))
        if "eigenvalues" in curved:
            top = one["hessian_eigenvalue"].sel(step=datasets["eigenvalues"]["step"].values)
            curves += [Curve(top.isel(rank=i), look) for i, look in enumerate(looks)]
        if curves:
            steps = data["step"].values
            panels.append(Panel(f"Hessian{suffix}", curves, over=style.log_scale, steps=steps, **frame))
        rows.append(Row("weight", panels))
    keys = [style.key("a channel", **THIN), style.key("mean", **MEAN)]
    if "hessian" in curved:
        keys.append(style.key("trace", **trace))
    keys += [style.key(f"eigenvalue {i + 1}", **look) for i, look in enumerate(looks)]
    rows[0] = rows[0]._replace(keys=keys)
    figure, axes = sheet(rows, panel=(3.3, 2.4), margin=1.3, sharex=True)
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("squared error")
    findings = at_end(
        "weights of the last layer norm below 0.1", percent(data["norm_weight_small"]), unit="%"
    )
    if "hessian" in curved:
        findings += largest("trace of the Hessian", data["hessian_trace"], data["hessian_trace_se"])
    if "eigenvalues" in curved:
        findings += largest("eigenvalue of the Hessian", data["hessian_eigenvalue"].isel(rank=0))
    title = f"Weights of the last layer norm{' and curvature of the loss' if curved else ''} over training."
    told = [
        *(
            [conditions.band(data["hessian_trace_se"], "of the trace over probes", "Band")]
            if "hessian" in curved
            else []
        ),
        *of_stages(datasets, data["seed"], setting),
        *conditions.seeds(data),
    ]
    return Drawing(figure, data, title, fitting(findings, title, told), told)


@style.styled
def stage_figC5(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Shares of the singular values of W_E and W_pos, and share of W_E in the directions of W_pos.

    datasets  ``structure``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    names = ["embedding_share", "position_share", "embedding_rank", "position_rank", "alignment"]
    source = inputs.need(datasets, "structure", *names)
    data = inputs.of_seeds(source, seeds)[names]
    rows = []
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
    keys = [style.key(f"coordinate {i}" if i else "answer", color=c) for i, c in enumerate(coordinates)]
    keys += [style.key(f"of {r} directions", color="#333333", linestyle=dashes[r]) for r in subspaces]
    keys += [style.key("expected of random", color="#CC6677")]
    rows[0] = rows[0]._replace(keys=keys, heading="right panel")
    figure, axes = sheet(rows, panel=(2.7, 2.3), margin=1.5, sharex=True)
    for line in axes:
        line[2].set_ylabel("|U'u| / |u|")
    top = data["position_share"].isel(position_direction=slice(0, 3)).sum("position_direction", skipna=False)
    near = data["alignment"].sel(subspace=first).mean("coordinate")
    return Drawing(
        figure,
        data,
        "Squared singular values of W_E and W_pos, and length of W_E within the directions of W_pos.",
        known(
            [
                *_ends("smallest share of W_E", percent(data["embedding_share"].isel(direction=-1)), "%"),
                *at_end("three largest shares of W_pos together", percent(top), unit="%"),
                *at_end(f"W_E within the first {first} directions of W_pos", near),
            ]
        ),
        [
            "Left and middle: shares of the sum; dark: the largest.",
            *of_stages(datasets, data["seed"], setting),
            *conditions.seeds(data),
        ],
    )


@style.styled
def stage_figC6(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Weights and biases of the last layer norm, of the unembedding, and of both, channel by channel.

    The effective bias of a prediction is one number: the sum of W_U[0] beta over channels, and b_U[0].

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
    data["total_bias"] = data["effective_bias"].sum("channel", skipna=False) + data["unembed_bias"]
    rows = []
    for seed, suffix, one in by_seed(data):
        for kind, unembed, product in (("weight", "W_U[0]", "W_U[0] γ"), ("bias", "b_U[0]", "W_U[0] β")):
            norm, both = (_channels(one[f"{of}_{kind}"]) for of in ("unembed_norm", "effective"))
            both += [Curve(one["total_bias"], TOTAL)] if kind == "bias" else []
            middle, frame = one[f"unembed_{kind}"], {"over": style.zero, **staged(datasets, seed, setting)}
            panels = [
                Panel(f"last layer norm, {kind}{suffix}", norm, **frame),
                Panel(
                    f"unembedding {unembed}{suffix}",
                    _channels(middle) if "channel" in middle.dims else [Curve(middle, MEAN)],
                    **frame,
                ),
                Panel(f"{EFFECTIVE[kind]} {product}{suffix}", both, **frame),
            ]
            rows.append(Row(kind, panels))
    rows[0] = rows[0]._replace(keys=[style.key("a channel", **THIN), style.key("mean, or the one", **MEAN)])
    rows[1] = rows[1]._replace(keys=[style.key("effective bias:\nsum and b_U[0]", **TOTAL)])
    figure, _ = sheet(rows, panel=(2.7, 1.9), margin=1.2, sharex=True)
    size = abs(data["effective_weight"])
    share = (size < 0.1 * size.max("channel")).where(size.notnull()).mean("channel")
    return Drawing(
        figure,
        data,
        "Weights and biases of the last layer norm, of the unembedding, and of both together, by channel.",
        known(
            [
                *_ends("mean |effective weight|", size.mean("channel")),
                *_ends("effective bias", data["total_bias"]),
                *at_end(
                    "channels with less than a tenth of the largest |effective weight|",
                    percent(share),
                    unit="%",
                ),
            ]
        ),
        [*of_stages(datasets, data["seed"], setting), *conditions.seeds(data)],
    )


@style.styled
def stage_figC7(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Mean and spread of the weights and biases of every layer norm. Below: the share smaller than 0.1.

    datasets  ``structure``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    names = [f"norm_{word}_{part}" for word in ("weight", "bias") for part in ("mean", "sd", "small")]
    data = inputs.of_seeds(inputs.need(datasets, "structure", *names), seeds)[names]
    rows = []
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
    keys = [
        style.key("mean over channels", **look),
        style.key("share below 0.1\n(right axis)", **small),
    ]
    rows[0] = rows[0]._replace(keys=keys)
    figure, _ = sheet(rows, panel=(2.3, 1.9), margin=1.7, sharex=True)
    small, final = percent(data["norm_weight_small"]), data["norm"].values[-1]
    others = small.sel(norm=data["norm"].values[:-1]).max("norm")
    findings = [
        *at_end("weights of the last layer norm below 0.1", small.sel(norm=final), unit="%"),
        *at_end("mean weight of the last layer norm", data["norm_weight_mean"].sel(norm=final)),
        *at_end("weights below 0.1, most of another layer norm", others, unit="%"),
    ]
    return Drawing(
        figure,
        data,
        "Weights and biases of every layer norm over training, and shares smaller than 0.1.",
        known(findings),
        [
            "Shaded: one standard deviation over channels.",
            *of_stages(datasets, data["seed"], setting),
            *conditions.seeds(data),
        ],
    )


def _share(values: xr.DataArray, look: Mapping[str, Any], ax: Axes) -> None:
    """Draw the share, from 0 at the bottom of the panel to 1 at its top."""
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


def _ends(label: str, values: xr.DataArray, unit: str = "1") -> list[Finding]:
    """Return the values at the first and at the last checkpoint."""
    first = values.isel(step=slice(0, 1))
    return [*at_end(label, first, unit=unit), *at_end(label, values, unit=unit)]
