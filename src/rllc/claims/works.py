"""The claims of the works that rllc brings, and of the user's own files, judged together."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from rllc.claims import heads, regression, sorting, stages
from rllc.claims.claim import claims_of, load, numbers_of
from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
from rllc.claims.published import published
from rllc.claims.repeat import REPEAT
from rllc.claims.run import Datasets

WORKS = {"heads": heads, "stages": stages, "regression": regression, "sorting": sorting}
log = logging.getLogger("rllc")


def judge_works(
    works: Sequence[str],
    own: Sequence[Path],
    experiments: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, Datasets],
) -> xr.Dataset:
    """Return the table of claims of works and of the user's own files.

    works        names of ``WORKS``
    own          files of claims
    experiments  name -> the keywords of ``Experiment``
    datasets     experiment -> its datasets by name
    """
    modules = {work: WORKS[work] for work in works} | {str(path): load(path) for path in own}
    made = judge(
        [each for work, module in modules.items() for each in claims_of(module, work)],
        {name: Experiment(**facts) for name, facts in experiments.items()},
        datasets,
        numbers=[each for module in modules.values() for each in numbers_of(module)],
        repeat=REPEAT,
        published=published(works),
        tell=log.info,
    )
    counts = Counter(made["verdict"].values.tolist())
    log.info(
        "%d claims: %s", made.sizes["claim"], ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    )
    return made
