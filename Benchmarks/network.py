"""What depends on the network between two devices, two Syncthings or two synctrains, in network namespaces. Needs root; see
Tests/NetworkLab."""

import hashlib
import os
import shutil
import sys
import tempfile
import time

import wakeups
from measures import row, settle
from plausible import Implausible
from process import MIB, wait_until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Tests/NetworkLab"))

import netlab  # noqa: E402
import nodes  # noqa: E402
from place import Place  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = "f"
ONE_WAY, LOSS = 0.025, 0.005
"""Each way: 50 ms there and back, and of 1,000 packets five are lost."""

QUIET = [(r"(?m)^global = true", "global = false"), (r"(?m)^local = true", "local = false"),
         (r"(?ms)(^\[relays\]\n.*?^enabled = )true", r"\1false"), (r"(?m)^port-mapping = true", "port-mapping = false")]


class Two:
    """Two machines, joined by a cable or by a path that delays and loses."""

    def __init__(self, root, one_way=0, loss=0):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        self.root, self.nodes, self._path = root, [], None
        # The name of a socket is short.
        self._homes = tempfile.mkdtemp(prefix="two-")
        self.places = [Place("near"), Place("far")]
        near, far = self.places
        if one_way or loss:
            self._path = near.popen(["/usr/bin/python3", os.path.join(HERE, "lossy_path.py"), near.path, far.path,
                                     str(one_way), str(loss)], stdout=-1, text=True, pass_fds=[p.descriptor for p in self.places])
            if self._path.stdout.readline() != "ready\n":
                raise Implausible("the path with delay and loss cannot be made")
        else:
            near.ip(f"link add path type veth peer name path netns {far.path}")
        for number, place in enumerate(self.places, 1):
            place.address = f"10.77.0.{number}"
            use_loss_based_congestion_control(place)
            place.ip("link set lo up", f"addr add {place.address}/24 dev path", "link set path up",
                     "route add unreachable default")

    def pair(self, side, connections):
        """Two nodes of a side, that know each other and want so many connections; they run."""
        if side == "syncthing":
            made = [nodes.LabSyncthing(place, f"{side}-{place.name}-{connections}", self._home(side, place, connections), {})
                    for place in self.places]
        else:
            settings = [*QUIET, (r"(?m)^connections = 3", f"connections = {connections}")]
            made = [nodes.LabAgent(place, f"{side}-{place.name}-{connections}", self._home(side, place, connections),
                                   settings) for place in self.places]
        self.nodes += made
        near, far = made
        near.add_device(far.id, *(["far", far.address] if side == "synctrain" else [far.address, "far"]))
        far.add_device(near.id, *(["near", "dynamic"] if side == "synctrain" else ["dynamic", "near"]))
        for node in made:
            node.start()
            for other in made:
                if side == "syncthing" and other is not node:
                    node.change_device(other.id, numConnections=connections)
        for node, other in ((near, far), (far, near)):
            share(node, self.folder(node), other)
        near.wait_connected(far.id)
        far.wait_connected(near.id)
        return near, far

    def folder(self, node):
        path = os.path.join(self.root, f"{node.name}-folder")
        os.makedirs(path, exist_ok=True)
        return path

    def _home(self, side, place, connections):
        return os.path.join(self._homes, f"{side}-{place.name}-{connections}")

    def traffic(self):
        """(packets, bytes) of both directions so far."""
        def read():
            with open("/proc/thread-self/net/dev") as file:
                numbers = next(line for line in file if line.strip().startswith("path:")).split(":")[1].split()
            return int(numbers[1]) + int(numbers[9]), int(numbers[0]) + int(numbers[8])
        return self.places[0].call(read)

    def close(self):
        for node in self.nodes:
            node.kill()
        for place in self.places:
            place.close()
        shutil.rmtree(self._homes, ignore_errors=True)


def use_loss_based_congestion_control(place):
    """As most machines have it. With BBR, which takes no loss for a full path, there would be little to see."""
    for name in ("cubic", "reno"):
        try:
            return place.set(("ipv4/tcp_congestion_control", name))
        except OSError:
            pass  # not in this kernel, or not allowed in namespaces
    raise Implausible("this machine has neither CUBIC nor Reno")


def share(node, path, other):
    if hasattr(node, "set_folder"):
        node.set_folder(FOLDER, path, [other.id])
    else:
        node.add_folder(FOLDER, path, other.id, mode="full")


def carry(source, receiver, source_root, receiver_root, name, mib):
    """MB/s of a file that is put on one side, from the end of its scan until it is in its place on the other."""
    data = os.urandom(mib * MIB)
    with open(os.path.join(source_root, name), "wb") as file:
        file.write(data)
    settle()
    # So that the receiver begins when it is told to, and not in the middle of the scan.
    if hasattr(source, "set_folder"):
        source.scan(FOLDER)
    else:
        source.run("scan", FOLDER)
    start = time.perf_counter()
    target = os.path.join(receiver_root, name)
    wait_until(lambda: os.path.exists(target), 600, "the file arrives", every=0.01, child=receiver)
    seconds = time.perf_counter() - start
    with open(target, "rb") as file:
        if hashlib.file_digest(file, "sha256").digest() != hashlib.sha256(data).digest():
            raise Implausible("another file arrived than was sent")
    return mib * MIB / 1e6 / seconds


