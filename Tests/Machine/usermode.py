"""Debian's kernel as a program of this machine (User-Mode Linux), for laboratories that need a driver of the kernel and no
processor of their own: nothing is emulated, so it is as fast as the host but for system calls.

It sees the host's files below a layer in memory. Kernel, modules and what only the machine needs are kept where those of
`emulated` are, and installed nowhere. There is no disk but files, no Bluetooth, and no driver for exFAT or NTFS.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

import emulated

HERE = pathlib.Path(__file__).resolve().parent


def fetch_kernel(lab, modules):
    """The kernel's program, the directory of its modules, and the paths in it of those that `lab` loads, in order."""
    tree = emulated.fetch_packages("usermode", ["user-mode-linux"])
    kernel = tree / "usr/bin/linux.uml"
    if not kernel.exists():
        # The host has the package.
        tree, kernel = pathlib.Path("/"), pathlib.Path("/usr/bin/linux.uml")
    top = next((tree / "usr/lib/uml/modules").iterdir())
    # modprobe looks for lib/modules/VERSION below a directory.
    with tempfile.TemporaryDirectory() as root:
        place = pathlib.Path(root, "lib/modules")
        place.mkdir(parents=True)
        (place / top.name).symlink_to(top)
        order = []
        for module in ["overlay", *modules]:
            listing = subprocess.run(
                ["modprobe", "-d", root, "-S", top.name, "--show-depends", module], capture_output=True, text=True)
            if listing.returncode:
                raise emulated.CannotRun(f"user-mode-linux has no module {module}")
            for line in listing.stdout.splitlines():
                if line.startswith("insmod "):
                    path = line.split()[1].removeprefix(f"{root}/lib/modules/{top.name}/")
                    if path not in order:
                        order.append(path)
    return kernel, top, order


class Output(threading.Thread):
    """Prints what comes into a file, until told to stop."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.over = path, threading.Event()

    def run(self):
        with open(self.path, "rb") as file:
            while True:
                is_over = self.over.is_set()
                data = file.read()
                os.write(1, data) if data else self.over.wait(0.2)
                if is_over and not data:
                    return


def run_command(name, command, kernel, files, limit, logs=None, packages=None, memory=2048):
    """As `emulated.run_command`; `kernel` is what `fetch_kernel` gave."""
    program, modules, order = kernel
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="synctrain-machine-") as shared:
        shared = pathlib.Path(shared)
        for file in [HERE / "guest-common", HERE / "usermode-init", *files]:
            shutil.copy(file, shared / file.name)
        (shared / "limit").write_text(f"{limit}\n")
        (shared / "command").write_text(command + "\n")
        (shared / "output").touch()
        (shared / "settings").write_text(
            f"shared={shlex.quote(str(shared))}\npackages={shlex.quote(str(packages or ''))}\n"
            f"modules={shlex.quote(' '.join(str(modules / path) for path in order))}\n")
        emulated.say(f"{name} in user mode")
        output = Output(shared / "output")
        output.start()
        with open(shared / "console.log", "wb") as console:
            machine = subprocess.Popen(
                [program, f"mem={memory}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
                 f"init={shared / 'usermode-init'}", "con=null", "con0=null,fd:1"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)
            try:
                machine.wait(timeout=limit + 60)
            except subprocess.TimeoutExpired:
                pass
            finally:
                # Each of its programs is a process of the host's. Nothing of it outlives this program.
                try:
                    os.killpg(machine.pid, 9)
                except ProcessLookupError:
                    pass
                machine.wait()
                output.over.set()
                output.join()
        if logs:
            shutil.copytree(shared, logs / name, dirs_exist_ok=True)
        status = shared / "status"
        if not status.exists():
            words = (shared / "console.log").read_text(errors="replace").splitlines()[-20:]
            emulated.say("the machine died. Its last words:\n" + "\n".join(words))
            return emulated.TIMED_OUT if time.monotonic() - started > limit else 1
        result = int(status.read_text())
    emulated.say(f"{name}: status {result} after {time.monotonic() - started:.0f} s")
    return result
