"""One device has another test whether it can connect; a Syncthing is never asked."""

import socket

import pytest

from process import wait_until


def own_address():
    """An address of this machine that is not loopback; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: it only looks up the route.
            probe.connect(("192.0.2.254", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def agent_at(lab, name, address):
    agent = lab.agent(name, start=False, init=False)
    agent.address = f"tcp://{address}:{agent.port}"
    return agent.init().start()


def links(agent):
    return {d["name"]: d["links"] for d in agent.document("reach")["devices"]}


def test_another_device_connects(lab):
    address = own_address()
    if address is None:
        pytest.skip("no network but loopback")
    here, there = agent_at(lab, "here", address), agent_at(lab, "there", address)
    lab.introduce(here, there)
    there.add_device(here.id, "here")
    here.wait_connected(there.id)
    there.wait_connected(here.id)
    # Each link that is wanted is there.
    wait_until(lambda: len(links(here)["there"]) == 3 == len(links(there)["here"]), 20, "three links", child=here)
    before = links(here), links(there)
    report = here.document("reach", "--test")
    assert [d["name"] for d in report["devices"]] == ["there"], report
    assert {r["address"]: r["outcome"] for r in report["devices"][0]["results"]} == {here.address: "reached"}
    assert report["devices"][0]["local"] is True
    assert report["relay"]["reachable"] is False
    assert report["advice"].startswith("Devices in this network can connect")
    # Asked again at once, it says so.
    text = here.run("reach", "--test").stdout.decode()
    assert "tested nothing: it tests addresses once every 10 s" in text
    # Nothing has become of the links at either end.
    assert (links(here), links(there)) == before
    assert [d["lastError"] for d in here.status()["devices"] if d.get("lastError")] == []


def test_nobody_is_connected(lab):
    agent = lab.agent()
    report = agent.document("reach", "--test")
    assert report["devices"] == []
    assert report["advice"].startswith("No device is connected")


def test_a_syncthing_is_not_asked(lab):
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    agent.wait_connected(node.id)
    report = agent.document("reach", "--test")
    assert report["devices"] == []
    assert "only synctrain devices test addresses" in report["advice"]
    assert agent.is_connected(node.id)
