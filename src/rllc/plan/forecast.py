"""One line that says what is about to run: jobs, CPU time, disk."""

from collections.abc import Callable, Iterable
from typing import Any

from rllc.config.study import Study
from rllc.plan import cost, products
from rllc.plan.cost import Cost

SMALL = Cost(cpu_seconds=2.5)


def _measure(function: Callable[..., Cost]) -> Callable[[Study, Any], Cost]:
    return lambda study, w: function(study, study.experiments[w.experiment], int(w.start))


def _sampling(study: Study, w: Any, kind: str) -> Cost:
    experiment = study.experiments[w.experiment]
    section = products.sampling(experiment, w.setting, kind)
    return cost.sampling(study, experiment, section, kind, int(w.start))


COSTS: dict[str, Callable[[Study, Any], Cost]] = {
    "read_corpus": lambda study, w: cost.corpus(study, w.distribution),
    "mix_corpora": lambda study, w: cost.corpus(study, w.distribution),
    "make_blocks": lambda study, w: cost.tokens(study, w.tokenizer),
    "train": _measure(cost.training),
    "sample_heads": lambda study, w: _sampling(study, w, "heads"),
    "sample_full": lambda study, w: _sampling(study, w, "full"),
    "sample_other": lambda study, w: _sampling(study, w, "other"),
    "trace_hessian": _measure(cost.hessian),
    "ablate": _measure(cost.ablation),
    "measure_losses": _measure(cost.metrics),
    "score_heads": _measure(cost.patterns),
    "sweep_settings": _measure(cost.calibration),
    "vary_sampling": _measure(cost.dependence),
    "validate": lambda study, w: cost.validation(study, w.family),
}


def of(study: Study, rule: str, wildcards: Any) -> Cost:
    """Estimated cost of one job."""
    return COSTS[rule](study, wildcards) if rule in COSTS else SMALL


def forecast(study: Study, jobs: Iterable[tuple[str, Any]]) -> str:
    """``N jobs: about M CPU minutes and D MB of disk.``"""
    costs = [of(study, rule, wildcards) for rule, wildcards in jobs]
    minutes = sum(one.cpu_seconds for one in costs) / 60
    megabytes = sum(one.disk_bytes for one in costs) / 1e6
    hours = f"{minutes:.0f} CPU minutes" if minutes < 120 else f"{minutes / 60:.1f} CPU hours"
    time = "under a CPU minute" if minutes < 1 else f"about {hours}"
    count = "1 job" if len(costs) == 1 else f"{len(costs)} jobs"
    return f"{count} to run: {time} and {max(megabytes, 1):,.0f} MB of disk, under {study.results}/."
