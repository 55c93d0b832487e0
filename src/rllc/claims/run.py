"""One seed of an experiment as claims see it: labelled curves, heads and their types.

The same object stands for the estimates, for redraws of them by their errors, for the prior-only control,
and for runs in which the types of heads are shuffled. A claim's function does not see which.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.curves import END_WINDOW, LAST_STEP, NotJudged, end_mean
from rllc.analysis.intervals import degrees_of_freedom
from rllc.analysis.needs import NEEDS
from rllc.analysis.recorded import recorded
from rllc.claims import paired
from rllc.claims.columns import BY_BLOCK, CONTROL, STANDARD_ERROR
from rllc.claims.experiment import Experiment
from rllc.claims.reading import REDRAW, REDRAWS, Reading, Readings, Redrawn
from rllc.claims.selection import Absent, at_labels, between, chosen_cells, part
from rllc.quality import reliable
from rllc.vocabulary import layer_of

NAN = float("nan")
Datasets = Mapping[str, xr.Dataset]
Analysis = Callable[[Datasets, xr.DataArray, int, Mapping[str, Any]], xr.Dataset]  # types and seed, keywords


@dataclass
class Run:
    """One seed of an experiment.

    experiment  its name, task, layers, texts and settings
    noise       redraws: None, "own" errors of every estimate, or "common" to all steps
    control     whether the prior-only control stands in place of estimates that have one
    shuffled    types (head) in place of those measured
    flipped     whether the types in the datasets are not those measured (``with_types``)
    repeat      analysis -> how it is made again with other types of heads
    """

    experiment: Experiment
    datasets: Datasets
    seed: int
    noise: str | None = None
    control: bool = False
    shuffled: xr.DataArray | None = None
    flipped: bool = False
    repeat: Mapping[str, Analysis] = field(default_factory=dict)
    readings: Readings = field(default_factory=Readings)
    _made: dict[str, xr.Dataset] = field(default_factory=dict)

    def like(self, **changes: Any) -> "Run":
        """Return the same run with other noise, control or types, and nothing read yet."""
        fresh: dict[str, Any] = {"readings": Readings()}
        if changes.keys() - {"noise", "control", "readings"}:
            fresh["_made"] = {}
        return replace(self, **fresh | changes)

    def with_types(self, types: xr.DataArray) -> "Run":
        """Return the same run with these types (seed, head) in place of those measured, in every seed."""
        scores = self.datasets["attention_scores"].assign(head_type=types)
        return self.like(datasets={**self.datasets, "attention_scores": scores}, flipped=True)

    @property
    def by_type(self) -> bool:
        """Return whether the value depends on which heads of a layer have which types."""
        return self.readings.by_type

    @property
    def text(self) -> str:
        """The distribution that the model is trained on."""
        return self.experiment.text

    @property
    def code(self) -> str:
        """The distribution of code that heads are compared on. Raises Absent."""
        if self.experiment.code is None:
            raise Absent("the experiment compares no head on code")
        return self.experiment.code

    @property
    def types(self) -> xr.DataArray:
        """Types (head) by the attention scores at the last checkpoint. Raises Absent."""
        self.readings.by_type = self.readings.typed = True
        return self.shuffled if self.shuffled is not None else measured_types(self.datasets, self.seed)

    def heads(self, *types: str, layer: int | None = None, at_least: int = 1) -> list[str]:
        """Return the heads of these types (all, if none is named) and of a layer, if one is named.

        Raises NotJudged where there are fewer than ``at_least``, which says how many there are.
        """
        if not types:
            source = next((each for each in self.datasets.values() if "head" in each.coords), None)
            if source is None:
                raise Absent("the experiment has no heads")
            return [
                head for head in map(str, source["head"].values) if layer is None or layer_of(head) == layer
            ]
        kinds = self.types
        found = [
            str(head)
            for head, kind in zip(kinds["head"].values, kinds.values, strict=True)
            if kind in types and (layer is None or layer_of(head) == layer)
        ]
        if len(found) < at_least:
            where = "" if layer is None else f" in layer {layer}"
            heads = f"{' or '.join(types)} head{'s' * (at_least > 1)}"
            raise NotJudged(f"needs {at_least} {heads}{where}, has {len(found) or 'none'}")
        return found

    def count(self, kind: str) -> float:
        """Return how many heads have a type. Raises Absent.

        No shuffle changes it, so chance is not asked of it.
        """
        self.readings.typed = True
        return float((measured_types(self.datasets, self.seed) == kind).sum())

    def dataset(self, name: str) -> xr.Dataset:
        """Return a dataset of this seed. An analysis of types of heads is made with this run's types.

        Raises Absent.
        """
        if name not in self.datasets:
            raise Absent(f"the experiment has no {name}")
        if self.seed not in self.datasets[name]["seed"].values:
            raise NotJudged(f"{name} is not measured in it")
        if name in self.repeat:
            self.readings.by_type = self.readings.typed = True
            types = self.shuffled
            if types is None and self.flipped:
                types = self.datasets["attention_scores"]["head_type"]
            if types is not None:
                if name not in self._made:
                    keywords = self.experiment.settings.get(name, {})
                    self._made[name] = self.repeat[name](self.datasets, types, self.seed, keywords)
                return self._made[name].sel(seed=self.seed)
        return self.datasets[name].sel(seed=self.seed)

    def curve(
        self,
        variable: str,
        *,
        heads: Sequence[str] | None = None,
        from_step: float = 0,
        to_step: float | None = None,
        **labels: Any,
    ) -> xr.DataArray:
        """Return a variable over training, with a dim ``step`` and those for which no label is given.

        variable  dataset and variable, as "llc.llc" or "rllc.likelihood.rllc"
        heads     only these, in this order
        labels    one label of a dim, as ``distribution="code"``; a dim with a single label needs none

        Checkpoints at which nothing is measured are left out. Raises Absent where there is no such variable
        or label, NotJudged where nothing is measured.
        """
        name, _, short = variable.rpartition(".")
        data = self.dataset(name)
        if short not in data:
            raise Absent(f"the experiment has no {variable}")
        controlled = short + CONTROL in data
        own = short + CONTROL if self.control and controlled else short
        value = at_labels(data[own], variable, labels)
        error = (
            at_labels(data[own + STANDARD_ERROR], variable, labels) if own + STANDARD_ERROR in data else None
        )
        blocks = at_labels(data[own + BY_BLOCK], variable, labels) if own + BY_BLOCK in data else None
        fault = None
        if "quality" in data and not set(data["quality"].dims) - set(data[short].dims):
            fault = at_labels((~reliable(data)).astype(float).where(data[short].notnull()), variable, labels)
        normals = None
        if self.noise and error is not None:
            stream = f"{name}.{own} {sorted((key, str(label)) for key, label in labels.items())} {self.seed}"
            normals = self._normals(value, zlib.crc32(stream.encode()))
        chosen = chosen_cells(value, heads, from_step, to_step)
        asked = value["step"].sel(step=slice(from_step, to_step))
        last_step = int(asked[-1]) if asked.size else 0
        value = part(value, chosen)
        error, fault, normals, blocks = (
            None if each is None else part(each, chosen) for each in (error, fault, normals, blocks)
        )
        if not value.size:
            needed = data[short].attrs.get(NEEDS)
            raise NotJudged(
                f"needs {needed}" if needed else f"{variable} has no value{between(from_step, to_step)}"
            )
        blocks = blocks if paired.known(value, blocks) else None
        known = error is not None and bool(np.isfinite(error.where(value.notnull(), 0.0)).all())
        share = NAN if fault is None else float(fault.mean())
        seeded = bool(recorded(data, "sampling").get("seeded"))
        reading = Reading(
            variable,
            share,
            blocks is not None or error is not None,
            blocks is not None or known,
            seeded,
            controlled,
            float(value["step"][-1]),
        )
        self.readings.append(reading)
        if self.noise and blocks is not None:
            value, reading.redrawn = paired.redrawn(value, blocks, self.seed)
        elif normals is not None and error is not None:
            drawn = normals.values.reshape(REDRAWS, -1)
            freedom = degrees_of_freedom(data, own)
            if isinstance(freedom, xr.DataArray):
                freedom = part(at_labels(freedom, variable, labels), chosen)
                of_each = np.broadcast_to(freedom.transpose(*value.dims), value.shape).ravel()
            else:
                of_each = np.full(drawn.shape[1], freedom)
            reading.redrawn = Redrawn(drawn, of_each)
            value = (value + error * normals).transpose(REDRAW, *value.dims)
        return value.rename(variable).assign_coords({LAST_STEP: last_step})

    def every_seed(self, variable: str, **asked: Any) -> xr.DataArray:
        """Return ``curve`` of every seed that has one, along a dim ``seed``; NaN at steps that a seed lacks.

        Raises Absent and, where this seed has none, NotJudged.
        """
        found = {self.seed: self.curve(variable, **asked)}
        for seed in self.datasets[variable.rpartition(".")[0]]["seed"].values.tolist():
            if seed != self.seed:
                with suppress(NotJudged):
                    found[seed] = self.like(seed=seed, readings=self.readings).curve(variable, **asked)
        label = xr.DataArray(list(found), dims="seed", name="seed")
        return xr.concat([found[seed].drop_vars(LAST_STEP) for seed in found], label, join="outer")

    def error(self, variable: str, *, heads: Sequence[str] | None = None, **labels: Any) -> xr.DataArray:
        """Return the standard errors of a variable, which are not redrawn.

        Raises Absent where it has none.
        """
        quiet = self.like(noise=None, control=False)
        name, _, short = variable.rpartition(".")
        controlled = self.control and short + CONTROL in self.dataset(name)
        return quiet.curve(
            f"{name}.{short}{CONTROL if controlled else ''}{STANDARD_ERROR}", heads=heads, **labels
        )

    def with_error(
        self, value: xr.DataArray, error: xr.DataArray, name: str, freedom: float = np.inf
    ) -> xr.DataArray:
        """Return a value that a function made, with a standard error that its dataset does not have.

        value, error  without a dim, or with the same ones; a value may be redrawn already
        name          of the value: equal names are redrawn by equal numbers
        freedom       degrees of freedom of the error
        """
        reading = Reading(name, NAN, True, bool(np.isfinite(error).all()), False, False, NAN)
        self.readings.append(reading)
        if not self.noise:
            return value
        stream = np.random.default_rng(zlib.crc32(f"{name} {self.seed}".encode()))
        normals = xr.DataArray(stream.normal(size=(REDRAWS, *error.shape)), dims=(REDRAW, *error.dims))
        drawn = normals.values.reshape(REDRAWS, -1)
        reading.redrawn = Redrawn(drawn, np.full(drawn.shape[1], freedom))
        return value + error * normals

    def near_end(self, variable: str, **asked: Any) -> xr.DataArray:
        """Return the mean of the last checkpoints of ``curve``, with the noise of training as an error.

        Checkpoints share their contexts, so redraws move all of them alike, and the mean has the mean of
        their standard errors. Raises Absent and NotJudged as ``curve`` and ``end_mean`` do.
        """
        _, error = end_mean(self.like(noise=None).curve(variable, **asked))
        together = self.like(noise=self.noise and "common", readings=self.readings)
        mean, _ = end_mean(together.curve(variable, **asked))
        return self.with_error(
            mean, error, f"{variable} {sorted(asked.items())} near the end", END_WINDOW - 1
        )

    def settings_of(self, name: str) -> dict[str, Any]:
        """Return the settings that a dataset was measured with, as it records them."""
        return recorded(self.dataset(name), name)

    def _normals(self, value: xr.DataArray, stream: int) -> xr.DataArray:
        """Return standard normal numbers [redraw, step, ...], the same at all steps where noise is common."""
        shape = (1 if self.noise == "common" else value.sizes["step"], *value.shape[1:])
        drawn = np.random.default_rng(stream).normal(size=(REDRAWS, *shape))
        made = xr.DataArray(drawn, dims=(REDRAW, *value.dims))
        return made.squeeze("step") if self.noise == "common" else made


def measured_types(datasets: Datasets, seed: int) -> xr.DataArray:
    """Return the types (head) of one seed. Raises Absent."""
    if "attention_scores" not in datasets or "head_type" not in datasets["attention_scores"]:
        raise Absent("the experiment has no attention_scores.head_type, by which heads are chosen")
    if seed not in datasets["attention_scores"]["seed"].values:
        raise NotJudged("attention_scores is not measured in it")
    return datasets["attention_scores"]["head_type"].sel(seed=seed).reset_coords(drop=True)
