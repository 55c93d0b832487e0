"""Clusters of heads by their rLLC curves."""

from pathlib import Path

from rllc.analysis.clusters import cluster
from rllc.record.provenance import attributes, stamp
from rllc.record.stage import run
from rllc.record.store import read_dataset, write_dataset


def main(rllc: Path, clustering: dict, stream: int, output: Path) -> None:
    """Cluster the rLLC curves of all heads with every algorithm and number of clusters."""
    curves = read_dataset(rllc)["rllc"].sel(distribution=clustering.pop("distributions"))
    attrs = attributes(clustering=clustering, **stamp())
    made = cluster(curves, random_seed=stream, **clustering)
    write_dataset(made.assign_attrs(attrs), output)


if __name__ == "__main__":
    run(main)
