"""A mount whose process is killed while it tells the kernel of a change: nobody waits for it for ever."""

import array
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import harness
import pytest
from process import PATIENCE, Child, wait_until

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3") or os.geteuid() != 0,
    reason="mounting needs /dev/fuse and fusermount3, and looking into the kernel root")

# Length, kind, number; without the length's own bytes.
LENGTH, HEAD = 4, 13
MNT_FORCE, UMOUNT_NOFOLLOW = 1, 8


class Between:
    """Between a mount's process and the agent. While it holds, requests go on and their answers do not; what the agent says unasked does."""

    def __init__(self, path, agent_socket):
        self.path, self.agent_socket, self.holds = path, agent_socket, False
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                mount, agent = self.server.accept()[0], socket.socket(socket.AF_UNIX)
                agent.connect(self.agent_socket)
                for ends in ((mount, agent, lambda _: False), (agent, mount, lambda number: self.holds and number != 0)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    @staticmethod
    def _carry(source, target, leaves_out):
        buffer, descriptors = b"", []
        with contextlib.suppress(OSError):
            while True:
                part, control, _, _ = source.recvmsg(1 << 16, 1024)
                if not part:
                    break
                for _, _, data in control:
                    numbers = array.array("i")
                    numbers.frombytes(data[:len(data) // 4 * 4])
                    descriptors += numbers
                buffer += part
                while len(buffer) >= HEAD and len(buffer) >= LENGTH + int.from_bytes(buffer[:LENGTH], "little"):
                    size = LENGTH + int.from_bytes(buffer[:LENGTH], "little")
                    frame, buffer = buffer[:size], buffer[size:]
                    if not leaves_out(int.from_bytes(frame[5:HEAD], "little")):
                        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
                        sent = target.sendmsg([frame], control)
                        target.sendall(frame[sent:])
                    for number in descriptors:
                        os.close(number)
                    descriptors = []
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.close()


def threads_in(process, function):
    """How many threads of a process wait in a function of the kernel's."""
    found = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/wchan") as file:
            found += file.read() == function
    return found


@pytest.fixture
def mounted(nodes, request):
    """An agent's folder, mounted by a process that reaches the agent through `Between`; the mount is gone afterwards, whatever happens."""
    lab, node, agent = nodes
    there = lab.directory(f"{node.name}-own")
    harness.write(os.path.join(there, "d/known"), b"known\n")
    root = lab.share(agent, "own", node, mode="full")
    node.wait_scanned("own", 1)
    wait_until(lambda: os.path.exists(os.path.join(root, "d/known")), 30, "the file is here", child=agent)
    between = Between(lab.path(f"{request.node.name[:20]}.sock"), agent.file("mount.sock"))
    directory = lab.directory("mounted")
    process = Child("mount", lab.path("mount.log"))
    process.spawn([os.path.join(os.path.dirname(agent.program), "synctrain-mount"), "--socket", between.path,
                   "--folder", "own", directory], env={**agent.environment, "LC_ALL": "C.UTF-8"})
    wait_until(lambda: os.path.ismount(directory), 20, "it is mounted", child=process)
    yield agent, root, between, directory, process
    force(directory)
    process.kill()
    between.close()
    subprocess.run(["fusermount3", "-u", "-z", directory], check=False, capture_output=True)


def force(directory):
    """Frees what waits for the mount; the process that waits and could not be killed ends then."""
    program = f"import ctypes; ctypes.CDLL(None).umount2({os.fsencode(directory)!r}, {MNT_FORCE | UMOUNT_NOFOLLOW})"
    subprocess.run([sys.executable, "-c", program], check=False, timeout=20)


def test_killed_while_it_drops_a_name(mounted):
    agent, root, between, directory, process = mounted
    waiting = []

    def make_and_kill():
        """A program waits for an answer and holds the lock of the directory; the mount waits for the lock, and is killed. False where
        the change came too late: what waits has its answer after some seconds."""
        number = len(waiting)
        assert os.listdir(os.path.join(directory, "d")) and os.path.exists(os.path.join(directory, "d/known"))
        between.holds = True
        program = subprocess.Popen([sys.executable, "-c", f"import os; os.mkdir({os.path.join(directory, 'd', f'made-{number}')!r})"],
                                   stderr=subprocess.DEVNULL)
        waiting.append(program)
        wait_until(lambda: threads_in(program.pid, "request_wait_answer"), 10, "the program waits for the mount")
        os.utime(os.path.join(root, "d/known"), (1, 1 + number))
        agent.run("scan", "own:")
        while program.poll() is None:
            if threads_in(process.process.pid, "fuse_reverse_inval_entry"):
                os.kill(process.process.pid, signal.SIGKILL)
                return True
            time.sleep(0.005)
        between.holds = False
        return False

    wait_until(make_and_kill, 60, "it was killed while it waited", child=process)
    # Without somebody who ends the connection, neither ends, and neither can be killed.
    try:
        waiting[-1].wait(20 * PATIENCE)
        process.process.wait(20 * PATIENCE)
    finally:
        force(directory)
    assert waiting[-1].returncode != 0 and process.process.returncode == -signal.SIGKILL


def test_the_guard_ends_with_the_mount(mounted):
    _, _, _, directory, process = mounted
    [guard] = [pid for pid in process.pids() if harness.read(f"/proc/{pid}/comm") == b"mount-guard\n"]
    assert os.listdir(f"/proc/{guard}/fd") == []
    subprocess.run(["fusermount3", "-u", directory], check=True)
    assert process.process.wait(20 * PATIENCE) == 0
    wait_until(lambda: not os.path.exists(f"/proc/{guard}"), 20, "the guard ends")
