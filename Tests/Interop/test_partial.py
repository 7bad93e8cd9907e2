"""Two devices that download the same file from a third, slow one share what they have of it, before either has all of it."""

import os

import pytest
from harness import pattern, read, write
from process import wait_until

FOLDER, NAME, SIZE = "p", "film", 64 << 20
SHARED = {"syncthing": 1 << 20, "agent": 8 << 20}
"""Each gets at least so many bytes from the other, of 32 MiB that it could get at best. A Syncthing chooses at random what it asks
for second, and asks the third one for 16 MiB, its least, before anybody has told anything."""
SENT = {"syncthing": 1.8, "agent": 1.5}
"""The third one sends at most so many whole files to both together."""
FILES = {"syncthing": 3, "agent": 1}
"""A Syncthing may ask the third one for all of a file, but hardly for all of each of three: one of them has to be shared."""


class Trio:
    """`third` has the file and sends 3 MiB/s to both together; `ours` is an agent, `other` a Syncthing or another agent."""

    def __init__(self, lab, kind):
        self.third = lab.syncthing("third", options={"maxSendKbps": "3072", "limitBandwidthInLan": "true"})
        self.ours = lab.agent("ours")
        # It asks for all at once otherwise, and tells of it every five seconds.
        self.other = (lab.syncthing("other", options={"progressUpdateIntervalS": "1"}) if kind == "syncthing"
                      else lab.agent("other"))
        lab.introduce(self.ours, self.third, self.other)
        if kind == "syncthing":
            self.third.add_device(self.other.id, self.other.address)
            self.other.add_device(self.third.id, self.third.address)
        else:
            lab.introduce(self.other, self.third)
        # A Syncthing tells a device of its downloads only if it had the folder when that device's ClusterConfig came.
        devices = [self.third, self.other, self.ours]
        self.root = {node: lab.directory(f"{node.name}-{FOLDER}") for node in devices}
        for node in devices:
            others = [device.id for device in devices if device is not node]
            if hasattr(node, "set_folder"):
                node.set_folder(FOLDER, self.root[node], others, pullerMaxPendingKiB=1024)
            else:
                node.add_folder(FOLDER, self.root[node], *others, mode="full")
        self.ours.wait_connected(self.third.id, self.other.id)
        self.third.wait_connected(self.other.id)

    def sent_by_third(self):
        connections = self.third.connections()["connections"]
        return sum(connections[device.id]["outBytesTotal"] for device in (self.ours, self.other))

    def received_from_each_other(self):
        """(bytes that ours has from the other, bytes that the other has from ours)"""
        device = next(d for d in self.ours.status()["devices"] if d["id"] == self.other.id)
        return device["bytesIn"], device["bytesOut"]


@pytest.mark.parametrize("kind", ["syncthing", "agent"])
def test_two_that_download_the_same_file_share_it(lab, kind):
    trio = Trio(lab, kind)
    seen = []
    for number in range(FILES[kind]):
        seen.append(share(trio, f"{NAME}-{number}", number))
        sent, received = seen[-1]
        if sent < SENT[kind] and min(received) > SHARED[kind]:
            return
    assert False, f"files that the third one sent, and bytes that they gave each other: {seen}"


def share(trio, name, seed):
    """A new file, until both have it. How often the third one sent it, and the bytes that each gave the other."""
    data = pattern(SIZE, seed)
    write(os.path.join(trio.root[trio.third], name), data)
    before, given = trio.sent_by_third(), trio.received_from_each_other()
    trio.third.scan(FOLDER)
    for node in (trio.ours, trio.other):
        wait_until(lambda: os.path.exists(os.path.join(trio.root[node], name)), 90, f"{node.name} has the file",
                   child=node)
        assert read(os.path.join(trio.root[node], name)) == data
    received = [now - then for now, then in zip(trio.received_from_each_other(), given)]
    return (trio.sent_by_third() - before) / SIZE, received
