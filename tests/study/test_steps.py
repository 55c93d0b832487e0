import copy
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rllc.study import defaults
from rllc.study.reading import read
from rllc.study.steps import chunks, powers, steps


def language(config, **checkpoints):
    config = copy.deepcopy(config)
    config["experiments"]["language"]["checkpoints"].update(checkpoints)
    return read(config).experiments["language"]


def test_powers_are_values_that_no_bound_moves():
    assert powers(2.0, 4, 60) == {4, 8, 16, 32}
    assert powers(1.35, 60, 3000) <= powers(1.35, 1, 10**6)
    assert powers(2.0, 1, 0) == set()


def test_the_published_schedule_has_107_checkpoints(config):
    ranges = [[200, 10000, 200], [10400, 20000, 400], [21000, 50000, 1000]]
    config["experiments"]["language"]["training"]["steps"] = 50000
    config["experiments"]["language"] |= {"calibration": None, "sampling_variants": {}}
    config["experiments"]["language"]["tokens"]["checkpoints"] = [200, 50000]
    config["experiments"]["language"]["hessian_rank"]["checkpoints"] = None
    experiment = language(config, ratio=None, extra=[100], ranges=ranges)
    assert len(steps(experiment)) == 107


def test_the_default_study_has_at_least_twenty_checkpoints(config):
    found = steps(read(config).experiments["language"])
    assert len(found) >= 20
    assert found[0] == 0
    assert found[-1] == 6500


@cache
def default():
    return read(defaults.load(root=Path(__file__).resolve().parents[2])).experiments["language"]


def with_extra(extra):
    """The default study's language models with these further checkpoints, in three chunks."""
    checkpoints = default().checkpoints.model_copy(update={"extra": extra, "chunks": [0, 100, 1000]})
    return default().model_copy(update={"checkpoints": checkpoints})


def test_a_step_at_an_edge_begins_its_chunk():
    table = chunks(with_extra([99, 100, 999, 1000]))
    assert [(members[0], members[-1]) for members in table.values()] == [(0, 99), (100, 999), (1000, 6500)]


@given(extra=st.lists(st.integers(0, 6500), max_size=6), new=st.integers(0, 6500))
def test_adding_a_checkpoint_moves_no_other(extra, new):
    before, after = chunks(with_extra(extra)), chunks(with_extra([*extra, new]))
    for start, members in before.items():
        assert set(members) <= set(after[start])
        assert set(after[start]) - set(members) <= {new}
    every = sorted(step for members in after.values() for step in members)
    assert every == steps(with_extra([*extra, new]))
