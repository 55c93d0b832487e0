import xarray as xr

from rllc.store.datasets import write_dataset
from rllc.store.manifest import sha256
from rllc.store.named import read_named


def test_datasets_are_read_by_name_with_the_digests_of_their_files(tmp_path):
    paths = [tmp_path / "b.nc", tmp_path / "a.nc"]
    for value, path in enumerate(paths):
        write_dataset(xr.Dataset({"x": value}), path)
    read, inputs = read_named({"llc": paths[0], "rllc": paths[1]})
    assert {name: int(dataset["x"]) for name, dataset in read.items()} == {"llc": 0, "rllc": 1}
    assert inputs == {"llc": sha256(paths[0]), "rllc": sha256(paths[1])}
