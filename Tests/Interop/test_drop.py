"""Sending files one by one: agents and GhostDrop v1 devices of our own, over the virtual radio and over TCP."""

import hashlib
import json
import os
import signal
import threading
import uuid

import pytest

import agent as cli
import ghostdrop
import harness
from drop import ReceiveCommand, SendCommand, confirm_both
from page import Page
from process import wait_until
from radio import Radio

GHOSTDROP_VECTORS = os.path.join(cli.REPOSITORY, "Tests/GhostDropTests/Vectors/ghostdrop-v1.json")


@pytest.fixture
def begin(request):
    """Begins commands that end with the test."""
    commands = []

    def begin(kind, agent, *arguments, **options):
        commands.append(kind(agent, *arguments, **options))
        return commands[-1]
    yield begin
    for command in commands:
        command.kill()


def make_file(lab, name, size, seed=0):
    path = os.path.join(lab.directory("out"), name)
    content = harness.pattern(size + seed)[seed:]
    with open(path, "wb") as file:
        file.write(content)
    return path, content


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def partials(directory):
    return [name for name in os.listdir(directory) if name.startswith(".syncthing.drop-")]


KINDS = pytest.mark.parametrize("setting, transport", [("refuse-l2cap=no", "l2cap"), ("refuse-l2cap=yes", "gatt")])


def test_keys_and_seals_of_the_independent_device():
    """The device that the tests below play is itself held to what GhostDrop's own code produced."""
    with open(GHOSTDROP_VECTORS) as file:
        handshakes = json.load(file)["handshakes"]
    for vector in handshakes:
        session = ghostdrop.Session(None, "sender")
        session.key = ghostdrop.PrivateKey(bytes.fromhex(vector["privateKeyA"]))
        session.nonce = bytes.fromhex(vector["nonceA"])
        session.agree(uuid.UUID(vector["sessionID"]), bytes.fromhex(vector["publicKeyB"]), bytes.fromhex(vector["nonceB"]))
        assert (session.code, session.transcript_hash.hex()) == (vector["sas"], vector["transcriptHash"])
        assert session.seal(5, bytes.fromhex(vector["dataPlain"])).hex() == vector["senderSealedDataSeq5"]
        name, body, _ = ghostdrop.decode_frame(bytes.fromhex(vector["receiverSealedPing7Seq0"]))
        inner = session.open(body["sequence"], ghostdrop.unb64(body["combined"]))
        assert ghostdrop.decode_frame(inner)[:2] == ("ping", {"id": 7})


# MARK: two agents that are not paired

@KINDS
def test_two_agents(lab, begin, setting, transport):
    radio = Radio(lab, setting, "phy=2M", speed=4)
    one, two = radio.join("one"), radio.join("two")
    path, content = make_file(lab, "photo.jpg", 40_000)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", "--expect-sas", "-")
    assert receiving.event("waiting")["directory"] == into
    sending = begin(SendCommand, one, path, "--to", "two", "--expect-sas", "-")
    confirm_both(sending, receiving)
    offer = receiving.event("offer")
    assert (offer["file"], offer["size"], offer["peer"]["transport"]) == ("photo.jpg", 40_000, transport)
    assert "device" not in offer["peer"]
    received = receiving.event("received")
    assert (received["path"], received["size"]) == (os.path.join(into, "photo.jpg"), 40_000)
    assert sending.event("sent")["peer"]["transport"] == transport
    assert sending.wait() == (0, None) and receiving.wait() == (0, None)
    assert read(into, "photo.jpg") == content and os.listdir(into) == ["photo.jpg"]
    progress = [event["bytesDone"] for event in sending.seen if event["type"] == "progress"]
    assert progress == sorted(progress) and progress


def test_several_files_each_with_its_own_digits(lab, begin):
    radio = Radio(lab, "phy=2M", speed=8)
    one, two = radio.join("one"), radio.join("two")
    files = [make_file(lab, name, size) for name, size in (("a.txt", 500), ("empty", 0), ("b.bin", 3_000))]
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "3", "--expect-sas", "-")
    receiving.event("waiting")
    sending = begin(SendCommand, one, *[path for path, _ in files], "--to", "virtual://two", "--expect-sas", "-")
    codes = set()
    for path, _ in files:
        codes.add(code := sending.event("code")["code"])
        sending.type(code + "\n")
        receiving.type(code + "\n")
        assert sending.event("sent")["file"] == os.path.basename(path)
    assert len(codes) == 3
    done = sending.event("done")
    assert (done["count"], done["bytes"], done["failed"]) == (3, 3_500, 0)
    assert sending.wait() == (0, None) and receiving.wait() == (0, None)
    for path, content in files:
        assert read(into, os.path.basename(path)) == content


