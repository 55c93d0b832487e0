"""Statistics and claims: the curves that they are read off must be there, and each name must be known."""

from collections.abc import Iterable, Iterator, Mapping

from rllc.analysis.columns import CONTROL, RESERVED, STANDARD_ERROR, UNTRUSTED
from rllc.study.checks.names import refer
from rllc.study.claims import Statistic
from rllc.study.datasets import curves, distributions, statistics, with_curves
from rllc.study.families import family_of
from rllc.study.measures.table import ANALYSES, MEASURES
from rllc.study.rows import Analysis, Measure
from rllc.study.section import like
from rllc.study.study import Experiment, Study

ROWS = {row.pattern.partition("(")[0]: row for row in MEASURES if row.variables}
ROWS |= {row.name: row for row in ANALYSES if any("step" in each.dims for each in row.variables.values())}
FEW = ("distribution", "head", "later_head", "pair", "component")  # dims that may have one label


def claim_problems(study: Study) -> Iterator[str]:
    """Names that refer to nothing, and curves of which there are several.

    A claim about what its experiment does not measure is none: it is left out (``datasets.judged``).
    """
    read_off = {name: statistics(study, experiment) for name, experiment in study.experiments.items()}
    for name, claim in study.claims.items():
        place = f"claims.{name}"
        yield from refer(f"{place}.statistic", claim.statistic, study.statistics, "statistic")
        if claim.given is not None:
            alone = [n for n, each in study.claims.items() if each.given is None and n != name]
            yield from refer(f"{place}.given", claim.given, alone, "claim that presupposes none")
        for key in ("experiment", "versus"):
            if (named := getattr(claim, key)) is None:
                continue
            yield from refer(f"{place}.{key}", named, study.experiments, "experiment")
            experiment, entry = study.experiments.get(named), study.statistics.get(claim.statistic)
            if not (experiment and entry) or claim.statistic in read_off[named]:
                continue
            if entry.experiment not in (None, named):
                yield f"{place}.{key}: {claim.statistic} is of '{entry.experiment}' alone"
                continue
            declared = all(read in with_curves(experiment) for read, _ in curves(entry))
            if entry.of and declared and not entry.by_type and "distribution" not in entry.at:
                known = ", ".join(distributions(experiment, curves(entry)[0][0]))
                yield (
                    f"{place}: {entry.of} of '{named}' is measured on {known}; say which in "
                    f"statistics.{claim.statistic}.at.distribution"
                )


def statistic_problems(study: Study) -> Iterator[str]:
    """Names that the claims table has, and curves that no experiment can have."""
    made = {name: with_curves(each) for name, each in study.experiments.items()}
    for name, entry in study.statistics.items():
        place = f"statistics.{name}"
        if name in RESERVED:
            yield f"{place}: the claims table has a column '{name}'; rename it"
        for ending in (STANDARD_ERROR, UNTRUSTED, CONTROL):
            of = name.removesuffix(ending)
            if of != name and of in study.statistics:
                yield f"{place}: {of} has a variable '{name}'; rename it"
        if entry.experiment is not None:
            yield from refer(f"{place}.experiment", entry.experiment, study.experiments, "experiment")
        for other in entry.named:
            yield from refer(place, other, study.statistics, "statistic")
        if name in _behind(study, entry.named):
            yield f"{place}: it is made of itself; take it out of 'among' or of its steps"
        problems = [*_names(place, entry, made)]
        yield from problems or (_labels(study, place, entry, made) if entry.of else ())


def _behind(study: Study, names: Iterable[str]) -> set[str]:
    """These statistics, and all that they are made of or take a step from."""
    found, ahead = set(), [*names]
    while ahead:
        if (one := ahead.pop()) not in found:
            found.add(one)
            ahead += study.statistics[one].named if one in study.statistics else []
    return found


