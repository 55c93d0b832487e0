"""Calibration: `snakemake calibrate`, not part of `all`.

Makes `<experiment>/calibration.nc` (a grid of sampling settings with its controls), `dependence.nc` (what
estimates depend on beside the setting), `recommendation.nc` (the rule applied to the grid) and their figures,
for every experiment that declares `calibration`.
"""


rule calibrate:
    """Every dataset and figure of the calibrations that the config declares."""
    input:
        [
            AT.dataset(name, dataset)
            for name, entry in EXPERIMENTS.items()
            for dataset in datasets(entry, "calibrate")
        ],
        [AT.figure(name) for name in asked_by("calibrate", STUDY.figures)],
