"""The progress bar of a training: loss, tokens per second, time to go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def training_bar(name: str, steps: int, tokens_per_step: int) -> Iterator[Callable[[int, float], None]]:
    """Context manager: yield ``report(step, loss)``. The bar starts at the first report: a run may resume."""
    bar: tqdm | None = None

    def report(step: int, loss: float) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(
                desc=name, total=steps, initial=step - 1, unit="step", mininterval=2, dynamic_ncols=True
            )
        elapsed = bar.format_dict["elapsed"] or float("inf")
        rate = (bar.n - bar.initial) * tokens_per_step / elapsed
        bar.set_postfix_str(f"loss {loss:.3f}, {rate:,.0f} tokens/s", refresh=False)
        bar.update(step - bar.n)

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
