"""Which way two real Syncthings connect for each pair of routers: what others are to be measured by. Needs no synctrain."""

import pytest

from nodes import through, wait_announced
from process import wait_until

A_KINDS = ("none", "full", "restricted", "symmetric")
B_KINDS = ("none", "restricted", "symmetric")


def expected_way(*kinds):
    """TCP wherever one side can be reached by it, otherwise the relay. (Between two that keep their ports, TCP by punching is
    possible and was not seen.)"""
    return "tcp" if {"none", "full"} & set(kinds) else "relay"


@pytest.mark.syncthings_alone
@pytest.mark.parametrize("nat_b", B_KINDS)
@pytest.mark.parametrize("nat_a", A_KINDS)
def test_real_syncthings(network, nat_a, nat_b):
    lab = network(nat_a=nat_a, nat_b=nat_b)
    way = expected_way(nat_a, nat_b)
    options = through(lab, "tcp://0.0.0.0:22000", lab.relay)
    a = lab.syncthing(lab.home_a, "a", options, start=False)
    b = lab.syncthing(lab.home_b, "b", options, start=False)
    a.add_device(b.id)
    b.add_device(a.id)
    # The one that can be reached first: the other then finds it at once. A device that is looked up too early is looked up again after
    # a minute, and until then the relay is used.
    first, second = (b, a) if nat_b == "none" else (a, b)
    first.start()
    wait_announced(lab, second.place, first.id, "^relay://")
    second.start()

    def connected():
        found = a.connection(b.id)
        return found if found and found["type"].startswith(way) else None
    # It dials TCP addresses that lead nowhere for 10 s before it takes the relay.
    wait_until(connected, 60, f"they are connected by {way}", every=0.1)