def test_at_terminals(lab, begin):
    radio = Radio(lab, "phy=2M", speed=4)
    one, two = radio.join("one"), radio.join("two")
    path, content = make_file(lab, "letter.txt", 5_000)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", terminal=True)
    wait_until(lambda: "Ready to receive files into" in receiving.text, what="it waits")
    sending = begin(SendCommand, one, path, terminal=True)
    wait_until(lambda: "Number of the device" in sending.text and "virtual://two" in sending.text, what="the list")
    sending.type("1\n")
    for command in (sending, receiving):
        wait_until(lambda: "same digits? [y/N]" in command.text, what="the question")
    sending.type("y\n")
    receiving.type("y\n")
    wait_until(lambda: "Accept? [y/N]" in receiving.text, what="the offer")
    assert "not a paired device, sends letter.txt, 4.9 KiB" in receiving.text
    receiving.type("y\n")
    assert receiving.wait()[0] == 0 and sending.wait()[0] == 0
    assert f"Received {into}/letter.txt" in receiving.text and "Sent letter.txt" in sending.text
    assert read(into, "letter.txt") == content


@pytest.mark.parametrize("who", ["sender", "receiver"])
def test_a_no_to_the_digits(lab, begin, who):
    radio = Radio(lab, speed=4)
    one, two = radio.join("one"), radio.join("two")
    path, _ = make_file(lab, "a.txt", 500)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, terminal=True)
    wait_until(lambda: "Ready to receive files into" in receiving.text, what="it waits")
    sending = begin(SendCommand, one, path, "--to", "two", terminal=True)
    for command in (sending, receiving):
        wait_until(lambda: "same digits? [y/N]" in command.text, what="the question")
    (sending if who == "sender" else receiving).type("n\n")
    if who == "receiver":
        sending.type("y\n")
    code, text = sending.wait()
    assert code == (cli.NEEDS_YES if who == "sender" else cli.FAILED), text
    wait_until(lambda: "synctrain: " in receiving.text, what="the receiver is told")
    assert os.listdir(into) == []
    # It goes on receiving until it is told to end.
    os.killpg(receiving.process.pid, signal.SIGINT)
    assert receiving.wait()[0] == 130


def test_other_digits_than_expected(lab, begin):
    radio = Radio(lab, speed=4)
    one, two = radio.join("one"), radio.join("two")
    path, _ = make_file(lab, "a.txt", 500)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--expect-sas", "-")
    receiving.event("waiting")
    sending = begin(SendCommand, one, path, "--to", "two", "--expect-sas", "-")
    code = sending.event("code")["code"]
    receiving.type(f"{(int(code) + 1) % 1_000_000:06}\n")
    assert receiving.wait()[0] == cli.FAILED
    # It is told, whatever its own user says.
    code, error = sending.wait()
    assert (code, error["code"]) == (cli.FAILED, "drop-refused")
    assert os.listdir(into) == []


# MARK: with an independent v1 device

def test_nobody_receives(lab):
    """Without `drop receive` a v1 link is ended, and nothing is said on it."""
    radio = Radio(lab, speed=4)
    radio.join("two")
    for modes in ("l2cap", "values"):
        link = ghostdrop.dial(radio, "two", modes)
        sender = ghostdrop.Sender(link, "a.txt", b"x")
        with pytest.raises(ghostdrop.LinkGone):
            sender.greet()


@pytest.mark.parametrize("modes", ["l2cap", "values"])
def test_from_a_v1_device(lab, begin, modes):
    radio = Radio(lab, "phy=2M", speed=4)
    two = radio.join("two")
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", "--expect-sas", "-")
    receiving.event("waiting")
    content = harness.pattern(20_000)
    sender = ghostdrop.Sender(ghostdrop.dial(radio, "two", modes), "IMG 0001.HEIC", content)
    code = sender.greet()
    assert receiving.event("code")["code"] == code
    receiving.type(code + "\n")
    sender.confirm()
    sender.wait_verified()
    sender.announce()
    sender.transfer()
    assert receiving.event("received")["file"] == "IMG 0001.HEIC"
    assert receiving.wait() == (0, None)
    assert read(into, "IMG 0001.HEIC") == content
    assert sender.resumed is None and sender.sent[0] == 0
    sender.link.close()


