"""The engine: every claim, judged seed by seed, with errors, control and what chance would give."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, permutations, product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from rllc.analysis.curves import NotJudged
from rllc.claims.claim import Claim, Statistic
from rllc.claims.columns import (
    CHANCE,
    DOUBTED,
    INTERVAL,
    NUMBERS,
    PASSES,
    PER_SEED,
    SHUFFLES,
    TEXTS,
    VARIABLES,
)
from rllc.claims.experiment import Experiment
from rllc.claims.run import REDRAW, REDRAWS, Absent, Analysis, Datasets, Run, measured_types
from rllc.vocabulary import describe, layer_of

NAN = float("nan")
LABELLED = (
    "A claim's function is called on redrawn curves too, which have one dim more: use xarray's operations "
    "along named dims, and return what they give, without float() or .values"
)
OPEN = [PASSES[name] for name in ("not_reached", "not_judged", "missing")]  # of these no verdict is made


class Value(NamedTuple):
    """A statistic of one seed.

    error    standard error; 0 where what it is read off has none, NaN where one is not known
    exact    whether nothing that it is read off has an error
    reason   why there is no value
    """

    value: float
    error: float = NAN
    exact: bool = False
    freedom: float = float("inf")
    unreliable: float = NAN
    last_step: float = NAN
    reason: str = ""
    controlled: bool = False
    by_type: bool = False


class Outcome(NamedTuple):
    """A claim over the seeds of an experiment: arrays [seed], and what it was compared with."""

    values: np.ndarray
    errors: np.ndarray
    freedom: np.ndarray
    unreliable: np.ndarray
    passes: np.ndarray
    mean: float
    exact: bool
    open: np.ndarray | bool = False  # whether what the claim presupposes does not pass


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

    Returns the columns of ``rllc.claims.columns`` by (claim, seed), (claim) and (claim, published_seed), and
    each of
    ``numbers`` with its error by (experiment, seed). A claim that is about several experiments has a row for
    each, called
    ``<claim>.<experiment>``.

    A seed passes where the whole Student interval of the value lies within the bounds, and fails where
    all of it lies beyond one of them. Between the two it is undecided, and also where an error is not
    known, where more than ``DOUBTED`` of the estimates behind the value are not reliable, and where the
    claim that it presupposes does not pass. A value of what is not sampled has an interval without
    length. The interval is of one seed and one claim: it holds no bias of a maximum, and is not widened
    for the number of claims. To first order the error of a difference v - w is sqrt(s^2 + t^2), that of a
    ratio sqrt(s^2 + (v t / w)^2) / |w|, with t = sqrt(sum of squared errors) / n for the mean w over n
    seeds.

    Where a claim reads types of heads, these are shuffled within their layers. ``chance`` is the share of
    orders in which every seed passes by its value alone. Above ``CHANCE`` a claim that does not fail is
    not judged: that it passes would say nothing. With few heads the measured order alone can be so large
    a share.

    Raises ValueError where a claim presupposes one that there is not, where two of one name are about one
    experiment, where a claim of a file is about none that has what it reads, and where a function fails.
    """
    known = {each.name for each in claims}
    if unknown := [
        f"{each.name} presupposes {each.given!r}" for each in claims if each.given and each.given not in known
    ]:
        raise ValueError(f"claim {', '.join(unknown)}: expected the name of another claim")
    table = _Values(experiments, datasets, repeat or {})
    rows = _rows(claims, table, tell)
    several = {each.name for each, _ in rows if sum(other.name == each.name for other, _ in rows) > 1}
    called = [f"{each.name}.{name}" if each.name in several else each.name for each, name in rows]
    outcomes = [_outcome(each, name, table) for each, name in rows]
    outcomes = _presupposing(rows, outcomes)
    chances = _chances(rows, table, tell)
    seeds = sorted({seed for name in experiments for seed in table.seeds(name)})
    columns: dict[str, list[Any]] = {key: [] for key in (*PER_SEED, *NUMBERS, *TEXTS)}
    for (each, name), outcome, chance in zip(rows, outcomes, chances, strict=True):
        for key, value in _row(each, name, outcome, chance, table).items():
            columns[key].append(_spread(value, table.seeds(name), seeds, key) if key in PER_SEED else value)
    made: dict[str, tuple[str | tuple[str, ...], np.ndarray]] = {
        key: (("claim", "seed"), np.asarray(columns[key], dtype=float).reshape(-1, len(seeds)))
        for key in PER_SEED
    }
    made |= {key: ("claim", np.asarray(columns[key], dtype=float)) for key in NUMBERS}
    made |= {key: ("claim", _text(columns[key])) for key in TEXTS}
    made["passes"] = made["passes"][0], made["passes"][1].astype(np.int8)
    coords = {"claim": _text(called), "seed": np.asarray(seeds, dtype=np.int64)}
    coords |= {
        "experiment": _text(experiments),
        "experiment_label": ("experiment", _text(e.label or n for n, e in experiments.items())),
    }
    result = (
        xr.Dataset(made, coords)
        .merge(_listed(numbers, table, seeds))
        .merge(_published(rows, called, published or {}))
    )
    result = describe(result, VARIABLES)
    result["passes"].attrs |= {
        "flag_values": np.asarray(list(PASSES.values()), dtype=np.int8),
        "flag_meanings": " ".join(PASSES),
    }
    return result