def _names(place: str, entry: Statistic, made: Mapping[str, list[str]]) -> Iterator[str]:
    """Datasets, settings and variables that there are not; ``made`` by the experiments."""
    for key, (read, variable) in zip(("of", "against"), curves(entry), strict=False):
        base, dot, setting = read.partition(".")
        yield from refer(f"{place}.{key}", base, ROWS, "dataset with curves")
        if base not in ROWS:
            continue
        if dot and not ROWS[base].datasets:
            yield f"{place}.{key}: {base}.nc has no further settings; write {base}.{variable}"
        elif dot:
            every = {name for each in made.values() for name in each}
            settings = {name.partition(".")[2] for name in every} - {""}
            if not like(setting, settings):  # no experiment has it: what is read off it is left out
                continue
            known = [name.removeprefix(f"{base}.") for name in every if name.startswith(f"{base}.")]
            yield from refer(f"{place}.{key}", setting, known, f"setting of {base}.nc")
        yield from refer(f"{place}.{key}", variable, _curves(ROWS[base]), f"variable of {base}.nc")


def _curves(row: Measure | Analysis) -> list[str]:
    """The variables of a dataset that are curves over training."""
    return [name for name, each in row.variables.items() if isinstance(row, Measure) or "step" in each.dims]


def _labels(study: Study, place: str, entry: Statistic, made: Mapping[str, list[str]]) -> Iterator[str]:
    """Dims and labels that the curves have not, and dims whose label must be said and is not."""
    read = curves(entry)
    for option in ("over_heads", "of_heads"):
        if getattr(entry, option) and not any("head" in each for each in map(_dims, read)):
            yield f"{place}.{option}: {entry.of} is of no heads; leave it out"
    datasets = {dataset for dataset, _ in read}
    having = [
        each
        for name, each in study.experiments.items()
        if entry.experiment in (None, name) and datasets <= {*made[name]}
    ]
    if entry.divided_by:
        place_of = f"{place}.divided_by"
        yield from _labels_at(study, place_of, entry.of, {**entry.at, **entry.divided_by}, read[:1], having)
    if entry.against_at is None:
        yield from _labels_at(study, f"{place}.at", entry.of, entry.at, read, having)
    else:
        yield from _labels_at(study, f"{place}.at", entry.of, entry.at, read[:1], having)
        yield from _labels_at(
            study, f"{place}.against_at", entry.against, entry.against_at, read[1:2], having
        )


def _dims(curve: tuple[str, str]) -> set[str]:
    """Those of a curve, beside the step."""
    dataset, variable = curve
    row = ROWS[dataset.partition(".")[0]]
    return {*row.variables[variable].dims, *(["distribution"] if row.per_distribution else [])} - {"step"}


def _labels_at(
    study: Study,
    place: str,
    of: str,
    at: Mapping[str, str | int],
    read: list[tuple[str, str]],
    having: list[Experiment],
) -> Iterator[str]:
    """The same of the curves that ``place`` says labels of; ``of`` is what they are called."""
    dims = [_dims(each) for each in read]
    for dim in at:
        yield from refer(place, dim, set.intersection(*dims), f"dim of {of}")
    for dim in sorted(set.union(*dims) - {*at, *FEW}):
        yield f"{place}: {of} has more than one {dim}; say which"
    if "distribution" in at and having:
        known = dict.fromkeys(name for each in having for name in _distributions(each, read))
        left_out = _behind(study, {claim.statistic for claim in study.claims.values()})  # with the claim
        if at["distribution"] not in study.distributions or place.split(".")[1] not in left_out:
            label = at["distribution"]
            yield from refer(
                f"{place}.distribution", label, known or study.distributions, f"distribution of {of}"
            )
    if "against" in at and having:
        known = dict.fromkeys(name for each in having for name in each.refinement.against)
        yield from refer(f"{place}.against", at["against"], known, f"label against of {of}")
    if "head" in at and having:
        wrong = [family_of(each.model).misnamed(each.model, str(at["head"])) for each in having]
        if all(wrong):
            yield f"{place}.head: {wrong[0]}"


def _distributions(experiment: Experiment, read: list[tuple[str, str]]) -> list[str]:
    """Those that all these curves are measured on."""
    every = [distributions(experiment, dataset) for dataset, _ in read]
    return [name for name in every[0] if all(name in each for each in every)]