def serve_v1(radio, modes, begin, agent, path, kept=None, **options):
    """The agent sends to a v1 device; the command and what came."""
    device = ghostdrop.Advertiser(radio, "phone", modes)
    sending = begin(SendCommand, agent, path, "--to", "phone", "--expect-sas", "-")
    receiver = ghostdrop.Receiver(device.link(), kept)
    code = receiver.greet()
    assert sending.event("code")["code"] == code
    sending.type(code + "\n")
    receiver.confirm()
    receiver.wait_verified()
    content = receiver.receive_file(**options)
    return sending, receiver, content, device


@pytest.mark.parametrize("modes", ["l2cap,values", "values"])
def test_to_a_v1_device(lab, begin, modes):
    radio = Radio(lab, "phy=2M", speed=4)
    one = radio.join("one")
    path, content = make_file(lab, "photo.jpg", 20_000)
    sending, receiver, received, device = serve_v1(radio, modes, begin, one, path)
    assert received == content
    metadata = receiver.metadata
    assert (metadata["filename"], metadata["size"], metadata["chunkSize"]) == ("photo.jpg", 20_000, ghostdrop.CHUNK)
    assert ghostdrop.unb64(metadata["sha256"]) == hashlib.sha256(content).digest()
    # It does not end the link, and nothing more is heard of it.
    assert sending.event("sent")["peer"]["transport"] == receiver.link.kind
    assert sending.wait() == (0, None)
    device.close()


def test_a_v1_device_that_takes_no_notice_at_first(lab, begin):
    """On L2CAP nothing gets lost; but an app may drop what comes before its user has said yes, has no word for that, and
    counts over the gap."""
    radio = Radio(lab, "phy=2M", speed=4)
    one = radio.join("one")
    path, content = make_file(lab, "photo.jpg", 9_000)
    sending, receiver, received, device = serve_v1(radio, "l2cap", begin, one, path, drop_first=2)
    assert received == content
    assert sending.wait() == (0, None)
    device.close()


def test_a_v1_device_goes_on_where_its_link_was_lost(lab, begin):
    radio = Radio(lab, "phy=2M", speed=4)
    one = radio.join("one")
    path, content = make_file(lab, "photo.jpg", 20_000)
    device = ghostdrop.Advertiser(radio, "phone", "l2cap")
    sending = begin(SendCommand, one, path, "--to", "phone", "--expect-sas", "-")
    kept = {}

    def session(**options):
        receiver = ghostdrop.Receiver(device.link(), kept)
        code = receiver.greet()
        assert sending.event("code")["code"] == code
        sending.type(code + "\n")
        receiver.confirm()
        receiver.wait_verified()
        return receiver, receiver.receive_file(**options)
    session(stop_after=60)
    assert sending.event("retrying")["file"] == "photo.jpg"
    first = len(next(iter(kept.values())))
    receiver, received = session()
    assert received == content and len(kept) == 1
    assert sending.wait() == (0, None)
    assert first == 60
    device.close()


@pytest.mark.parametrize("modes", ["l2cap", "values"])
def test_a_v1_sender_goes_on_where_its_link_was_lost(lab, begin, modes):
    radio = Radio(lab, "phy=2M", speed=4)
    two = radio.join("two")
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", "--expect-sas", "-")
    receiving.event("waiting")
    content, transfer = harness.pattern(20_000), uuid.uuid4()

    def session(**options):
        sender = ghostdrop.Sender(ghostdrop.dial(radio, "two", modes), "film.mp4", content, transfer_id=transfer)
        code = sender.greet()
        receiving.event("code")
        receiving.type(code + "\n")
        sender.confirm()
        sender.wait_verified()
        sender.announce()
        sender.transfer(**options)
        return sender
    session(stop_after=50)
    assert receiving.event("failed")["error"]["code"] == "link-lost"
    assert len(partials(into)) == 1 and not os.path.exists(os.path.join(into, "film.mp4"))
    # Not an app's second and a half: the machine may be busy.
    sender = session(resume_within=20)
    # 49 pieces at least; and it was not asked about again.
    assert sender.resumed >= 49 and sender.sent[0] == sender.resumed + 1
    assert receiving.event("received")["path"] == os.path.join(into, "film.mp4")
    assert receiving.wait() == (0, None)
    assert read(into, "film.mp4") == content and partials(into) == []
    sender.link.close()