def _rows(claims: Sequence[Claim], table: "_Values", tell: Callable[[str], None]) -> list[tuple[Claim, str]]:
    """Return every claim with each experiment that it is judged on, and tell which are left out and why."""
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


def decide(values: np.ndarray, errors: np.ndarray, freedom: np.ndarray, claim: Claim) -> np.ndarray:
    """Return ``PASSES`` of the Student intervals of values [seed].

    Undecided where one crosses a bound or has no error.
    """
    low, high = claim.bounds
    half = errors * stats.t.ppf(0.5 + INTERVAL / 2, freedom)
    least, most = values - half, values + half
    within, beyond = (low <= least) & (most <= high), (most < low) | (least > high)
    return np.select([within, beyond], [PASSES["passes"], PASSES["fails"]], PASSES["undecided"])


def verdict(passes: np.ndarray) -> str:
    """Return one of ``VERDICTS`` from the flags of all seeds.

    It is "holds" where all seeds that are reached pass, "does not" where all fail, else "half", if that is
    the same whichever way the undecided ones turn out; else "undecided". One seed that passes and one that
    fails are "half" beside any number of undecided ones.
    """
    reached = passes[~np.isin(passes, OPEN)]
    decided = reached[reached >= 0]
    if not reached.size:
        return "not judged" if (passes == PASSES["not_judged"]).any() else "not reached"
    if decided.any() and not decided.all():
        return "half"
    if decided.size < reached.size:
        return "undecided"
    return "holds" if decided.all() else "does not"


def evaluate(statistic: Statistic, run: Run) -> Value:
    """Return a statistic of one seed, its error and degrees of freedom by redraws, or why there is no value.

    The error is the larger of two where all steps share their noise: of redraws with errors that are
    independent, and of redraws with one normal number per chain of steps. Raises Absent where the experiment
    has no such curve.
    """
    own = run.like()
    try:
        value = _number(statistic, own)
        reason = "" if np.isfinite(value) else f"{statistic.label} is not defined here"
    except NotJudged as error:
        value, reason = NAN, str(error)
    facts = {
        "unreliable": max(
            (each.unreliable for each in own.readings if each.unreliable == each.unreliable), default=NAN
        ),
        "last_step": max((each.last_step for each in own.readings), default=NAN),
        "controlled": any(each.controlled for each in own.readings),
        "by_type": own.by_type,
    }
    with_errors = [each for each in own.readings if each.errors]
    if reason or not with_errors:
        return Value(value, NAN if reason else 0.0, not with_errors, reason=reason, **facts)
    if not all(each.known for each in with_errors):
        return Value(value, **facts)
    modes = ["own", "common"] if any(each.seeded for each in own.readings) else ["own"]
    errors = [_redrawn(statistic, run.like(noise=mode)) for mode in modes]
    if any(np.isnan(error) for error, _ in errors):
        return Value(value, **facts)
    error, freedom = max(errors, key=lambda each: each[0])
    return Value(value, error, freedom=freedom, **facts)


def _number(statistic: Statistic, run: Run) -> float:
    """Return the number of a run. Raises ValueError, with the names of both, where the function fails."""
    try:
        value = statistic.function(run)
        if isinstance(value, xr.DataArray) and value.ndim:
            raise ValueError(
                f"it returns a value for every {', '.join(map(str, value.dims))}, not one number"
            )
        return float(value)
    except (Absent, NotJudged):
        raise
    except Exception as error:
        place = f"{statistic.name} on {run.experiment.name}, seed {run.seed}"
        raise ValueError(f"the claim function {place}: {type(error).__name__}: {error}") from error


