"""The table of figures: for each, the function that draws it and the datasets that it reads.

Figures of a single measure are in the spec of the measure (``rllc.measures.<name>.spec``).

Drawing functions are ``rllc.figures.<family>.<module>:<function>``. Those that read one measure
alone are ``rllc.measures.<name>.figure:<function>``. They take the datasets by name.
"""

from collections.abc import Mapping

from rllc.study import study
from rllc.study.outputs import FigureSpec
from rllc.study.table import MEASURES

PACKAGE = "rllc.figures"
OF_CLAIMS = ("claims",)  # dataset of figures of the claims table, which belongs to no experiment
TYPES = ("attention_scores",)  # dataset of the types of heads
SUMMARY = "sort_summary"  # the figure of claims that needs experiments with circuits
VALIDATION = "validation"  # target of the figures that belong to no experiment


def _at(function: str) -> str:
    return f"{PACKAGE}.{function}"


def asked_by(target: str, figures: Mapping[str, study.Figure]) -> list[str]:
    """Return the names of the declared figures that a target rule asks for."""
    return [name for name, figure in figures.items() if FIGURES[figure.draws or name].target == target]


def _validation(family: str) -> FigureSpec:
    """Return the spec of a figure of one dataset of the validation, which belongs to no experiment."""
    return FigureSpec(_at(f"sampler.validation:validation_{family}"), (family,), (), VALIDATION, VALIDATION)


def _heads(
    function: str, *needs: str, uses: tuple[str, ...] = (), category: str = "heads", stages: bool = True
) -> FigureSpec:
    """Return the spec of a figure of heads; ``stages``: over training, so that stages may be behind it."""
    return FigureSpec(_at(f"heads.{function}"), needs, uses, category, behind=("stages",) if stages else ())


def _stages(function: str, *needs: str) -> FigureSpec:
    return FigureSpec(_at(function), needs, ("llc.*", "stages"), "stages")


def _calibration(function: str, *needs: str) -> FigureSpec:
    return FigureSpec(_at(f"sampler.{function}"), needs, (), "calibration", "calibrate")


def _sorting(function: str, *needs: str, uses: tuple[str, ...] = ()) -> FigureSpec:
    return FigureSpec(_at(f"sorting.{function}"), needs, uses, "sorting")


OF_SEVERAL_HEADS = ("sort_specialization",)  # says nothing of one head

ANIMATIONS: dict[str, FigureSpec] = {
    "sort_animation": _sorting(
        "animation:sort_animation", "circuits", "metrics", uses=("llc", "rllc", "llc.*")
    )
}

# Figures of any experiment with `calibration`.
CALIBRATION: dict[str, FigureSpec] = {
    "regime_map": _calibration("calibration:regime_map", "calibration", "recommendation"),
    "calibration_grid": _calibration("sweep:calibration_grid", "calibration", "recommendation"),
    "calibration_failure_modes": _calibration("traces:calibration_failure_modes", "calibration"),
    "calibration_running_estimates": _calibration("dependence:calibration_running_estimates", "dependence"),
    "calibration_dataset_size": _calibration("dependence:calibration_dataset_size", "dependence"),
    "calibration_batch_size": _calibration("dependence:calibration_batch_size", "dependence"),
    "calibration_noise_seeds": _calibration("dependence:calibration_noise_seeds", "dependence"),
}

# Figures of arXiv 2402.02364. Claims on the regression are about them, so they are part of its study.
OF_REGRESSION = {
    "stage_figA1": "calibration_running_estimates",
    "stage_figD3": "calibration_dataset_size",
    "stage_figD4": "calibration_batch_size",
    "stage_figD5": "calibration_noise_seeds",
    "stage_figD6": "calibration_grid",
    "stage_figD7": "calibration_failure_modes",
}

PAGES: dict[str, FigureSpec] = {
    "tokens_in_context": FigureSpec(
        _at("tokens_page:tokens_in_context"), ("tokens",), ("attention_scores",), "tokens"
    ),
    "text_highlights": FigureSpec(
        _at("highlights_page:text_highlights"), ("highlights",), ("stages",), "stages"
    ),
}

