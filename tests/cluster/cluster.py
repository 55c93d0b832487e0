"""A private Slurm of one node, in namespaces of its own: two partitions, two pretended GPUs.

Or three: with ``accounting`` also MariaDB and slurmdbd, as most clusters have, which let a job in only if its user
has an account.

Run as a program (`serve`) it is process 1 of the namespaces: it starts munge, slurmctld and slurmd and waits
until its standard input closes, which happens when the tests end, however they end; then the kernel kills
everything in the namespaces and drops their mounts. Nothing listens outside the namespace's loopback, and all
state lies in a tmpfs on /etc/slurm that only they see.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ACCOUNTING = ("slurmdbd", "sacct", "sacctmgr", "mariadbd", "mariadb-install-db")
PROGRAMS = ("munged", "slurmctld", "slurmd", "squeue", "ip", "unshare", "nsenter", "setpriv")
HOME = Path("/etc/slurm")  # the plugin's job step drops SLURM_CONF, so the file must be where Slurm looks
SOCKET = HOME / "munge" / "socket"
CONTROL, NODE, DATABASE, STORAGE = 26817, 26818, 26819, 26820  # ports, inside the namespace
ACCOUNT = "lab"  # of root, where there is accounting
CPUS, MEGABYTES = 2, 16000  # what the node claims to have

SLURM_CONF = f"""
ClusterName=test
SlurmctldHost={{host}}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={CONTROL}
SlurmdPort={NODE}
AuthType=auth/munge
AuthInfo=socket={SOCKET}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={HOME}/state
SlurmdSpoolDir={HOME}/spool
SlurmctldPidFile={HOME}/slurmctld.pid
SlurmdPidFile={HOME}/slurmd.pid
SlurmctldLogFile={HOME}/slurmctld.log
SlurmdLogFile={HOME}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,UsePss
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
CompleteWait=0
KillWait=2
ReturnToService=2
SlurmdTimeout=15
{{accounting}}
GresTypes=gpu
NodeName={{host}} NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory={MEGABYTES} Gres=gpu:fake:2 State=UNKNOWN
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=ALL MaxTime=INFINITE State=UP
"""
WITHOUT_DATABASE = "AccountingStorageType=accounting_storage/none\nMinJobAge=3600"
# Ended jobs leave squeue so soon that only the database can tell of them.
WITH_DATABASE = f"""
MinJobAge=20
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={DATABASE}
AccountingStoragePass={SOCKET}
AccountingStorageEnforce=associations
"""
SLURMDBD_CONF = f"""
AuthType=auth/munge
AuthInfo=socket={SOCKET}
DbdHost={{host}}
DbdAddr=127.0.0.1
DbdPort={DATABASE}
SlurmUser=root
PidFile={HOME}/slurmdbd.pid
LogFile={HOME}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={STORAGE}
StorageUser=root
StorageLoc=slurm
"""
GRES_CONF = "Name=gpu Type=fake File=/dev/null\nName=gpu Type=fake File=/dev/zero\n"


def why_not(accounting: bool = False) -> str | None:
    """Why no cluster can be had on this machine; None where it can."""
    wanted = (*PROGRAMS, *ACCOUNTING) if accounting else PROGRAMS
    missing = [name for name in wanted if shutil.which(name, path=_path()) is None]
    if missing:
        return (
            f"no Slurm here ({', '.join(missing)} missing): as root, apt-get install munge slurmctld slurmd "
            f"slurm-client iproute2{' slurmdbd mariadb-server' if accounting else ''}"
        )
    if os.geteuid() != 0:
        return "a private Slurm needs root (namespaces, a mount on /etc/slurm)"
    tried = subprocess.run([*_unshare(), "true"], capture_output=True, text=True)
    return f"no namespaces here: {tried.stderr.strip()}" if tried.returncode else None


class Cluster:
    """A running cluster: commands run inside its namespaces, as on a login node."""

    def __init__(self, process_1: int):
        self._enter = ["nsenter", "--target", str(process_1), "--mount", "--net", "--pid"]

    def command(self, *arguments: str, folder: str | Path = "/") -> list[str]:
        """The command line that does the same inside, in this folder."""
        return [*self._enter, f"--wdns={folder}", "--", *arguments]

    def run(self, *arguments: str, check: bool = True) -> str:
        """Standard output of a short command inside."""
        done = subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=120, cwd="/", env=_environment()
        )
        if check and done.returncode:
            raise RuntimeError(f"{arguments} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def jobs(self, states: str = "all") -> dict[str, dict[str, str]]:
        """Job id -> state, comment (rule and wildcards) and working directory, of jobs that Slurm knows."""
        lines = self.run("squeue", "--noheader", f"--states={states}", "--format=%i|%T|%k|%Z").splitlines()
        return {
            number: {"state": state, "comment": comment, "folder": folder}
            for number, state, comment, folder in (line.split("|") for line in lines)
        }

    def job(self, number: str) -> dict[str, str]:
        """What `scontrol show job` says of a job."""
        words = self.run("scontrol", "--oneliner", "show", "job", number).split(" ")
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait_for(self, comment: str, *states: str, seconds: float = 600, folder: str = "") -> str:
        """Id of the first job whose comment begins so and that is in one of these states."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for number, job in self.jobs().items():
                if (
                    job["comment"].startswith(comment)
                    and job["state"] in states
                    and job["folder"].startswith(folder)
                ):
                    return number
            time.sleep(0.2)
        raise TimeoutError(f"no job {comment} became {' or '.join(states)}: {self.jobs()}")

    def requeue(self, number: str) -> None:
        """As preemption does, but without the two minutes that Slurm then lets a job wait."""
        self.run("scontrol", "requeue", number)
        while self.jobs()[number]["state"] != "PENDING":
            time.sleep(0.2)
        self.run("scontrol", "update", f"JobId={number}", "StartTime=now")

    def cancel_all(self) -> None:
        """Leave nothing queued or running."""
        self.run("scancel", "--user=root")
        until = time.monotonic() + 120
        while self.jobs("pending,running,completing") and time.monotonic() < until:
            time.sleep(0.2)

    def stop_slurmd(self) -> None:
        """Kill the node's daemon, not the jobs that it started."""
        self._kill("slurmd")

    def start_slurmd(self) -> None:
        _start_slurmd(self.run)
        self.wait_for_node()

    def stop_slurmctld(self) -> None:
        """End the controller, which keeps its state: no command of Slurm is answered; what runs, runs on."""
        self._kill("slurmctld", "-TERM")

    def start_slurmctld(self, *, forgetful: bool = False) -> None:
        """Start it again. ``forgetful``: as one that lost its state, it knows no job and counts anew."""
        self.run("slurmctld", *(["-c"] if forgetful else []))
        self.wait_for_node()

    def wait_for_node(self, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.run("sinfo", "--noheader", "--format=%t", check=False).split()[:1] in (
                ["idle"], ["mix"], ["alloc"],
            ):  # fmt: skip
                return
            time.sleep(0.1)
        raise TimeoutError("the node did not come up:\n" + self.logs())

    def _kill(self, daemon: str, how: str = "-9") -> None:
        pid = self.run("cat", f"{HOME}/{daemon}.pid").strip()
        self.run("kill", how, pid)
        while self.run("ls", f"/proc/{pid}", check=False):
            time.sleep(0.1)

    def logs(self) -> str:
        return self.run("sh", "-c", f"tail -n 40 {HOME}/*.log", check=False)


@contextmanager
def started(accounting: bool = False) -> Iterator[Cluster]:
    """A cluster that ends with the block, or with this process, however that ends."""
    program = [sys.executable, str(Path(__file__)), "serve", *(["accounting"] if accounting else [])]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *_unshare(), *program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(), cwd="/",
    )  # fmt: skip
    try:
        said = process.stdout.readline().strip()
        if said != "ready":
            raise RuntimeError(f"no cluster: {said} {process.communicate(timeout=10)}")
        cluster = Cluster(_child(process.pid))
        cluster.wait_for_node()
        yield cluster
    finally:
        process.stdin.close()
        process.wait(timeout=30)


