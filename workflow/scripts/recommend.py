"""The rule applied to a sweep: which setting is recommended, and what it says of the settings in use."""

from pathlib import Path

from rllc.analysis.calibration import at_settings, recommend
from rllc.job.stage import run
from rllc.store import manifest
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.provenance import attributes, stamp


def main(calibration: Path, rule: dict, known: dict, code: str, output: Path) -> None:
    """Every criterion at every setting, the choice, and where the experiment's own settings stand."""
    sweep = read_dataset(calibration)
    found = recommend(sweep, **rule).merge(at_settings(sweep, known, **rule))
    inputs = {"calibration": manifest.sha256(calibration)}
    facts = attributes(rule=rule, settings=known, code=code, inputs=inputs)
    if "distribution_label" in sweep.coords:
        named = dict(zip(sweep["distribution"].values, sweep["distribution_label"].values, strict=True))
        labels = [str(named.get(name, name)) for name in found["distribution"].values]
        found = found.assign_coords(distribution_label=("distribution", labels))
    write_dataset(found.drop_attrs(deep=False).assign_attrs(facts).assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
