"""Links and trust: pairing by id, who is pending, kinds of identity, simultaneous dials."""

import os
import threading
import time

import bep
import pytest
from process import wait_until


def pending_ids(agent, kind):
    return {record["id"] for record in agent.records(kind, "list", "--pending")}


def test_pairing_by_id_in_either_direction(lab):
    node, agent = lab.syncthing(), lab.agent()
    assert len(agent.id) == 63 and bep.device_id_raw(agent.id)
    # The agent dials …
    agent.add_device(node.id, "real", node.address)
    node.add_device(agent.id)
    agent.wait_connected(node.id)
    node.wait_connected(agent.id)
    device = next(d for d in agent.status()["devices"] if d["id"] == node.id)
    assert device["name"] == "real" and device["transport"] == "tcp-lan"
    assert str(node.port) in device["address"]
    connection = node.connections()["connections"][agent.id]
    assert "TLS1.3" in connection["crypto"]
    # … is told to forget …
    agent.run("device", "remove", node.id, "--yes")
    node.wait_disconnected(agent.id)
    assert node.id not in {d["id"] for d in agent.status()["devices"]}
    # … and is dialled.
    agent.add_device(node.id, "again")
    node.change_device(agent.id, addresses=[agent.address])
    agent.wait_connected(node.id)
    node.wait_connected(agent.id)


def test_unknown_device_is_pending_and_can_be_accepted(lab):
    agent, stranger = lab.agent(), lab.peer("stranger")
    session = stranger.dial(agent.address)
    session.wait_end()
    assert session.hello is not None and not session.cluster_configs, "an unknown device gets Hello and no more"
    wait_until(lambda: stranger.id in pending_ids(agent, "device"), what="pending")
    pending = next(r for r in agent.records("device", "list", "--pending") if r["id"] == stranger.id)
    assert pending["name"] == "stranger"
    assert stranger.id not in {d["id"] for d in agent.records("device", "list")}
    agent.add_device(stranger.id, "friend")
    stranger.dial_until(agent.address)
    agent.wait_connected(stranger.id)
    assert stranger.id not in pending_ids(agent, "device")


def test_agent_is_pending_at_a_real_node_and_its_offer_at_the_agent(lab):
    node, agent = lab.syncthing(), lab.agent()
    agent.add_device(node.id, "real", node.address)
    wait_until(lambda: agent.id in node.get("/rest/cluster/pending/devices"), what="pending at Syncthing")

    def device():
        return agent.status()["devices"][0]
    wait_until(lambda: device().get("acceptance") == "needed", what="it is known why")
    wait_until(lambda: "has not accepted this device yet" in (device().get("lastError") or ""), what="it is said why")
    assert f"choose Add Device in the notice, or add the id {agent.id}" in device()["lastError"]
    node.add_device(agent.id, agent.address)
    agent.wait_connected(node.id)
    wait_until(lambda: device()["acceptance"] == "given", what="accepted")
    with open(lab.path(lab.directory("offer"), "file.txt"), "w") as file:
        file.write("offered\n")
    node.set_folder("offered", lab.path("offer"), [agent.id], label="An offer")
    wait_until(lambda: "offered" in pending_ids(agent, "folder"), what="folder pending")
    offer = next(r for r in agent.records("folder", "list", "--pending") if r["id"] == "offered")
    assert offer["label"] == "An offer" and offer["device"] == node.id
    agent.add_folder("offered", lab.path("mine"), node.id)
    agent.wait_global("offered", 1)
    assert agent.run("cat", "offered:file.txt").stdout == b"offered\n"
    assert "offered" not in pending_ids(agent, "folder")


def test_what_is_offered_no_longer_is_not_pending(lab):
    one, two = lab.agent("one"), lab.agent("two")
    lab.introduce(one, two)
    one.add_folder("photos", lab.path("photos"), two.id)
    wait_until(lambda: "photos" in pending_ids(two, "folder"), what="folder pending")
    one.run("folder", "unshare", "photos", two.id)
    wait_until(lambda: "photos" not in pending_ids(two, "folder"), what="the end of the offer")


def test_a_removed_device_offers_nothing(lab):
    one, two = lab.agent("one"), lab.agent("two")
    lab.introduce(one, two)
    one.add_folder("photos", lab.path("photos"), two.id)
    wait_until(lambda: "photos" in pending_ids(two, "folder"), what="folder pending")
    two.run("device", "remove", one.id, "--yes")
    assert "photos" not in pending_ids(two, "folder")
    # It would be shared with the devices that offer it.
    two.run("folder", "add", "photos", lab.path("mine"))
    assert two.records("folder", "list")[0]["devices"] == []