def v1_offer(radio, receiving, name, content, modes="l2cap", **metadata):
    """Up to the announcement, both users having said yes."""
    sender = ghostdrop.Sender(ghostdrop.dial(radio, "two", modes), name, content, **metadata)
    code = sender.greet()
    receiving.event("code")
    receiving.type(code + "\n")
    sender.confirm()
    sender.wait_verified()
    sender.announce()
    return sender


def test_hostile_files(lab, begin):
    """Names that lead elsewhere, sizes and digests that lie, and pieces that are none."""
    radio = Radio(lab, "phy=2M", speed=8)
    two = radio.join("two")
    into = lab.directory("in", "side")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--expect-sas", "-")
    receiving.event("waiting")

    def received(name):
        sender = v1_offer(radio, receiving, name, b"hello")
        sender.transfer()
        path = receiving.event("received")["path"]
        sender.link.close()
        return path
    for name, expected in [
            ("../../escape.txt", "escape.txt"), ("/etc/passwd", "passwd"), ("..\\..\\win.txt", "win.txt"),
            (".bashrc", "bashrc"), ("..", "file"), ("a\x1b[2Jb\n\u202etxt.exe", "a[2Jbtxt.exe"), ("", "file (1)"),
            (".stignore", "stignore"), (".syncthing.x.tmp", "syncthing.x.tmp"), ("~syncthing~x", "syncthing~x"),
            ("passwd", "passwd (1)"), ("ä" * 300 + ".txt", None)]:
        path = received(name)
        assert os.path.dirname(path) == into and read(path) == b"hello"
        assert expected is None or os.path.basename(path) == expected
        assert len(os.fsencode(os.path.basename(path))) <= 255
    assert sorted(os.listdir(lab.path("in"))) == ["side"]
    before = sorted(os.listdir(into))

    def refused(reason, size=None, digest=None, content=b"hello" * 100, act=ghostdrop.Sender.transfer):
        sender = v1_offer(radio, receiving, "lie.bin", content, size=size, digest=digest)
        said = None
        try:
            try:
                act(sender)
            except ghostdrop.LinkGone:
                # It was sending while the other side hung up; why, it can still read.
                pass
            while sender.receive():
                pass
        except ghostdrop.DropEnded as ended:
            said = ended.args[0]
        except ghostdrop.LinkGone:
            pass
        assert said == reason
        assert receiving.event("failed")["file"] == "lie.bin"
        sender.link.close()
    # More bytes than announced, fewer, another file, and more than there is room for.
    refused("unexpected-frame", size=300)
    refused("digest-differs", digest=b"\x01" * 32)
    refused("no-space", size=1 << 60, act=lambda sender: sender.receive())

    def fewer(sender):
        sender.transfer()
        sender.link.close()
    refused(None, size=5_000, content=b"hello" * 108, act=fewer)
    refused("unexpected-frame", size=5_000)

    def unsealed(sender):
        sender.link.send("dataPayload", {"sequence": 0, "payload": ghostdrop.b64(bytes(180))})
    refused("not-authentic", act=unsealed)
    assert [name for name in sorted(os.listdir(into)) if not name.startswith(".")] == before


def test_nothing_is_taken_before_both_have_said_yes(lab, begin):
    radio = Radio(lab, speed=8)
    two = radio.join("two")
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--expect-sas", "-")
    receiving.event("waiting")
    sender = ghostdrop.Sender(ghostdrop.dial(radio, "two", "l2cap"), "a.txt", b"hello")
    sender.greet()
    sender.confirm()
    sender.announce()
    with pytest.raises(ghostdrop.DropEnded):
        sender.receive()
    assert receiving.event("failed")["error"]["code"] == "drop-failed"
    # A second device is not heard while one is served, and garbage ends nothing but its own link.
    link = ghostdrop.dial(radio, "two", "l2cap")
    link.send_bytes(b"GHST\x01\x01\xff\xff\xff\xffgarbage")
    with pytest.raises((ghostdrop.LinkGone, AssertionError)):
        while link.receive():
            pass
    assert os.listdir(into) == []
    first = ghostdrop.Sender(ghostdrop.dial(radio, "two", "l2cap"), "a.txt", b"hello")
    first.greet()
    with pytest.raises(ghostdrop.LinkGone):
        ghostdrop.Sender(ghostdrop.dial(radio, "two", "l2cap"), "b.txt", b"hello").greet()


