import pytest

from rllc.job import progress


class Bar:
    """What the bar was told."""

    def __init__(self, *, initial, total, **_):
        self.n, self.initial, self.total, self.said, self.closed = initial, initial, total, "", False
        self.format_dict = {"elapsed": 4.0}

    def update(self, steps):
        self.n += steps

    def set_postfix_str(self, text, *, refresh):
        self.said = text

    def close(self):
        self.closed = True


def test_the_bar_of_a_resumed_run_starts_midway_and_is_closed_whatever_happens(monkeypatch):
    made = []
    monkeypatch.setattr(progress, "tqdm", lambda **given: made.append(Bar(**given)) or made[-1])
    with pytest.raises(OSError), progress.training_bar("it", 100, 1000) as report:
        assert not made
        report(41, 3.0)
        (bar,) = made
        assert (bar.initial, bar.n, bar.total, bar.closed) == (40, 41, 100, False)
        report(49, 2.5)
        report(50, 2.25)
        assert (bar.n, bar.said) == (50, "loss 2.250, 2,250 tokens/s")  # 9 steps in 4 s before this one
        raise OSError
    assert bar.closed and made == [bar]
    with progress.training_bar("it", 100, 1000):
        pass
    assert made == [bar]
