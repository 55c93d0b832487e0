"""A main process that is told to end, by whatever signal, ends as on Ctrl-C.

Snakemake takes SIGTERM for a wish to wait for all that runs, and dies of SIGHUP; sites send both to what
runs long on a login node, and SIGKILL a little later.
"""

import contextlib
import signal
import time
from collections.abc import Iterable

import psutil


def heed_signals() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does; those that `nohup` keeps away stay away."""
    heeded = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN
    ]

    def interrupt(*_: object) -> None:
        for number in heeded:  # a session that ends sends several
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    for number in heeded:
        signal.signal(number, interrupt)


def interrupt_children(seconds: float = 5) -> None:
    """As a terminal does on Ctrl-C, but those that ignore it are terminated."""
    children = psutil.Process().children(recursive=True)
    _send(signal.SIGINT, children)
    until = time.monotonic() + seconds
    # No wait for their exit codes: these are for who started them.
    while any(map(_runs, children)) and time.monotonic() < until:
        time.sleep(0.1)
    _send(signal.SIGTERM, filter(_runs, children))


def _send(number: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
