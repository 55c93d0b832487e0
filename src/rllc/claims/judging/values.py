"""Statistics of experiments by seed, each evaluated once."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rllc.claims.claim import Statistic
from rllc.claims.experiment import Experiment
from rllc.claims.judging.evaluate import Value, evaluate
from rllc.claims.run import Analysis, Datasets, Run
from rllc.claims.selection import Absent

NAN = float("nan")


class Values:
    """Statistics of experiments by seed, each evaluated once."""

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
        """Return why the experiment lacks the curves of a statistic; "" where it has them."""
        if experiment not in self.experiments:
            return f"there is no experiment {experiment!r}"
        self._of(statistic, experiment, False)
        return self._absent.get((statistic.function, experiment), "")

    def has(self, statistic: Statistic, experiment: str) -> bool:
        """Return whether the experiment has the curves of a statistic."""
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
