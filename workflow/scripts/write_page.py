"""One page: a static HTML file."""

from collections.abc import Callable
from pathlib import Path

from rllc.job.stage import run
from rllc.store.named import read_named
from rllc.store.whole import write_text


def main(function: Callable, names: dict, datasets: list[Path], options: dict, code: str, page: Path) -> None:
    """Call the function that writes the page with the datasets it names."""
    read, _ = read_named(names["datasets"], datasets)
    write_text(function(read, **options), page)


if __name__ == "__main__":
    run(main)
