"""Two agents that have nothing but a Bluetooth LE radio between them, a virtual one."""

import contextlib
import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import termios
import threading

import pytest

import agent as cli
import harness
from pairing import PairCommand
from process import free_port, wait_until
from radio import Radio

MB = 1_000_000


def share(lab, radio, files):
    """Agents `far`, which has the files (name → size), and `near`, which has their index."""
    far, near = radio.join("far"), radio.join("near")
    root = lab.directory("far-docs")
    for name, size in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(harness.pattern(size))
    far.add_device(near.id, "near")
    near.add_device(far.id, "far", "virtual://far")
    far.add_folder("docs", root, near.id, mode="full")
    near.add_folder("docs", lab.path("near-docs"), far.id)
    near.wait_global("docs", len(files))
    return far, near, root


@pytest.mark.parametrize("setting, transport", [("refuse-l2cap=no", "l2cap"), ("refuse-l2cap=yes", "gatt")])
def test_index_selection_and_fetch(lab, setting, transport):
    radio = Radio(lab, setting, "loss=0.02", "phy=2M", speed=4)
    files = {f"letters/{number}.txt": 300 + number for number in range(80)} | {"photo.jpg": 200_000, "empty": 0}
    far, near, root = share(lab, radio, files)
    device = near.status()["devices"][0]
    assert (device["connected"], device["transport"], device["address"]) == (True, transport, "virtual://far")
    assert {path for path, entry in near.tree("docs").items() if entry["type"] == "file"} == set(files)
    assert harness.walk(lab.path("near-docs")) == {}

    near.run("fetch", "docs:photo.jpg", "-o", lab.path("photo.jpg"))
    assert harness.sha256_of(lab.path("photo.jpg")) == harness.sha256_of(os.path.join(root, "photo.jpg"))
    assert near.run("cat", "docs:photo.jpg", "--range", "150000-150009").stdout == harness.pattern(200_000)[150_000:150_010]
    near.run("select", "docs:letters")
    near.run("wait", "docs", "--timeout", "60")
    for name in files:
        if name.startswith("letters/"):
            with open(os.path.join(lab.path("near-docs"), name), "rb") as file:
                assert file.read() == harness.pattern(files[name])
    # What goes the other way: a file of the near side's own.
    with open(lab.path("near-docs", "letters", "mine.txt"), "w") as file:
        file.write("written on the train\n")
    wait_until(lambda: os.path.exists(os.path.join(root, "letters", "mine.txt")), 30, "the new file is there")
    # Nothing of it went over a network.
    assert all(address.startswith("virtual://") for agent in (far, near) for address in agent.status()["listening"])


def test_out_of_range_and_back(lab):
    radio = Radio(lab, "supervision=500", speed=2)
    far, near, root = share(lab, radio, {"film.bin": 400_000})
    fetch = near.begin("fetch", "docs:film.bin", "-o", lab.path("film.bin"))
    wait_until(lambda: radio.carried("far", "near") > 150_000, 60, "a part of the film")
    radio.set_signal("near", -110)
    near.wait_disconnected(far.id)
    far.wait_disconnected(near.id)
    assert near.status()["devices"][0]["lastError"]
    radio.set_signal("near", -70)
    near.wait_connected(far.id, timeout=60)
    assert fetch.process.wait(120) == 0
    assert harness.sha256_of(lab.path("film.bin")) == harness.sha256_of(os.path.join(root, "film.bin"))
    assert radio.statistics["lost"] == 1


