"""The figures of the synthetic study, and how tests read them."""

import importlib

FIGURES = {
    "rllc_fig2_wrllc_by_head": "heads.rllc_curves",
    "rllc_fig3_code_wdrllc": "heads.rllc_curves",
    "rllc_fig5_one_layer_drllc": "heads.rllc_curves",
    "rllc_by_distribution": "heads.rllc_curves",
    "induction_onset": "heads.induction",
    "rllc_fig7_kcomposition": "heads.composition",
    "rllc_fig14_hessian_trace": "heads.curvature",
    "rllc_fig17_ablations": "heads.ablations",
    "clusters_all_heads": "heads.clusters",
    "rllc_fig18_clusters_layer0": "heads.clusters",
    "rllc_fig19_clusters_layer1": "heads.clusters",
    "stage_fig1a_lm": "stages",
    "stage_fig4b_heads": "stages",
    "control_prior_only": "heads.controls",
    "corpus_summary": "corpus",
}


def figure(name):
    return getattr(importlib.import_module(f"rllc.figures.{FIGURES[name]}"), name)


def values(drawing, *words):
    """Values of the findings whose label holds these words."""
    return [each.value for each in drawing.findings if all(word in each.label for word in words)]


def rings(drawing):
    """Where rings are drawn: (title of the panel, steps)."""
    from rllc.figures.style import DISTRUST

    return [
        (ax.get_title("left"), line.get_xdata().tolist())
        for ax in drawing.figure.axes
        for line in ax.get_lines()
        if line.get_markeredgecolor() == DISTRUST["markeredgecolor"]
    ]


def legends(drawing):
    boxes = [ax.get_legend() for ax in drawing.figure.axes]
    return [text.get_text() for box in boxes if box for text in box.get_texts()]
