"""Which way synctrain agents connect for each pair of routers, to one another and to a real Syncthing: from nothing but their ids."""

import os

import pytest

from nodes import through, wait_announced
from process import wait_until
from test_nat_pairs import A_KINDS, B_KINDS, expected_way


def servers(lab, relay=None):
    """Settings that have an agent use the laboratory's servers."""
    return [(r'(?ms)(^\[discovery\]\n.*?^servers = ).*?$', rf'\1["{lab.discovery}"]'),
            (r'(?ms)(^\[relays\]\n.*?^servers = ).*?$', rf'\1["{relay or lab.relay}"]')]


def connect(lab, first, second, way, timeout=20):
    """Starts both; the second once the first is announced. Until both say that they are connected that way."""
    first.start()
    wait_announced(lab, second.place, first.id, "^relay://")
    second.start()

    def connected():
        found = second.device(first.id)
        return found.get("connected") and found.get("transport") == way
    wait_until(connected, timeout, f"they are connected by {way}", child=second, every=0.1)


def agents(lab):
    a, b = lab.agent(lab.home_a, name="a", settings=servers(lab), start=False), lab.agent(
        lab.home_b, name="b", settings=servers(lab), start=False)
    return a, b


@pytest.mark.slow
@pytest.mark.parametrize("nat_b", B_KINDS)
@pytest.mark.parametrize("nat_a", A_KINDS)
def test_two_agents(network, nat_a, nat_b):
    lab = network(nat_a=nat_a, nat_b=nat_b)
    a, b = agents(lab)
    a.add_device(b.id, "b", "dynamic")
    b.add_device(a.id, "a", "dynamic")
    first, second = (b, a) if nat_b == "none" else (a, b)
    connect(lab, first, second, expected_way(nat_a, nat_b))