def test_a_link_that_is_cut_loses_nothing(lab):
    radio = Radio(lab, "phy=2M", "loss=0.05", speed=4)
    far, near, root = share(lab, radio, {"film.bin": 600_000})
    fetch = near.begin("fetch", "docs:film.bin", "-o", lab.path("film.bin"))
    for part in (150_000, 350_000):
        wait_until(lambda: radio.carried("far", "near") > part, 60, "more of the film")
        connections = radio.statistics["connections"]
        assert radio.cut() == 1
        # Not by the agent's state: it may not have noticed yet.
        wait_until(lambda: radio.statistics["connections"] > connections, 60, "they are connected again")
        near.wait_connected(far.id, timeout=60)
    assert fetch.process.wait(120) == 0
    assert harness.sha256_of(lab.path("film.bin")) == harness.sha256_of(os.path.join(root, "film.bin"))
    assert radio.statistics["connections"] == 3


def test_an_index_goes_on_where_its_link_was_lost(lab):
    """Cut three times on its way, an index costs its bytes and three handshakes, and not its beginning again."""
    count = 6000
    radio = Radio(lab)
    far, whole, broken = radio.join("far"), radio.join("whole"), radio.join("broken")
    root = lab.directory("far-docs")
    for number in range(count):
        with open(os.path.join(root, f"{number:05} {harness.pattern(12)[number % 7:].hex()}"), "wb") as file:
            file.write(b"%d" % number)
    for near in (whole, broken):
        far.add_device(near.id, near.name)
    far.run("folder", "add", "docs", root, "--device", whole.id, "--device", broken.id, "--mode", "full")
    wait_until(lambda: far.folder("docs").get("local", {}).get("files") == count, 60, "far has looked at its files")

    def get(near, cuts):
        near.add_device(far.id, "far", "virtual://far")
        near.add_folder("docs", lab.path(near.name + "-docs"), far.id)
        for part in cuts:
            # Not by the agent's state: the rest may be here before it has answered.
            wait_until(lambda: radio.carried("far", near.name) >= part, 60, f"{part} bytes", every=0.02)
            connections = radio.statistics["connections"]
            assert radio.cut() == 1
            assert near.folder("docs")["global"]["files"] < count
            # Not by the agent's state: the link may be back before it is asked.
            wait_until(lambda: radio.statistics["connections"] > connections, 60, "they are connected again")
            near.wait_connected(far.id, timeout=60)
        near.wait_global("docs", count)
        return radio.carried("far", near.name)

    reference = get(whole, ())
    whole.stop()
    cost = get(broken, (reference // 4, reference // 2, reference * 3 // 4))
    print(f"index: {reference} bytes, {cost} with three cuts")
    assert cost < 1.25 * reference
    assert set(broken.tree("docs")) == set(whole.start().tree("docs"))


def test_the_radio_goes_and_comes_back(lab):
    """As bluetoothd does when it is restarted."""
    radio = Radio(lab, speed=4)
    far, near, _ = share(lab, radio, {"a": 1000})
    radio.kill()
    near.wait_disconnected(far.id)
    os.unlink(radio.path)
    again = Radio(lab, speed=4)
    near.wait_connected(far.id, timeout=60)
    assert again.carried("far", "near") > 0


def set_scan(agent, window, interval):
    """For the time after its next start."""
    path = agent.file("config.toml")
    with open(path) as file:
        text = file.read()
    text, count = re.subn(r"(?m)^scan-window = .*\nscan-interval = .*$",
                          f"scan-window = {window}\nscan-interval = {interval}", text)
    assert count == 1
    with open(path, "w") as file:
        file.write(text)


def test_a_device_that_comes_near_is_found(lab):
    """While nobody waits, by the search from time to time; and by none at all if the user wants none, until a person asks."""
    radio = Radio(lab, speed=4)
    far, near, root = share(lab, radio, {"letter": 1000})
    near.stop()
    far.wait_disconnected(near.id)
    radio.set_signal("far", -110)
    set_scan(near, 1, 4)
    near.start()
    wait_until(lambda: "not in range" in (near.status()["devices"][0].get("lastError") or ""), 30, "a search found nobody")
    radio.set_signal("far", -70)
    near.wait_connected(far.id, timeout=30)

    near.stop()
    far.wait_disconnected(near.id)
    set_scan(near, 1, 0)
    near.start()
    before = radio.statistics["connections"]
    assert not near.is_connected(far.id)
    near.run("fetch", "docs:letter", "-o", lab.path("letter"))
    assert harness.sha256_of(lab.path("letter")) == harness.sha256_of(os.path.join(root, "letter"))
    assert radio.statistics["connections"] == before + 1


class Cable:
    """A network that is plugged in when this is made: what connects to `port` gets to the port `to`."""

    def __init__(self, port, to):
        self.to, self.listener = to, socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                inward, _ = self.listener.accept()
            except OSError:
                return
            outward = socket.create_connection(("127.0.0.1", self.to))
            for source, target in [(inward, outward), (outward, inward)]:
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    @staticmethod
    def _carry(source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def unplug(self):
        self.listener.close()


def test_a_network_takes_over_in_the_middle_of_a_fetch(lab):
    """The link moves from the air to TCP; the fetch that is under way goes on, and nothing more goes over the air."""
    size = 6 * MB
    radio = Radio(lab)
    far, near = radio.join("far", tcp=True), radio.join("near")
    root = lab.directory("far-docs")
    with open(os.path.join(root, "film.bin"), "wb") as file:
        file.write(harness.pattern(size))
    port = free_port()
    far.add_device(near.id, "near")
    near.run("device", "add", far.id, "--name", "far", "--address", f"tcp://127.0.0.1:{port}", "--address", "virtual://far")
    far.add_folder("docs", root, near.id, mode="full")
    near.add_folder("docs", lab.path("near-docs"), far.id)
    near.wait_global("docs", 1)
    assert near.status()["devices"][0]["transport"] == "l2cap"
    fetch = near.begin("fetch", "docs:film.bin", "-o", lab.path("film.bin"))
    wait_until(lambda: radio.carried("far", "near") > 150_000, 60, "a part of the film")
    cable = Cable(port, far.port)
    wait_until(lambda: near.status()["devices"][0].get("transport") == "tcp-lan", 60, "the link is on the network")
    assert fetch.process.wait(60) == 0
    assert harness.sha256_of(lab.path("film.bin")) == harness.sha256_of(os.path.join(root, "film.bin"))
    assert radio.carried("far", "near") < size
    wait_until(lambda: radio.statistics["open"] == 0, 20, "the air is free")
    assert far.status()["devices"][0]["transport"] == "tcp-lan"
    cable.unplug()


# What a film costs on a link that is lost after every 300 KB of L2CAP frames: all of the radio's frames, both directions,
# the handshakes and the indexes of each new link included, over the film's size.
COST = 1.05


def test_a_link_that_breaks_every_300_kb(lab):
    radio = Radio(lab, "phy=2M", "break-after=300000", speed=4)
    size = 5 * MB
    far, near, root = share(lab, radio, {"film.bin": size})
    before = radio.statistics
    near.run("fetch", "docs:film.bin", "-o", lab.path("film.bin"), timeout=300)
    after = radio.statistics
    assert harness.sha256_of(lab.path("film.bin")) == harness.sha256_of(os.path.join(root, "film.bin"))
    assert after["lost"] - before["lost"] >= 16

    def carried(statistics):
        return sum(direction["frameBytes"] for direction in statistics["directions"].values())
    cost = (carried(after) - carried(before)) / size
    print(f"cost: {cost:.3f} of the file's size, {after['lost'] - before['lost']} links lost")
    assert cost <= COST


def test_pairing_with_a_device_nearby(lab):
    """Two devices that know nothing of each other: found, paired by six digits, and a folder's index comes."""
    radio = Radio(lab, speed=4)
    one, two = radio.join("one"), radio.join("two")
    one.add_folder("docs", lab.directory("one-docs"), mode="full")
    with open(lab.path("one-docs", "letter.txt"), "w") as file:
        file.write("over the air\n")
    waiting = PairCommand(one, "--expect-sas", "-", "--folder", "docs")
    looking = PairCommand(two, "--nearby", "--expect-sas", "-")
    calling = looking
    try:
        waiting.event("waiting")
        found = looking.event("nearby")["devices"]
        assert [(d["address"], d["name"], d["transport"]) for d in found] == [("virtual://one", "one", "l2cap")]
        looking.kill()
        wait_until(lambda: two.try_run("pair", "--timeout", "1", "--expect-sas", "000000").returncode != cli.FAILED,
                   what="the request has ended")
        calling = PairCommand(two, found[0]["address"], "--expect-sas", "-")
        code = waiting.event("code")["code"]
        assert calling.event("code")["code"] == code
        for command in (waiting, calling):
            command.type(code + "\n")
        assert waiting.event("paired")["device"] == two.id
        assert calling.event("paired")["device"] == one.id
    finally:
        for command in (waiting, calling):
            command.kill()
    two.wait_connected(one.id)
    two.add_folder("docs", lab.path("two-docs"), one.id)
    two.wait_global("docs", 1)
    assert two.run("cat", "docs:letter.txt").stdout == b"over the air\n"


def test_an_invitation_is_redeemed_over_the_air(lab):
    """A code, and no network: the guest has the folder and its files, and no digits were compared."""
    radio = Radio(lab, speed=4)
    host, guest = radio.join("host"), radio.join("guest")
    host.add_folder("docs", lab.directory("host-docs"), mode="full")
    with open(lab.path("host-docs", "letter.txt"), "w") as file:
        file.write("over the air\n")
    code = host.run("invite", "docs", "--as", "read", "-q").stdout.decode().strip()
    answer = guest.document("join", code, lab.path("guest-docs"), "--mode", "full")
    assert answer["folder"] == "docs"
    guest.wait_global("docs", 1)
    guest.run("wait", "docs:letter.txt", "--timeout", "60s")
    with open(lab.path("guest-docs", "letter.txt")) as file:
        assert file.read() == "over the air\n"


# By what it has printed: while an agent starts, while a command runs, while two devices pair, while a file is fetched.
@pytest.mark.parametrize("reached, number", [
    ("laptop$ synctrain agent start", signal.SIGINT), ("tablet$ synctrain folder add", signal.SIGINT),
    ("laptop$ synctrain pair", signal.SIGINT), ("tablet$ synctrain fetch docs:photo.jpg", signal.SIGINT),
    ("laptop$ synctrain pair", signal.SIGTERM), ("laptop$ synctrain pair", signal.SIGHUP)])
def test_interrupted_demonstration_leaves_nothing(lab, reached, number):
    temporary = tempfile.mkdtemp(prefix="st-")  # Short: a socket of it has at most 103 bytes.
    try:
        controller, terminal = pty.openpty()
        environment = {**os.environ, "TMPDIR": temporary, "TERM": "xterm"}
        demo = subprocess.Popen([cli.find_program(), "demo", "--ble"], stdin=terminal, stdout=terminal, stderr=terminal,
                                env=environment, cwd="/", start_new_session=True,
                                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):
            while reached.encode() not in shown:
                data = os.read(controller, 4096)
                assert data, shown
                shown += data
        assert reached.encode() in shown
        if number == signal.SIGINT:
            os.write(controller, b"\x03")
        elif number == signal.SIGTERM:
            demo.terminate()
        else:
            os.close(controller)  # Its terminal is closed.
        assert demo.wait(20) == 128 + number
        if number != signal.SIGHUP:
            os.close(controller)
        assert os.listdir(temporary) == []
        # A process that has been killed is listed until its parent has waited for it.
        wait_until(lambda: not list(processes_with(temporary)), 10, "no agent runs")
    finally:
        for pid in processes_with(temporary):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(temporary, ignore_errors=True)


def processes_with(text):
    """The ids of the running programs with an argument that has this text."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if text.encode() in file.read():
                yield int(pid)
