"""What is measured of folders that are kept: looking at the disk, pulling, and resting. Both sides on the same data, one
after the other, as in `measures`."""

import os
import shutil
import time

import tree
from control import Control
from harness import sha256_of
from measures import connect, empty_big_files, row, scaled, settle
from plausible import Implausible
from process import MIB, wait_until
from wakeups import count_wakeups


def clear_marker(root):
    shutil.rmtree(os.path.join(root, ".stfolder"), ignore_errors=True)


class Watchman:
    """One node's folder, asked for its state the same way whoever keeps it."""

    def __init__(self, name, node, folder_id):
        self.is_ours, self.node, self.folder_id = name == "synctrain", node, folder_id
        self.control = Control(node) if self.is_ours else None

    def local_files(self):
        """How many files it has, once it is idle and needs nothing; None until then."""
        if self.is_ours:
            folder = self.control.folder(self.folder_id)
            need = folder.get("need", {})
            is_done = folder.get("state") == "idle" and not any(need.values())
            return folder["local"]["files"] if is_done else None
        status = self.node.status(self.folder_id)
        is_done = status["state"] == "idle" and status["needTotalItems"] == 0
        return status["localFiles"] if is_done else None

    def wait_for(self, files, timeout=600):
        wait_until(lambda: (self.local_files() or 0) >= files, timeout, f"{files} files here", every=0.02,
                   child=self.node)

    def rescan(self):
        if self.is_ours:
            self.node.run("scan", f"{self.folder_id}:", timeout=600)
        else:
            self.node.scan(self.folder_id)


def scan(bench):
    """The first look at a folder that nobody else has, and a second one that finds nothing new."""
    small, big = bench.options.files, bench.options.big_mib
    sets = [(f"{small:,} files of 4 KiB", "small", bench.data.small_files(small), small),
            (f"one file of {big:,} MiB", "big", bench.data.big_file(big), 1)]
    rows = []
    for label, folder_id, root, files in sets:
        took, cpu, again, cpu_again, peak = {}, {}, {}, {}, {}
        for name in ["syncthing"] + (["synctrain"] if bench.with_synctrain else []):
            clear_marker(root)
            node = bench.lab.syncthing(f"scanner-{folder_id}") if name == "syncthing" else bench.lab.agent(
                f"scanner-agent-{folder_id}")
            settle()
            node.reset_peak()
            watchman = Watchman(name, node, folder_id)
            before, start = node.cpu_seconds(), time.perf_counter()
            if name == "syncthing":
                node.set_folder(folder_id, root)
            else:
                node.add_folder(folder_id, root, mode="full")
            watchman.wait_for(files)
            took[name] = time.perf_counter() - start
            cpu[name] = node.cpu_seconds() - before
            peak[name] = node.peak_rss()
            settle()
            before, start = node.cpu_seconds(), time.perf_counter()
            watchman.rescan()
            again[name] = time.perf_counter() - start
            cpu_again[name] = node.cpu_seconds() - before
            node.stop()
        target = 0.8 if files > 1 else 1.0
        rows += [
            row(f"scan of {label}", "s", took, target=f"≤ {target} × Syncthing", met=lambda a, b, t=target: b <= t * a),
            row(f"scan of {label}, CPU", "s", cpu, target="less", met=lambda a, b: b < a),
            row(f"scan of {label}, peak RSS", "MiB", scaled(peak, 1 / MIB)),
            row(f"rescan of {label}, nothing new (ours with the command's start)", "s", again),
            row(f"rescan of {label}, nothing new, CPU", "s", cpu_again, may_be_zero=True),
        ]
    return rows


def pull(bench, folder_id, root, files):
    """{measure: {side: value}} of a folder that is empty on one side, from the link's being up until all is done."""
    source = bench.source(folder_id, root, files)
    values = {key: {} for key in ("seconds", "cpu", "source_cpu", "peak")}
    for name, node in bench.receivers(source, folder_id, root, mode="full"):
        watchman = Watchman(name, node, folder_id)
        settle()
        node.reset_peak()
        before, source_before = node.cpu_seconds(), source.cpu_seconds()
        start = connect(source, node)
        watchman.wait_for(files)
        values["seconds"][name] = time.perf_counter() - start
        values["cpu"][name] = node.cpu_seconds() - before
        values["source_cpu"][name] = source.cpu_seconds() - source_before
        values["peak"][name] = node.peak_rss()
        here = bench.lab.path("receiver-data" if name == "syncthing" else "agent-data")
        if files > 1:
            lines = tree.difference(tree.entries(root), tree.entries(here))
            if lines:
                raise AssertionError(f"{name} is done, but: {lines}")
        elif sha256_of(os.path.join(here, "big.bin")) != bench.data.big_hash:
            raise AssertionError(f"{name}: the file is not what the source holds")
    return values


def pull_small(bench):
    count = bench.options.files
    values = pull(bench, "small", bench.data.small_files(count), count)
    label = f"{count:,} files of 4 KiB pulled, durable"
    rate = {name: count / seconds for name, seconds in values["seconds"].items()}
    return [
        row(label, "files/s", rate, more=True, target="≥ 3 × Syncthing", met=lambda a, b: b >= 3 * a),
        row(label + ", CPU", "s", values["cpu"], may_be_zero=True),
        row(label + ", CPU at the source", "s", values["source_cpu"], may_be_zero=True),
        row(label + ", peak RSS", "MiB", scaled(values["peak"], 1 / MIB)),
    ]