# MARK: paired devices

def paired(lab, radio=None):
    one, two = (radio.join("one"), radio.join("two")) if radio else (lab.agent("one"), lab.agent("two"))
    one.add_device(two.id, "two", two.address)
    two.add_device(one.id, "one")
    one.wait_connected(two.id)
    return one, two


def test_paired_devices_over_tcp(lab, begin):
    one, two = paired(lab)
    path, content = make_file(lab, "film.bin", 7_000_001)
    into = lab.directory("in")
    # Not asked for, not taken.
    refused = begin(SendCommand, one, path, "--to", "two")
    code, error = refused.wait()
    assert (code, error["code"]) == (cli.FAILED, "drop-refused") and "drop receive" in error["message"]
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "2", "--yes")
    receiving.event("waiting")
    for expected in ("film.bin", "film (1).bin"):
        sending = begin(SendCommand, one, path, "--to", two.id)
        received = receiving.event("received")
        assert received["path"] == os.path.join(into, expected)
        assert (received["peer"]["device"], received["peer"]["name"], received["peer"]["transport"]) == (one.id, "one", "tcp")
        assert sending.event("sent")["peer"]["device"] == two.id
        assert sending.wait() == (0, None)
    assert receiving.wait() == (0, None)
    for name in ("film.bin", "film (1).bin"):
        assert read(into, name) == content
    assert "code" not in {event["type"] for event in receiving.seen}


def test_a_paired_device_over_the_radio_survives_cuts(lab, begin):
    radio = Radio(lab, "phy=2M", speed=4)
    one, two = paired(lab, radio)
    path, content = make_file(lab, "film.bin", 600_000)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", "--yes")
    receiving.event("waiting")
    # An address of a paired device is the device: no digits.
    sending = begin(SendCommand, one, path, "--to", "virtual://two")
    for part in (150_000, 350_000):
        wait_until(lambda: radio.carried("one", "two") > part, 60, "more of the film")
        radio.cut()
    assert receiving.event("received", timeout=90)["path"] == os.path.join(into, "film.bin")
    assert sending.wait(60) == (0, None) and receiving.wait() == (0, None)
    assert read(into, "film.bin") == content
    assert radio.carried("one", "two", "streamBytes") < 800_000


def test_a_paired_device_goes_on_later(lab, begin):
    radio = Radio(lab, "phy=2M", speed=4)
    one, two = paired(lab, radio)
    # Three times what is waited for: a busy machine sees late that it has come.
    path, content = make_file(lab, "film.bin", 800_000)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", "--yes")
    receiving.event("waiting")
    sending = begin(SendCommand, one, path, "--to", "two")
    wait_until(lambda: radio.carried("one", "two") > 250_000, 60, "a part of the film")
    os.killpg(sending.process.pid, signal.SIGINT)
    assert sending.wait()[0] == 130
    assert receiving.event("failed")["error"]["code"] == "drop-refused"
    kept = partials(into)
    assert len(kept) == 1 and os.path.getsize(os.path.join(into, kept[0])) > 100_000
    before = radio.carried("one", "two", "streamBytes")
    sending = begin(SendCommand, one, path, "--to", "two")
    receiving.event("received", timeout=60)
    assert sending.wait() == (0, None) and receiving.wait() == (0, None)
    assert read(into, "film.bin") == content and partials(into) == []
    assert radio.carried("one", "two", "streamBytes") - before < 700_000


def test_damaged_rest_of_an_earlier_attempt(lab, begin):
    """What is here from before is not trusted: the digest decides, and all of it is asked for anew."""
    one, two = paired(lab)
    path, content = make_file(lab, "film.bin", 300_000)
    into = lab.directory("in")
    name = f".syncthing.drop-{len(content)}-{hashlib.sha256(content).hexdigest()}.tmp"
    with open(os.path.join(into, name), "wb") as file:
        file.write(bytes(100_000))
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", "--yes")
    receiving.event("waiting")
    sending = begin(SendCommand, one, path, "--to", "two")
    receiving.event("received")
    assert sending.wait() == (0, None)
    assert read(into, "film.bin") == content and os.listdir(into) == ["film.bin"]