def _redrawn(statistic: Statistic, run: Run) -> tuple[float, float]:
    """Return the standard deviation over redraws, and its degrees of freedom by Welch and Satterthwaite.

    With c_i the share of the variance that cell i gives, they are 1 / sum(c_i^2 / f_i). The share is the
    squared correlation of the redrawn value with the cell's normal number, less 1 / redraws, what chance
    gives.
    """
    try:
        values = statistic.function(run)
    except NotJudged:
        return NAN, NAN
    except TypeError as error:  # as float(curve) of a curve with a further dim
        raise ValueError(f"{statistic.name}: {error}. {LABELLED}") from error
    redrawn = [each.redrawn for each in run.readings if each.redrawn is not None]
    if not redrawn:
        return 0.0, float("inf")
    if not isinstance(values, xr.DataArray) or REDRAW not in values.dims:
        raise ValueError(f"{statistic.name}: its number has lost the dim {REDRAW!r}. {LABELLED}")
    drawn = values.transpose(REDRAW, ...).values.reshape(REDRAWS, -1)[:, 0]
    spread = float(np.std(drawn, ddof=1))
    freedom = np.concatenate([each.freedom for each in redrawn])
    if not spread > 0 or np.isinf(freedom).all():
        return spread, float("inf")
    normals = np.concatenate([each.normals for each in redrawn], axis=1)
    if normals.shape[1] != freedom.size:  # noise that all steps share: one number for all of them
        freedom = np.full(normals.shape[1], freedom.min())
    apart = (drawn - drawn.mean()) / (spread * REDRAWS)
    squared = (apart @ (normals - normals.mean(0))) ** 2
    share = np.clip(squared - 1 / REDRAWS, 0, None)
    doubled = np.clip(share**2 - 4 * share / REDRAWS - 2 / REDRAWS**2, 0, None)
    total = float((doubled / freedom).sum())
    return spread, float(share.sum() ** 2 / total) if total > 0 else float("inf")


class _Values:
    """Statistics of experiments by seed, each worked out once."""

    def __init__(
        self,
        experiments: Mapping[str, Experiment],
        datasets: Mapping[str, Datasets],
        repeat: Mapping[str, Analysis],
    ) -> None:
        self.experiments, self.datasets, self.repeat = experiments, datasets, repeat
        self._known: dict[tuple[Any, str, bool], dict[int, Value] | None] = {}
        self._absent: dict[tuple[Any, str], str] = {}

    def seeds(self, experiment: str) -> list[int]:
        """Return the training seeds of an experiment."""
        return sorted(
            {
                int(s)
                for data in self.datasets[experiment].values()
                for s in np.atleast_1d(data["seed"].values)
            }
        )

    def run(self, experiment: str, seed: int) -> Run:
        """Return one seed of an experiment."""
        return Run(self.experiments[experiment], self.datasets[experiment], seed, repeat=self.repeat)

    def lacks(self, statistic: Statistic, experiment: str) -> str:
        """Return why the experiment has not what the statistic is read off; "" where it has."""
        if experiment not in self.experiments:
            return f"there is no experiment {experiment!r}"
        self._of(statistic, experiment, False)
        return self._absent.get((statistic.function, experiment), "")

    def has(self, statistic: Statistic, experiment: str) -> bool:
        """Whether the experiment has what the statistic is read off."""
        return not self.lacks(statistic, experiment)

    def of(self, statistic: Statistic, experiment: str, *, control: bool = False) -> dict[int, Value]:
        """Return the statistic by seed. Raises Absent."""
        found = self._of(statistic, experiment, control)
        if found is None:
            raise Absent(f"{experiment} has no {statistic.label}")
        return found

    def _of(self, statistic: Statistic, experiment: str, control: bool) -> dict[int, Value] | None:
        key = statistic.function, experiment, control
        if key not in self._known:
            try:
                self._known[key] = {
                    seed: evaluate(statistic, self.run(experiment, seed).like(control=control))
                    for seed in self.seeds(experiment)
                }
            except Absent as error:
                self._known[key] = None
                self._absent[key[:2]] = str(error)
        return self._known[key]


