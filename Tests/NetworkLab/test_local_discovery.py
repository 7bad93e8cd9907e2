"""A synctrain agent and a real Syncthing in one network find each other by what they announce there."""

import pytest

from nodes import LOCAL_ONLY
from process import wait_until

NOWHERE = "tcp://192.0.2.1:1"
"""An address that leads nowhere. A device that has it instead of `dynamic` is not looked up by discovery."""
BLOCKED = {"ipv4": "ip", "ipv6": "ip6"}
"""The family of nftables that each kind of announcement goes by."""


def only(home, family):
    """Lets announcements through by this family alone; connections may use either."""
    for other in BLOCKED.keys() - {family}:
        home.nft(f"""table {BLOCKED[other]} lab {{
  chain in {{ type filter hook input priority filter; udp dport 21027 drop; }}
  chain out {{ type filter hook output priority filter; udp dport 21027 drop; }}
}}""")


@pytest.fixture
def pair(network):
    """Makes an agent and a node in one network that know each other's ids, neither started."""
    def make(family=None):
        lab = network(same_lan=True, servers=())
        for home in (lab.home_a, lab.home_b):
            if family:
                only(home, family)
        agent = lab.agent(lab.home_a, start=False)
        node = lab.syncthing(lab.home_b, "node", LOCAL_ONLY, start=False)
        return lab, agent, node
    return make


def meet(agent, node, first, agent_dials=True, node_dials=True):
    """Starts both; those that dial do it by discovery alone."""
    node.add_device(agent.id, "dynamic" if node_dials else NOWHERE)
    agent.add_device(node.id, "node", "dynamic" if agent_dials else NOWHERE)
    for starting in (agent, node) if first == "agent" else (node, agent):
        starting.start()
    # Syncthing announces itself every 30 s, and at once when it hears of a device for the first time.
    agent.wait_connected(node.id, timeout=40)
    node.wait_connected(agent.id, timeout=5)


@pytest.mark.parametrize("first", ["agent", "node"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_the_agent_finds_a_syncthing(pair, family, first):
    lab, agent, node = pair(family)
    meet(agent, node, first, node_dials=False)
    assert node.connection(agent.id)["type"] == "tcp-server"
    address = node.connection(agent.id)["address"]
    assert address.startswith(lab.home_a.address) if family == "ipv4" else "fe80::" in address


@pytest.mark.parametrize("first", ["agent", "node"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_syncthing_finds_the_agent(pair, family, first):
    lab, agent, node = pair(family)
    meet(agent, node, first, agent_dials=False)
    assert node.connection(agent.id)["type"] == "tcp-client"
    found = node.discovered(agent.id)
    assert any(lab.home_a.address in a if family == "ipv4" else "fe80::" in a for a in found), found


def test_both_look_for_each_other_by_both_families(pair):
    _, agent, node = pair()
    meet(agent, node, "node")


@pytest.mark.slow
def test_a_new_address_is_found(pair):
    """The node's home gets another address, and IPv6 is off: only what the node announces every 30 s leads there."""
    lab, agent, node = pair("ipv4")
    meet(agent, node, "node", node_dials=False)
    address = lab.change_home_address(lab.home_b)

    def moved():
        device = agent.device(node.id)
        return device.get("connected") and device["address"] == f"tcp://{address}:22000"
    wait_until(moved, 40, "the agent is connected to the new address")
