"""Write one page: a static HTML file."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.figures import Draw
from rllc.store.atomic_write import write_text
from rllc.store.named import read_named


def main(settings: Draw, page: Path) -> None:
    """Call the function that writes the page with the datasets that it reads."""
    read, _ = read_named(settings.datasets)
    write_text(settings.function.load()(read, **settings.options), page)


if __name__ == "__main__":
    run(main)
