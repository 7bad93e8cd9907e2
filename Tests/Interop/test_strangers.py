"""Who is near and not known learns nothing over Bluetooth by which a device could be told again."""

import base64
import os
import time

import pytest

import agent as cli
from pairing import PairCommand
from preamble import KNOWN, PAIRING, Stranger, derive, nonce
from process import wait_until
from radio import Radio


def raw_id(agent_or_text):
    """The 32 bytes of a device id, from its text with check digits."""
    text = getattr(agent_or_text, "id", agent_or_text).replace("-", "")
    groups = [text[start:start + 14][:13] for start in range(0, 56, 14)]
    return base64.b32decode("".join(groups) + "====")


def hello():
    """The beginning of a TLS client, as good as any."""
    return bytes.fromhex("1603010200010001fc0303") + os.urandom(505)


def test_a_stranger_sees_noise_and_the_end(lab):
    """Two connects to one device and one to another: what is seen has nothing in common, and says nothing."""
    radio = Radio(lab, speed=4)
    one, two = radio.join("one"), radio.join("two")
    one.add_device(two.id, "two")
    two.add_device(one.id, "one")
    seen, ends = [], []
    for target in ("one", "one", "two", "two"):
        stranger = Stranger(radio, target)
        stranger.send(KNOWN + nonce())
        seen.append(stranger.receive(16))
        # A guess at the proof, and then TLS as if it had been right.
        stranger.send(nonce() + hello())
        ends.append(stranger.rest())
    assert [len(answer) for answer in seen] == [16] * 4 and len(set(seen)) == 4
    assert ends == [b""] * 4
    # Random bytes share a byte at a place once in 256: of 96 pairs, ten would be a miracle.
    shared = sum(a[place] == b[place] for number, a in enumerate(seen) for b in seen[:number] for place in range(16))
    assert shared < 10
    for agent in (one, two):
        assert agent.records("device", "list", "--pending") == []


@pytest.mark.parametrize("first", [hello(), b"GHST" + bytes(20), PAIRING + hello(), b"", KNOWN + b"half"],
                         ids=["tls", "v1", "pairing", "nothing", "half"])
def test_whoever_begins_otherwise_hears_nothing(lab, first):
    radio = Radio(lab, speed=4)
    radio.join("one")
    stranger = Stranger(radio, "one")
    stranger.send(first)
    start = time.monotonic()
    assert stranger.rest() == b""
    # Closed by the device, by its own limit and not because of what came.
    assert time.monotonic() - start > 3


def test_a_proof_that_was_recorded_proves_nothing(lab):
    """Who listened to two devices and repeats the dialler's bytes gets another nonce and then nothing."""
    radio = Radio(lab, speed=4)
    one = radio.join("one")
    friend = os.urandom(32)
    one.add_device(cli_id(friend), "friend")
    first = Stranger(radio, "one")
    opening = KNOWN + nonce()
    first.send(opening)
    challenge = first.receive(16)
    proof, _, _ = derive(friend, raw_id(one), opening[1:], challenge)
    first.send(proof)
    # It is right: the device waits for TLS, and does not close at its limit for strangers.
    first.socket.settimeout(7)
    with pytest.raises(TimeoutError):
        first.receive(1)
    first.close()

    again = Stranger(radio, "one")
    again.send(opening)
    assert again.receive(16) != challenge
    again.send(proof + hello())
    assert again.rest() == b""


def test_a_device_that_was_removed_is_a_stranger(lab):
    radio = Radio(lab, speed=4)
    far, near = radio.join("far"), radio.join("near")
    far.add_device(near.id, "near")
    near.add_device(far.id, "far", "virtual://far")
    near.wait_connected(far.id)
    far.run("unpair", "near", "--yes")
    near.wait_disconnected(far.id)
    wait_until(lambda: "does not list this one" in (near.status()["devices"][0].get("lastError") or ""), 40,
               "the other device does not list this one")
    assert far.records("device", "list", "--pending") == []
    far.add_device(near.id, "near")
    near.wait_connected(far.id, timeout=90)


def test_pairing_with_one_that_does_not_pair(lab):
    radio = Radio(lab, speed=4)
    one = radio.join("one")
    radio.join("two")
    calling = PairCommand(one, "virtual://two", "--expect-sas", "000000")
    code, error = calling.wait(40)
    assert code == cli.FAILED and error["code"] == "not-pairing"
    assert "synctrain pair" in error["message"]


def cli_id(raw):
    """The text of a device id."""
    letters = base64.b32encode(raw).decode().rstrip("=")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    groups = []
    for start in range(0, 52, 13):
        group = letters[start:start + 13]
        total = 0
        for index, letter in enumerate(group):
            value = alphabet.index(letter) * (1 if index % 2 == 0 else 2)
            total += value // 32 + value % 32
        groups.append(group + alphabet[-total % 32])
    text = "".join(groups)
    return "-".join(text[start:start + 7] for start in range(0, 56, 7))