def _outcome(claim: Claim, experiment: str, table: _Values, *, control: bool = False) -> Outcome:
    """Return what a claim comes to, by its statistic or by that of the control."""
    own = list(table.of(claim.statistic, experiment, control=control).values())
    values, errors, freedom, unreliable = _arrays(own)
    exact, mean = all(each.exact for each in own), NAN
    if claim.versus:
        others = list(table.of(claim.statistic, claim.versus, control=control).values())
        others = [
            each
            for each in others
            if np.isfinite(each.value) and not _too_short(claim, table.experiments[claim.versus], each)
        ]
        exact &= all(each.exact for each in others)
        theirs = _arrays(others)
        values, errors, freedom, mean = _compared(values, errors, freedom, theirs, claim)
        unreliable = np.fmax(unreliable, np.nanmean(theirs[3]) if np.isfinite(theirs[3]).any() else NAN)
    if control:
        unreliable = np.full_like(values, NAN)
    passes = np.where(unreliable > DOUBTED, PASSES["undecided"], decide(values, errors, freedom, claim))
    passes = np.where(np.isfinite(values), passes, PASSES["not_judged"])
    short = [_too_short(claim, table.experiments[experiment], each) for each in own]
    return Outcome(
        values, errors, freedom, unreliable, np.where(short, PASSES["not_reached"], passes), mean, exact
    )


def _too_short(claim: Claim, experiment: Experiment, value: Value) -> bool:
    """Whether the training, or what is measured of it, ends before the step that the claim speaks of."""
    return 0 < experiment.steps < claim.reached or value.last_step < claim.reached


