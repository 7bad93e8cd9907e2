"""Devices that do not know each other meet at a relay: a real one, on this machine, and nothing else between them."""

import os
import re
import shutil

import pytest

from harness import read, write
from process import Child, free_port, wait_until

pytestmark = pytest.mark.skipif(not shutil.which("strelaysrv"), reason="no strelaysrv")


@pytest.fixture
def relay(tmp_path):
    """The address of a relay."""
    port = free_port()
    log = str(tmp_path / "relay.log")
    child = Child("relay", log)
    child.spawn(["strelaysrv", "-listen", f"127.0.0.1:{port}", "-keys", str(tmp_path), "-pools", "", "-status-srv", ""],
                cwd=str(tmp_path))
    found = []

    def is_up():
        found[:] = re.findall(r"relay://\S*[?&]id=([A-Z2-7-]+)", child.log_tail())
        return bool(found)

    wait_until(is_up, what="the relay says its id", child=child)
    yield f"relay://127.0.0.1:{port}/?id={found[0]}"
    child.terminate(5)


def relayed(lab, name, relay, joins):
    """Listens on no port; joins the relay, or only dials through it."""
    agent = lab.agent(name, start=False)
    path = agent.file("config.toml")
    with open(path) as file:
        text = file.read()
    text = re.sub(r"(?m)^listen = .*$", "listen = []", text, count=1)
    head, rest = text.split("[relays]", 1)
    rest = re.sub(r"(?m)^enabled = .*$", "enabled = true", rest, count=1)
    rest = re.sub(r"(?m)^servers = .*$", f'servers = ["{relay}"]' if joins else "servers = []", rest, count=1)
    with open(path, "w") as file:
        file.write(head + "[relays]" + rest)
    agent.start()
    if joins:
        wait_until(lambda: any(r["state"] == "joined" for r in agent.document("reach")["relays"]), 20,
                   f"{name} joins the relay", child=agent)
    return agent


def test_one_that_was_added_on_one_side_only_is_pending(lab, relay):
    here, there = relayed(lab, "here", relay, True), relayed(lab, "there", relay, False)
    there.add_device(here.id, "here", relay)
    wait_until(lambda: [d["id"] for d in here.records("device", "list", "--pending")] == [there.id], 30, "it is pending")
    here.add_device(there.id, "there")
    # Refused once, it tries again after a minute.
    here.wait_connected(there.id, timeout=90)


def test_an_invitation_is_used_over_a_relay(lab, relay):
    host, guest = relayed(lab, "host", relay, True), relayed(lab, "guest", relay, False)
    path = lab.share(host, "docs", mode="full")
    write(os.path.join(path, "a.txt"), b"hello")
    code = host.run("invite", "docs", "-q").stdout.decode().strip()
    place = lab.path("guest-docs")
    assert guest.document("join", code, place, "--mode", "full")["device"] == host.id
    wait_until(lambda: os.path.exists(os.path.join(place, "a.txt")), 30, "the file arrives")
    assert read(os.path.join(place, "a.txt")) == b"hello"