FIGURES: dict[str, FigureSpec] = {
    **{name: spec for measure in MEASURES for name, spec in measure.figures.items()},
    "rllc_fig1_overview": _heads(
        "overview:rllc_fig1_overview",
        "rllc",
        "clusters",
        "tokens",
        uses=("attention_scores", "classification"),
        category="clusters",
    ),
    "rllc_fig13_stages": FigureSpec(
        _at("depths:rllc_fig13_stages"), ("metrics", "llc"), ("stages",), "stages", several=True
    ),
    "rllc_fig2_wrllc_by_head": _heads("rllc_curves:rllc_fig2_wrllc_by_head", "rllc", uses=TYPES),
    "rllc_fig3_code_wdrllc": _heads(
        "rllc_curves:rllc_fig3_code_wdrllc", "rllc", uses=("attention_scores", "refinement")
    ),
    "rllc_fig5_one_layer_drllc": _heads(
        "rllc_curves:rllc_fig5_one_layer_drllc", "rllc", uses=(*TYPES, "metrics")
    )._replace(several=True, others=("metrics",)),
    "rllc_by_distribution": _heads("rllc_curves:rllc_by_distribution", "rllc", uses=TYPES),
    "rllc_with_components": _heads(
        "with_components:rllc_with_components", "rllc", "components", uses=TYPES, stages=False
    ),
    "rllc_fig11_memorisation": _heads(
        "memorisation:rllc_fig11_memorisation", "tokens", "classification", "rllc", uses=TYPES, stages=False
    ),
    "ngram_migration": _heads("migration:ngram_migration", "tokens", uses=TYPES, stages=False),
    "induction_onset": _heads("induction:induction_onset", "rllc", "attention_scores"),
    "control_prior_only": _heads(
        "controls:control_prior_only",
        "rllc",
        uses=("rllc.*", "hessian", "attention_scores"),
        category="baselines",
    ),
    "clusters_all_heads": _heads(
        "clusters:clusters_all_heads", "clusters", "rllc", uses=TYPES, category="clusters"
    ),
    **{
        f"rllc_fig{18 + layer}_clusters_layer{layer}": _heads(
            f"clusters:rllc_fig{18 + layer}_clusters_layer{layer}",
            "clusters",
            "rllc",
            uses=TYPES,
            category="clusters",
        )
        for layer in range(2)
    },
    **{
        f"rllc_fig{20 + n}_cluster_transfer": FigureSpec(
            _at(f"heads.transfer:rllc_fig{20 + n}_cluster_transfer"),
            ("transfer", "rllc"),
            ("attention_scores",),
            "clusters",
            behind=("stages",),
            seeds=2 + n,
        )
        for n in range(3)
    },
    "rllc_fig23_other_seeds": _heads(
        "transfer:rllc_fig23_other_seeds", "rllc", uses=TYPES, category="clusters"
    )._replace(seeds=2),
    "rllc_fig12_drllc_datasets": FigureSpec(
        _at("domains:rllc_fig12_drllc_datasets"), ("llc",), ("domains", "stages"), "data"
    ),
    "stage_fig1a_lm": _stages("stages:stage_fig1a_lm", "metrics", "llc"),
    "stage_fig4b_heads": FigureSpec(
        _at("stages:stage_fig4b_heads"), ("attention_scores", "metrics"), ("stages",), "stages"
    ),
    "stage_figB1a": _stages("development:stage_figB1a", "metrics", "llc"),
    "stage_fig4a_behaviour": FigureSpec(
        _at("behaviour:stage_fig4a_behaviour"), ("ngrams", "positions"), ("stages",), "stages"
    ),
    "stage_fig5_text_highlights": FigureSpec(
        _at("highlights:stage_fig5_text_highlights"), ("highlights",), ("stages",), "stages"
    ),
    "stage_figB3": FigureSpec(_at("positions:stage_figB3"), ("positions",), ("stages",), "stages"),
    "stage_figB4": FigureSpec(_at("positions:stage_figB4"), ("positions",), (), "stages"),
    "stage_figB4_lissajous": FigureSpec(_at("positions:stage_figB4_lissajous"), ("positions",), (), "stages"),
    "stage_figB5": _heads(
        "composition:stage_figB5", "attention_scores", uses=("stages",), category="stages", stages=False
    )._replace(requires=("circuits",)),
    "stage_figB6": _stages("behaviour:stage_figB6", "metrics", "llc", "ngrams", "positions"),
    "stage_figB2": _stages("development:stage_figB2", "metrics", "llc"),
    "stage_figB7": _stages("development:stage_figB2", "metrics", "llc"),
    "stage_tolerance": FigureSpec(_at("tolerance:stage_tolerance"), ("stages", "llc"), ("llc.*",), "stages"),
    # In-context regression has figures of the same kind.
    "stage_figB1b": _stages("development:stage_figB1a", "metrics", "llc"),
    "stage_figC1": _stages("development:stage_figB2", "metrics", "llc"),
    "corpus_summary": FigureSpec(_at("corpus:corpus_summary"), ("corpus",), (), "data"),
    "sort_curves": _sorting("curves:sort_curves", "metrics", uses=("llc", "rllc", "circuits", "llc.*")),
    "sort_circuits": _sorting("circuits:sort_circuits", "circuits", uses=("metrics", "llc")),
    "sort_specialization": _sorting("specialization:sort_specialization", "circuits", uses=("llc",)),
    SUMMARY: _sorting("summary:sort_summary", *OF_CLAIMS),
    "claims": FigureSpec(_at("claims:claims"), OF_CLAIMS, (), "claims"),
    **CALIBRATION,
    **{name: CALIBRATION[draws]._replace(target="all") for name, draws in OF_REGRESSION.items()},
    "validation_quadratic": _validation("quadratic"),
    "validation_potentials": _validation("potentials"),
    "validation_landscapes": FigureSpec(
        _at("sampler.landscapes:validation_landscapes"), ("potentials",), (), VALIDATION, VALIDATION
    ),
    "validation_reduced_rank": _validation("reduced_rank"),
    "validation_deep_linear": _validation("deep_linear"),
}
