"""Calibration: `snakemake calibrate`, not part of `all`.

For every experiment that declares `calibration`, this makes `<experiment>/calibration.nc` (a grid of sampling
settings with controls), `dependence.nc` (dependence of estimates on data, minibatches and noise),
`recommendation.nc` (the rule applied to the grid), and their figures.
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
