"""Two agents over a virtual Bluetooth LE link of about 100 KB/s (1M PHY, 15 ms, no loss) in real time, and no Syncthing."""

import os
import shutil
import sys
import time

from control import Control
from harness import Lab, pattern
from measures import Row
from plausible import Implausible
from process import wait_until
from radio import Radio

# What an application gets of this link, by `--only radio`.
LINK_RATE = 97_600
# So many small files are asked for, one after the other, while the link is busy.
URGENT_FILES = 20


def frame_bytes(radio):
    return sum(direction["frameBytes"] for direction in radio.statistics["directions"].values())


def packets(radio):
    return sum(direction["packets"] for direction in radio.statistics["directions"].values())


class Pair:
    """`far` keeps folders and `near` gets to know it when it is told to; both in a place of their own, removed in the end."""

    def __init__(self, *settings):
        self.lab = Lab()
        self.radio = Radio(self.lab, "loss=0", *settings)
        self.far, self.near = self.radio.join("far"), self.radio.join("near")
        self.far.add_device(self.near.id, "near")

    def connect(self):
        self.near.add_device(self.far.id, "far", "virtual://far")

    def end(self):
        for child in (self.near, self.far, self.radio):
            child.kill()
        shutil.rmtree(self.lab.root, ignore_errors=True)


def index_once(root, count, cuts):
    """(seconds, bytes of frames) of an index; the link is cut so many times on the way."""
    pair = Pair()
    try:
        pair.far.add_folder("small", root, pair.near.id, mode="full")
        wait_until(lambda: pair.far.folder("small").get("local", {}).get("files") == count, 600, "far has scanned",
                   every=0.1)
        pair.near.run("folder", "add", "small", pair.lab.path(f"near-{cuts}"))
        start = time.perf_counter()
        pair.connect()
        pair.near.run("folder", "add", "small", pair.lab.path(f"near-{cuts}"), "--device", pair.far.id)
        for cut in range(cuts):
            part = count * (cut + 1) // (cuts + 1)
            wait_until(lambda: pair.near.folder("small")["global"]["files"] >= part, 600, "a part of it", every=0.05)
            pair.radio.cut()
        pair.near.wait_global("small", count, timeout=900)
        seconds = time.perf_counter() - start
        time.sleep(1)  # What this side announces back goes the other way.
        return seconds, frame_bytes(pair.radio)
    finally:
        pair.end()


def index_slow(bench):
    if not bench.with_synctrain:
        return []
    count = bench.options.files
    root = bench.data.small_files(count)
    seconds, carried = index_once(root, count, cuts=0)
    _, with_cuts = index_once(root, count, cuts=3)
    label = f"index of {count:,} entries over a link of 100 KB/s"
    return [
        Row(label, "s", None, seconds),
        Row(label + ": on the link, both directions", "bytes/entry", None, carried / count),
        Row(label + ": the same with the link lost three times on the way", "× of that", None, with_cuts / carried,
            False, "≤ 1.1", with_cuts <= 1.1 * carried),
    ]


def idle_slow(bench):
    """Packets with something in them; empty ones are the link layer's, at each connection event, and not ours."""
    if not bench.with_synctrain:
        return []
    seconds = 3 * max(60, bench.options.idle_seconds) if not bench.options.quick else 30
    pair = Pair()
    try:
        root = pair.lab.directory("far-docs")
        with open(os.path.join(root, "a"), "wb") as file:
            file.write(b"a")
        pair.far.add_folder("docs", root, pair.near.id, mode="full")
        pair.connect()
        pair.near.add_folder("docs", pair.lab.path("near-docs"), pair.far.id)
        pair.near.wait_global("docs", 1)
        time.sleep(10)
        before, start = packets(pair.radio), time.perf_counter()
        time.sleep(seconds)
        minutes = (time.perf_counter() - start) / 60
        rate = (packets(pair.radio) - before) / minutes
        # A link that is lost is quiet, too.
        if not pair.near.is_connected(pair.far.id):
            raise Implausible("the idle link was lost while its packets were counted")
        return [Row("idle Bluetooth link: packets with something in them, both directions", "per minute", None, rate,
                    False, "few", rate <= 4, may_be_zero=True)]
    finally:
        pair.end()


def urgent_slow(bench):
    """How long somebody waits for the first bytes of a small file while the link is busy with something else."""
    if not bench.with_synctrain:
        return []
    # Two round trips of 30 ms and 64 KiB at the link's rate.
    limit = 0.06 + (64 << 10) / LINK_RATE
    rows = []
    for what in ("a file of 5 MB", "an index"):
        pair = Pair()
        try:
            now, busy = pair.lab.directory(f"now-{len(rows)}"), pair.lab.directory(f"busy-{len(rows)}")
            for number in range(URGENT_FILES):
                with open(os.path.join(now, f"letter-{number}"), "wb") as file:
                    file.write(pattern(2000 + number))
            if what.startswith("a file"):
                with open(os.path.join(busy, "film"), "wb") as file:
                    file.write(pattern(5_000_000))
            else:
                busy = bench.data.small_files(bench.options.files)
            pair.far.add_folder("now", now, pair.near.id, mode="full")
            pair.connect()
            pair.near.add_folder("now", pair.lab.path(f"near-now-{len(rows)}"), pair.far.id)
            pair.near.wait_global("now", URGENT_FILES)
            control = Control(pair.near)
            pair.near.add_folder("busy", pair.lab.path(f"near-busy-{len(rows)}"), pair.far.id)
            pair.far.add_folder("busy", busy, pair.near.id, mode="full")
            if what.startswith("a file"):
                pair.near.wait_global("busy", 1)
                pair.near.run("select", "busy:film")
            before = pair.radio.carried("far", "near")
            wait_until(lambda: pair.radio.carried("far", "near") - before > 100_000, 300, "the link is busy", every=0.05)
            waits = []
            for number in range(URGENT_FILES):
                early, _, data = control.first_byte(f"now:letter-{number}", 0, 1999 + number)
                assert data == pattern(2000 + number), "the bytes differ"
                waits.append(early)
                time.sleep(0.2)
            print(f"  {what}: " + " ".join(f"{wait:.2f}" for wait in waits), file=sys.stderr)
            waits.sort()
            busy_still = pair.radio.carried("far", "near")
            time.sleep(0.3)
            assert pair.radio.carried("far", "near") > busy_still, "the link was not busy to the end"
            rows.append(Row(f"file asked for while {what} is under way over 100 KB/s: first byte, median", "ms", None,
                            1000 * waits[len(waits) // 2], False, f"≤ {1000 * limit:.0f}", waits[len(waits) // 2] <= limit))
            rows.append(Row(f"file asked for while {what} is under way over 100 KB/s: first byte, slowest of {URGENT_FILES}",
                            "ms", None, 1000 * waits[-1], False, f"≤ {1000 * limit:.0f}", waits[-1] <= limit))
        finally:
            pair.end()
    return rows


ALL = {"index-slow": index_slow, "idle-slow": idle_slow, "urgent-slow": urgent_slow}
