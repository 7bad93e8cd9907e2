"""A mounted folder beside what others mount: libfuse's example passthrough_ll and rclone, which the column of `Syncthing` holds
here, on the same files, one after the other. What is not on this disk is with a Syncthing node.

passthrough_ll is built from Debian's libfuse3-dev when it is first needed; rclone is Debian's."""

import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import generator
from agent import REPOSITORY
from measures import MIB, Row, row, settle
from plausible import Implausible
from process import Child, free_port, wait_until
from wakeups import SAMPLE_INTERVAL, WakeupCount, read_threads

EXAMPLE = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c"
ROUNDS = 3
SAMPLES = 20
WAITED_FOR = 10
# Files of `films_of`.
FILMS = 3 + WAITED_FOR
# As MountRules.MountDeadlines has it.
PATIENCE = 20
NEEDLE = b"needle in a file of random bytes"


# MARK: who is measured beside

def missing(name, package):
    sys.exit(f"There is no {name} to measure the mount beside: install Debian's {package}, or leave `mount` out.")


class FileSystem(Child):
    """A process that shows files in a directory of its own until it is ended."""

    def __init__(self, lab, name, command, environment=None):
        self.directory = lab.directory(f"{name}-{len(os.listdir(lab.root))}")
        super().__init__(name, self.directory + ".log")
        self.spawn([*command, self.directory], env={**os.environ, **(environment or {})})
        wait_until(lambda: os.path.ismount(self.directory), 20, f"{name} mounts", child=self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["fusermount3", "-u", "-z", self.directory], check=False)
        self.kill()


def passthrough(bench, source):
    program = os.path.join(bench.data.root, "passthrough_ll")
    if not os.path.exists(program):
        if not os.path.exists(EXAMPLE):
            missing("source of passthrough_ll", "libfuse3-dev")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True)
        subprocess.run(["cc", "-O2", "-o", program, EXAMPLE, *flags.stdout.split()], check=True)
    return FileSystem(bench.lab, "passthrough_ll", [program, "-f", "-o", f"source={source},cache=always"])


def rclone(bench, source, url=None):
    """rclone with all of its cache, over `url` where there is one."""
    program = shutil.which("rclone") or missing("rclone", "rclone")
    place = tempfile.mkdtemp(prefix="rclone-", dir=bench.lab.root)
    remote = [":webdav:", "--webdav-url", url, "--webdav-vendor", "other"] if url else [source]
    return FileSystem(bench.lab, "rclone", [
        program, "mount", "--config", "/dev/null", "--cache-dir", place, "--vfs-cache-mode", "full", *remote])


class Served(Child):
    """A directory over WebDAV, by rclone."""

    def __init__(self, bench, source):
        program = shutil.which("rclone") or missing("rclone", "rclone")
        super().__init__("rclone serve", bench.lab.path("rclone-serve.log"))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.spawn([program, "serve", "webdav", "--config", "/dev/null", "--addr", f"127.0.0.1:{port}", source])
        wait_until(lambda: "Serving" in self.log_tail() or "started on" in self.log_tail(), 20, "rclone serves", child=self)


class Mount:
    """A folder of an agent's, mounted by synctrain-mount."""

    def __init__(self, bench, agent, folder):
        self.agent, self.folder = agent, folder
        self.directory = bench.lab.path(f"mounted-{folder}-{len(os.listdir(bench.lab.root))}")

    def __enter__(self):
        self.agent.run("mount", self.folder, self.directory)
        self.pid = wait_until(self._process, 20, "the process of the mount")
        return self

    def __exit__(self, *_):
        subprocess.run(["fusermount3", "-u", "-z", self.directory], check=False)
        wait_until(lambda: not os.path.exists(f"/proc/{self.pid}"), 20, "the mount ends")

    def _process(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"/synctrain-mount") and os.fsencode(self.directory) in words:
                return int(pid)
        return None

    def rss(self):
        with open(f"/proc/{self.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:"))

    def wakeups(self, seconds):
        """A minute."""
        count = WakeupCount(read_threads([self.pid]), time.monotonic())
        while count.last - count.start < seconds:
            time.sleep(SAMPLE_INTERVAL)
            count.add(read_threads([self.pid]), time.monotonic())
        return count.per_minute


# MARK: what programs do

def read_all(path, size):
    """MB/s of reading the file from its beginning to its end."""
    buffer = bytearray(MIB)
    start, done = time.perf_counter(), 0
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            done += count
    seconds = time.perf_counter() - start
    if done != size:
        raise Implausible(f"{path}: {done} bytes were read of {size}")
    return size / 1e6 / seconds