def serve(accounting: bool) -> None:
    """Process 1 of the namespaces: start the daemons, wait for the end of the input."""
    _call("ip", "link", "set", "lo", "up")
    _call("ip", "addr", "add", "127.0.0.2/8", "dev", "lo")  # with 127.0.0.1 alone, Slurm resolves nothing
    _call("mount", "-t", "tmpfs", "-o", "mode=755", "none", str(HOME))
    for folder in ("munge", "state", "spool"):
        (HOME / folder).mkdir()
    (HOME / "munge").chmod(0o755)
    storage = WITH_DATABASE if accounting else WITHOUT_DATABASE
    (HOME / "slurm.conf").write_text(SLURM_CONF.format(host=socket.gethostname(), accounting=storage))
    (HOME / "gres.conf").write_text(GRES_CONF)
    key = HOME / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    _call(
        "munged", f"--socket={SOCKET}", f"--key-file={key}", f"--log-file={HOME}/munge/log",
        f"--pid-file={HOME}/munge/pid", f"--seed-file={HOME}/munge/seed", "--force",
    )  # fmt: skip
    if accounting:
        _start_database()
    _call("slurmctld")
    _start_slurmd(_call)
    signal.signal(signal.SIGCHLD, _reap)  # daemons' children become ours: none stays a zombie
    _reap()
    print("ready", flush=True)
    sys.stdin.read()


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _start_database() -> None:
    """MariaDB, slurmdbd, and an account that root may use."""
    data = HOME / "database"
    _call(
        "mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db",
        "--auth-root-authentication-method=normal",
    )  # fmt: skip
    log = (HOME / "mariadb.log").open("w")
    subprocess.Popen(
        ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={HOME}/mariadb.socket",
         f"--port={STORAGE}", "--bind-address=127.0.0.1", f"--pid-file={HOME}/mariadb.pid"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
    )  # fmt: skip
    _wait_for_port(STORAGE)
    file = HOME / "slurmdbd.conf"
    file.write_text(SLURMDBD_CONF.format(host=socket.gethostname()))
    file.chmod(0o600)
    _call("slurmdbd")
    _wait_for_port(DATABASE)
    _call("sacctmgr", "--immediate", "add", "cluster", "test")
    _call("sacctmgr", "--immediate", "add", "account", ACCOUNT)
    _call("sacctmgr", "--immediate", "add", "user", "root", f"account={ACCOUNT}")
    _call("sacctmgr", "--immediate", "modify", "user", "root", "set", f"defaultaccount={ACCOUNT}")


def _wait_for_port(port: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    print(f"nothing listens on port {port}", flush=True)
    sys.exit(1)


def _start_slurmd(call) -> None:
    call("slurmd", "-N", socket.gethostname())


def _call(*arguments: str) -> None:
    log = (HOME / "start.log").open("a") if HOME.joinpath("state").exists() else subprocess.DEVNULL
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if done.returncode:
        said = (HOME / "start.log").read_text() if HOME.joinpath("start.log").exists() else ""
        print(f"{arguments} failed: {said}".replace("\n", " "), flush=True)
        sys.exit(1)


def _child(parent: int) -> int:
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])


def _unshare() -> Sequence[str]:
    return ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


def _path() -> str:
    """Where Slurm's daemons are too, which the PATH of many a shell leaves out."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": _path()}


if __name__ == "__main__":
    serve(accounting="accounting" in sys.argv[1:])
