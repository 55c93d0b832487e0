"""Signals: SIGTERM and SIGHUP end the main process in the same way as Ctrl-C.

On SIGTERM, Snakemake waits for all running jobs. On SIGHUP, it dies. Sites send both to long processes on a
login node, and SIGKILL a little later.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Collection, Iterable

import psutil


def heed_signals() -> None:
    """Make SIGTERM and SIGHUP end a run once, as Ctrl-C does. Signals that `nohup` ignores stay ignored."""
    told = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heeded = {number for number in told if signal.getsignal(number) != signal.SIG_IGN}
    heard = threading.Event()

    def interrupt(number: int, _: object) -> None:
        # The end of a session sends several signals. A second Ctrl-C is deliberate.
        if number == signal.SIGINT or not heard.is_set():
            heard.set()
            raise KeyboardInterrupt

    for number in heeded:
        signal.signal(number, interrupt)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wake, args=(threading.get_ident(), reader, heeded, heard), daemon=True).start()


def _wake(main: int, reader: int, heeded: Collection[int], heard: threading.Event) -> None:
    """Wake the main thread if another thread got the signal: it would wait for its lock for ever."""
    while not heard.is_set():
        (number,) = os.read(reader, 1)
        while number in heeded and not heard.wait(0.2):
            signal.pthread_kill(main, signal.SIGTERM)


def interrupt_children(seconds: float = 5) -> None:
    """Interrupt all child processes, as a terminal does on Ctrl-C, and terminate those that ignore it."""
    children = psutil.Process().children(recursive=True)
    _send(signal.SIGINT, children)
    until = time.monotonic() + seconds
    # Do not collect exit codes here: the code that started the processes needs them.
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
