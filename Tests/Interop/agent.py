"""A synctrain agent as a process, driven by its command line alone."""

import json
import os
import stat
import subprocess

from process import PATIENCE, Child, free_port, wait_until

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
DONE, FAILED, SOME_FAILED, NO_AGENT, NO_SUCH, NO_HOLDER, NEEDS_YES, TIMED_OUT = range(8)
USAGE, UNUSABLE_CONFIGURATION = 64, 78


def find_program(configuration=None):
    """The path of synctrain: `$SYNCTRAIN`, or what was built here. FileNotFoundError if there is none."""
    program = os.environ.get("SYNCTRAIN")
    if not program:
        command = ["swift", "build", "--show-bin-path"] + (["-c", configuration] if configuration else [])
        try:
            built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
            program = os.path.join(built.stdout.strip(), "synctrain")
        except (OSError, subprocess.TimeoutExpired):
            program = "synctrain"
    if not os.access(program, os.X_OK):
        raise FileNotFoundError(f"no program at {program}: build it, or set SYNCTRAIN to its path")
    return os.path.abspath(program)


class CommandFailed(Exception):
    def __init__(self, arguments, result):
        super().__init__(f"synctrain {' '.join(map(str, arguments))}: exit {result.returncode}\n"
                         f"stdout: {result.stdout[-2000:]!r}\nstderr: {result.stderr[-2000:]!r}")
        self.result = result


def records(output):
    """The objects of a `--json` answer: of NDJSON each line, of one document its only list of objects."""
    text = output.decode() if isinstance(output, bytes) else output
    try:
        document = json.loads(text)
    except ValueError:
        # Not splitlines(): names may hold other line separators of Unicode as they are.
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    if isinstance(document, list):
        return document
    lists = [v for v in document.values() if isinstance(v, list) and all(isinstance(i, dict) for i in v)]
    if "schema" in document and len(lists) == 1:
        return lists[0]
    return [document]


