"""Metered connections and batteries: what waits while a policy holds, what comes all the same, and that it goes on by
itself. NetworkManager and UPower are mocks on a bus of this test's own."""

import os
import tempfile

import pytest

from agent import NO_HOLDER
from machine import GUESS_NO, GUESS_YES, NETWORK_MANAGER, NO, UNKNOWN, UPOWER, YES, Machine
from process import wait_until


class Train:
    """`ours` is on the train; `home` has the files and says nothing of its connection."""

    def __init__(self, lab, machine):
        self.machine = machine
        self.ours, self.home = lab.agent("ours", start=False), lab.agent("home")
        self.ours.variables = machine.variables
        # Loopback is a local network; here it is to count.
        self.configure('on-metered = "on-demand-only"\nlocal-network = true')
        self.ours.start()
        lab.introduce(self.ours, self.home)
        self.there = lab.directory("home-f")
        self.here = lab.share(self.ours, "f", self.home, mode="full")
        self.ours.wait_connected(self.home.id)

    def configure(self, text):
        """The lines of `[policies]`, in place of those that are there."""
        path = self.ours.file("config.toml")
        with open(path) as file:
            before, rest = file.read().split("[policies]\n", 1)
        with open(path, "w") as file:
            file.write(f"{before}[policies]\n{text}\n\n[log]{rest.split('[log]', 1)[1]}")
        if self.ours.is_running:
            self.ours.run("reload")

    def write(self, name, size=200_000):
        data = os.urandom(size)
        with open(os.path.join(self.there, name), "wb") as file:
            file.write(data)
        self.home.run("scan", "f")
        return data

    def wait_waiting(self, name):
        """Until a file waits for a policy; gives its entry and what the folder waits for."""
        entry = self.ours.wait_entry(f"f:{name}", lambda e: e is not None and e.get("waiting"))
        folder = wait_until(lambda: self.held(), 20, "the folder waits", child=self.ours)
        return entry["waiting"], folder

    def held(self):
        return next((w for w in self.ours.folder("f")["waits"] if w["reason"] == "policy"), None)

    def wait_here(self, name, data):
        path = os.path.join(self.here, name)

        def is_here():
            try:
                with open(path, "rb") as file:
                    return file.read() == data
            except FileNotFoundError:
                return False
        wait_until(is_here, 30, f"{name} has come", child=self.ours)

    def policies(self):
        return self.ours.document("policy")

    def wait_policies(self, **expected):
        def differs():
            found = self.policies()
            return found if all(found.get(key) == value for key, value in expected.items()) else None
        return wait_until(differs, 20, f"policies: {expected}", child=self.ours)


@pytest.fixture(scope="module")
def train(module_lab):
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory)
        try:
            machine.network(YES)
            machine.power(False, 80)
            yield Train(module_lab, machine)
        finally:
            machine.close()


def test_a_metered_connection_holds_what_is_kept(train):
    train.wait_policies(metered="yes", battery="no")
    holds = wait_until(lambda: train.policies()["holds"], 20, "the policy holds")
    assert holds[0]["restraint"] == "on-demand-only"
    data = train.write("a")
    waiting, folder = train.wait_waiting("a")
    assert "metered" in waiting and "synctrain policy ignore" in waiting
    assert folder["files"] == 1 and folder["bytes"] == len(data) and "metered" in folder["message"]
    assert "synctrain policy ignore --for 1h" in folder["remedy"]
    shown = train.ours.run("status").stdout.decode()
    assert "policy: the connection is metered" in shown and "1 file, 195 KiB, waits" in shown, shown
    assert not os.path.exists(os.path.join(train.here, "a"))
    # What somebody asks for comes.
    assert train.ours.run("cat", "f:a").stdout == data
    assert not os.path.exists(os.path.join(train.here, "a"))
    # The connection is free again: nobody has to say anything.
    train.machine.set_metered(NO)
    train.wait_here("a", data)
    train.ours.wait_state("f", "idle")
    assert train.held() is None and train.policies()["holds"] == []


def test_what_the_bus_says_is_followed(train):
    machine = train.machine
    for said, heard in ((GUESS_YES, "yes"), (GUESS_NO, "no"), (YES, "yes"), (UNKNOWN, "unknown")):
        machine.set_metered(said)
        train.wait_policies(metered=heard, remarks=[])
    machine.end(NETWORK_MANAGER)
    remark = wait_until(lambda: train.policies()["remarks"], 20, "NetworkManager is missed")[0]
    assert "NetworkManager is not running" in remark
    machine.network(GUESS_YES)
    train.wait_policies(metered="yes", remarks=[])
    machine.set_power(True, 41.6)
    train.wait_policies(battery="yes", charge=41.6)
    machine.end(UPOWER)
    train.wait_policies(battery="unknown", charge=None)
    machine.power(False, 100)
    train.wait_policies(battery="no", charge=None, remarks=[])
    machine.set_metered(NO)
    train.wait_policies(metered="no")


def test_a_low_battery_may_stop_everything_until_told_otherwise(train):
    train.configure('on-battery = "pause"\nbattery-below = 30')
    train.machine.set_power(True, 29)
    train.wait_policies(battery="yes", charge=29.0)
    wait_until(lambda: train.policies()["holds"], 20, "the policy holds")
    data = train.write("b")
    train.wait_waiting("b")
    failed = train.ours.try_run("cat", "f:b", "--json")
    assert failed.returncode == NO_HOLDER and b'"held-by-policy"' in failed.stderr and b"battery" in failed.stderr
    # Nor does the other device get anything.
    with open(os.path.join(train.here, "mine"), "wb") as file:
        file.write(b"mine" * 1000)
    train.ours.run("scan", "f")
    wait_until(lambda: train.home.folder("f")["need"]["files"] == 1, 20, "home knows of it", child=train.home)
    assert not os.path.exists(os.path.join(train.there, "mine"))
    # The user decides otherwise for a while.
    train.ours.run("policy", "ignore", "--for", "1h")
    assert train.policies()["ignored"] and train.policies()["ignoredUntil"]
    train.wait_here("b", data)
    wait_until(lambda: os.path.exists(os.path.join(train.there, "mine")), 30, "home has it", child=train.home)
    train.ours.run("policy", "apply")
    assert not train.policies()["ignored"]
    data = train.write("c")
    train.wait_waiting("c")
    train.machine.set_power(True, 31)
    train.wait_here("c", data)


def test_without_a_bus_nothing_is_held(lab, train):
    agent = lab.agent("alone", start=False)
    agent.variables = {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=" + lab.path("no-bus")}
    agent.start()
    known = wait_until(lambda: "no system bus" in agent.document("policy")["remarks"][0] and agent.document("policy"),
                       20, "the agent has looked", child=agent)
    assert (known["metered"], known["battery"], known["holds"]) == ("unknown", "unknown", [])
