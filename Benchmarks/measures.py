"""What is measured, one function each: Syncthing and synctrain on the same data, one after the other.

Every function gets a `Bench` and returns a list of `Row`s; a side that is not there leaves None.
"""

import os
import shutil
import statistics
import time
from dataclasses import dataclass

import bep
import generator
from control import Control
from harness import sha256_of
from plausible import Implausible, checked
from process import MIB, wait_until

LATENCY_SAMPLES = 20


@dataclass
class Row:
    measure: str
    unit: str
    syncthing: float | None
    synctrain: float | None
    more_is_better: bool = False
    target: str = ""
    """What the plan asks of synctrain, as text."""
    met: bool | None = None
    may_be_zero: bool = False
    """Whether nothing at all is a value: of processor time, which comes in ticks, and of what may not happen."""

    def __post_init__(self):
        for value in (self.syncthing, self.synctrain):
            if value is not None:
                checked(self.measure, value, self.may_be_zero)
        if self.met is not None and self.synctrain is None:
            raise Implausible(f"{self.measure}: judged, and not measured")

    @property
    def ratio(self):
        """synctrain / Syncthing, or None."""
        if not self.syncthing or self.synctrain is None:
            return None
        return self.synctrain / self.syncthing


def empty_big_files(root):
    """Frees the space of what was received, and deletes nothing before the run ends: ext4 gives no inode anew for minutes
    after its file was deleted, and looks for another one by one, which the side that comes second would pay for."""
    for directory, _, names in os.walk(root):
        for path in (os.path.join(directory, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > MIB:
                os.truncate(path, 0)


class Bench:
    """One run: a laboratory, the sizes, and data sets made once for all runs."""

    def __init__(self, lab, data, options):
        self.lab, self.data, self.options = lab, data, options

    @property
    def with_synctrain(self):
        return not self.options.without_synctrain

    def source(self, folder_id, root, files):
        """A Syncthing node that holds a data set, scanned and shared with nobody."""
        shutil.rmtree(os.path.join(root, ".stfolder"), ignore_errors=True)
        node = self.lab.syncthing("source")
        node.set_folder(folder_id, root)
        node.wait_scanned(folder_id, files)
        return node

    def receivers(self, source, folder_id, root, ignores=None, mode="selective"):
        """(name, node) of each side in turn, knowing the source and its folder, and not connected yet."""
        node = self.lab.syncthing("receiver")
        node.add_device(source.id, name="source")
        self._offer(source, node, folder_id, root)
        node.set_folder(folder_id, self.lab.path("receiver-data"), [source.id])
        node.wait_scanned(folder_id)
        if ignores:
            node.set_ignores(folder_id, ignores)
            node.scan(folder_id)
        yield "syncthing", node
        node.stop()
        empty_big_files(self.lab.path("receiver-data"))
        source.remove_device(node.id)
        if not self.with_synctrain:
            return
        agent = self.lab.agent("agent")
        agent.add_device(source.id, "source")
        self._offer(source, agent, folder_id, root)
        agent.add_folder(folder_id, self.lab.path("agent-data"), source.id, mode=mode)
        yield "synctrain", agent
        agent.stop()

    @staticmethod
    def _offer(source, receiver, folder_id, root):
        source.add_device(receiver.id, receiver.address, receiver.name, paused=True)
        source.set_folder(folder_id, root, [receiver.id])
        source.wait_scanned(folder_id)


def settle():
    """What is dirty goes to disk now, not in the middle of a measurement."""
    os.sync()


def connect(source, receiver):
    """Lets the source dial; returns the time when the link was up."""
    source.change_device(receiver.id, paused=False)
    wait_until(lambda: source.is_connected(receiver.id), 60, "connected", every=0.005)
    return time.perf_counter()


def index_of_20000(bench):
    count = bench.options.files
    root = bench.data.small_files(count)
    source = bench.source("small", root, count)
    took, cpu, peak, idle, database = {}, {}, {}, {}, {}
    for name, node in bench.receivers(source, "small", root, ["*"]):
        settle()
        idle[name] = node.rss()
        node.reset_peak()
        before = node.cpu_seconds()
        if name == "syncthing":
            def known():
                return node.status("small")["globalFiles"] >= count
        else:
            control = Control(node)

            def known():
                return control.global_files("small") >= count
        start = connect(source, node)
        wait_until(known, 120, "the index is known", every=0.005, child=node)
        took[name] = time.perf_counter() - start
        cpu[name] = node.cpu_seconds() - before
        peak[name] = node.peak_rss()
        source.wait_completion("small", node.id, timeout=120)
    label = f"index of {count:,} files received, selective"
    return [
        row(label, "s", took, target="≤ 1.0 × Syncthing", met=lambda a, b: b <= a),
        row(label + ", CPU", "s", cpu, may_be_zero=True),
        row(label + ", peak RSS", "MiB", scaled(peak, 1 / MIB)),
        row("idle RSS, one empty folder", "MiB", scaled(idle, 1 / MIB), target="≤ 30 MiB", met=lambda b: b <= 30,
            is_relative=False),
    ]


def fetch_of_a_large_file(bench):
    mib = bench.options.big_mib
    root = bench.data.big_file(mib)
    source = bench.source("big", root, 1)
    rate, cpu, source_cpu, peak = {}, {}, {}, {}
    for name, node in bench.receivers(source, "big", root):
        settle()
        node.reset_peak()
        before, source_before = node.cpu_seconds(), source.cpu_seconds()
        start = connect(source, node)
        if name == "syncthing":
            node.wait_synced("big", 1)
            out = bench.lab.path("receiver-data/big.bin")
        else:
            node.wait_global("big", 1)
            out = bench.lab.path("fetched.bin")
            # The time of the command, from its start to its end, the file durable on disk.
            before, source_before = node.cpu_seconds(), source.cpu_seconds()
            start = time.perf_counter()
            node.run("fetch", "big:big.bin", "-o", out, timeout=600)
        seconds = time.perf_counter() - start
        rate[name] = mib * MIB / 1e6 / seconds
        cpu[name] = (node.cpu_seconds() - before) / (mib / 1024)
        source_cpu[name] = (source.cpu_seconds() - source_before) / (mib / 1024)
        peak[name] = node.peak_rss()
        if sha256_of(out) != bench.data.big_hash:
            raise AssertionError(f"{name}: the file is not what the source holds")
        os.remove(out)
    label = f"one file of {mib:,} MiB, pull / fetch"
    return [
        row(label, "MB/s", rate, more=True, target="≥ 1.0 × Syncthing, 1.3 in the end", met=lambda a, b: b >= a),
        row(label + ", CPU per GiB", "s", cpu, target="less", met=lambda a, b: b < a),
        row(label + ", CPU per GiB at the source", "s", source_cpu, may_be_zero=True),
        row(label + ", peak RSS", "MiB", scaled(peak, 1 / MIB)),
    ]


def first_byte(bench):
    """One block of 128 KiB that is in no cache. In the column of Syncthing stands a bare request by our probe to the
    same node over a warm link: the round trip that nobody can be faster than."""
    root = bench.data.latency_file(LATENCY_SAMPLES * 3 + 2)
    source = bench.source("latency", root, 1)
    probe = bench.lab.peer("probe")
    source.add_device(probe.id)
    source.set_folder("latency", root, [probe.id])
    source.wait_scanned("latency", 1)
    probe.share("latency", [source.id])
    session = probe.dial_until(source.address)
    info = session.wait_index("latency", 1)["latency.bin"]
    trips = []
    for number in range(LATENCY_SAMPLES):
        start = time.perf_counter()
        data, code = session.request("latency", info, number)
        trips.append(time.perf_counter() - start)
        assert code == 0 and len(data) == bep.MIN_BLOCK
    session.close()
    raw = {"syncthing": statistics.median(trips) * 1000}
    rows = []
    if bench.with_synctrain:
        agent = bench.lab.agent("agent")
        bench.lab.introduce(agent, source)
        source.set_folder("latency", root, [agent.id])
        agent.add_folder("latency", bench.lab.path("agent-data"), source.id)
        agent.wait_global("latency", 1)
        control = Control(agent)
        with open(os.path.join(root, "latency.bin"), "rb") as file:
            content = file.read()
        api, again, command, start_up = [], [], [], []
        for number in range(LATENCY_SAMPLES):
            first = (LATENCY_SAMPLES + number) * bep.MIN_BLOCK + 1000
            for times in (api, again):
                early, _, data = control.first_byte("latency:latency.bin", first, first + 99)
                assert data == content[first:first + 100]
                times.append(early * 1000)
            first += LATENCY_SAMPLES * bep.MIN_BLOCK
            start = time.perf_counter()
            data = agent.run("cat", "latency:latency.bin", "--range", f"{first}-{first + 99}").stdout
            command.append((time.perf_counter() - start) * 1000)
            assert data == content[first:first + 100]
            start = time.perf_counter()
            agent.run("id")
            start_up.append((time.perf_counter() - start) * 1000)
        for label, times, target in (
                ("first byte of an uncached block, control API", api, "≤ round trip + 20 ms"),
                ("first byte of a cached block, control API", again, ""),
                ("`cat --range` of an uncached block, whole command", command, ""),
                ("`id`, whole command (what starting the program costs)", start_up, "")):
            value = statistics.median(times)
            met = value <= raw["syncthing"] + 20 if target else None
            rows.append(Row(label, "ms", raw["syncthing"] if "uncached" in label else None, value, False, target, met))
    return rows or [row("round trip of one block, our probe", "ms", raw)]


def million(bench):
    """An index of very many names from the generator."""
    count = bench.options.names
    identity = bep.Identity.create(bench.lab.path("generator"), "p256")
    names = bench.data.generator(count, identity.short_id)
    results = {}
    if bench.options.syncthing_names or not bench.with_synctrain:
        results["syncthing"] = million_syncthing(bench, names, identity)
    if bench.with_synctrain:
        results["synctrain"] = million_synctrain(bench, names, identity)
    label = f"{count:,} names"
    may_be_zero = {"cpu", "own_index", "reconnect"}
    wanted = [
        ("entries", f"{label}: received", "entries/s", True, "≥ 60,000", lambda v: v >= 60_000),
        ("peak", f"{label}: peak RSS", "MiB", False, "≤ 150", lambda v: v <= 150),
        ("cpu", f"{label}: CPU", "s", False, "", None),
        ("database", f"{label}: database per name", "bytes", False, "≤ 400", lambda v: v <= 400),
        ("own_index", f"{label}: all announced back after", "s", False, "", None),
        ("ls", f"{label}: ls of a directory of 100, API", "ms", False, "≤ 5", lambda v: v <= 5),
        ("ls_command", f"{label}: ls of a directory of 100, command", "ms", False, "", None),
        ("search", f"{label}: substring search, API", "ms", False, "≤ 300", lambda v: v <= 300),
        ("search_many", f"{label}: substring search with 1,000s of hits, API", "ms", False, "", None),
        ("restart", f"{label}: restart to ready", "s", False, "≤ 2", lambda v: v <= 2),
        ("idle", f"{label}: RSS after the restart", "MiB", False, "", None),
        ("reconnect", f"{label}: bytes sent back after a reconnect", "bytes", False, "", None),
    ]
    rows = []
    for key, text, unit, more, target, met in wanted:
        sides = {side: values.get(key) for side, values in results.items()}
        if any(value is not None for value in sides.values()):
            rows.append(row(text, unit, sides, more, target, met, key in may_be_zero, is_relative=False))
    return rows


def listing(bench):
    """One directory of very many names, page by page, as the page in the browser asks for it."""
    count = bench.options.names
    identity = bep.Identity.create(bench.lab.path("flat-generator"), "p256")
    names = generator.Generator(count, identity.short_id, folder="flat", per_directory=count)
    agent = bench.lab.agent("flat-agent")
    agent.add_device(identity.id, "generator")
    agent.add_folder("flat", bench.lab.path("flat-agent-data"), identity.id)
    control = Control(agent)
    session = generator.GeneratorSession(names, identity, agent.address)
    session.announce()
    wait_until(lambda: control.global_files("flat") >= names.files, 1800, "all names", every=0.1, child=agent)
    session.close()
    agent.reset_peak()

    def page(offset, **more):
        return control.timed("/v1/entries", path=f"flat:{names.directories[0]}", cwd="/", limit=200, offset=offset, **more)
    # The first is timed once: it is what is remembered for the others.
    start = time.perf_counter()
    page(0)
    first = (time.perf_counter() - start) * 1000
    offsets = iter(count * n // 16 for n in range(1, 16))
    other = median_ms(lambda: page(next(offsets)))
    start = time.perf_counter()
    page(0, sort="size", order="desc")
    by_size = (time.perf_counter() - start) * 1000
    offsets_by_size = iter(count * n // 16 for n in range(1, 16))
    other_by_size = median_ms(lambda: page(next(offsets_by_size), sort="size", order="desc"))
    peak = agent.peak_rss() / MIB
    agent.stop()
    label = f"a directory of {count:,} names, 200 of them"
    return [Row(f"{label}: the first time", "ms", None, first, False, "", None),
            Row(f"{label}: anywhere, then", "ms", None, other, False, "", None),
            Row(f"{label}: by size, the first time", "ms", None, by_size, False, "", None),
            Row(f"{label}: by size, anywhere, then", "ms", None, other_by_size, False, "", None),
            Row(f"{label}: peak RSS", "MiB", None, peak, False, "", None)]


def directory_size(path):
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except FileNotFoundError:
                pass  # a database at work renames and removes its files
    return total


def announced_back(session, quiet=1.0):
    """Seconds until the other side has sent nothing for a while (without that while)."""
    start = time.perf_counter()
    last, seen = start, session.link.bytes_in
    while time.perf_counter() - last < quiet:
        time.sleep(0.05)
        if session.link.bytes_in != seen:
            last, seen = time.perf_counter(), session.link.bytes_in
    return last - start


def median_ms(function, times=7):
    samples = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        samples.append((time.perf_counter() - start) * 1000)
    return statistics.median(samples)


def million_syncthing(bench, names, identity):
    node = bench.lab.syncthing("many-names")
    node.add_device(identity.id, name="generator")
    node.set_folder(names.folder, bench.lab.path("many-data"), [identity.id])
    node.wait_scanned(names.folder)
    node.set_ignores(names.folder, ["*"])
    node.scan(names.folder)
    session = generator.GeneratorSession(names, identity, node.address)
    node.reset_peak()
    before, start = node.cpu_seconds(), time.perf_counter()
    session.announce()
    node.wait_global(names.folder, names.files, timeout=1800)
    seconds = time.perf_counter() - start
    values = {"entries": names.entries / seconds}
    values["own_index"] = seconds + announced_back(session, 5)
    values["cpu"] = node.cpu_seconds() - before
    values["peak"] = node.peak_rss() / MIB
    middle = names.directories[len(names.directories) // 2]
    values["ls"] = median_ms(lambda: node.get("/rest/db/browse", folder=names.folder, prefix=middle))
    session.close()
    node.stop()
    values["database"] = directory_size(node.database) / names.entries
    start = time.perf_counter()
    node.start(timeout=600)
    node.wait_global(names.folder, names.files, timeout=600)
    values["restart"] = time.perf_counter() - start
    values["idle"] = node.rss() / MIB
    node.stop()
    return values


def million_synctrain(bench, names, identity):
    agent = bench.lab.agent("many-names-agent")
    agent.add_device(identity.id, "generator")
    agent.add_folder(names.folder, bench.lab.path("many-agent-data"), identity.id)
    control = Control(agent)
    empty = directory_size(agent.home)
    session = generator.GeneratorSession(names, identity, agent.address)
    agent.reset_peak()
    before, start = agent.cpu_seconds(), time.perf_counter()
    session.announce()
    # Only its status tells: it must not be asked so often that asking is what costs.
    wait_until(lambda: control.global_files(names.folder) >= names.files, 1800, "all names", every=0.1, child=agent)
    seconds = time.perf_counter() - start
    values = {"entries": names.entries / seconds}
    values["own_index"] = seconds + announced_back(session)
    values["cpu"] = agent.cpu_seconds() - before
    values["peak"] = agent.peak_rss() / MIB
    number = len(names.directories) // 2
    middle, wanted = names.directories[number], names.file_names(number)
    listing = {"path": f"{names.folder}:{middle}", "cwd": "/"}
    assert control.timed("/v1/entries", **listing)[1] == len(wanted)
    values["ls"] = median_ms(lambda: control.timed("/v1/entries", **listing))
    values["ls_command"] = median_ms(lambda: agent.run("ls", f"{names.folder}:{middle}", "--json"))
    rare = os.path.basename(wanted[-1])[2:20]
    assert control.timed("/v1/search", text=rare, folder=names.folder)[1] >= 1
    values["search"] = median_ms(lambda: control.timed("/v1/search", text=rare, folder=names.folder))
    frequent = {"text": "screensh", "folder": names.folder, "limit": 5000}
    values["search_many"] = median_ms(lambda: control.timed("/v1/search", **frequent))
    session.close()
    agent.stop()
    values["database"] = (directory_size(agent.home) - empty) / names.entries
    start = time.perf_counter()
    agent.start(timeout=120)
    values["restart"] = time.perf_counter() - start
    control = Control(agent)
    assert control.global_files(names.folder) == names.files
    values["idle"] = agent.rss() / MIB
    session = generator.GeneratorSession(names, identity, agent.address)
    assert session.asked == (names.index_id, names.max_sequence), f"it says it holds {session.asked}"
    # We claim to know nothing of its index, so this is its whole index once more.
    announced_back(session)
    values["reconnect"] = session.link.bytes_in
    session.close()
    agent.stop()
    return values


def scaled(values, factor):
    return {name: value * factor for name, value in values.items()}


def row(measure, unit, values, more=False, target="", met=None, may_be_zero=False, is_relative=True):
    """`met` gets both sides, or synctrain's alone if it is not relative."""
    left, right = values.get("syncthing"), values.get("synctrain")
    # Before it is judged: a value that cannot be compares with anything.
    found = Row(measure, unit, left, right, more, target, None, may_be_zero)
    if met and right is not None:
        if is_relative and left is None:
            raise Implausible(f"{measure}: there is nothing to compare it with")
        found.met = met(left, right) if is_relative else met(right)
    return found


ALL = {"index": index_of_20000, "fetch": fetch_of_a_large_file, "latency": first_byte, "million": million, "listing": listing}
