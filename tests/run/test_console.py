import logging

from rllc.run import console


def said(*texts, to_go=None):
    """What a terminal shows of these texts."""
    shown = []

    class Terminal(logging.Handler):
        def emit(self, record):
            shown.append(self.format(record))

    logger, handler = logging.Logger("snakemake"), Terminal()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    console.make_readable(logger)
    if to_go:
        console.say_how_long(logger, to_go)
    for text in texts:
        logger.info(text)
    return shown


def test_advice_to_skip_what_is_stale_and_what_tells_nothing_is_not_shown():
    advice = "Some jobs were triggered by provenance information, see 'reason' section in the rule displays above.\nIf"
    noise = [
        "Select jobs to execute...",
        "Execute 2 jobs...",
        advice,
        "Rules with provenance triggered jobs: draw\n",
    ]
    assert said(*noise, "Finished jobid: 3 (Rule: draw)") == ["Finished jobid: 3 (Rule: draw)"]


def test_progress_says_how_long_is_left(monkeypatch):
    """By the forecast, and once a twentieth of it is done by the pace: 10 of 40 minutes took 5, so 30 take 15."""
    now = iter([100.0, 400.0, 500.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    forecast = {"a": 60.0, "b": 540.0, "c": 1800.0}
    unfinished = iter([["b", "c"], ["c"], []])
    to_go = console.ToGo(forecast, lambda: next(unfinished))
    texts = [f"{n} of 4 steps ({25 * n}%) done" for n in (1, 2, 3)]
    assert said(*texts, "no 4 of 4 steps (100%) done", to_go=to_go) == [
        "1 of 4 steps (25%) done; about 39 of 40 CPU minutes to go",
        "2 of 4 steps (50%) done; about 30 of 40 CPU minutes to go, about 15 minutes at the pace so far",
        "3 of 4 steps (75%) done; less than 1 of 40 CPU minutes to go",
        "no 4 of 4 steps (100%) done",
    ]
    assert said(texts[0], to_go=console.ToGo({"a": 59.0}, lambda: ["a"])) == texts[:1]


def test_thousands_of_files_of_a_failed_job_are_cut():
    error = (
        f"Error in rule x:\n    input: {', '.join(f'texts/{n}.txt' for n in range(2000))}\n    output: a.nc"
    )
    (shown,) = said(error)
    assert len(shown) < 500
    assert shown.startswith("Error in rule x:\n    input: texts/0.txt")
    assert shown.endswith("\n    output: a.nc")
    few = "Error in rule x:\n    input: a.txt, b.txt\n    output: a.nc"
    assert said(few) == [few]


def test_of_what_is_made_for_the_first_time_new_inputs_are_no_reason():
    made, inputs = (
        "Job 1: drawing\nReason: Missing output files: a.nc",
        "Input files updated by another job: b, c",
    )
    assert said(f"{made}; {inputs}", f"Reason: {inputs}") == [made, f"Reason: {inputs}"]