def test_offers_without_a_yes(lab, begin):
    one, two = paired(lab)
    path, _ = make_file(lab, "a.txt", 500)
    into = lab.directory("in")
    # Nobody could be asked: it does not even begin.
    assert two.try_run("drop", "receive", "--dir", into).returncode == cli.NEEDS_YES
    receiving = begin(ReceiveCommand, two, "--dir", into, terminal=True)
    wait_until(lambda: "Ready to receive files into" in receiving.text, what="it waits")
    sending = begin(SendCommand, one, path, "--to", "two")
    wait_until(lambda: "one, a paired device, sends a.txt, 500 B" in receiving.text, what="the offer")
    receiving.type("n\n")
    code, error = sending.wait()
    assert (code, error["code"]) == (cli.FAILED, "drop-refused")
    assert os.listdir(into) == []
    # The receiver goes while the sender waits for a yes.
    sending = begin(SendCommand, one, path, "--to", "two")
    wait_until(lambda: receiving.text.count("Accept?") == 2, what="the second offer")
    os.killpg(receiving.process.pid, signal.SIGINT)
    assert receiving.wait()[0] == 130
    code, error = sending.wait()
    assert (code, error["code"]) == (cli.FAILED, "drop-refused") and "stopped receiving" in error["message"]
    assert os.listdir(into) == []


def test_who_waits_for_a_receiver_that_has_enough_is_told_so(lab, begin):
    one, two = paired(lab)
    paths = [make_file(lab, name, 500)[0] for name in ("a.txt", "b.txt")]
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, two, "--dir", into, "--count", "1", terminal=True)
    wait_until(lambda: "Ready to receive files into" in receiving.text, what="it waits")
    first = begin(SendCommand, one, paths[0], "--to", "two")
    wait_until(lambda: "sends a.txt" in receiving.text, what="the offer")
    second = begin(SendCommand, one, paths[1], "--to", "two")
    second.event("announced")
    receiving.type("y\n")
    assert first.wait() == (0, None) and receiving.wait()[0] == 0
    code, error = second.wait()
    assert (code, error["code"]) == (cli.FAILED, "drop-refused") and "stopped receiving" in error["message"]
    assert os.listdir(into) == ["a.txt"]


def test_a_silent_sender_holds_up_nobody_once_it_has_given_up(lab, begin):
    """It offers a file, sends nothing of it, and cancels; another one has offered its own meanwhile."""
    agent, silent, other = lab.agent(), lab.peer("silent"), lab.peer("other")
    lab.introduce(agent, silent, other)
    folder, content = "\1synctrain-drop/1", harness.pattern(100_000)
    numbers = {}

    def prepare(peer):
        peer.client = "synctrain"
        numbers[peer] = str(uuid.uuid4()).upper()

        def serve(_, request):
            kind = request["name"].split("/")[0]
            if kind == "about":
                return len(content).to_bytes(8, "big") + hashlib.sha256(content).digest() + peer.name.encode()
            if kind == "data":
                return None if peer is silent else content[request.get("offset", 0):][:request["size"]]
            return b""
        peer.serve = serve

    def say(peer, session, kind):
        session.request_later(folder, f"{kind}/{numbers[peer]}", {"size": 0})
    for peer in (silent, other):
        prepare(peer)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, agent, "--dir", into, "--yes", "--count", "1")
    receiving.event("waiting")
    first, second = silent.dial_until(agent.address), other.dial_until(agent.address)
    say(silent, first, "offer")
    wait_until(lambda: any(r["name"].startswith("data/") for r in first.requests), what="the file is asked for")
    say(other, second, "offer")
    say(silent, first, "cancel")
    assert receiving.event("failed")["error"]["code"] == "drop-refused"
    receiving.event("received")
    assert receiving.wait() == (0, None)
    assert read(into, "other") == content


