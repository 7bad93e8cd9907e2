"""Pairing by a code, over TCP: two real agents, and an independent peer that says what it likes."""

import json
import os
import re
import signal
import socket
import threading
import time

import pytest
from agent import FAILED, NEEDS_YES, NO_AGENT, NO_SUCH, TIMED_OUT, USAGE
from link import Identity, LinkClosed
from pairing import (
    BUSY, COMMIT, CONFIRM, DONE, INTRODUCE, MISTAKE, NONCE, REFUSE, REVEAL, TIME, USER, PairCommand, PairingPeer,
    introduction, message,
)
from process import PATIENCE, wait_until


@pytest.fixture
def pairing(request):
    """Begins commands that end with the test."""
    commands = []

    def begin(agent, *arguments, **options):
        commands.append(PairCommand(agent, *arguments, **options))
        return commands[-1]
    yield begin
    for command in commands:
        command.kill()


def ids(agent):
    return {device["id"] for device in agent.status()["devices"]}


def configuration(agent):
    """Without comments."""
    with open(agent.file("config.toml")) as file:
        return "".join(line for line in file if not line.startswith("#"))


def both_codes(*commands):
    codes = [command.event("code")["code"] for command in commands]
    assert codes[0] == codes[1] and re.fullmatch(r"\d{6}", codes[0])
    return codes[0]


def assert_nothing_stored(*agents):
    for agent in agents:
        assert ids(agent) == set() and "[[device" not in configuration(agent)


def two(lab):
    return lab.agent("one"), lab.agent("two")


# MARK: two agents

def test_both_say_yes(lab, pairing):
    one, two_ = two(lab)
    one.run("folder", "add", "photos", lab.path("photos"), "--mode", "full")
    with open(lab.path("photos", "a.txt"), "w") as file:
        file.write("a picture")
    waiting = pairing(one, "--expect-sas", "-", "--folder", "photos")
    assert one.address in waiting.event("waiting")["listening"]
    calling = pairing(two_, one.address, "--expect-sas", "-")
    code = both_codes(waiting, calling)
    assert waiting.seen[-1]["device"] == two_.id and calling.seen[-1]["device"] == one.id
    assert_nothing_stored(one, two_)
    waiting.type(code + "\n")
    calling.event("confirmed-there")
    assert_nothing_stored(one, two_)
    calling.type(f"{code[:3]} {code[3:]}\n")
    paired = waiting.event("paired")
    assert paired["device"] == two_.id and paired["name"] == "two" and paired["mutual"]
    assert paired["folders"] == ["photos"] and two_.address in paired["addresses"]
    assert calling.event("paired")["name"] == "one"
    assert waiting.wait() == (0, None) and calling.wait() == (0, None)
    assert two_.id in configuration(one) and one.id in configuration(two_)
    one.wait_connected(two_.id, timeout=5)
    two_.wait_connected(one.id, timeout=5)
    wait_until(lambda: "photos" in {r["id"] for r in two_.records("folder", "list", "--pending")}, what="the offer")
    two_.add_folder("photos", lab.path("copy"), one.id, mode="full")
    wait_until(lambda: os.path.exists(lab.path("copy", "a.txt")), what="the picture")
    # Known to each other, they have nothing to compare.
    waiting = pairing(one, "--expect-sas", "000000")
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "000000")
    assert calling.event("already-paired")["name"] == "one"
    assert waiting.event("already-paired")["name"] == "two"
    assert calling.wait() == (0, None) and waiting.wait() == (0, None)
    # Whoever answers at an address gets a folder only after the digits.
    two_.run("folder", "add", "notes", lab.path("notes"))
    waiting = pairing(one, "--expect-sas", "-")
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "-", "--folder", "notes")
    code = calling.event("code")["code"]
    waiting.type(f"{code}\n")
    calling.type(f"{code}\n")
    assert calling.event("paired")["folders"] == ["notes"]
    assert calling.wait() == (0, None) and waiting.wait() == (0, None)
    wait_until(lambda: "notes" in {r["id"] for r in one.records("folder", "list", "--pending")}, what="the offer")
    # Both survive a restart, and `unpair` ends it.
    one.stop()
    one.start()
    one.wait_connected(two_.id)
    assert one.try_run("unpair", "two").returncode == NEEDS_YES
    one.run("unpair", "two", "--yes")
    two_.wait_disconnected(one.id)
    assert ids(one) == set()
    assert one.try_run("unpair", "two", "--yes").returncode == NO_SUCH


