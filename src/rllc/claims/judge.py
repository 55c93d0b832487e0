"""The table of claims: every claim is judged on every experiment that it is about."""

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
    """Return the table of claims.

    claims       each is judged on every experiment that it is about and that has the curves it reads
    experiments  name -> what claims may ask of it, in the order of the table
    datasets     experiment -> its datasets by name
    numbers      statistics of every experiment that has them, for tables beside the claims
    repeat       analyses that depend on types of heads -> how they are made again with others
    published    work -> the claimants' own curves, as experiments
    tell         is called with a line on what is done

    The table has the columns of ``rllc.claims.columns`` by (claim, seed), (claim) and (claim,
    published_seed). Each of ``numbers`` stands with its error by (experiment, seed). A claim about several
    experiments has a row for each, called ``<claim>.<experiment>``.

    A seed passes where the whole Student interval of the value lies within the bounds. It fails where all
    of the interval lies beyond one bound. A seed is undecided in five other cases:

    - the interval crosses a bound;
    - the error is not known;
    - more than ``DOUBTED`` of the estimates behind the value are not reliable;
    - the type of an uncertain head decides it (``rllc.claims.judging.flips``);
    - the claim that this one presupposes does not pass.

    A value without sampling error has an interval without length. The interval is of one seed and one
    claim: it holds no bias of a maximum, and is not widened for the number of claims. Errors of comparisons
    are to first order. That of a difference v - w is sqrt(s^2 + t^2), and that of a ratio
    sqrt(s^2 + (v t / w)^2) / |w|. Here t = sqrt(sum of squared errors) / n, for the mean w over n seeds.

    Where a claim reads types of heads, these are shuffled within their layers. ``chance`` is the share of
    orders in which every seed passes by its value alone. Above ``CHANCE`` a claim that does not fail is
    not judged: its pass would say nothing. With few heads the measured order alone can be so large a share.

    Raises ValueError in four cases: a claim presupposes one that is not there, two claims of one name are
    about one experiment, a claim of a file is about no experiment that has its curves, a function fails.
    """
    known = {each.name for each in claims}
    if unknown := [
        f"{each.name} presupposes {each.given!r}" for each in claims if each.given and each.given not in known
    ]:
        raise ValueError(f"claim {', '.join(unknown)}: expected the name of another claim")
    table = Values(experiments, datasets, repeat or {})
    rows = _rows(claims, table, tell)
    several = {each.name for each, _ in rows if sum(other.name == each.name for other, _ in rows) > 1}
    called = [f"{each.name}.{name}" if each.name in several else each.name for each, name in rows]
    outcomes = [judged_outcome(each, name, table) for each, name in rows]
    outcomes = presupposing(rows, with_flips(rows, outcomes, table, tell))
    chances = chance_levels(rows, table, tell)
    seeds = sorted({seed for name in experiments for seed in table.seeds(name)})
    columns: dict[str, list[Any]] = {key: [] for key in (*PER_SEED, *NUMBERS, *TEXTS)}
    for (each, name), outcome, chance in zip(rows, outcomes, chances, strict=True):
        for key, value in row_of(each, name, outcome, chance, table).items():
            columns[key].append(_spread(value, table.seeds(name), seeds, key) if key in PER_SEED else value)
    made: dict[str, tuple[str | tuple[str, ...], np.ndarray]] = {
        key: (("claim", "seed"), np.asarray(columns[key], dtype=float).reshape(-1, len(seeds)))
        for key in PER_SEED
    }
    made |= {key: ("claim", np.asarray(columns[key], dtype=float)) for key in NUMBERS}
    made |= {key: ("claim", text_array(columns[key])) for key in TEXTS}
    made["passes"] = made["passes"][0], made["passes"][1].astype(np.int8)
    coords = {"claim": text_array(called), "seed": np.asarray(seeds, dtype=np.int64)}
    coords |= {
        "experiment": text_array(experiments),
        "experiment_label": ("experiment", text_array(e.label or n for n, e in experiments.items())),
    }
    result = (
        xr.Dataset(made, coords)
        .merge(listed(numbers, table, seeds))
        .merge(by_published(rows, called, published or {}))
    )
    result = describe(result, VARIABLES)
    result["passes"].attrs |= {
        "flag_values": np.asarray(list(PASSES.values()), dtype=np.int8),
        "flag_meanings": " ".join(PASSES),
    }
    return result


def _rows(claims: Sequence[Claim], table: Values, tell: Callable[[str], None]) -> list[tuple[Claim, str]]:
    """Return every claim with each experiment that it is judged on. Tell which are left out, and why."""
    rows: list[tuple[Claim, str]] = []
    left_out: dict[str, str] = {}
    for name, experiment in table.experiments.items():
        about = [each for each in claims if each.applies(experiment)]
        names = [each.name for each in about]
        if twice := sorted({each for each in names if names.count(each) > 1}):
            raise ValueError(f"two claims about {name} are called {', '.join(twice)}: give one another name")
        for each in about:
            lacking = table.lacks(each.statistic, name)
            lacking = lacking or (each.versus and table.lacks(each.statistic, each.versus)) or ""
            if lacking:
                left_out[each.name] = lacking
            else:
                rows.append((each, name))
        tell(f"{name}: {sum(of == name for _, of in rows)} claims")
    judged = {each.name for each, _ in rows}
    for each in claims:
        if each.name in judged:
            continue
        nothing = f"no experiment here is one that it is about ({each.experiment})"
        lacking = left_out.get(each.name, nothing)
        if each.work.endswith(".py"):
            raise ValueError(f"{each.work}: the claim {each.name} is not judged: {lacking}")
        tell(f"not judged, {each.name}: {lacking}")
    return rows


def _spread(values: np.ndarray, own: Sequence[int], seeds: Sequence[int], key: str) -> list[float]:
    """Return values by the seeds of all experiments, NaN (of passes, missing) where this one has none."""
    known = dict(zip(own, np.asarray(values, dtype=float).tolist(), strict=True))
    return [known.get(seed, PASSES["missing"] if key == "passes" else NAN) for seed in seeds]