def test_what_has_ended_is_not_taken_again(lab, begin):
    """The link is lost before the sender is told that its file has come: it offers the same over the next link."""
    agent, peer = lab.agent(), lab.peer("other")
    lab.introduce(agent, peer)
    folder, content = "\1synctrain-drop/1", harness.pattern(3_000)
    names = {str(uuid.uuid4()).upper(): name for name in (b"one", b"two")}
    ended, links, offered = [], [], threading.Event()

    def serve(_, request):
        kind, number = request["name"].split("/")[:2]
        if kind == "about":
            return len(content).to_bytes(8, "big") + hashlib.sha256(content).digest() + names[number]
        if kind == "data":
            return content[request.get("offset", 0):][:request["size"]]
        ended.append(number)
        if len(ended) == 1:
            links[0].close()
            return None
        # That it has ended is not known before the offer is made.
        offered.wait(20)
        return b""
    peer.client, peer.serve = "synctrain", serve

    def offer(number):
        link = peer.dial_until(agent.address) if len(links) < 2 else links[-1]
        links.append(link)
        id = link.request_later(folder, f"offer/{number}", {"size": 0})
        if len(links) > 1:
            offered.set()
        return link.response(id)
    into = lab.directory("in")
    receiving = begin(ReceiveCommand, agent, "--dir", into, "--yes", "--count", "2")
    receiving.event("waiting")
    first, second = names
    assert offer(first) == (b"", 0)
    wait_until(lambda: ended, what="the file has come")
    assert offer(first) == (b"", 0)
    wait_until(lambda: len(ended) > 1, what="the sender is told")
    assert offer(second) == (b"", 0)
    assert receiving.wait() == (0, None)
    assert sorted(os.listdir(into)) == ["one", "two"]


def test_what_cannot_be_sent(lab):
    one = lab.agent("one")
    assert one.try_run("drop", "send", lab.path("missing"), "--to", "two").returncode == cli.NO_SUCH
    assert one.try_run("drop", "send", lab.root, "--to", "two").returncode == cli.FAILED
    path, _ = make_file(lab, "a", 1)
    assert one.try_run("drop", "send", path, "--to", "nobody", "--timeout", "1").returncode == cli.NO_SUCH
    assert one.try_run("drop", "send", path, "--to", "tcp://127.0.0.1:1").returncode == cli.NO_SUCH
    assert one.try_run("drop", "send", path, path, "--expect-sas", "123456").returncode == cli.USAGE
    assert one.try_run("drop", "receive", "--yes", "--dir", lab.path("none")).returncode == cli.NO_SUCH
    assert one.try_run("drop", "receive", "--yes", "--timeout", "1", "--dir", lab.root).returncode == cli.TIMED_OUT
    one.stop()
    assert one.try_run("drop", "send", path, "--to", "two").returncode == cli.NO_AGENT


def test_a_browser_sends_files_of_folders_only(lab):
    """A login of the page reads what is in folders: it must not become a way to other files of the user's."""
    one = lab.agent("one")
    folder, _ = lab.directory("papers"), make_file(lab, "secret.txt", 500)
    one.add_folder("papers", folder, mode="full")
    with open(os.path.join(folder, "letter.txt"), "wb") as file:
        file.write(b"dear you")
    os.symlink(lab.directory("out"), os.path.join(folder, "link"))
    one.run("scan", "papers")
    page = Page(one)

    def refused(*files):
        answer, body = page.ask("POST", "/v1/drop/send", {"files": files, "target": "tcp://127.0.0.1:1", "seconds": 1})
        lines = [json.loads(line) for line in body.splitlines()]
        return answer.status, lines[-1]["code"]
    assert refused(lab.path("out", "secret.txt")) == (403, "no-permission")
    assert refused("papers:letter.txt", os.path.join(folder, "letter.txt")) == (403, "no-permission")
    for outside in ("papers:link/secret.txt", "papers:../out/secret.txt", "papers:.stfolder", "papers:none.txt"):
        assert refused(outside)[1] in ("no-such-path", "failed"), outside
    # One that is in the folder gets as far as the address, which is none that files go to.
    assert refused("papers:letter.txt")[1] == "no-such-device"


def test_one_receives_at_a_time(lab, begin):
    one = lab.agent("one")
    receiving = begin(ReceiveCommand, one, "--dir", lab.root, "--yes")
    receiving.event("waiting")
    result = one.try_run("drop", "receive", "--yes", "--dir", lab.root, "--json")
    assert result.returncode == cli.FAILED and json.loads(result.stderr)["code"] == "busy"
    os.killpg(receiving.process.pid, signal.SIGINT)
    assert receiving.wait()[0] == 130
    # The agent hears of it a moment later.
    wait_until(lambda: one.try_run("drop", "receive", "--yes", "--timeout", "1", "--dir", lab.root).returncode == cli.TIMED_OUT,
               what="nobody receives")
    again = begin(ReceiveCommand, one, "--dir", lab.root, "--yes")
    again.event("waiting")