def pull_big(bench):
    mib = bench.options.big_mib
    values = pull(bench, "big", bench.data.big_file(mib), 1)
    label = f"one file of {mib:,} MiB pulled by the folder"
    rate = {name: mib * MIB / 1e6 / seconds for name, seconds in values["seconds"].items()}
    return [
        row(label, "MB/s", rate, more=True, target="≥ 1.3 × Syncthing", met=lambda a, b: b >= 1.3 * a),
        row(label + ", CPU per GiB", "s", scaled(values["cpu"], 1024 / mib), target="less", met=lambda a, b: b < a),
        row(label + ", CPU per GiB at the source", "s", scaled(values["source_cpu"], 1024 / mib), may_be_zero=True),
        row(label + ", peak RSS", "MiB", scaled(values["peak"], 1 / MIB)),
    ]


def push(bench, folder_id, root, files):
    """{measure: {side: value}} of a folder that a Syncthing, empty, gets from each side in turn."""
    values = {key: {} for key in ("seconds", "cpu", "taker_cpu", "peak")}
    for name in ["syncthing"] + (["synctrain"] if bench.with_synctrain else []):
        clear_marker(root)
        node = bench.lab.syncthing("pusher") if name == "syncthing" else bench.lab.agent("pusher-agent")
        taker = bench.lab.syncthing(f"taker-{name}")
        node.add_device(taker.id, name="taker")
        if name == "syncthing":
            node.set_folder(folder_id, root, [taker.id])
        else:
            node.add_folder(folder_id, root, taker.id, mode="full")
        Watchman(name, node, folder_id).wait_for(files)
        here = bench.lab.path(f"taken-{name}")
        taker.add_device(node.id, node.address, node.name, paused=True)
        taker.set_folder(folder_id, here, [node.id])
        taker.wait_scanned(folder_id)
        settle()
        node.reset_peak()
        before, taker_before = node.cpu_seconds(), taker.cpu_seconds()
        start = connect(taker, node)
        Watchman("syncthing", taker, folder_id).wait_for(files)
        values["seconds"][name] = time.perf_counter() - start
        values["cpu"][name] = node.cpu_seconds() - before
        values["taker_cpu"][name] = taker.cpu_seconds() - taker_before
        values["peak"][name] = node.peak_rss()
        if files > 1:
            lines = tree.difference(tree.entries(root), tree.entries(here))
            if lines:
                raise AssertionError(f"all was sent by {name}, but: {lines}")
        elif sha256_of(os.path.join(here, "big.bin")) != bench.data.big_hash:
            raise AssertionError(f"{name}: the file is not what was sent")
        node.stop()
        taker.stop()
        empty_big_files(here)
    return values


def push_rows(label, rate, unit, values):
    return [
        row(label, unit, rate, more=True),
        row(label + ", CPU", "s", values["cpu"], target="less", met=lambda a, b: b < a),
        row(label + ", CPU at the Syncthing that takes them", "s", values["taker_cpu"], may_be_zero=True),
        row(label + ", peak RSS", "MiB", scaled(values["peak"], 1 / MIB)),
    ]


def push_small(bench):
    count = bench.options.files
    values = push(bench, "small", bench.data.small_files(count), count)
    rate = {name: count / seconds for name, seconds in values["seconds"].items()}
    return push_rows(f"{count:,} files of 4 KiB sent to a Syncthing", rate, "files/s", values)


def push_big(bench):
    mib = bench.options.big_mib
    values = push(bench, "big", bench.data.big_file(mib), 1)
    rate = {name: mib * MIB / 1e6 / seconds for name, seconds in values["seconds"].items()}
    return push_rows(f"one file of {mib:,} MiB sent to a Syncthing", rate, "MB/s", values)


def idle(bench):
    """A folder in sync with a connected device, watched, the node started anew; its children count."""
    count, seconds = bench.options.files, bench.options.idle_seconds
    root = bench.data.small_files(count)
    source = bench.source("small", root, count)
    rss, wakes, cpu = {}, {}, {}
    for name, node in bench.receivers(source, "small", root, mode="full"):
        connect(source, node)
        Watchman(name, node, "small").wait_for(count)
        if name == "syncthing":
            node.set_folder("small", bench.lab.path("receiver-data"), [source.id], fsWatcherEnabled=True,
                            rescanIntervalS=3600)
        node.stop()
        node.start()
        wait_until(lambda: source.is_connected(node.id), 90, "connected", every=0.1)
        Watchman(name, node, "small").wait_for(count)
        # Whatever follows a start is over then: rescans, watches, pings, garbage collection.
        time.sleep(min(10, seconds))
        cpu_before, start = node.cpu_seconds(), time.perf_counter()
        wakes[name] = count_wakeups(node, seconds)
        cpu[name] = (node.cpu_seconds() - cpu_before) / ((time.perf_counter() - start) / 60)
        rss[name] = node.rss()
        # One that has lost its link or found something to do was not at rest.
        if not source.is_connected(node.id) or (Watchman(name, node, "small").local_files() or 0) < count:
            raise Implausible(f"{name} was not idle in sync with a connected device to the end")
    label = f"idle, {count:,} files in sync with a connected device"
    return [
        row(label + ": RSS", "MiB", scaled(rss, 1 / MIB), target="≤ 30 MiB", met=lambda b: b <= 30, is_relative=False),
        row(label + ": wake-ups", "per minute", wakes, target="few", met=lambda a, b: b < a, may_be_zero=True),
        row(label + ": CPU", "s per minute", cpu, may_be_zero=True),
    ]


ALL = {
    "scan": scan, "pull-small": pull_small, "pull-big": pull_big, "push-small": push_small, "push-big": push_big,
    "idle": idle,
}
