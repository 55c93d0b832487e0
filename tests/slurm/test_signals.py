import os
import signal
import subprocess
import sys

import psutil
import pytest

from rllc.slurm.signals import heed_signals, interrupt_children


@pytest.fixture(autouse=True)
def handlers():
    """What a shell kept away (`nohup`, a job in the background) is back, what is installed here gone afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_a_ctrl_c_and_others_do_not_disturb_the_end(number):
    heed_signals()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    for later in (signal.SIGTERM, signal.SIGHUP):
        os.kill(os.getpid(), later)


ANOTHER_THREAD = """
import signal, sys, threading, time
from rllc.slurm.signals import heed_signals

heed_signals()
other = threading.Thread(target=time.sleep, args=(60,), daemon=True)
other.start()
threading.Timer(0.5, signal.pthread_kill, (other.ident, int(sys.argv[1]))).start()
try:
    threading.Semaphore(0).acquire()  # as the scheduler waits
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_another_thread_is_given_wakes_the_main_thread(number):
    command = [sys.executable, "-c", ANOTHER_THREAD, str(int(number))]
    assert subprocess.run(command, timeout=30).returncode == 7


def test_what_nohup_keeps_away_stays_away():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    heed_signals()
    os.kill(os.getpid(), signal.SIGHUP)


@pytest.mark.parametrize(("ignored", "by"), [("", signal.SIGINT), ("trap '' INT;", signal.SIGTERM)])
def test_children_are_interrupted_or_else_terminated(ignored, by):
    script = f"{ignored} echo ready; exec sleep 60"
    child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    child.stdout.readline()
    interrupt_children(seconds=1)
    assert child.wait(timeout=20) == -by


def test_children_of_children_are_interrupted_too():
    script = "trap : INT; sh -c 'echo $$; exec sleep 60'; exec sleep 60"
    child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    grandchild = psutil.Process(int(child.stdout.readline()))
    interrupt_children(seconds=0.3)
    try:
        assert child.wait(timeout=20) == -signal.SIGTERM
        psutil.wait_procs([grandchild], timeout=20)
        assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
    finally:
        os.killpg(child.pid, signal.SIGKILL) if grandchild.is_running() else None