def test_one_that_has_forgotten_the_other_pairs_again(lab, pairing):
    """So does one that was cut off before it had stored what the other has."""
    one, two_ = two(lab)
    one.add_device(two_.id, "my name for it", two_.address)
    waiting = pairing(one, "--expect-sas", "-")
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "-")
    code = both_codes(waiting, calling)
    waiting.type(code + "\n")
    calling.type(code + "\n")
    assert waiting.wait()[0] == 0 and calling.wait()[0] == 0
    assert ids(two_) == {one.id}
    assert [device["name"] for device in one.status()["devices"]] == ["my name for it"]
    two_.wait_connected(one.id)


@pytest.mark.parametrize("answers", [("y", "n"), ("n", "y"), ("", "y"), ("y", "\x03")])
def test_a_no_on_one_terminal_stores_nothing(lab, pairing, answers):
    one, two_ = two(lab)
    commands = [pairing(one, terminal=True)]
    wait_until(lambda: "Waiting for the other device for" in commands[0].text, what="waiting")
    commands.append(pairing(two_, one.address, terminal=True))
    for command in commands:
        wait_until(lambda: "[y/N]" in command.text, what="the question")
    shown = [command.text.split("(tcp)")[1].split("Does")[0] for command in commands]
    assert shown[0] == shown[1] and "██" in shown[0], "the same large digits on both"
    for command, answer in zip(commands, answers):
        if answer == "\x03":
            os.kill(command.process.pid, signal.SIGINT)
        else:
            command.type(answer + "\n")
    results = [command.wait() for command in commands]
    for (status, text), answer in zip(results, answers):
        assert "Paired" not in text
        assert status == {"y": FAILED, "n": NEEDS_YES, "": NEEDS_YES, "\x03": 130}[answer], text
        assert "Nothing was stored" in text or status == 130
    if "\x03" in answers:
        assert "pairing was interrupted on the other device" in results[0][1], "nobody said no"
        assert "said no" not in results[0][1]
    assert_nothing_stored(one, two_)


def test_yes_on_both_terminals(lab, pairing):
    one, two_ = two(lab)
    commands = [pairing(one, "--yes", terminal=True)]
    # What was typed before the question does not answer it.
    commands[0].type("y\n")
    wait_until(lambda: "Waiting for the other device for" in commands[0].text, what="waiting")
    commands.append(pairing(two_, one.address, terminal=True))
    for command in commands:
        wait_until(lambda: "[y/N]" in command.text, what="the question")
    commands[1].type("perhaps\n")
    wait_until(lambda: "Answer y or n." in commands[1].text, what="the second question")
    commands[1].type("yes\n")
    wait_until(lambda: "user has said yes" in commands[0].text, what="the other's yes")
    assert_nothing_stored(one, two_)
    commands[0].type("y\n")
    for command, other in zip(commands, ("two", "one")):
        status, text = command.wait()
        assert status == 0 and f"Paired with {other} (" in text, text
    assert "--yes does not confirm" in commands[0].text
    one.wait_connected(two_.id)


def test_other_digits_than_expected(lab, pairing):
    one, two_ = two(lab)
    waiting = pairing(one, "--expect-sas", "-")
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "-")
    code = both_codes(waiting, calling)
    other = f"{(int(code) + 1) % 1_000_000:06}"
    waiting.type(code + "\n")
    calling.type(other + "\n")
    status, error = calling.wait()
    assert status == FAILED and error["code"] == "pairing-mismatch"
    status, error = waiting.wait()
    assert status == FAILED and error["code"] == "pairing-refused"
    assert_nothing_stored(one, two_)
    # Named on the command line, one in a million fits.
    waiting = pairing(one, "--expect-sas", "123456")
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "123 456")
    codes = {waiting.wait()[1]["code"], calling.wait()[1]["code"]}
    assert codes <= {"pairing-mismatch", "pairing-refused"}
    assert_nothing_stored(one, two_)


def test_an_input_that_ends_is_no_yes(lab, pairing):
    one, two_ = two(lab)
    waiting = pairing(one, "--expect-sas", "-")
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "-")
    both_codes(waiting, calling)
    calling.process.stdin.close()
    assert calling.wait()[0] == NEEDS_YES
    assert waiting.wait()[1]["code"] == "pairing-refused"
    assert_nothing_stored(one, two_)