def run(command, codes=(0,)):
    """Seconds that it takes, and its output's number of lines."""
    start = time.perf_counter()
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False, env={**os.environ, "LC_ALL": "C"})
    seconds = time.perf_counter() - start
    if result.returncode not in codes:
        raise Implausible(f"{command[0]} ended with {result.returncode}")
    return seconds, result.stdout.count(b"\n")


def list_all(directory, names):
    seconds, lines = run(["ls", "-lR", directory])
    if lines < names:
        raise Implausible(f"ls -lR of {directory} has {lines} lines, for {names} names")
    return seconds


def search(directory, found):
    seconds, lines = run(["grep", "-rl", NEEDLE.decode(), directory])
    if lines != found:
        raise Implausible(f"grep -r in {directory} found {lines} files, not {found}")
    return seconds


def create(directory, count):
    """Seconds to make so many files of 4 KiB."""
    content = os.urandom(4096)
    start = time.perf_counter()
    for number in range(count):
        with open(os.path.join(directory, f"new-{number:04}"), "wb", buffering=0) as file:
            file.write(content)
    return time.perf_counter() - start


def timed(action):
    """Seconds until it ends, in whatever way."""
    start = time.perf_counter()
    try:
        action()
    except OSError:
        pass
    return time.perf_counter() - start


# MARK: data

def names_of(bench, count):
    """So many files of one byte, 1,000 to a directory."""
    root = os.path.join(bench.data.root, f"names-{count}")
    if not os.path.isdir(root):
        for number in range(count):
            directory = os.path.join(root, f"directory-{number // 1000:04}")
            if number % 1000 == 0:
                os.makedirs(directory)
            with open(os.path.join(directory, f"a name of usual length {number:06}.txt"), "wb") as file:
                file.write(b"x")
    return root


