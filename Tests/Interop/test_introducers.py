"""Introducers: a real Syncthing introduces a device to the agent and takes it back, and the agent does the same for real
Syncthings. Judged by the configurations of all and by a file that goes from one introduced device to the other."""

import os
import re

import pytest
from harness import read, write
from process import wait_until

FOLDER = "docs"


def devices(agent):
    """id → what `status` says of the device."""
    return {device["id"]: device for device in agent.status()["devices"]}


def sharers(node):
    """id → who introduced it, of the devices that share the folder on a Syncthing."""
    return {device["deviceID"]: device["introducedBy"] for device in node.get(f"/rest/config/folders/{FOLDER}")["devices"]}


def known(node):
    """id → who introduced it."""
    return {device["deviceID"]: device["introducedBy"] for device in node.get("/rest/config/devices")}


@pytest.mark.parametrize("keeps", [False, True], ids=["follows-removals", "skips-removals"])
def test_a_syncthing_introduces_a_device(lab, keeps):
    agent, hub, far = lab.agent(), lab.syncthing("hub"), lab.syncthing("far")
    lab.introduce(agent, hub)
    hub.change_device(agent.id, addresses=[agent.address])
    agent.run("device", "set", hub.id, "--introducer",
              "--skip-introduction-removals" if keeps else "--no-skip-introduction-removals")
    hub.add_device(far.id, far.address, "far")
    # The hub introduces the agent to the far one, too: neither of the two is told of the other by a user.
    far.add_device(hub.id, hub.address, "hub", introducer=True)
    root = {node: lab.path(f"{node.name}-{FOLDER}") for node in (agent, hub, far)}
    far.set_folder(FOLDER, root[far], [hub.id])
    agent.add_folder(FOLDER, root[agent], hub.id, mode="full")
    hub.set_folder(FOLDER, root[hub], [agent.id, far.id])
    wait_until(lambda: far.id in devices(agent), 30, "the device is introduced", child=agent)
    wait_until(lambda: agent.id in known(far), 30, "the agent is introduced", child=far)
    assert devices(agent)[far.id]["introducedBy"] == hub.id
    assert devices(agent)[far.id]["name"] == "far"
    # Nobody else says that something on this machine is to be dialled; the far one, a Syncthing, dials what it is told.
    assert devices(agent)[far.id]["addresses"] == ["dynamic"]
    assert set(far.get(f"/rest/config/devices/{agent.id}")["addresses"]) == {"dynamic", agent.address}
    assert set(agent.folder(FOLDER)["devices"]) == {hub.id, far.id}
    agent.wait_connected(far.id, timeout=60)

    # What they share needs the hub no longer.
    hub.stop()
    write(os.path.join(root[far], "letter"), b"from far")
    far.scan(FOLDER)
    wait_until(lambda: read(os.path.join(root[agent], "letter")) == b"from far", 30, "the file arrives", child=agent)
    hub.start()
    agent.wait_connected(hub.id, timeout=60)
    hub.wait_connected(agent.id, timeout=60)
    assert set(agent.folder(FOLDER)["devices"]) == {hub.id, far.id}

    hub.set_folder(FOLDER, root[hub], [agent.id])
    if not keeps:
        wait_until(lambda: far.id not in devices(agent), 30, "the device is taken back", child=agent)
        assert agent.folder(FOLDER)["devices"] == [hub.id]
        assert read(os.path.join(root[agent], "letter")) == b"from far"
        return
    # The far one, which does not skip it, shows that the removal has been sent; a new share shows that this side has it, too.
    hub.set_folder("more", lab.path("hub-more"), [agent.id, far.id])
    agent.add_folder("more", lab.path("agent-more"), hub.id)
    wait_until(lambda: set(agent.folder("more").get("devices", [])) == {hub.id, far.id}, 30, "the new share arrives",
               child=agent)
    assert far.id in devices(agent) and set(agent.folder(FOLDER)["devices"]) == {hub.id, far.id}


def test_a_device_that_is_made_an_introducer_need_not_connect_again(lab):
    """What it said last counts, of a folder that is added later as well."""
    agent, hub, far = lab.agent(), lab.syncthing("hub"), lab.peer("far")
    lab.introduce(agent, hub)
    hub.add_device(far.id, name="far")
    for folder in ("docs", "more"):
        hub.set_folder(folder, lab.path(f"hub-{folder}"), [agent.id, far.id])
    agent.add_folder("docs", lab.path("agent-docs"), hub.id)
    agent.wait_connected(hub.id)
    wait_until(lambda: b"more" in agent.run("folder", "list", "--pending").stdout, 30, "the hub has said what it shares",
               child=agent)
    agent.run("device", "set", hub.id, "--introducer")
    wait_until(lambda: agent.folder("docs")["devices"] == [hub.id, far.id], 5, "the device is introduced", child=agent)
    agent.add_folder("more", lab.path("agent-more"), hub.id)
    wait_until(lambda: agent.folder("more").get("devices") == [hub.id, far.id], 5, "it shares this folder, too", child=agent)


def test_the_agent_introduces_syncthings_to_each_other(lab):
    agent, one, two = lab.agent(), lab.syncthing("one"), lab.syncthing("two")
    lab.introduce(agent, one, two)
    for node in (one, two):
        node.change_device(agent.id, introducer=True)
        node.set_folder(FOLDER, lab.path(f"{node.name}-{FOLDER}"), [agent.id])
    agent.add_folder(FOLDER, lab.path(f"agent-{FOLDER}"), one.id, two.id, mode="full")
    for node, other in ((one, two), (two, one)):
        wait_until(lambda: sharers(node).get(other.id) == agent.id, 30, f"{node.name} is introduced to {other.name}",
                   child=node)
        assert known(node)[other.id] == agent.id
    one.wait_connected(two.id, timeout=60)

    agent.stop()
    write(os.path.join(lab.path(f"one-{FOLDER}"), "letter"), b"from one")
    one.scan(FOLDER)
    wait_until(lambda: read(os.path.join(lab.path(f"two-{FOLDER}"), "letter")) == b"from one", 30, "the file arrives")
    agent.start()
    agent.wait_connected(one.id, two.id, timeout=60)
    assert known(one)[two.id] == agent.id

    config = agent.file("config.toml")
    text = read(config).decode()
    both = re.search(r"(?m)^devices = \[.*" + two.id + r".*\]$", text)
    write(config, text.replace(both[0], f'devices = ["{one.id}"]').encode())
    agent.run("reload")
    wait_until(lambda: two.id not in known(one), 30, "the device is taken back", child=one)
    assert set(sharers(one)) == {one.id, agent.id}
