"""Tab in real shells: what is typed, Tab, Enter, and what arguments the program is started with."""

import fcntl
import os
import pty
import select
import shutil
import subprocess
import termios
import time

import pytest
from process import wait_until

FILES = ["plain.txt", "My Dir/in it.txt", "it's \"quoted\".txt", "ünï ö.txt", "$(touch pwned) `x`.txt", "new\nline.txt",
         "a;b&c|d.txt", "back\\slash", "-dash", "e*?[x].txt", "col:on/x=y.txt"]
OTHER = "AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {script}"),
    # As it is installed: found by its name.
    "zsh": (["zsh", "-f", "-i"], "fpath=({directory} $fpath); autoload -U compinit; compinit -u -D"),
    "fish": (["fish", "--no-config", "-i"], "source {script}"),
}


@pytest.fixture(scope="module")
def library(module_lab):
    """An agent with a folder `lib` of odd names, and one with a space and a colon in its id."""
    agent = module_lab.agent()
    for number, folder in enumerate(("lib", "odd id:1")):
        root = os.path.join(module_lab.root, f"completed-{number}")
        for name in FILES if folder == "lib" else ["only.txt"]:
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w") as file:
                file.write("x")
        agent.run("folder", "add", folder, root, "--new", "--mode", "full")
    wait_until(lambda: agent.run("ls", "-0", "lib:").stdout.count(b"\0") == len(FILES), 30, "all is scanned", child=agent)
    agent.run("device", "add", OTHER, "--name", "old laptop")
    return agent


class Typist:
    """A shell at a terminal, in which `synctrain` notes its arguments."""

    def __init__(self, shell, agent, directory):
        self.arguments = os.path.join(directory, "arguments")
        program = os.path.join(directory, "bin", "synctrain")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        with open(program, "w") as file:
            file.write(f'#!/bin/sh\nif [ "$1" = complete ]; then exec "{agent.program}" "$@"; fi\n'
                       f'{{ for word; do printf "%s\\0" "$word"; done; }} > "{self.arguments}.new"\n'
                       f'mv "{self.arguments}.new" "{self.arguments}"\n')
        os.chmod(program, 0o755)
        script = os.path.join(directory, "_synctrain" if shell == "zsh" else f"completions.{shell}")
        with open(script, "wb") as file:
            file.write(agent.run("completions", shell).stdout)
        command, start = SHELLS[shell]
        environment = {**agent.environment, "SYNCTRAIN_HOME": agent.home, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                       "HOME": directory, "PATH": f"{os.path.dirname(program)}:{os.environ['PATH']}"}
        self.process, self.terminal = None, None
        controller, terminal = pty.openpty()
        self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment,
                                        cwd=directory, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        self.terminal, self.seen = controller, b""
        self.type(start.format(script=script, directory=directory) + "\r")
        # Two words of which the echo of the line has none.
        self.type("printf 're%s\\n' ady\r")
        self.until(lambda: b"ready" in self.seen, "it is ready")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, test, what):
        end = time.monotonic() + 60
        while not test():
            assert time.monotonic() < end, (what, self.seen[-2000:])
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.seen += os.read(self.terminal, 65536)

    def run(self, text):
        """The arguments of the program after this line, Tab for `\\t`."""
        if os.path.exists(self.arguments):
            os.unlink(self.arguments)
        self.type(text + "\r")
        self.until(lambda: os.path.exists(self.arguments), text)
        with open(self.arguments, "rb") as file:
            return [word.decode() for word in file.read().split(b"\0")[:-1]]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture(params=list(SHELLS))
def typist(request, library, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param} here")
    typist = Typist(request.param, library, str(tmp_path))
    yield typist
    typist.close()


def test_names_survive_each_shell(typist, library):
    # Each Tab costs a start of the program, so there is one of each kind.
    for typed, word in [
            ("cat li\t", "lib:"), ("cat lib:My\t", "lib:My Dir/"), ("cat lib:My\\ Dir/\t", "lib:My Dir/in it.txt"),
            ("cat 'lib:My Dir/in\t", "lib:My Dir/in it.txt"), ("cat lib:it\t", FILES[2]), ("cat lib:ün\t", FILES[3]),
            ("cat \"lib:\\$\t", FILES[4]), ("cat lib:new\t", FILES[5]), ("cat lib:a\t", FILES[6]), ("cat lib:back\t", FILES[7]),
            ("cat lib:e\t", FILES[9]), ("fetch x lib:col:on/\t", FILES[10])]:
        word = word if word.startswith("lib:") else f"lib:{word}"
        assert typist.run(f"synctrain {typed}")[-1] == word, typed
    assert not os.path.exists(os.path.join(os.path.dirname(typist.arguments), "pwned")), "nothing is evaluated"


def test_folders_devices_and_values(typist, library):
    for typed, words in [
            ("ready odd\t", ["ready", "odd id:1"]), ("need --device ol\t", ["need", "--device", "old laptop"]),
            ("unpair AAAQ\t", ["unpair", OTHER]),
            ("config set log.level warn\t", ["config", "set", "log.level", "warning"]),
            # The parser's own words, as before.
            ("folder pau\tli\t", ["folder", "pause", "lib"]), ("config set log.lev\tx", ["config", "set", "log.level", "x"])]:
        assert typist.run(f"synctrain {typed}") == words, typed


def test_no_agent_no_words(library, tmp_path):
    library_home = tmp_path / "nobody"
    result = subprocess.run([library.program, "complete", "zsh", "--", "--home", str(library_home), "cat", "li"],
                            capture_output=True, env=library.environment, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    for arguments in (["nonsense"], ["bash"], ["bash", "--", "x" * 100_000, ""]):
        result = subprocess.run([library.program, "complete", *arguments], capture_output=True, env=library.environment, timeout=60)
        assert (result.returncode, result.stdout, result.stderr) == (0, b"", b""), arguments