def test_time_is_over(lab, pairing):
    one, two_ = two(lab)
    status, error = pairing(one, "--expect-sas", "123456", "--timeout", "1").wait()
    assert status == TIMED_OUT and error["code"] == "timeout" and error["retryable"]
    # With a code on both ends, and nobody who answers.
    waiting = pairing(one, "--expect-sas", "-", "--timeout", str(round(5 * PATIENCE)))
    waiting.event("waiting")
    calling = pairing(two_, one.address, "--expect-sas", "-")
    both_codes(waiting, calling)
    assert waiting.wait()[0] == TIMED_OUT and calling.wait()[0] == TIMED_OUT
    assert_nothing_stored(one, two_)


def test_both_call_each_other(lab, pairing):
    """Each is busy with its own call for the other; one of them comes back first."""
    agents = two(lab)
    commands = [pairing(agent, "--expect-sas", "-") for agent in agents]
    for command in commands:
        command.event("waiting")
    calls = [threading.Thread(target=dial, args=pair) for pair in (agents, agents[::-1])]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    code = both_codes(*commands)
    for command in commands:
        command.type(code + "\n")
    assert [command.wait()[0] for command in commands] == [0, 0]
    agents[0].wait_connected(agents[1].id)


def dial(agent, other):
    """As somebody does who chooses a nearby device."""
    body = json.dumps({"action": "dial", "address": other.address}).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(agent.socket)
        connection.sendall(b"POST /v1/pair/answer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert connection.makefile("rb").readline().split()[1] == b"200"


def test_without_a_terminal_there_is_no_yes(lab):
    agent = lab.agent()
    for arguments in (["pair"], ["pair", "--yes"], ["pair", "--nearby", "--yes", "--json"]):
        result = agent.try_run(*arguments)
        assert result.returncode == NEEDS_YES and b"--expect-sas" in result.stderr
        assert b"--yes does not confirm" in result.stderr or "--yes" not in arguments
    assert agent.document("status")["devices"] == []
    for arguments in (["--expect-sas", "12345"], ["--timeout", "0"], ["--timeout", "121"], ["tcp://h:1", "--nearby"]):
        assert agent.try_run("pair", *arguments).returncode == USAGE
    assert agent.try_run("pair", "--expect-sas", "123456", "--folder", "none").returncode == NO_SUCH
    assert agent.try_run("pair", "nonsense", "--expect-sas", "123456").returncode == USAGE
    agent.stop()
    assert agent.try_run("pair", "--expect-sas", "123456").returncode == NO_AGENT


def test_one_request_at_a_time(lab, pairing):
    agent = lab.agent()
    first = pairing(agent, "--expect-sas", "-")
    first.event("waiting")
    status, error = pairing(agent, "--expect-sas", "-").wait()
    assert status == FAILED and error["code"] == "busy"
    first.kill()
    # The user who went away no longer asks for it.
    wait_until(lambda: pairing(agent, "--expect-sas", "-", "--timeout", "1").wait()[0] == TIMED_OUT, what="free")


# MARK: an agent and a peer that says what it likes

def test_not_waiting_nobody_learns_anything(lab, pairing):
    one, two_ = two(lab)
    for peer in (PairingPeer(lab.path("stranger"), one.address),):
        assert peer.link.alpn is None
        with pytest.raises(LinkClosed):
            peer.receive()
    status, error = pairing(two_, one.address, "--expect-sas", "123456").wait()
    assert status == FAILED and error["code"] == "not-pairing" and "synctrain pair" in error["message"]
    assert_nothing_stored(one, two_)
    assert not one.records("device", "list", "--pending"), "nobody knocked: that was no BEP"


def test_an_independent_peer_pairs(lab, pairing):
    agent = lab.agent()
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    peer = PairingPeer(lab.path("probe"), agent.address)
    assert peer.link.alpn == "synctrain-pair/1"
    code = peer.open()
    shown = waiting.event("code")
    assert shown["code"] == code and shown["device"] == peer.identity.id and shown["transport"] == "tcp"
    waiting.type(code + "\n")
    assert peer.receive() == (CONFIRM, b""), "not a word of its name before both have confirmed"
    peer.send(CONFIRM)
    kind, body = peer.receive()
    assert kind == INTRODUCE and body[1:1 + body[0]] == b"agent"
    peer.link.send_raw(introduction(b"the probe", [b"tcp://127.0.0.1:4711", b"tcp://0.0.0.0:4712", b"relay://x", b"tcp://8.8.8.8:0"]))
    assert peer.receive() == (DONE, b"")
    peer.send(DONE)
    paired = waiting.event("paired")
    assert paired["name"] == "the probe" and paired["mutual"]
    assert paired["addresses"] == ["dynamic", "tcp://127.0.0.1:4711", "tcp://127.0.0.1:4712"]
    assert waiting.wait() == (0, None)
    assert ids(agent) == {peer.identity.id}
    # It says that it knows this device, and is known: nothing is compared.
    waiting = pairing(agent, "--expect-sas", "123456")
    waiting.event("waiting")
    again = PairingPeer(lab.path("probe"), agent.address)
    again.send(COMMIT, b"\1" + again.commitment)
    kind, body = again.receive()
    assert kind == NONCE and body[0] == 1
    assert waiting.event("already-paired")["device"] == peer.identity.id
    assert waiting.wait() == (0, None)


@pytest.mark.parametrize("named", [True, False])
def test_a_known_device_gets_no_folder_unasked(lab, pairing, named):
    """It dials while the user pairs another device, and says that it knows this one."""
    agent = lab.agent()
    agent.run("folder", "add", "secret", lab.directory("secret"))
    peer_id = Identity.create(lab.directory("named"), "p256").id
    colleague = Identity.create(lab.directory("colleague"), "p256")
    agent.add_device(colleague.id, "colleague")
    waiting = pairing(agent, *[peer_id] * named, "--expect-sas", "-", "--folder", "secret")
    waiting.event("waiting")
    peer = PairingPeer(None, agent.address, identity=colleague)
    if named:
        assert peer.rest() == [(REFUSE, bytes([BUSY]))]
    else:
        peer.send(COMMIT, b"\1" + peer.commitment)
        kind, body = peer.receive()
        assert kind == NONCE and body[0] == 0, "there is something to compare"
    assert configuration(agent).count(colleague.id) == 1, "only as a device"
    assert waiting.process.poll() is None


def test_the_last_message_lost(lab, pairing):
    agent = lab.agent()
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    peer = PairingPeer(lab.path("probe"), agent.address)
    waiting.type(peer.open() + "\n")
    peer.send(CONFIRM)
    assert [peer.receive()[0] for _ in range(2)] == [CONFIRM, INTRODUCE]
    peer.link.send_raw(introduction())
    assert peer.receive() == (DONE, b"")
    peer.close()
    assert waiting.event("paired")["mutual"] is False
    assert waiting.wait() == (0, None)
    assert ids(agent) == {peer.identity.id}


WRONG = {
    "silence broken by the wrong end": [message(NONCE, b"\0" + b"\x33" * 32)],
    "a reveal without a commitment": [message(REVEAL, b"\x11" * 32)],
    "a confirmation without a code": [message(CONFIRM)],
    "an introduction to a stranger": [introduction()],
    "done before anything": [message(DONE)],
    "two commitments": ["commit", "commit"],
    "another nonce than committed to": ["commit", message(REVEAL, b"\x12" * 32)],
    "two reveals": ["commit", "reveal", "reveal"],
    "two confirmations": ["commit", "reveal", message(CONFIRM), message(CONFIRM)],
    "an introduction before the user's yes": ["commit", "reveal", message(CONFIRM), introduction()],
    "done before the user's yes": ["commit", "reveal", message(CONFIRM), message(DONE)],
    "too long": [message(COMMIT, b"\0" * 40)],
    "beyond all length": [bytes([INTRODUCE, 0xFF, 0xFF])],
    "an unknown kind": [message(9)],
    "no pairing at all": [b"GET / HTTP/1.1\r\n\r\n"],
}


@pytest.mark.parametrize("case", WRONG, ids=[name.replace(" ", "-") for name in WRONG])
def test_what_has_no_place_ends_it(module_lab, pairing, case):
    """On an agent of its own each, as failures add up."""
    lab = module_lab
    agent = lab.agent("agent" + str(abs(hash(case))))
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    peer = PairingPeer(lab.path("probe"), agent.address)
    steps = {"commit": message(COMMIT, b"\0" + peer.commitment), "reveal": message(REVEAL, peer.nonce)}
    for step in WRONG[case]:
        peer.link.send_raw(steps.get(step, step))
    messages = peer.rest()
    assert messages[-1] == (REFUSE, bytes([MISTAKE])), messages
    assert INTRODUCE not in {kind for kind, _ in messages} and CONFIRM not in {kind for kind, _ in messages}
    if "reveal" in WRONG[case]:
        status, error = waiting.wait()
        assert status == FAILED and error["code"] == "pairing-failed"
    else:
        # No code was shown: the user waits on.
        assert waiting.process.poll() is None
        assert PairingPeer(lab.path("probe"), agent.address).open() == waiting.event("code")["code"]
    assert_nothing_stored(agent)
    agent.stop()


def test_a_third_device_is_told_to_wait(lab, pairing):
    agent, third = lab.agent("agent"), lab.agent("third")
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    peer = PairingPeer(lab.path("probe"), agent.address)
    code = peer.open()
    assert waiting.event("code")["code"] == code
    other = PairingPeer(lab.path("other"), agent.address)
    assert other.rest() == [(REFUSE, bytes([BUSY]))]
    status, error = pairing(third, agent.address, "--expect-sas", "123456").wait()
    assert status == FAILED and error["code"] == "busy" and error["retryable"]
    # The first goes on as if nothing had been.
    waiting.type(code + "\n")
    assert peer.receive() == (CONFIRM, b"")
    peer.send(REFUSE, bytes([USER]))
    assert waiting.wait()[1]["code"] == "pairing-refused"
    assert_nothing_stored(agent, third)


def test_three_failures_are_enough(lab, pairing):
    """Someone who learns the nonce and goes away before there is a code has guessed, and is counted."""
    agent = lab.agent()
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    identity = Identity.create(lab.path("probe"), "p256")
    for number in range(3):
        peer = PairingPeer(None, agent.address, nonce=bytes([number]) * 32, identity=identity)
        peer.send(COMMIT, b"\0" + peer.commitment)
        assert peer.receive()[0] == NONCE
        peer.close()
        waiting.event("attempt-failed")
        blocked = time.monotonic()
    status, error = waiting.wait()
    assert status == FAILED and error["code"] == "pairing-blocked" and error["retryable"]
    peer = PairingPeer(None, agent.address, identity=identity)
    assert peer.link.alpn is None, "nobody is waiting any more"
    status, error = pairing(agent, "--expect-sas", "-").wait()
    assert status == FAILED and error["code"] == "pairing-blocked"
    left = int(re.search(r"in (\d+) s", error["message"])[1])
    assert 50 - (time.monotonic() - blocked) < left < 70
    assert_nothing_stored(agent)


def test_one_that_says_nothing_does_not_count(lab, pairing):
    agent = lab.agent()
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    identity = Identity.create(lab.path("probe"), "p256")
    for _ in range(6):
        PairingPeer(None, agent.address, identity=identity).close()
    peer = None

    def served():
        nonlocal peer
        peer = PairingPeer(None, agent.address, identity=identity)
        peer.send(COMMIT, b"\0" + peer.commitment)
        kind, body = peer.receive()
        peer.theirs = body[1:]
        return kind == NONCE
    wait_until(served, what="served")
    peer.send(REVEAL, peer.nonce)
    assert waiting.event("code")["code"] == peer.code


def test_the_peers_refusals_are_told(lab, pairing):
    agent = lab.agent()
    for reason, expected in ((USER, "pairing-refused"), (TIME, "timeout")):
        waiting = pairing(agent, "--expect-sas", "-")
        waiting.event("waiting")
        peer = PairingPeer(lab.path("probe"), agent.address)
        peer.open()
        waiting.event("code")
        peer.send(REFUSE, bytes([reason]))
        assert waiting.wait()[1]["code"] == expected
    assert_nothing_stored(agent)


def test_other_links_are_not_touched(lab, pairing):
    """A device that is known connects while this one waits to be paired, by the usual protocol."""
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    waiting = pairing(agent, "--expect-sas", "-")
    waiting.event("waiting")
    session = peer.dial_until(agent.address)
    agent.wait_connected(peer.id)
    stranger = lab.peer("stranger").dial(agent.address)
    stranger.wait_end()
    assert stranger.hello is not None and not stranger.cluster_configs
    assert not session.ended and waiting.process.poll() is None
