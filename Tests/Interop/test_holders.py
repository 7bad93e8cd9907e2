"""Fetching from several holders of which some are slow, wrong or gone, and going on after an interrupt."""

import hashlib
import os
import threading
import time

import agent as cli
import bep
import harness
import pytest
from process import wait_until

BLOCK = 128 << 10


def write_big(path, mib):
    """Random bytes; returns their SHA-256."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for _ in range(mib):
            part = os.urandom(1 << 20)
            digest.update(part)
            file.write(part)
    return digest.hexdigest()


@pytest.mark.parametrize("how", ["SIGSTOP", "SIGKILL"])
def test_one_of_two_real_nodes_is_stopped_in_the_middle(lab, how):
    one, two, agent = lab.syncthing("one"), lab.syncthing("two"), lab.agent()
    lab.introduce(agent, one, two)
    one.add_device(two.id, two.address)
    two.add_device(one.id, one.address)
    lab.share(agent, "f", one, two)
    for node, other in ((one, two), (two, one)):
        node.set_folder("f", lab.folder_path(node, "f"), [agent.id, other.id])
    wanted = write_big(os.path.join(lab.folder_path(one, "f"), "big"), 100)
    one.scan("f")
    two.wait_synced("f", 1)
    agent.wait_entry("f:big", lambda e: e is not None and sorted(e["holders"]) == sorted([one.id, two.id]))
    for node in (one, two):
        # Each sends at most 5 MB/s, so that the middle of the transfer is not over before we see it.
        node.call("PATCH", "/rest/config/options", {"maxSendKbps": 5_000, "limitBandwidthInLan": True})
    agent.wait_connected(one.id, two.id)
    out = lab.path("out")
    fetch = agent.begin("fetch", "f:big", "-o", out)

    def middle():
        transfers = agent.status()["transfers"]
        return any(t["bytesDone"] > 20 << 20 for t in transfers) or not fetch.is_running
    wait_until(middle, 30, "the middle of the transfer")
    assert fetch.is_running, "the transfer was over before a holder could be stopped"
    one.suspend() if how == "SIGSTOP" else one.kill()
    two.call("PATCH", "/rest/config/options", {"maxSendKbps": 0})
    fetch.process.wait(40)
    assert fetch.process.returncode == cli.DONE
    assert harness.sha256_of(out) == wanted
    one.resume() if how == "SIGSTOP" else None


class Holders:
    """An agent and peers of ours that hold the same file; every answered block is counted."""

    def __init__(self, lab, names, blocks):
        self.lab, self.agent = lab, lab.agent()
        self.data = harness.pattern(blocks * BLOCK)
        self.peers = [lab.peer(name) for name in names]
        lab.introduce(self.agent, *self.peers)
        lab.share(self.agent, "f", *self.peers)
        self.served = {name: [] for name in names}
        for peer in self.peers:
            peer.folders["f"].add("file", self.data, version={"counters": [{"id": 1, "value": 1}]})
            peer.serve = self.counting(peer)

    def counting(self, peer):
        def serve(session, request):
            self.served[peer.name].append(request.get("offset", 0) // BLOCK)
            return bep.Peer.serve_from_folder(session, request)
        return serve

    def connect(self):
        sessions = [peer.dial_until(self.agent.address) for peer in self.peers]
        self.agent.wait_entry("f:file", lambda e: e is not None and len(e["holders"]) == len(self.peers))
        return sessions

    def fetch(self, timeout=30):
        out = self.lab.path("out")
        self.agent.run("fetch", "f:file", "-o", out, timeout=timeout)
        with open(out, "rb") as file:
            assert file.read() == self.data
        os.remove(out)


def test_work_is_spread_over_the_holders(lab):
    holders = Holders(lab, ["one", "two", "three"], 96)
    for peer in holders.peers:
        # A few milliseconds each, as over a real network: otherwise one holder may well do it alone.
        def serve(session, request, answer=peer.serve):
            time.sleep(0.005)
            return answer(session, request)
        peer.serve = serve
    holders.connect()
    holders.fetch()
    counts = {name: len(served) for name, served in holders.served.items()}
    assert sum(counts.values()) == 96, counts
    assert min(counts.values()) >= 10, counts


def test_requests_are_whole_blocks_with_their_hash(lab):
    holders = Holders(lab, ["one"], 5)
    session = holders.connect()[0]
    assert holders.agent.run("cat", "f:file", "--range", "200000-200009").stdout == holders.data[200000:200010]
    holders.fetch()
    blocks = holders.peers[0].folders["f"].entries["file"]["blocks"]
    for request in session.requests:
        number = request.get("offset", 0) // BLOCK
        assert request.get("block_no", 0) == number and request["hash"] == blocks[number]["hash"]
        assert request["size"] == BLOCK and request.get("offset", 0) == number * BLOCK
    assert sorted(holders.served["one"]) == [0, 1, 2, 3, 4], "each block once, the one read before from the cache"


def test_same_content_is_not_fetched_twice(lab):
    holders = Holders(lab, ["one"], 3)
    holders.peers[0].folders["f"].add("copy", holders.data)
    holders.connect()
    holders.agent.wait_global("f", 2)
    holders.agent.run("fetch", "f:file")
    assert holders.agent.run("cat", "f:copy").stdout == holders.data
    assert sorted(holders.served["one"]) == [0, 1, 2]


@pytest.mark.parametrize("wrong", ["bytes", "short", "long", "empty", "code 1", "code 2"])
def test_bad_holder_is_left_for_a_good_one(lab, wrong):
    holders = Holders(lab, ["bad", "good"], 40)

    def serve(session, request):
        holders.served["bad"].append(request.get("offset", 0) // BLOCK)
        data = bep.Peer.serve_from_folder(session, request)
        return {"bytes": bytes(len(data)), "short": data[:-1], "long": data + b"x", "empty": b"",
                "code 1": 1, "code 2": 2}[wrong]
    holders.peers[0].serve = serve
    holders.connect()
    holders.fetch()
    assert len(holders.served["bad"]) < 40, "it goes on asking one that gives nothing right"


def test_only_a_bad_holder_fails_and_leaves_nothing(lab):
    holders = Holders(lab, ["bad"], 4)
    holders.peers[0].serve = lambda session, request: bytes(request["size"])
    holders.connect()
    out = lab.path("out")
    result = holders.agent.try_run("fetch", "f:file", "-o", out, timeout=30)
    assert result.returncode in (cli.FAILED, cli.SOME_FAILED, cli.NO_HOLDER) and result.stderr
    assert not os.path.exists(out)
    result = holders.agent.try_run("cat", "f:file", timeout=30)
    assert result.returncode != cli.DONE
    assert holders.data.startswith(result.stdout), "not one unverified byte may come out"


@pytest.mark.parametrize("slow", ["late answers", "no answers", "answers in reverse"])
def test_slow_holder(lab, slow):
    holders = Holders(lab, ["slow", "good"], 64)
    answer, waiting = holders.peers[0].serve, []

    def late(session, request):
        data = answer(session, request)
        timer = threading.Timer(3, respond, (session, request, data))
        timer.daemon = True
        timer.start()

    def respond(session, request, data):
        try:
            session.respond(request, data)
        except bep.LinkClosed:
            pass

    def reverse(session, request):
        waiting.append((request, answer(session, request)))
        if len(waiting) == 1:
            threading.Timer(0.05, flush, (session,)).start()

    def flush(session):
        batch = waiting[:]
        waiting.clear()
        for request, data in reversed(batch):
            respond(session, request, data)

    holders.peers[0].serve = {"late answers": late, "no answers": lambda session, request: answer(session, request)
                              and None, "answers in reverse": reverse}[slow]
    holders.connect()
    start = time.monotonic()
    holders.fetch(timeout=40)
    took = time.monotonic() - start
    # Alone, the late one would need 3 s for each window of requests; the silent one would never end.
    assert took < 25, f"{took:.1f} s with a good holder at hand"


def test_fetch_goes_on_after_the_agent_was_killed(lab):
    holders = Holders(lab, ["holder"], 64)
    peer, enough = holders.peers[0], 24

    def serve(session, request):
        if len(holders.served["holder"]) < enough:
            holders.served["holder"].append(request.get("offset", 0) // BLOCK)
            return bep.Peer.serve_from_folder(session, request)
    peer.serve = serve
    session = holders.connect()[0]
    out = lab.path("out")
    fetch = holders.agent.begin("fetch", "f:file", "-o", out)
    wait_until(lambda: any(t["bytesDone"] >= enough * BLOCK for t in holders.agent.status()["transfers"]), 20,
               "the agent counts what it was given")
    holders.agent.kill()
    fetch.process.wait(10)
    assert fetch.process.returncode not in (0, None)
    assert not os.path.exists(out), "a part is no file"
    session.wait_end()
    before, holders.served["holder"] = holders.served["holder"], []
    peer.serve = holders.counting(peer)
    holders.agent.start()
    peer.dial_until(holders.agent.address)
    holders.agent.wait_connected(peer.id)
    holders.fetch()
    again = holders.served["holder"]
    assert set(before) | set(again) == set(range(64))
    assert not set(before) & set(again), f"{len(set(before) & set(again))} of {enough} blocks were asked for again"


def test_fetch_goes_on_after_a_lost_link(lab):
    holders = Holders(lab, ["holder"], 64)
    peer, enough = holders.peers[0], 24
    gone = threading.Event()

    def serve(session, request):
        if len(holders.served["holder"]) < enough:
            holders.served["holder"].append(request.get("offset", 0) // BLOCK)
            return bep.Peer.serve_from_folder(session, request)
        gone.set()
    peer.serve = serve
    session = holders.connect()[0]
    out = lab.path("out")
    fetch = holders.agent.begin("fetch", "f:file", "-o", out)
    assert gone.wait(20)
    wait_until(lambda: any(t["bytesDone"] >= enough * BLOCK for t in holders.agent.status()["transfers"]), 20,
               "the agent counts what it was given")
    session.close()
    before, holders.served["holder"] = holders.served["holder"], []
    peer.serve = holders.counting(peer)
    peer.dial_until(holders.agent.address)
    # It may wait for the holder to come back or give up with the part kept.
    fetch.process.wait(40)
    if fetch.process.returncode == cli.DONE:
        with open(out, "rb") as file:
            assert file.read() == holders.data
    else:
        assert fetch.process.returncode == cli.NO_HOLDER
        holders.agent.wait_connected(peer.id)
        holders.fetch()
    again = holders.served["holder"]
    assert not set(before) & set(again), f"{len(set(before) & set(again))} of {enough} blocks were asked for again"


def test_interrupted_command_keeps_its_part(lab):
    holders = Holders(lab, ["holder"], 64)
    peer, enough = holders.peers[0], 24

    def serve(session, request):
        if len(holders.served["holder"]) < enough:
            holders.served["holder"].append(request.get("offset", 0) // BLOCK)
            return bep.Peer.serve_from_folder(session, request)
    peer.serve = serve
    holders.connect()
    fetch = holders.agent.begin("fetch", "f:file", "-o", lab.path("out"))
    wait_until(lambda: any(t["bytesDone"] >= enough * BLOCK for t in holders.agent.status()["transfers"]), 20,
               "the agent counts what it was given")
    fetch.process.send_signal(2)
    assert fetch.process.wait(20) in (130, -2)
    wait_until(lambda: not holders.agent.status()["transfers"], 10, "the transfer ends with its command")
    before, holders.served["holder"] = holders.served["holder"], []
    peer.serve = holders.counting(peer)
    holders.fetch()
    assert not set(before) & set(holders.served["holder"])


def test_file_changes_at_its_holder_during_the_fetch(lab):
    """The fetch of the old version must not give a mix of both."""
    holders = Holders(lab, ["holder"], 32)
    peer = holders.peers[0]
    new = harness.pattern(32 * BLOCK, seed=1)
    changed = threading.Event()

    def serve(session, request):
        folder = peer.folders["f"]
        if len(holders.served["holder"]) == 10 and not changed.is_set():
            folder.add("file", new, version={"counters": [{"id": 1, "value": 2}]})
            changed.set()
            session.send_index("f")
        holders.served["holder"].append(request.get("offset", 0) // BLOCK)
        data = folder.read("file", request.get("offset", 0), request["size"])
        return data if hashlib.sha256(data).digest() == request["hash"] else 2
    peer.serve = serve
    holders.connect()

    def version(entry):
        return entry["details"]["version"]
    old = holders.agent.wait_entry("f:file", lambda entry: entry is not None)
    out = lab.path("out")
    result = holders.agent.try_run("fetch", "f:file", "-o", out, timeout=40)
    assert changed.is_set()
    if result.returncode == cli.DONE:
        with open(out, "rb") as file:
            assert file.read() in (holders.data, new)
    else:
        assert not os.path.exists(out)
    holders.agent.wait_entry("f:file", lambda entry: version(entry) != version(old))
    holders.agent.run("fetch", "f:file", "-o", out, "--force", timeout=40)
    with open(out, "rb") as file:
        assert file.read() == new


def test_a_device_that_answers_nothing_delays_no_other(lab):
    """More is wanted of it than may be under way at all."""
    agent, silent, good = lab.agent(), lab.peer("silent"), lab.peer("good")
    lab.introduce(agent, silent, good)
    lab.share(agent, "silent", silent, mode="full")
    directory = lab.share(agent, "good", good, mode="full")
    block = 16 << 20
    for name in ("one", "two"):
        silent.folders["silent"].add(name, os.urandom(block) * 4, block_size=block)
    files = {f"file{number}": os.urandom(1 << 20) for number in range(5)}
    for name, data in files.items():
        good.folders["good"].add(name, data)
    silent.serve = lambda session, request: None
    session = silent.dial_until(agent.address)
    wait_until(lambda: len(session.requests) >= 2, 30, "the agent asks the silent device")
    # Its requests for both files are made by now, as far as they may be under way.
    wait_until(lambda: {t["path"] for t in agent.status()["transfers"]} == {"one", "two"}, 30, "both files are begun")
    good.dial_until(agent.address)

    def is_here(name):
        path = os.path.join(directory, name)
        return os.path.exists(path) and harness.sha256_of(path) == hashlib.sha256(files[name]).hexdigest()
    wait_until(lambda: all(is_here(name) for name in files), 30, "the other device's files are here")