def links(node, other):
    """How many connections there are."""
    if hasattr(node, "set_folder"):
        found = node.connections()["connections"].get(other.id) or {}
        return bool(found.get("connected")) + len(found.get("secondary") or [])
    report = next(d for d in node.document("reach")["devices"] if d["id"] == other.id)
    return len(report["links"])


def sides(bench):
    return ["syncthing", "synctrain"] if bench.with_synctrain else ["syncthing"]


def connections(bench):
    """One connection and three, over a path with 50 ms and loss."""
    mib = 4 if bench.options.quick else 24
    rates, gains = {}, {}
    for side in sides(bench):
        for count in (1, 3):
            two = Two(bench.lab.directory(f"connections-{side}-{count}"), ONE_WAY, LOSS)
            try:
                near, far = two.pair(side, count)
                wait_until(lambda: links(near, far) == count and links(far, near) == count, 90,
                           f"{side} has {count} connections", every=0.5)
                # What it had to do for the connections is over.
                time.sleep(3)
                rates[side, count] = carry(far, near, two.folder(far), two.folder(near), "big", mib)
            finally:
                two.close()
        gains[side] = rates[side, 3] / rates[side, 1]
    label = f"{mib} MiB over {2000 * ONE_WAY:.0f} ms and {100 * LOSS:.1f} % loss"
    return [
        row(f"{label}, {count} connection{'s' if count > 1 else ''}", "MB/s",
            {side: rates[side, count] for side in gains}, more=True) for count in (1, 3)
    ] + [row(f"{label}: 3 connections against 1", "×", gains, more=True, target="≥ 1.5",
             met=lambda b: b >= 1.5, is_relative=False)]


def relay(bench):
    """Through strelaysrv, on the same machine, in turn."""
    mib = 16 if bench.options.quick else 256
    rates = {}
    lab = netlab.NetworkLab(nat_a="symmetric", nat_b="symmetric", servers=("discovery", "relay"))
    try:
        for side in sides(bench):
            if side == "syncthing":
                made = [lab.syncthing(home, f"{side}-{home.letter}", nodes.through(lab, lab.relay), start=False)
                        for home in (lab.home_a, lab.home_b)]
                for node, other in (made, made[::-1]):
                    node.add_device(other.id)
            else:
                settings = [(r'(?ms)(^\[discovery\]\n.*?^servers = ).*?$', rf'\1["{lab.discovery}"]'),
                            (r'(?ms)(^\[relays\]\n.*?^servers = ).*?$', rf'\1["{lab.relay}"]')]
                made = [lab.agent(home, name=f"{side}-{home.letter}", settings=settings, start=False)
                        for home in (lab.home_a, lab.home_b)]
                for node, other in (made, made[::-1]):
                    node.add_device(other.id, "other", "dynamic")
            far, near = made
            far.start()
            nodes.wait_announced(lab, lab.home_b, far.id, "^relay://")
            near.start()
            roots = [bench.lab.directory(f"relay-{side}-{node.place.letter}") for node in made]
            for node, other, root in ((far, near, roots[0]), (near, far, roots[1])):
                share(node, root, other)
            for node, other in (made, made[::-1]):
                node.wait_connected(other.id, timeout=120)
            time.sleep(3)
            rates[side] = carry(far, near, *roots, "big", mib)
            for node in made:
                node.kill()
    finally:
        lab.close()
    return [row(f"{mib} MiB through a relay", "MB/s", rates, more=True, target="≥ 0.9",
                met=lambda a, b: b >= 0.9 * a)]


def idle_link(bench):
    """One link at rest: what goes over the cable, both directions, and how often one of the two programs is woken."""
    seconds = 30 if bench.options.quick else 360
    packets, byte_counts, wakes = {}, {}, {}
    for side in sides(bench):
        two = Two(bench.lab.directory(f"idle-{side}"))
        try:
            near, far = two.pair(side, 1)
            with open(os.path.join(two.folder(far), "a"), "wb") as file:
                file.write(b"a")
            far.scan(FOLDER) if side == "syncthing" else far.run("scan", FOLDER)
            wait_until(lambda: os.path.exists(os.path.join(two.folder(near), "a")), 60, "the file arrives", every=0.1)
            # What follows a link and a file is over then.
            time.sleep(5 if bench.options.quick else 60)
            before, start = two.traffic(), time.perf_counter()
            wakes[side] = wakeups.count_wakeups(near, seconds)
            minutes = (time.perf_counter() - start) / 60
            after = two.traffic()
            if links(near, far) != 1:
                raise Implausible(f"{side} has lost its link, or has another one")
            packets[side], byte_counts[side] = ((b - a) / minutes for a, b in zip(before, after))
        finally:
            two.close()
    label = "link at rest"
    is_less = {"target": "≤ 1", "met": lambda a, b: b <= a}
    return [
        row(label + ": packets, both directions", "per minute", packets, may_be_zero=True, **is_less),
        row(label + ": bytes, both directions", "per minute", byte_counts, may_be_zero=True, **is_less),
        row(label + ": wake-ups of one end", "per minute", wakes, may_be_zero=True, **is_less),
    ]


ALL = {"connections": connections, "relay": relay, "idle-link": idle_link}
