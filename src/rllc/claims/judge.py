"""Judge every claim on every experiment it is about, and return the table."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.claims.claim import Claim, Statistic
from rllc.claims.columns import NUMBERS, PASSES, PER_SEED, TEXTS, VARIABLES
from rllc.claims.experiment import Experiment
from rllc.claims.judging.beside import by_published, listed, text_array
from rllc.claims.judging.chance import chance_levels
from rllc.claims.judging.flips import with_flips
from rllc.claims.judging.outcome import judged_outcome, presupposing
from rllc.claims.judging.row import row_of
from rllc.claims.judging.values import Values
from rllc.claims.run import Analysis, Datasets
from rllc.vocabulary import describe

NAN = float("nan")


def judge(
    claims: Sequence[Claim],
    experiments: Mapping[str, Experiment],
    datasets: Mapping[str, Datasets],
    *,
    numbers: Sequence[Statistic] = (),
    repeat: Mapping[str, Analysis] | None = None,
    published: Mapping[str, Sequence[tuple[Experiment, Datasets]]] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> xr.Dataset:
    """Judge the claims and return a table with one row per claim and experiment.

    claims       claims to judge. A claim is skipped on experiments that lack its curves
    experiments  name -> description that claims may query; its order is the order of rows
    datasets     experiment -> its datasets by name
    numbers      further statistics to list, by experiment and seed
    repeat       analysis -> function that repeats it with other types of heads, for the chance level
    published    module of claims -> the claimants' own curves, as (experiment, datasets)
    tell         called with one line of progress at a time

    ``rllc.claims.columns`` lists the columns, with dims (claim, seed), (claim) or (claim, published_seed).
    Each statistic of ``numbers`` has dims (experiment, seed), as have its error and the share of unreliable
    estimates. A claim about several experiments has a row for each, called ``<claim>.<experiment>``.

    A seed passes if the whole 95 % Student interval of its value lies within the bounds. It fails if the
    whole interval lies beyond one bound. It is undecided in five cases:

    - the interval crosses a bound;
    - the error is unknown;
    - the type of an uncertain head decides it (``rllc.claims.judging.flips``);
    - more than the share ``DOUBTED`` of the estimates behind the value are unreliable;
    - the claim presupposes one that does not pass in this seed.

    The last two take precedence.

    If the value has no sampling error, the interval is the value itself. Intervals are per seed and per
    claim. They are not corrected for multiple claims, nor for the bias of taking the largest of several noisy
    values.

    For a claim that compares with another experiment, v is the value with error s. w is the mean over the n
    seeds of the other experiment, with error t = sqrt(sum of squared errors) / n. To first order the error of
    v - w is sqrt(s^2 + t^2), and that of v / w is sqrt(s^2 + (v t / w)^2) / |w|.

    If a claim reads types of heads, the types are shuffled within each layer. ``chance`` is the share of
    shuffles in which every seed's value lies within the bounds, errors ignored. If it exceeds ``CHANCE`` and
    the claim does not fail, the claim is not judged, since passing would mean nothing. With few heads there
    are few shuffles, so the measured assignment alone can exceed ``CHANCE``.

    Raises ValueError in these cases:

    - a claim presupposes an unknown claim, or itself
    - two claims about one experiment have the same name
    - a claim of a user's file (``work`` ends in .py) cannot be judged on any experiment
    - a claim's function raises
    """
    _check_given(claims)
    values = Values(experiments, datasets, repeat or {})
    rows = _rows(claims, values, tell)
    number_of_rows = Counter(claim.name for claim, _ in rows)
    labels = [
        f"{claim.name}.{name}" if number_of_rows[claim.name] > 1 else claim.name for claim, name in rows
    ]
    outcomes = [judged_outcome(claim, name, values) for claim, name in rows]
    outcomes = presupposing(rows, with_flips(rows, outcomes, values, tell))
    chances = chance_levels(rows, values, tell)
    seeds = sorted({seed for name in experiments for seed in values.seeds(name)})
    columns: dict[str, list[Any]] = {key: [] for key in (*PER_SEED, *NUMBERS, *TEXTS)}
    for (claim, name), outcome, chance in zip(rows, outcomes, chances, strict=True):
        for key, value in row_of(claim, name, outcome, chance, values).items():
            if key in PER_SEED:
                fill = PASSES["missing"] if key == "passes" else NAN
                value = _align(value, values.seeds(name), seeds, fill)
            columns[key].append(value)
    shape = len(rows), len(seeds)
    variables: dict[str, tuple[str | tuple[str, ...], np.ndarray]] = {
        key: (("claim", "seed"), np.asarray(columns[key], dtype=float).reshape(shape)) for key in PER_SEED
    }
    variables |= {key: ("claim", np.asarray(columns[key], dtype=float)) for key in NUMBERS}
    variables |= {key: ("claim", text_array(columns[key])) for key in TEXTS}
    variables["passes"] = variables["passes"][0], variables["passes"][1].astype(np.int8)
    names = [experiment.label or name for name, experiment in experiments.items()]
    coords = {
        "claim": text_array(labels),
        "seed": np.asarray(seeds, dtype=np.int64),
        "experiment": text_array(experiments),
        "experiment_label": ("experiment", text_array(names)),
    }
    result = (
        xr.Dataset(variables, coords)
        .merge(listed(numbers, values, seeds))
        .merge(by_published(rows, labels, published or {}))
    )
    result = describe(result, VARIABLES)
    result["passes"].attrs |= {
        "flag_values": np.asarray(list(PASSES.values()), dtype=np.int8),
        "flag_meanings": " ".join(PASSES),
    }
    return result


def _check_given(claims: Sequence[Claim]) -> None:
    """Raise ValueError if a claim presupposes an unknown claim, or itself."""
    known = {claim.name for claim in claims}
    for claim in claims:
        if claim.given == claim.name:
            raise ValueError(f"claim {claim.name} presupposes itself: expected the name of another claim")
        if claim.given and claim.given not in known:
            raise ValueError(
                f"claim {claim.name} presupposes {claim.given!r}, which is not a claim: expected the name of "
                "another claim; see ``given`` of rllc.claim"
            )


def _rows(claims: Sequence[Claim], values: Values, tell: Callable[[str], None]) -> list[tuple[Claim, str]]:
    """Return every claim with each experiment that it is judged on. Tell which are left out, and why."""
    rows: list[tuple[Claim, str]] = []
    left_out: dict[str, dict[str, str]] = {claim.name: {} for claim in claims}  # claim, experiment -> reason
    for name, experiment in values.experiments.items():
        about = [claim for claim in claims if claim.applies(experiment)]
        count = Counter(claim.name for claim in about)
        if twice := sorted(each for each in count if count[each] > 1):
            raise ValueError(
                f"two claims about {name} have the same name {', '.join(twice)}: rename one (claim(name=...))"
            )
        for claim in about:
            read = [name, *([claim.versus] if claim.versus else [])]
            reason = next(filter(None, (values.lacks(claim.statistic, each) for each in read)), "")
            if reason:
                left_out[claim.name][name] = reason
            else:
                rows.append((claim, name))
        tell(f"{name}: {sum(of == name for _, of in rows)} claims to judge")
    judged = {claim.name for claim, _ in rows}
    for claim in claims:
        reasons = left_out[claim.name]
        if claim.name in judged:
            for name, reason in reasons.items():
                tell(f"claim {claim.name} is not judged on {name}: {reason}")
            continue
        about_none = f"it is about experiments {claim.experiment!r}, and none is here"
        reason = "; ".join(dict.fromkeys(reasons.values())) or about_none
        if claim.work.endswith(".py"):
            raise ValueError(
                f"{claim.work}: claim {claim.name} cannot be judged: {reason}; add such an experiment, or "
                "change what the claim is about"
            )
        tell(f"claim {claim.name} is not judged: {reason}")
    return rows


def _align(values: np.ndarray, own: Sequence[int], seeds: Sequence[int], fill: float) -> list[float]:
    """Return the values of an experiment's ``own`` seeds at all ``seeds``, else ``fill``."""
    known = dict(zip(own, np.asarray(values, dtype=float).tolist(), strict=True))
    return [known.get(seed, fill) for seed in seeds]
