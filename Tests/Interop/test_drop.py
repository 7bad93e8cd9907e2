"""Sending files one by one: agents and GhostDrop v1 devices of our own, over the virtual radio and over TCP."""

import hashlib
import json
import os
import signal
import time
import uuid

import pytest

import agent as cli
import ghostdrop
import harness
from pairing import PairCommand
from process import wait_until
from radio import Radio

GHOSTDROP_VECTORS = os.path.join(cli.REPOSITORY, "Tests/GhostDropTests/Vectors/ghostdrop-v1.json")


class SendCommand(PairCommand):
    WORDS = ("drop", "send")


class ReceiveCommand(PairCommand):
    WORDS = ("drop", "receive")


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


def confirm_both(sending, receiving):
    code = sending.event("code")["code"]
    assert receiving.event("code")["code"] == code
    sending.type(code + "\n")
    receiving.type(code + "\n")


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