class Agent(Child):
    """`home` holds its settings, keys and index; `init` makes it, in a directory that exists, and `start` runs it. The
    same object may be restarted."""

    def __init__(self, program, name, home):
        super().__init__(name, os.path.join(home, "..", f"{name}.log"))
        self.program, self.home = program, home
        self.output_path = os.path.join(home, "..", f"{name}.out")
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.variables = {}
        self._id = None
        # Options for all that it runs, such as whose they are.
        self.options = {}

    @property
    def environment(self):
        drop = ("SYNCTRAIN", "XDG_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(drop)}
        return {**kept, "HOME": self.home, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **self.variables}

    def init(self, *arguments):
        self.run("init", "--listen", self.address, "--no-discovery", "--name", self.name, *arguments)
        return self

    @property
    def id(self):
        if self._id is None:
            self._id = self.run("id").stdout.decode().strip()
        return self._id

    def file(self, name):
        """The path of its own file of that name, wherever below its home."""
        for directory, _, names in os.walk(self.home):
            if name in names:
                return os.path.join(directory, name)
        raise FileNotFoundError(f"no {name} below {self.home}")

    @property
    def certificate(self):
        """For a peer that listens."""
        return self.file("cert.pem")

    @property
    def socket(self):
        """The control socket's path."""
        for directory, _, names in os.walk(self.home):
            path = os.path.join(directory, "agent.sock")
            if "agent.sock" in names and stat.S_ISSOCK(os.lstat(path).st_mode):
                return path
        raise FileNotFoundError(f"no control socket below {self.home}")

    # process

    def launch(self, *arguments):
        """Runs the agent without waiting for it."""
        with open(self.output_path, "wb") as output:
            self.spawn([self.program, "--home", self.home, "agent", "run", *arguments], stdout=output,
                       env=self.environment, cwd=os.path.dirname(self.output_path), **self.options)
        return self

    @property
    def is_ready(self):
        with open(self.output_path) as file:
            return "ready" in file.read().split("\n")

    def start(self, timeout=20):
        self.launch()
        wait_until(lambda: self.is_ready, timeout, f"{self.name} is ready", child=self, every=0.005)
        return self

    def stop(self, timeout=10):
        if self.is_running:
            self.resume()
            self.terminate(timeout)

    # command line

    def command(self, *arguments):
        return [self.program, "--home", self.home, *map(os.fsencode, map(str, arguments))]

    def try_run(self, *arguments, timeout=60, **options):
        """The finished process with its output as bytes, whatever it exits with."""
        options = {"cwd": "/", **self.options, **options}
        return subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, capture_output=True,
                              env=self.environment, timeout=timeout * PATIENCE, **options)

    def run(self, *arguments, **options):
        result = self.try_run(*arguments, **options)
        if result.returncode != 0:
            raise CommandFailed(arguments, result)
        return result

    def begin(self, *arguments):
        """A command that runs while the test goes on; a `Child`."""
        child = Child(f"{self.name}: {arguments[0]}", self.log_path)
        child.spawn(self.command(*arguments), env=self.environment, cwd="/", **self.options)
        return child

    def records(self, *arguments, **options):
        return records(self.run(*arguments, "--json", **options).stdout)

    def document(self, *arguments, **options):
        """A `--json` answer that is one object."""
        return json.loads(self.run(*arguments, "--json", **options).stdout)

    def status(self):
        return json.loads(self.run("status", "--json").stdout)

    def folder(self, folder_id):
        """The folder's part of the status; {} if there is none."""
        return next((f for f in self.status()["folders"] if f["id"] == folder_id), {})

    def is_connected(self, device_id):
        return any(d["id"] == device_id and d["connected"] for d in self.status()["devices"])

    def tree(self, folder_id):
        """path → entry of all there is in the folder's index."""
        return {entry["path"]: entry for entry in self.records("ls", "-R", f"{folder_id}:")}

    def add_device(self, device_id, name=None, address=None):
        options = (["--name", name] if name else []) + (["--address", address] if address else [])
        self.run("device", "add", device_id, *options)

    def add_folder(self, folder_id, path, *device_ids, mode="selective", type=None):
        options = [option for device in device_ids for option in ("--device", device)]
        options += ["--type", type] if type else []
        self.run("folder", "add", folder_id, path, "--mode", mode, *options)

    def document(self, *arguments, **options):
        """The one document that a command answers with."""
        return json.loads(self.run(*arguments, "--json", **options).stdout)

    def problems(self, folder_id):
        """path → what is wrong with it, as `status` says."""
        return {problem["path"]: problem["message"] for problem in self.folder(folder_id).get("problems", [])}

    # waiting

    def wait_state(self, folder_id, state, timeout=20, saying=""):
        """Until the folder's state is this, and its message has these words; returns its part of the status."""
        def reached():
            folder = self.folder(folder_id)
            return folder if folder.get("state") == state and saying in (folder.get("message") or "") else None
        return wait_until(reached, timeout, f"{self.name}'s {folder_id} is {state}", child=self)

    def wait_problem(self, folder_id, path, timeout=20):
        """Until the status lists a problem with the path; returns its message."""
        return wait_until(lambda: self.problems(folder_id).get(path), timeout, f"{self.name}: a problem with {path}", child=self)

    def wait_connected(self, *device_ids, timeout=20):
        wait_until(lambda: all(map(self.is_connected, device_ids)), timeout, f"{self.name} is connected", child=self)

    def wait_disconnected(self, device_id, timeout=20):
        wait_until(lambda: not self.is_connected(device_id), timeout, f"{self.name} is disconnected", child=self)

    def wait_global(self, folder_id, files, timeout=60):
        """Until the folder's global index has that many files, without symbolic links: as Syncthing counts them."""
        def known():
            have = self.folder(folder_id).get("global", {})
            return True if have.get("files", -1) - have.get("symlinks", 0) == files else None
        wait_until(known, timeout, f"{self.name} knows {files} files of {folder_id}", child=self, every=0.03)

    def wait_entry(self, path, condition, timeout=20):
        """Until the entry at `path` (None if there is none) makes the condition true; returns the entry."""
        answer = []

        def met():
            found = self.try_run("stat", path, "--json")
            entry = records(found.stdout)[0] if found.returncode == 0 else None
            answer[:] = [entry]
            return condition(entry)
        wait_until(met, timeout, f"{self.name}: {path}", child=self)
        return answer[0]
