"""Child processes of the interop tests and benchmarks: what they cost, and that none outlives us."""

import atexit
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20
# Programs speak English, whatever language the person who runs the tests speaks.
os.environ["LC_ALL"] = "C.UTF-8"
os.environ.pop("LANGUAGE", None)

# How many times as long everything may take before it fails; above 2 for a slow machine.
PATIENCE = float(os.environ.get("SYNCTRAIN_TEST_PATIENCE", "1"))
_children = set()


# Below those that Linux gives to connections, which would take one between the look and its use; some for each test process.
_PORTS = 2000
_ports = itertools.count(os.getpid() * 31)


def free_port():
    """A port of 127.0.0.1 that is free, and that no other test process gives away."""
    first = 10_000 + _PORTS * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 8)
    for number in itertools.islice(_ports, _PORTS):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", first + number % _PORTS))
            return probe.getsockname()[1]
    raise RuntimeError("no port is free")


def wait_until(condition, timeout=20.0, what="condition", every=0.02, child=None):
    """Polls until the condition gives something true and returns that; TimeoutError with its last answer otherwise.
    With `child`, a `Child` that has exited ends the wait at once."""
    timeout *= PATIENCE
    end = time.monotonic() + timeout
    while True:
        asked = time.monotonic()
        last = condition()
        if last:
            return last
        # On a slow machine the questions would take the time that the answer needs.
        pause = max(every, 2 * (time.monotonic() - asked)) if PATIENCE > 2 else every
        if child is not None and not child.is_running:
            raise RuntimeError(f"{what}: {child.name} exited with {child.process.returncode}\n{child.log_tail()}")
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {timeout} s; last: {last!r}")
        time.sleep(pause)


def _stat(pid):
    """The fields of /proc/PID/stat from the state on, which is the third of proc(5)."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


class Child:
    """A process of ours in its own process group, its output in a file."""

    def __init__(self, name, log_path):
        self.name, self.log_path = name, log_path
        self.process = None

    def spawn(self, command, stdout=None, **options):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log, start_new_session=True, **options)
        _children.add(self)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def log_tail(self, count=4000):
        try:
            with open(self.log_path, "rb") as file:
                file.seek(max(0, os.path.getsize(self.log_path) - count))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def pids(self):
        """The process and its descendants. Not by /proc/PID/task/TID/children, which leaves out some while threads and
        children come and go."""
        children = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                children.setdefault(int(_stat(pid)[1]), []).append(int(pid))
            except OSError:
                pass  # it ended after it was listed
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            todo += children.get(pid, [])
        return found

    def signal(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def suspend(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """SIGKILL, then wait."""
        if self.is_running:
            self.signal(signal.SIGKILL)
            self.process.wait(10)
        _children.discard(self)

    def terminate(self, timeout=10.0):
        """SIGTERM; returns the seconds it took to exit. TimeoutError (after a SIGKILL) if it did not."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimeoutError(f"{self.name} did not end within {timeout} s of SIGTERM") from None
        _children.discard(self)
        return time.monotonic() - start

    # what it costs

    def _measured(self, read):
        """What `read` gives for each process. RuntimeError if the process itself has ended: what is measured then is
        nobody's. A descendant may end at any time."""
        values = []
        for pid in self.pids():
            try:
                values.append(read(pid))
            except (FileNotFoundError, ProcessLookupError) as error:
                if pid == self.process.pid:
                    raise RuntimeError(f"{self.name} has ended and cannot be measured\n{self.log_tail()}") from error
        return values

    def cpu_seconds(self):
        """User and system time so far, that of children which have ended and were waited for included."""
        return sum(self._measured(lambda pid: sum(map(int, _stat(pid)[11:15])))) / TICKS

    def _status_bytes(self, key):
        def read(pid):
            with open(f"/proc/{pid}/status") as file:
                lines = [line for line in file if line.startswith(key)]
            # A process that has exited and was not waited for has no memory.
            if not lines and pid == self.process.pid:
                raise ProcessLookupError(pid)
            return max((int(line.split()[1]) * 1024 for line in lines), default=0)
        return max(self._measured(read))

    def rss(self):
        """Bytes, of the largest of its processes."""
        return self._status_bytes("VmRSS:")

    def peak_rss(self):
        """Of the time since `reset_peak` (or the start)."""
        return self._status_bytes("VmHWM:")

    def reset_peak(self):
        def clear(pid):
            with open(f"/proc/{pid}/clear_refs", "w") as file:
                file.write("5")
        self._measured(clear)


@atexit.register
def _kill_all():
    for child in list(_children):
        child.resume() if child.is_running else None
        child.kill()
