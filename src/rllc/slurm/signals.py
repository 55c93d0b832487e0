"""A main process that is told to end, by whatever signal, ends as on Ctrl-C.

Snakemake takes SIGTERM for a wish to wait for all that runs, and dies of SIGHUP; sites send both to what
runs long on a login node, and SIGKILL a little later.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Collection, Iterable

import psutil


def heed_signals() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does, once; what `nohup` or a shell keeps away stays away."""
    told = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heeded = {number for number in told if signal.getsignal(number) != signal.SIG_IGN}
    heard = threading.Event()

    def interrupt(number: int, _: object) -> None:
        # A session that ends sends several. A second Ctrl-C is meant.
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
    """Wake the main thread for a signal that another one was given: it would wait for its lock for ever."""
    while not heard.is_set():
        (number,) = os.read(reader, 1)
        while number in heeded and not heard.wait(0.2):
            signal.pthread_kill(main, signal.SIGTERM)


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