def text_of(bench, count):
    """So many files of 4 KiB, 100 to a directory, of which the first has the needle; and how many have it."""
    root = os.path.join(bench.data.root, f"text-{count}")
    if not os.path.isdir(root):
        generator.write_small_files(root, count, seed=18)
        for directory in os.listdir(root):
            first = sorted(os.listdir(os.path.join(root, directory)))[0]
            with open(os.path.join(root, directory, first), "r+b") as file:
                file.write(NEEDLE)
    return root, -(-count // generator.FILES_PER_DIRECTORY)


def films_of(bench, mib):
    """Two files of so many MiB, one with a block for each sample, and some small ones."""
    root = os.path.join(bench.data.root, f"films-{mib}")
    if not os.path.isdir(root):
        os.makedirs(root)
        for name in ("first", "second"):
            generator.write_random_file(os.path.join(root, name), mib)
        # So far apart that no block is read ahead of another.
        generator.write_random_file(os.path.join(root, "places"), SAMPLES * 8)
    # What an earlier run has left in it.
    shutil.rmtree(os.path.join(root, "seen"), ignore_errors=True)
    for number in range(WAITED_FOR):
        with open(os.path.join(root, f"waited-for-{number}"), "wb") as file:
            file.write(os.urandom(1 << 17))
    return root


# MARK: files that are here

def present(bench):
    mib = min(512, bench.options.big_mib)
    root, size = films_of(bench, mib), mib * MIB
    shutil.rmtree(os.path.join(root, ".stfolder"), ignore_errors=True)
    agent = bench.lab.agent("present")
    agent.add_folder("present", root, mode="full")
    wait_until(lambda: agent.folder("present").get("local", {}).get("files") == FILMS, 600, "the films are scanned", every=0.1)
    # From memory, for all of them.
    read_all(os.path.join(root, "first"), size)
    rates = {"passthrough": [[], []], "synctrain": [[], []], "rclone": [[], []]}
    for _ in range(ROUNDS):
        for name, begin in (("passthrough", lambda: passthrough(bench, root)), ("synctrain", lambda: Mount(bench, agent, "present")),
                            ("rclone", lambda: rclone(bench, root))):
            settle()
            with begin() as mounted:
                for times in rates[name]:
                    times.append(read_all(os.path.join(mounted.directory, "first"), size))
    seconds = created(bench, agent, root, 1000)
    agent.stop()
    label = f"{mib} MiB that are here, read in order"
    middle = {name: [statistics.median(times) for times in both] for name, both in rates.items()}

    def compared(text, other, index, bar):
        return row(f"{label}, {text}", "MB/s", {"syncthing": middle[other][index], "synctrain": middle["synctrain"][index]},
                   more=True, target=f"≥ {bar} ×", met=lambda a, b: b >= bar * a)
    return [
        compared("first (beside passthrough_ll)", "passthrough", 0, 0.8),
        compared("again (beside passthrough_ll)", "passthrough", 1, 0.9),
        compared("first (beside rclone full)", "rclone", 0, 4),
        row("1,000 files of 4 KiB created (beside passthrough_ll)", "s", seconds, target="≤ 2 ×", met=lambda a, b: b <= 2 * a),
    ]


def created(bench, agent, root, count):
    """Each side makes files in directories of its own, in turn: what one makes in a folder has its agent look."""
    plain, seconds = bench.lab.directory("plain"), {"syncthing": [], "synctrain": []}
    with passthrough(bench, plain) as other, Mount(bench, agent, "present") as ours:
        for number in range(ROUNDS):
            for side, mounted in (("syncthing", other), ("synctrain", ours)):
                directory = os.path.join(mounted.directory, f"new-{number}")
                os.mkdir(directory)
                settle()
                seconds[side].append(create(directory, count))
                wait_until(lambda: agent.folder("present").get("state") == "idle", 60, "the agent has looked", every=0.2)
    for name in os.listdir(root):
        if name.startswith("new-"):
            shutil.rmtree(os.path.join(root, name))
    return {side: statistics.median(times) for side, times in seconds.items()}


# MARK: names

def names(bench):
    count = 5_000 if bench.options.quick else 100_000
    # passthrough_ll keeps a descriptor of each name that it was asked for.
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if limit != resource.RLIM_INFINITY:
        count = min(count, (limit - 2_000) // 1_000 * 1_000)
    root = names_of(bench, count)
    source, agent = bench.lab.agent("holder"), bench.lab.agent("agent")
    bench.lab.introduce(agent, source)
    source.add_folder("names", root, agent.id, mode="full")
    agent.add_folder("names", bench.lab.path("agent-names"), source.id)
    agent.wait_connected(source.id)
    agent.wait_global("names", count, timeout=600)
    first, again = ({"passthrough": [], "absent": [], "present": []} for _ in range(2))
    rss, wakes = {}, None
    for number in range(ROUNDS):
        for name, open_it in (("passthrough", lambda: passthrough(bench, root)), ("absent", lambda: Mount(bench, agent, "names")),
                              ("present", lambda: Mount(bench, source, "names"))):
            settle()
            with open_it() as mounted:
                if name == "absent" and number == 0:
                    os.stat(mounted.directory)
                    time.sleep(min(5, bench.options.idle_seconds))
                    rss["at rest"] = mounted.rss()
                    wakes = mounted.wakeups(bench.options.idle_seconds)
                first[name].append(list_all(mounted.directory, count))
                again[name].append(list_all(mounted.directory, count))
                if name == "absent" and number == 0:
                    rss["full"] = mounted.rss()
    agent.stop()
    source.stop()
    rows = []
    for kind, text in (("absent", "not here"), ("present", "here")):
        for times, which, bar in ((first, "first", 2), (again, "again", 1.5)):
            values = {"syncthing": statistics.median(times["passthrough"]), "synctrain": statistics.median(times[kind])}
            rows.append(row(f"`ls -lR` of {count:,} names that are {text}, {which} (beside passthrough_ll)", "s", values,
                            target=f"≤ {bar} ×", met=lambda a, b, bar=bar: b <= bar * a))
    return rows + [
        Row("the mount's process at rest: RSS", "MiB", None, rss["at rest"], False, "≤ 25 MiB", rss["at rest"] <= 25),
        Row(f"the mount's process with {count:,} names: RSS", "MiB", None, rss["full"], False, "≤ 50 MiB", rss["full"] <= 50),
        Row("the mount's process at rest: wake-ups", "per minute", None, wakes, False, "0", wakes == 0, may_be_zero=True)]


# MARK: files that are elsewhere

class Elsewhere:
    """A folder that a Syncthing node has, of which an agent has nothing."""

    def __init__(self, bench, folder, root, files):
        self.bench, self.folder, self.root = bench, folder, root
        self.source = bench.source(folder, root, files)
        self.agent = bench.lab.agent(f"agent-{folder}")
        bench.lab.introduce(self.agent, self.source)
        self.source.set_folder(folder, root, [self.agent.id])
        self.agent.add_folder(folder, bench.lab.path(f"agent-{folder}-data"), self.source.id)
        self.agent.wait_global(folder, files, timeout=600)

    def mounted(self):
        return Mount(self.bench, self.agent, self.folder)

    def end(self):
        self.agent.stop()
        self.source.stop()


def small_absent(bench):
    count = 1_000 if bench.options.quick else 10_000
    root, found = text_of(bench, count)
    elsewhere = Elsewhere(bench, "text", root, count)
    settle()
    ours, theirs, cpu = [], [], 0
    with elsewhere.mounted() as mounted:
        before = elsewhere.agent.cpu_seconds()
        ours = [search(mounted.directory, found) for _ in range(2)]
        cpu = elsewhere.agent.cpu_seconds() - before
    served = Served(bench, root)
    settle()
    with rclone(bench, root, served.url) as mounted:
        theirs = [search(mounted.directory, found) for _ in range(2)]
    served.kill()
    elsewhere.end()
    label = f"`grep -r` over {count:,} files of 4 KiB that are not here"
    return [
        Row(f"{label} (beside rclone over WebDAV)", "s", theirs[0], ours[0], False, "≤ 1/5 ×", ours[0] * 5 <= theirs[0]),
        Row(f"{label}, again (beside rclone over WebDAV)", "s", theirs[1], ours[1]),
        Row(f"{label}, both: CPU of the agent", "s", None, cpu),
    ]


def large_absent(bench):
    mib = min(512, bench.options.big_mib)
    root, size = films_of(bench, mib), mib * MIB
    elsewhere = Elsewhere(bench, "films", root, FILMS)
    agent = elsewhere.agent
    fetched, read, first_bytes, interrupted = [], [], [], []
    with elsewhere.mounted() as mounted:
        settle()
        read = read_all(os.path.join(mounted.directory, "first"), size)
        settle()
        start = time.perf_counter()
        agent.run("fetch", "films:second", timeout=600)
        fetched = size / 1e6 / (time.perf_counter() - start)
        with open(os.path.join(root, "places"), "rb") as original:
            descriptor = os.open(os.path.join(mounted.directory, "places"), os.O_RDONLY)
            places = list(range(SAMPLES))
            random.Random(18).shuffle(places)
            for place in places:
                offset = place * 8 * MIB + 100
                start = time.perf_counter()
                got = os.pread(descriptor, 1, offset)
                first_bytes.append((time.perf_counter() - start) * 1000)
                original.seek(offset)
                if got != original.read(1):
                    raise Implausible(f"another byte was read at {offset}")
            os.close(descriptor)
        seen = statistics.median(change_elsewhere(elsewhere, mounted.directory) for _ in range(5))
        elsewhere.source.change_device(agent.id, paused=True)
        agent.wait_disconnected(elsewhere.source.id)
        for number in range(5):
            interrupted.append(interrupt(os.path.join(mounted.directory, f"waited-for-{number}")))
        elsewhere.source.change_device(agent.id, paused=False)
        agent.wait_connected(elsewhere.source.id)
        times = while_stopped(agent, mounted.directory)
    trip = round_trip(bench, elsewhere.source, root)
    elsewhere.end()
    first_byte = statistics.median(first_bytes)
    slowest = max(times["names"], key=times["names"].get)
    return [
        row(f"{mib} MiB that are not here, read in order (beside `synctrain fetch`)", "MB/s",
            {"syncthing": fetched, "synctrain": read}, more=True, target="≥ 0.8 ×", met=lambda a, b: b >= 0.8 * a),
        Row("first byte of a block that is not here, by `pread` (beside a bare request)", "ms", trip, first_byte, False,
            "≤ round trip + 20 ms", first_byte <= trip + 20),
        Row("a change elsewhere is seen, from the end of the scan there", "ms", None, seen, False, "≤ 1,000 ms", seen <= 1000),
        Row("SIGINT of a reader that waits, the slowest of five", "ms", None, max(interrupted), False, "≤ 100 ms",
            max(interrupted) <= 100),
        Row(f"the agent is stopped: the slowest operation on names ({slowest})", "s", None, times["names"][slowest], False,
            "≤ 2.5 s", times["names"][slowest] <= 2.5),
        Row("the agent is stopped: a read of a block that is not here", "s", None, times["read"], False,
            f"≤ {PATIENCE + 5} s", times["read"] <= PATIENCE + 5),
    ]


def change_elsewhere(elsewhere, directory):
    """Milliseconds until a program that looks all the time sees the size of a new version."""
    name = f"waited-for-{WAITED_FOR - 1}"
    shown = os.path.join(directory, name)
    size = os.stat(shown).st_size + 1
    with open(os.path.join(elsewhere.root, name), "ab") as file:
        file.write(b"x")
    elsewhere.source.scan(elsewhere.folder, name)
    start = time.perf_counter()
    wait_until(lambda: os.stat(shown).st_size == size, 30, "the change is seen", every=0.002)
    return (time.perf_counter() - start) * 1000


def interrupt(path):
    """Milliseconds until a `cat` that waits for a block has ended."""
    reader = subprocess.Popen(["cat", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def waits():
        with open(f"/proc/{reader.pid}/wchan") as file:
            return "folio" in file.read()
    wait_until(waits, 10, "the reader waits", every=0.005)
    start = time.perf_counter()
    reader.send_signal(signal.SIGINT)
    if reader.wait(60) != -signal.SIGINT:
        raise Implausible(f"the reader ended with {reader.returncode}")
    return (time.perf_counter() - start) * 1000


def while_stopped(agent, directory):
    """Seconds that operations take whose agent does not answer, each of its own name; and a read."""
    places = os.open(os.path.join(directory, "places"), os.O_RDONLY)
    os.mkdir(os.path.join(directory, "seen"))
    with open(os.path.join(directory, "seen/file"), "wb") as file:
        file.write(b"here")
    os.stat(os.path.join(directory, "waited-for-7"))
    agent.suspend()
    try:
        names = {
            "stat": lambda: os.stat(os.path.join(directory, "never")),
            "open": lambda: open(os.path.join(directory, "waited-for-7"), "rb"),
            "readdir": lambda: os.listdir(directory),
            "statfs": lambda: os.statvfs(directory),
            "getxattr": lambda: os.getxattr(os.path.join(directory, "waited-for-7"), "user.synctrain.state"),
            "create": lambda: open(os.path.join(directory, "seen/new"), "wb"),
            "mkdir": lambda: os.mkdir(os.path.join(directory, "seen/directory")),
            "rename": lambda: os.rename(os.path.join(directory, "seen/file"), os.path.join(directory, "seen/other")),
            "unlink": lambda: os.unlink(os.path.join(directory, "waited-for-8")),
        }
        return {"names": {name: timed(action) for name, action in names.items()},
                "read": timed(lambda: os.pread(places, 1, 4 * MIB + 100))}
    finally:
        agent.resume()
        os.close(places)


def round_trip(bench, source, root):
    """Milliseconds of a bare request for a block, by our probe over a warm link: nobody can be faster."""
    probe = bench.lab.peer("probe")
    source.add_device(probe.id)
    source.set_folder("films", root, [probe.id])
    probe.share("films", [source.id])
    session = probe.dial_until(source.address)
    info = session.wait_index("films", FILMS)["places"]
    trips = []
    for number in range(SAMPLES):
        start = time.perf_counter()
        _, code = session.request("films", info, number * 40 + 9)
        trips.append((time.perf_counter() - start) * 1000)
        if code != 0:
            raise Implausible(f"a bare request was answered with {code}")
    session.close()
    return statistics.median(trips)


# MARK: file managers

def pictures():
    """Blocks that the holder was asked for while Nautilus showed 1,000 pictures that it alone has; see Tests/FileManager."""
    label = "1,000 pictures that are not here, shown by Nautilus: blocks asked for"
    if not all(shutil.which(program) for program in ("nautilus", "Xvfb", "convert")):
        print(f"not measured: {label}; config/file-manager-packages.txt has what it needs", file=sys.stderr)
        return []
    place = tempfile.mkdtemp(prefix="synctrain-pictures-")
    # The tests run as nobody where this runs as root.
    os.chmod(place, 0o777)
    try:
        report = os.path.join(place, "report.xml")
        subprocess.run(
            [os.path.join(REPOSITORY, "Tests/FileManager/run"), "test_file_managers.py", "-k", "thousand and nautilus",
             f"--junitxml={report}", "-o", "junit_family=xunit1"], stdout=sys.stderr, check=False)
        found = [item for item in ElementTree.parse(report).iter("property") if item.get("name") == "blocks"]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if len(found) != 1:
        raise Implausible(f"{label}: the test did not come so far")
    blocks = int(found[0].get("value"))
    return [Row(label, "blocks", None, blocks, False, "0", blocks == 0, may_be_zero=True)]


def mount(bench):
    if not bench.with_synctrain:
        return []
    return present(bench) + names(bench) + small_absent(bench) + large_absent(bench) + pictures()


ALL = {"mount": mount}
