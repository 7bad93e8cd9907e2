"""A network namespace without a name: it lives as long as this process or something in it, so that nothing is left behind
when the tests are killed."""

import concurrent.futures
import ctypes
import os
import signal
import subprocess
import threading

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _new_namespace():
    """The descriptor of a new network namespace, made by a thread that ends at once."""
    made = []

    def make():
        try:
            _check(_libc.unshare(CLONE_NEWNET))
            made.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            made.append(error)
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise PermissionError(f"cannot make a network namespace, which needs root: {made[0]}")
    return made[0]


class Place:
    """One machine of the laboratory: `run`, `popen` and `call` act with its network, and the machine's own files."""

    def __init__(self, name, settings=()):
        """`settings` are (path below /proc/sys/net, text) to begin with."""
        self.name = name
        self.descriptor = _new_namespace()
        self.inode = os.fstat(self.descriptor).st_ino
        # Threads that stay: a process is killed when the thread that started it ends (PR_SET_PDEATHSIG).
        self._threads = concurrent.futures.ThreadPoolExecutor(
            16, thread_name_prefix=name, initializer=lambda: _check(_libc.setns(self.descriptor, CLONE_NEWNET)))
        self.set(*settings)

    @property
    def path(self):
        """What `ip link … netns` takes."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def call(self, function, *arguments, **options):
        """What the function gives in a thread of this place: sockets made there are of its network."""
        return self._threads.submit(function, *arguments, **options).result()

    def set(self, *settings):
        def write():
            for name, text in settings:
                with open(os.path.join("/proc/sys/net", name), "w") as file:
                    file.write(str(text))
        if settings:
            self.call(write)

    def run(self, command, check=True, timeout=60, **options):
        """The finished process with its output as text; CalledProcessError with what it said if `check` and it failed."""
        options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, **options}
        if "input" in options:
            del options["stdin"]
        result = self.call(subprocess.run, command, timeout=timeout, preexec_fn=_die_with_parent, **options)
        if check and result.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(map(str, command))}: exit {result.returncode}\n"
                               f"{result.stdout}{result.stderr}")
        return result

    def popen(self, command, **options):
        """A process that runs on; it is killed when the laboratory or the tests end."""
        options = {"stdin": subprocess.DEVNULL, "start_new_session": True, **options}
        return self.call(subprocess.Popen, command, preexec_fn=_die_with_parent, **options)

    def ip(self, *lines):
        """Runs lines of ip(8), all at once."""
        self.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n")

    def nft(self, rules):
        self.run(["nft", "-f", "-"], input=rules)

    def connects(self, host, port, timeout=10.0):
        """Whether a TCP connection from here is accepted."""
        import socket

        def attempt():
            try:
                socket.create_connection((host, port), timeout=timeout).close()
                return True
            except OSError:
                return False
        return self.call(attempt)

    def pids(self):
        """The processes in this place."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) != os.getpid() and os.stat(f"/proc/{pid}/ns/net").st_ino == self.inode:
                    found.append(int(pid))
            except OSError:
                pass  # it has ended meanwhile
        return found

    def close(self):
        """Kills what runs here and gives the namespace up."""
        while pids := self.pids():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except (ProcessLookupError, ChildProcessError):
                    pass
        self._threads.shutdown()
        os.close(self.descriptor)