def _arrays(values: Sequence[Value]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows = [(each.value, each.error, each.freedom, each.unreliable) for each in values]
    columns = np.asarray(rows, dtype=float).reshape(-1, 4).T
    return columns[0], columns[1], columns[2], columns[3]


def _compared(
    values: np.ndarray, errors: np.ndarray, freedom: np.ndarray, others: Sequence[np.ndarray], claim: Claim
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return values less or over the mean of the other's seeds, with errors, and that mean."""
    their_values, their_errors, their_freedom, _ = others
    if not their_values.size:
        nothing = np.full_like(values, NAN)
        return nothing, nothing, freedom, NAN
    mean, count = float(their_values.mean()), their_values.size
    error = float(np.sqrt((their_errors**2).sum())) / count
    own, other = errors**2, np.full_like(values, error**2)
    if claim.ratio:
        own, other = own / mean**2, (values * error / mean) ** 2 / mean**2
        values = values / mean
    else:
        values = values - mean
    square = own + other
    parts = own**2 / freedom + other**2 / (their_freedom.min() * count)
    welch = np.divide(square**2, parts, out=np.full_like(values, np.inf), where=parts > 0)
    return values, np.sqrt(square), welch, mean


def _presupposing(rows: Sequence[tuple[Claim, str]], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes, undecided where what a claim presupposes does not pass in the same seed."""
    by_name = {(each.name, name): outcome for (each, name), outcome in zip(rows, outcomes, strict=True)}
    found = []
    for (each, name), outcome in zip(rows, outcomes, strict=True):
        if each.given:
            given = by_name.get((each.given, name))  # None: the experiment lacks what it reads
            fails = given is None or given.passes != PASSES["passes"]
            open_ = (outcome.passes >= 0) & fails
            outcome = outcome._replace(
                passes=np.where(open_, PASSES["undecided"], outcome.passes), open=open_
            )
        found.append(outcome)
    return found


def _row(
    claim: Claim, name: str, outcome: Outcome, chance: tuple[float, int], table: _Values
) -> dict[str, Any]:
    """Return all columns of one claim."""
    control = None
    if any(each.controlled for each in table.of(claim.statistic, name).values()):
        try:
            control = _outcome(claim, name, table, control=True)
        except Absent:
            control = None
    judged, reason = verdict(outcome.passes), _reasons(claim, table.of(claim.statistic, name), outcome)
    share, count = chance
    if share > CHANCE and judged in ("holds", "half", "undecided"):
        judged = "not judged"
        reason = f"chance passes: every seed passes in {share:.0%} of {count} orders of the types of heads"
    none = np.full_like(outcome.values, NAN)
    return {
        "value": outcome.values,
        "value_se": none if outcome.exact else outcome.errors,
        "degrees_of_freedom": none if outcome.exact else outcome.freedom,
        "untrusted": outcome.unreliable,
        "passes": outcome.passes,
        "control": none if control is None else control.values,
        "control_passes": none if control is None else control.passes,
        "chance": share,
        "shuffles": count or NAN,
        "compared_with": outcome.mean,
        "at_least": NAN if claim.at_least is None else claim.at_least,
        "at_most": NAN if claim.at_most is None else claim.at_most,
        "reached": claim.reached,
        "text": claim.text,
        "source": claim.source,
        "work": claim.work,
        "family": claim.family or table.experiments[name].label or name,
        "experiment_of_claim": name,
        "versus": claim.versus or "",
        "comparison": ("ratio" if claim.ratio else "difference") if claim.versus else "",
        "published": claim.published,
        "given": claim.given or "",
        "correction": claim.correction,
        "statistic": claim.statistic.name,
        "label": claim.statistic.label,
        "unit": "1" if claim.ratio else claim.statistic.unit,
        "reason": reason,
        "control_verdict": "" if control is None else verdict(control.passes),
        "verdict": judged,
    }


def _reasons(claim: Claim, values: Mapping[int, Value], outcome: Outcome) -> str:
    """Return why seeds have no value or are undecided, equal reasons together: "seeds 0, 2: needs ..."."""
    together: dict[str, list[str]] = {}
    for n, (seed, each) in enumerate(values.items()):
        if outcome.passes[n] == PASSES["not_judged"]:
            reason = each.reason or f"{claim.versus} has no value"
        elif outcome.passes[n] == PASSES["undecided"]:
            reason = _undecided(claim, outcome, n)
        else:
            continue
        together.setdefault(reason, []).append(str(seed))
    if len(together) == 1 and len(next(iter(together.values()))) == len(values):
        return next(iter(together))
    return "; ".join(f"seed{'s' * (len(of) > 1)} {', '.join(of)}: {text}" for text, of in together.items())


def _undecided(claim: Claim, outcome: Outcome, n: int) -> str:
    """Return why a seed is undecided."""
    if outcome.unreliable[n] > DOUBTED:
        return f"{outcome.unreliable[n]:.0%} of the estimates behind it are not reliable"
    if np.broadcast_to(outcome.open, outcome.passes.shape)[n]:
        return f"presupposes {claim.given}, which does not pass"
    return "its interval crosses a bound" if np.isfinite(outcome.errors[n]) else "its error is not known"


# --- what chance would give


def shuffles(types: xr.DataArray, count: int, random: np.random.Generator) -> list[xr.DataArray]:
    """Return the different orders of types of heads within layers, or ``count`` random ones of many."""
    layers: dict[int, list[int]] = {}
    for n, head in enumerate(types["head"].values):
        layers.setdefault(layer_of(str(head)), []).append(n)
    orders = [_different(types.values[places], count) for places in layers.values()]
    few = [each for each in orders if each is not None]
    if len(few) == len(orders) and (total := int(np.prod([len(each) for each in few]))) <= count:
        chosen: Iterator[tuple[tuple[str, ...], ...]] = product(*few)
    else:
        total = count
        chosen = (
            tuple(tuple(random.permutation(types.values[p])) for p in layers.values()) for _ in range(count)
        )
    made = []
    for order in islice(chosen, total):
        values = types.values.copy()
        for places, kinds in zip(layers.values(), order, strict=True):
            values[places] = kinds
        made.append(types.copy(data=values))
    return made


def _different(kinds: np.ndarray, count: int) -> list[tuple[str, ...]] | None:
    """Return the different orders of a layer's types; None where there are many more than ``count``."""
    if len(kinds) > 7:
        return None
    found = dict.fromkeys(permutations(kinds.tolist()))
    return list(found) if len(found) <= count else None


def _chances(
    rows: Sequence[tuple[Claim, str]],
    table: _Values,
    tell: Callable[[str], None],
) -> list[tuple[float, int]]:
    """Return for each claim the share of shuffles in which every seed passes, and their number.

    NaN and 0 where types are not shuffled for it. Seeds are shuffled independently, so that the share of all
    is the product of theirs.
    """
    found = [(NAN, 0)] * len(rows)
    for name in table.experiments:
        places = [n for n, (each, of) in enumerate(rows) if of == name and _is_shuffled(each, name, table)]
        if not places:
            continue
        tell(f"{name}: shuffling the types of heads for {len(places)} claims")
        shares: dict[int, list[tuple[float, int]]] = {place: [] for place in places}
        random = np.random.default_rng(0)
        for seed in table.seeds(name):
            with suppress(NotJudged):  # a seed without scores
                orders = shuffles(measured_types(table.datasets[name], seed), SHUFFLES, random)
                passes = _of_orders([rows[place][0] for place in places], table, name, seed, orders)
                for place, each in zip(places, passes.T, strict=True):
                    shares[place] += [(float(np.nanmean(each)), len(each))] if np.isfinite(each).any() else []
        for place, of_seeds in shares.items():
            if of_seeds:
                parts, counts = zip(*of_seeds, strict=True)
                found[place] = float(np.prod(parts)), min(counts)
    return found


def _is_shuffled(claim: Claim, experiment: str, table: _Values) -> bool:
    """Return whether the claim's number on an experiment depends on the types of heads."""
    values = table.of(claim.statistic, experiment).values()
    return claim.shuffle and not claim.versus and any(each.by_type for each in values)


def _of_orders(
    claims: Sequence[Claim], table: _Values, experiment: str, seed: int, orders: Sequence[xr.DataArray]
) -> np.ndarray:
    """Return whether each claim passes [order, claim] in a seed with the types in each order."""
    measured = [table.of(each.statistic, experiment)[seed] for each in claims]
    passes = []
    for types in orders:
        run = table.run(experiment, seed).like(shuffled=types)  # one for all claims: analyses are made once
        passes.append([_passes_alone(*each, run) for each in zip(claims, measured, strict=True)])
    return np.asarray(passes, dtype=float)


def _passes_alone(claim: Claim, measured: Value, run: Run) -> float:
    """Return whether the value under shuffled types is within the bounds.

    NaN where the seed has no verdict.
    """
    if not np.isfinite(measured.value) or _too_short(claim, run.experiment, measured):
        return NAN
    try:
        value = _number(claim.statistic, run)
    except NotJudged:
        return NAN
    low, high = claim.bounds
    return float(low <= value <= high) if np.isfinite(value) else NAN


# --- what stands beside the claims


def _listed(numbers: Sequence[Statistic], table: _Values, seeds: Sequence[int]) -> xr.Dataset:
    """Return the listed statistics of every experiment, with errors and shares of unreliable estimates."""
    made = {}
    for each in numbers:
        parts: dict[str, list[np.ndarray]] = {"": [], "_se": [], "_untrusted": []}
        for name in table.experiments:
            known = table.of(each, name) if table.has(each, name) else {}
            rows = [known.get(seed, Value(NAN)) for seed in seeds]
            parts[""].append(np.asarray([row.value for row in rows]))
            parts["_se"].append(np.asarray([NAN if row.exact else row.error for row in rows]))
            parts["_untrusted"].append(np.asarray([row.unreliable for row in rows]))
        words = {
            "": each.label,
            "_se": f"standard error of: {each.label}",
            "_untrusted": f"share of unreliable estimates: {each.label}",
        }
        for ending, values in parts.items():
            attrs = {"long_name": words[ending], "units": "1" if ending == "_untrusted" else each.unit}
            made[each.name + ending] = (("experiment", "seed"), np.stack(values), attrs)
    return xr.Dataset(made)


def _published(
    rows: Sequence[tuple[Claim, str]],
    called: Sequence[str],
    published: Mapping[str, Sequence[tuple[Experiment, Datasets]]],
) -> xr.Dataset:
    """Return the number of each claim by the claimants' own curves, where they have what it reads."""
    tables = {
        work: _Values({each.name: each for each, _ in theirs}, {each.name: data for each, data in theirs}, {})
        for work, theirs in published.items()
    }
    values = [_by_their_curves(each, tables[each.work]) if each.work in tables else {} for each, _ in rows]
    seeds = sorted({seed for found in values for seed in found})
    if not seeds:
        return xr.Dataset()
    made = np.asarray([[found.get(seed, NAN) for seed in seeds] for found in values], dtype=float)
    return xr.Dataset(
        {"published_value": (("claim", "published_seed"), made)},
        {"claim": _text(called), "published_seed": seeds},
    )


def _by_their_curves(claim: Claim, table: _Values) -> dict[int, float]:
    """Return the claim's number by seed on the claimants' experiment that it is about; empty without one."""
    for name, experiment in table.experiments.items():
        if claim.applies(experiment) and not claim.versus and table.has(claim.statistic, name):
            return {seed: each.value for seed, each in table.of(claim.statistic, name).items()}
    return {}


def _spread(values: np.ndarray, own: Sequence[int], seeds: Sequence[int], key: str) -> list[float]:
    """Return values by the seeds of all experiments, NaN (of passes, missing) where this one has none."""
    known = dict(zip(own, np.asarray(values, dtype=float).tolist(), strict=True))
    return [known.get(seed, PASSES["missing"] if key == "passes" else NAN) for seed in seeds]


def _text(values: Iterable[str]) -> np.ndarray:
    return np.asarray(list(values), dtype=object)