def test_what_is_written_here_goes_out_on_the_link_on_which_the_folder_was_accepted(lab):
    """And on, after the folder was paused and resumed: the peer says nothing anew either time."""
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    agent.wait_connected(node.id)
    node.set_folder("offered", lab.directory("offer"), [agent.id])
    wait_until(lambda: "offered" in pending_ids(agent, "folder"), what="folder pending")
    agent.add_folder("offered", lab.path("mine"), node.id, mode="full")
    for name in ("after it was accepted", "after it was resumed"):
        with open(lab.path("mine", name), "w") as file:
            file.write(name)
        wait_until(lambda: os.path.exists(lab.path("offer", name)), 20, f"the file “{name}” at Syncthing")
        agent.run("folder", "pause", "offered")
        agent.run("folder", "resume", "offered")


def test_agents_offer_is_pending_at_a_real_node(lab):
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    agent.add_folder("from-agent", lab.path("mine"), node.id)
    wait_until(lambda: "from-agent" in node.get("/rest/cluster/pending/folders"), what="folder pending at Syncthing")


def test_every_kind_of_identity(module_lab):
    """As dialler and as listener, since TLS signs on either side; the last byte comes from a fetch."""
    lab = module_lab
    agent = lab.agent("kinds")
    for key in ("p256", "p384", "rsa", "ed25519"):
        for dials in (True, False):
            peer = lab.peer(f"{key}-{dials}", key)
            lab.introduce(agent, peer)
            lab.share(agent, peer.name, peer)
            peer.folders[peer.name].add("hello", key.encode())
            if dials:
                peer.dial_until(agent.address)
            else:
                agent.add_device(peer.id, peer.name, peer.listen([agent.certificate]))
                peer.wait_session()
            agent.wait_connected(peer.id)
            agent.wait_global(peer.name, 1)
            assert agent.run("cat", f"{peer.name}:hello").stdout == key.encode()


@pytest.mark.parametrize("key", ["rsa", "ed25519"])
def test_real_node_with_another_kind_of_identity(lab, key):
    node, agent = lab.syncthing(key=key), lab.agent()
    lab.introduce(agent, node)
    lab.share(agent, "f", node)
    with open(lab.path(lab.folder_path(node, "f"), "hello"), "w") as file:
        file.write(key)
    node.scan("f")
    agent.wait_global("f", 1)
    assert agent.run("cat", "f:hello").stdout == key.encode()


def settled(is_connected, end):
    """Seconds until connected; raises if it does not stay so for a second after."""
    start = time.monotonic()
    wait_until(is_connected, end, "connected", every=0.01)
    took = time.monotonic() - start
    steady = time.monotonic() + 1
    while time.monotonic() < steady:
        assert is_connected(), "the link was dropped again after it had come up"
        time.sleep(0.05)
    return took


def start_together(*nodes):
    threads = [threading.Thread(target=node.start) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_simultaneous_dials_of_two_agents_settle_at_once(lab):
    one, two = lab.agent("one", start=False), lab.agent("two", start=False)
    one.add_device(two.id, "two", two.address)
    two.add_device(one.id, "one", one.address)
    for _ in range(3):
        start_together(one, two)
        settled(lambda: one.is_connected(two.id) and two.is_connected(one.id), 5)
        one.kill()
        two.kill()


def test_simultaneous_dials_with_a_real_node_settle_at_once(lab):
    node, agent = lab.syncthing(start=False), lab.agent(start=False)
    agent.add_device(node.id, "real", node.address)
    node.start()
    node.add_device(agent.id, agent.address)
    node.stop()
    start_together(node, agent)
    settled(lambda: agent.is_connected(node.id) and node.is_connected(agent.id), 8)


def test_second_link_does_not_disturb_the_first(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    lab.share(agent, "f", peer)
    peer.folders["f"].add("hello", b"hello")
    first = peer.dial_until(agent.address)
    agent.wait_global("f", 1)
    # Whichever of the two the agent keeps, one lives and serves.
    second = peer.dial(agent.address)
    wait_until(lambda: first.ended or second.ended, what="one of two links ended")
    kept = second if first.ended else first
    assert kept.wait_ready()
    assert agent.run("cat", "f:hello").stdout == b"hello"
    assert not kept.ended


def test_redial_after_the_peer_was_away(lab):
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    agent.wait_connected(node.id)
    node.kill()
    agent.wait_disconnected(node.id, timeout=5)
    node.start()
    agent.wait_connected(node.id, timeout=30)
