"""Two agents of the real build with nothing but Bluetooth between them, in the machine that `run` boots: each has one of
its two virtual controllers, and both have the same bluetoothd.

    agents.py [SCENARIO…]     needs $SYNCTRAIN; the scenarios go on where the one before has left off, in their order
"""

import contextlib
import ctypes
import fcntl
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Interop"))

import agent as interop  # noqa: E402
from drop import ReceiveCommand, SendCommand, confirm_both  # noqa: E402
from pairing import PairCommand  # noqa: E402
from process import wait_until  # noqa: E402

ROOT = "/root/agents"
# An emulated processor starts a program in a second or two; nothing that works takes as long as this.
LONG = 120


class ControlSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("synctrain", timeout=LONG)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LONG)
        self.sock.connect(self.path)


class Agent(interop.Agent):
    """On one adapter, and on no network."""

    def __init__(self, name, adapter):
        super().__init__(os.environ["SYNCTRAIN"], name, os.path.join(ROOT, name))
        self.adapter = adapter
        self.refuses_l2cap = False
        self.run("init", "--no-discovery", "--name", name, "--curve", "p256")
        path = self.file("config.toml")
        with open(path) as file:
            text = file.read()
        text, count = re.subn(r"(?m)^listen = \[.*$", "listen = []", text)
        text, other = re.subn(r'(?m)^# adapter = "hci0"$', f'adapter = "{adapter}"', text)
        assert (count, other) == (1, 1), "the configuration is not as it is known here"
        with open(path, "w") as file:
            file.write(text)

    def spawn(self, command, **options):
        if self.refuses_l2cap:
            options["preexec_fn"] = refuse_l2cap
        super().spawn(command, **options)

    def launch(self, *arguments):
        return super().launch("--log-level", "debug", *arguments)

    def start(self):
        return super().start(timeout=LONG)

    def ask(self, method, path, body=None):
        """An answer of the control socket: starting the program to ask would take most of the processor."""
        connection = ControlSocket(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read()
            assert response.status == 200, (path, response.status, text)
            return json.loads(text) if text.strip() else None
        finally:
            connection.close()

    def status(self):
        return self.ask("GET", "/v1/status")

    @property
    def radio(self):
        return self.status()["bluetooth"]

    @property
    def peer(self):
        """The other one, as `status` has it."""
        return self.status()["devices"][0]

    def wait_radio(self, state, advertising=None):
        """Until Bluetooth is in this state; its part of the status."""
        def reached():
            radio = self.radio
            fits = radio["state"] == state and advertising in (None, radio["isAdvertising"])
            return radio if fits else None
        return wait_until(reached, LONG, f"{self.name}'s Bluetooth is {state}: {self.radio}", child=self, every=0.3)

    def wait_link(self, kind):
        def reached():
            peer = self.peer
            return peer if peer["connected"] and peer["transport"].startswith(kind) else None
        return wait_until(reached, LONG, f"{self.name} has a link by {kind}: {self.peer}", child=self, every=0.3)


def refuse_l2cap():
    """From here on this process is refused each channel that it asks for, as by a peer that does not listen: connect()
    with an address as long as Bluetooth's, 14 bytes, gives ECONNREFUSED (seccomp(2), x86-64)."""
    load, equal, give = 0x20, 0x15, 0x06
    allow, refused = 0x7FFF0000, 0x00050000 | 111
    program = [
        (load, 0, 0, 4), (equal, 0, 5, 0xC000003E),
        (load, 0, 0, 0), (equal, 0, 3, 42),
        (load, 0, 0, 32), (equal, 0, 1, 14),
        (give, 0, 0, refused), (give, 0, 0, allow),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, header):
        raise OSError(ctypes.get_errno(), "seccomp")


def btmgmt(*arguments):
    # It stops at the end of its input.
    subprocess.run(["bash", "-c", 'sleep 1 | btmgmt "$@" > /dev/null', "btmgmt", *arguments], check=True)


def loopback_up():
    """The machine comes up without any network."""
    get, put, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        _, flags = struct.unpack("16sh", fcntl.ioctl(handle, get, struct.pack("16sh", b"lo", 0)))
        fcntl.ioctl(handle, put, struct.pack("16sh", b"lo", flags | up))


def make_file(path, size):
    """Bytes that do not compress, the same each time."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(random.Random(path).randbytes(size))


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Network:
    """Stands for a local network that can be left: a port that forwards to another, so many bytes a second, while it is on."""

    CHUNK = 4096

    def __init__(self, port, to, rate):
        self.port, self.to, self.rate = port, to, rate
        self.ends = []
        self.listener = None

    def on(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def off(self):
        for end in (self.listener, *self.ends):
            # Wakes who waits in it.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.ends = []

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                ends = (listener.accept()[0], socket.create_connection(("127.0.0.1", self.to)))
                self.ends += ends
                for pair in (ends, ends[::-1]):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(self.CHUNK):
                sink.sendall(data)
                time.sleep(len(data) / self.rate)
        for end in (source, sink):
            end.close()


class Laboratory:
    """`far` has the files, `near` selects and fetches."""

    LETTERS = 40
    SIZES = {"photo.jpg": 100_000, "film.bin": 1_000_000, "concert.bin": 1_000_000, "song.mp3": 150_000,
             "speech.mp3": 150_000, "lecture.mp3": 300_000, "tour.bin": 400_000}

    def __init__(self):
        shutil.rmtree(ROOT, ignore_errors=True)
        for name in ("far", "near"):
            os.makedirs(os.path.join(ROOT, name))
        self.docs, self.copy = os.path.join(ROOT, "far-docs"), os.path.join(ROOT, "near-docs")
        for number in range(self.LETTERS):
            make_file(os.path.join(self.docs, "letters", f"{number}.txt"), 300 + number)
        for name, size in self.SIZES.items():
            make_file(os.path.join(self.docs, name), size)
        self.far, self.near = Agent("far", "hci0"), Agent("near", "hci1")

    @property
    def agents(self):
        return (self.far, self.near)

    # parts

    def wait_ready(self):
        for agent in self.agents:
            agent.wait_radio("ready", advertising=True)

    def fetch(self, name, in_the_middle=None):
        """Fetches a file to a place outside of the folder and compares it. `in_the_middle` is called when a third of its
        bytes have come."""
        target = os.path.join(ROOT, "fetched-" + name)
        size, start = self.SIZES[name], time.monotonic()
        before = self.near.peer["bytesIn"]
        command = self.near.begin("fetch", f"docs:{name}", "-o", target)
        if in_the_middle:
            wait_until(lambda: self.near.peer["bytesIn"] - before > size / 3, LONG, "a third of it", child=self.near,
                       every=0.3)
            assert command.is_running, "it was over before it was broken"
            in_the_middle()
        status = command.process.wait(3 * LONG)
        assert status == 0, f"fetch gave {status}: {command.log_tail()}"
        assert sha256(target) == sha256(os.path.join(self.docs, name)), "the bytes differ"
        seconds = time.monotonic() - start
        carried = self.near.peer["bytesIn"] - before
        say(f"  {name}: {size} bytes right in {seconds:.1f} s, {carried / size:.3f} of its size received, "
            f"by {self.near.peer.get('transport', 'a link that has just gone')}")
        return carried / size

    # scenarios

    def drop(self):
        """Files by GhostDrop's first version between two that do not know each other: by a channel, and by GATT where
        channels are refused."""
        into = os.path.join(ROOT, "in")
        os.makedirs(into)
        for kind, size in (("l2cap", 60_000), ("gatt", 20_000)):
            for agent in self.agents:
                agent.refuses_l2cap = kind == "gatt"
                agent.start()
            self.wait_ready()
            name = f"by-{kind}.bin"
            source = os.path.join(ROOT, "out", name)
            make_file(source, size)
            commands = [ReceiveCommand(self.far, "--dir", into, "--count", "1", "--expect-sas", "-")]
            try:
                commands[0].event("waiting", LONG)
                address = "ble://" + self.far.radio["address"]
                commands.append(SendCommand(self.near, source, "--to", address, "--expect-sas", "-"))
                shown = confirm_both(commands[1], commands[0], LONG)
                assert shown["peer"]["transport"] == kind, shown
                received = commands[0].event("received", LONG)
                assert commands[1].event("sent", LONG)["file"] == name
            finally:
                for command in commands:
                    command.kill()
            assert sha256(received["path"]) == sha256(source), "the bytes differ"
            say(f"  {name}: {size} bytes right in {received['seconds']:.1f} s")
            for agent in self.agents:
                agent.stop(timeout=LONG)
                agent.refuses_l2cap = False

    def pair(self):
        """Devices that know nothing of each other: found by the radio, six digits on both, and each has stored the
        other."""
        for agent in self.agents:
            agent.start()
        self.wait_ready()
        for agent in self.agents:
            assert agent.status()["listening"] == ["ble://" + agent.radio["address"]], agent.status()["listening"]
        self.far.add_folder("docs", self.docs, mode="full")
        waiting = PairCommand(self.far, "--expect-sas", "-", "--folder", "docs")
        looking = PairCommand(self.near, "--nearby", "--expect-sas", "-")
        try:
            waiting.event("waiting", LONG)
            address = "ble://" + self.far.radio["address"]
            while address not in (found := [d["address"] for d in looking.event("nearby", LONG)["devices"]]):
                say(f"  nearby: {found}")
            # As somebody does who chooses it from the list.
            self.near.ask("POST", "/v1/pair/answer", {"action": "dial", "address": address})
            looking.event("dialling", LONG)
            codes = [command.event("code", LONG) for command in (looking, waiting)]
            assert codes[0]["code"] == codes[1]["code"] and re.fullmatch(r"\d{6}", codes[0]["code"]), codes
            assert codes[0]["transport"] == codes[1]["transport"] == "l2cap", codes
            assert self.near.status()["devices"] == [], "stored before both have said yes"
            for command, other in ((waiting, codes[0]), (looking, codes[1])):
                command.type(other["code"] + "\n")
            assert waiting.event("paired", LONG)["device"] == self.near.id
            assert looking.event("paired", LONG)["device"] == self.far.id
        finally:
            for command in (waiting, looking):
                command.kill()
        peer = self.near.wait_link("l2cap")
        assert peer["address"].startswith("ble://"), peer

    def select_and_fetch(self):
        """The index comes, what is selected is on the disk, and another file is fetched."""
        self.near.add_folder("docs", self.copy, self.far.id)
        start = time.monotonic()
        self.near.wait_global("docs", self.LETTERS + len(self.SIZES), timeout=LONG)
        say(f"  index of {self.LETTERS + len(self.SIZES)} files after {time.monotonic() - start:.1f} s")
        self.near.run("select", "docs:letters")
        self.near.run("wait", "docs", "--timeout", str(LONG), timeout=2 * LONG)
        for number in range(self.LETTERS):
            there, here = (os.path.join(root, "letters", f"{number}.txt") for root in (self.docs, self.copy))
            assert sha256(there) == sha256(here), here
        assert sorted(os.listdir(self.copy)) == [".stfolder", ".stignore", "letters"], os.listdir(self.copy)
        self.fetch("photo.jpg")

    def disconnect(self):
        """The connection is cut in the middle of a fetch; it goes on by itself."""
        address = self.far.radio["address"]
        carried = self.fetch("film.bin", lambda: btmgmt("--index", "1", "disconnect", "-t", "1", address))
        assert carried < 1.3, "what had come was asked for again"

    def network(self):
        """Both come into a network while they are connected by radio, leave it in the middle of a fetch, and come back before
        its end."""
        self.far.stop(timeout=LONG)
        path = self.far.file("config.toml")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("listen = []", 'listen = ["tcp://127.0.0.1:22001"]'))
        self.far.start()
        self.wait_ready()
        self.near.wait_link("l2cap")
        loopback_up()
        network = Network(22002, to=22001, rate=40_000)
        network.on()
        addresses = ["ble://" + self.far.radio["address"], "tcp://127.0.0.1:22002"]
        self.near.ask("POST", "/v1/devices", {"id": self.far.id, "addresses": addresses})
        self.near.wait_link("tcp")
        say("  from the radio to the network")

        def leave_and_return():
            start, come = time.monotonic(), self.near.peer["bytesIn"]
            network.off()
            self.near.wait_link("l2cap")
            say(f"  from the network to the radio after {time.monotonic() - start:.1f} s")
            wait_until(lambda: self.near.peer["bytesIn"] - come > self.SIZES["tour.bin"] / 3, LONG, "a third of it by radio",
                       every=0.3)
            start = time.monotonic()
            network.on()
            self.near.wait_link("tcp")
            say(f"  and back after {time.monotonic() - start:.1f} s")
        carried = self.fetch("tour.bin", leave_and_return)
        assert carried < 1.3, "what had come was asked for again"
        network.off()
        self.near.ask("POST", "/v1/devices", {"id": self.far.id, "addresses": addresses[:1]})
        self.near.wait_link("l2cap")

    def gatt(self):
        """Both are refused each channel, so the link is GATT's, with as many bearers of ATT as bluetoothd likes (3)."""
        self.restart(refuses_l2cap=True)
        self.near.wait_link("gatt")
        self.fetch("song.mp3")

    def one_bearer(self):
        """bluetoothd is started again, with one bearer: the agents come back by themselves."""
        subprocess.run(["/run/bluetoothd-restart", "-f", "/run/one-bearer.conf"], check=True)
        self.wait_ready()
        self.near.wait_link("gatt")
        self.fetch("speech.mp3")
        subprocess.run(["/run/bluetoothd-restart"], check=True)
        self.wait_ready()

    def power_off(self, kind, name):
        """One adapter goes off in the middle of a fetch: `status` says so, and after it is on again all goes on."""
        if self.near.refuses_l2cap == (kind == "l2cap"):
            self.restart(refuses_l2cap=kind != "l2cap")
        subprocess.run(["/run/bluetoothd-restart", "-f", "/run/one-bearer.conf"], check=True)
        self.wait_ready()
        self.near.wait_link(kind)

        def off_and_on():
            btmgmt("--index", "0", "power", "off")
            radio = self.far.wait_radio("powered-off")
            assert "switched off" in radio["message"] and "bluetoothctl power on" in radio["remedy"], radio
            text = self.far.run("status").stdout.decode()
            assert radio["message"] in text and radio["remedy"] in text, text
            for agent in self.agents:
                wait_until(lambda: not agent.peer["connected"], LONG, f"{agent.name} is disconnected", every=0.3)
            btmgmt("--index", "0", "power", "on")
            self.far.wait_radio("ready", advertising=True)
        carried = self.fetch(name, off_and_on)
        assert carried < 1.3, "what had come was asked for again"

    def power_off_gatt(self):
        self.power_off("gatt", "lecture.mp3")

    def power_off_l2cap(self):
        self.power_off("l2cap", "concert.bin")

    def restart(self, refuses_l2cap):
        for agent in self.agents:
            agent.stop(timeout=LONG)
            agent.refuses_l2cap = refuses_l2cap
        for agent in self.agents:
            agent.start()
        self.wait_ready()

    SCENARIOS = [("drop", drop), ("pair", pair), ("select", select_and_fetch), ("disconnect", disconnect), ("network", network),
                 ("gatt", gatt),
                 ("one-bearer", one_bearer), ("power-off", power_off_gatt), ("power-off-l2cap", power_off_l2cap)]
    # Linux 6.1.192 crashes in three of four runs of it, and takes bluetoothd along (docs/decisions/bluetooth.md).
    ONLY_BY_NAME = {"power-off", "power-off-l2cap"}

    def close(self):
        for agent in self.agents:
            agent.stop(timeout=LONG)


def say(line):
    print(line, flush=True)


def main():
    names = [name for name, _ in Laboratory.SCENARIOS]
    wanted = sys.argv[1:] or [name for name in names if name not in Laboratory.ONLY_BY_NAME]
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        say(f"no scenario {', '.join(unknown)}; there are {', '.join(names)}")
        return 2
    laboratory = Laboratory()
    name = "start"
    try:
        # Each needs what those before it have left.
        last = max(names.index(name) for name in wanted)
        for name, run in Laboratory.SCENARIOS[:last + 1]:
            start = time.monotonic()
            run(laboratory)
            say(f"PASS agents {name} in {time.monotonic() - start:.1f} s")
        name = "stop"
        laboratory.close()
        return 0
    except Exception:
        say(f"FAIL agents {name}\n{traceback.format_exc()}")
        for agent in laboratory.agents:
            say(f"--- {agent.name}, the end of its log\n{agent.log_tail(6000)}")
        return 1
    finally:
        for agent in laboratory.agents:
            if os.path.exists(agent.log_path):
                shutil.copy(agent.log_path, "/run/lab")


if __name__ == "__main__":
    sys.exit(main())
