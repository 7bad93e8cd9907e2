"""Child processes of the interop tests and benchmarks: what they cost, and that none outlives us."""

import atexit
import os
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20
_children = set()


def free_port():
    """A port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, timeout=20.0, what="condition", every=0.02, child=None):
    """Polls until the condition gives something true and returns that; TimeoutError with its last answer otherwise.
    With `child`, a `Child` that has exited ends the wait at once."""
    end = time.monotonic() + timeout
    while True:
        last = condition()
        if last:
            return last
        if child is not None and not child.is_running:
            raise RuntimeError(f"{what}: {child.name} exited with {child.process.returncode}\n{child.log_tail()}")
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {timeout} s; last: {last!r}")
        time.sleep(every)


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
        """The process and its descendants."""
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as file:
                        todo += map(int, file.read().split())
            except OSError:
                pass
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

    def cpu_seconds(self):
        """User and system time so far."""
        ticks = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
            except OSError:
                pass
        return ticks / TICKS

    def _status_bytes(self, key):
        largest = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/status") as file:
                    for line in file:
                        if line.startswith(key):
                            largest = max(largest, int(line.split()[1]) * 1024)
            except OSError:
                pass
        return largest

    def rss(self):
        return self._status_bytes("VmRSS:")

    def peak_rss(self):
        """Of the time since `reset_peak` (or the start)."""
        return self._status_bytes("VmHWM:")

    def reset_peak(self):
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/clear_refs", "w") as file:
                    file.write("5")
            except OSError:
                pass


@atexit.register
def _kill_all():
    for child in list(_children):
        child.resume() if child.is_running else None
        child.kill()
