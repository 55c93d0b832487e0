"""Make blocks of a generated task, the training and the held-out side."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.text import GenerateBlocks
from rllc.store.blocks import write_examples


def main(settings: GenerateBlocks, blocks: Path) -> None:
    """Generate both sides in one call, so that they share no example of data that are generated once."""
    count = (settings.train or 0) + settings.held_out
    every = settings.generator.load()(count, seed=settings.stream, **settings.keywords)
    write_examples(blocks, every, train=settings.train, settings=settings.keywords)


if __name__ == "__main__":
    run(main)
