"""What of a folder goes over Bluetooth, as the user has set it: over a virtual radio, by what is on the disks."""

import json
import os

import pytest

import agent as cli
import harness
from process import free_port, wait_until
from radio import Radio

SMALL, LARGE = 20_000, 60_000
LIMIT = "50KB"


def write(root, files):
    for name, size in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(harness.pattern(size))


class Pair:
    """`far` keeps all of a folder, `near` what it selects, or all; they have a radio, and far a port of a network."""

    def __init__(self, lab, near_mode="selective"):
        self.lab, self.radio = lab, Radio(lab, speed=4)
        self.far, self.near = self.radio.join("far", tcp=True), self.radio.join("near")
        self.far_root, self.near_root = lab.directory("far-docs"), lab.path("near-docs")
        write(self.far_root, {"small": SMALL, "large": LARGE, "other": SMALL + 1})
        self.far.add_device(self.near.id, "near")
        self.far.add_folder("docs", self.far_root, self.near.id, mode="full")
        self.near_mode = near_mode

    def join(self, *settings):
        """`near` shares the folder with these settings, and then knows the other device."""
        near = self.near
        near.add_folder("docs", self.near_root, mode=self.near_mode)
        near.run("folder", "bluetooth", "docs", *settings)
        near.add_device(self.far.id, "far", "virtual://far")
        near.run("folder", "add", "docs", self.near_root, "--device", self.far.id, "--mode", self.near_mode)
        near.wait_connected(self.far.id)
        return near

    def plug_in(self):
        """From now on there is a network."""
        self.near.run("device", "add", self.far.id, "--address", self.far_tcp, "--address", "virtual://far")
        wait_until(lambda: self.near.status()["devices"][0].get("transport") == "tcp-lan", 60, "the link is on the network")

    @property
    def far_tcp(self):
        return f"tcp://127.0.0.1:{self.far.port}"

    @property
    def here(self):
        return set(harness.walk(self.near_root)) if os.path.isdir(self.near_root) else set()

    def settled(self, condition, what):
        wait_until(lambda: condition(self.near.folder("docs")), 40, what, child=self.near)
        return self.near.folder("docs")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def test_what_is_larger_than_the_limit_waits_for_a_network(lab):
    pair = Pair(lab)
    near = pair.join("all", "--limit", LIMIT)
    near.wait_global("docs", 3)
    near.run("select", "docs:small", "docs:large")
    folder = pair.settled(lambda f: f.get("waiting") and f["need"]["files"] == 1, "the large file waits")
    assert (folder["waiting"]["files"], folder["waiting"]["bytes"]) == (1, LARGE)
    assert "bluetooth-limit (50 KB)" in folder["waiting"]["message"]
    assert (folder["bluetooth"], folder["bluetoothLimit"]) == ("all", 50_000)
    assert (folder["errors"], pair.here) == (0, {"small"})
    entries = near.tree("docs")
    assert "bluetooth-limit" in entries["large"]["waiting"]
    assert "waiting" not in entries["small"] and "waiting" not in entries["other"]
    assert "waits for a network" in near.run("ls", "-l", "docs:").stdout.decode()
    assert "bluetooth-limit" in near.run("status").stdout.decode()

    # A person asks for it: it goes, since it was asked for.
    near.run("fetch", "docs:large", "-o", lab.path("out"))
    assert content(lab.path("out")) == harness.pattern(LARGE)
    assert "large" not in pair.here
    # With a network nothing waits any more.
    pair.plug_in()
    near.run("wait", "docs", "--timeout", "60")
    assert content(os.path.join(pair.near_root, "large")) == harness.pattern(LARGE)
    assert "waiting" not in near.folder("docs")


def test_a_limit_that_is_raised_takes_effect_at_once(lab):
    pair = Pair(lab)
    near = pair.join("all", "--limit", LIMIT)
    near.wait_global("docs", 3)
    near.run("select", "docs:large")
    pair.settled(lambda f: f.get("waiting"), "the large file waits")
    near.run("folder", "bluetooth", "docs", "--limit", "0")
    near.run("wait", "docs", "--timeout", "60")
    assert content(os.path.join(pair.near_root, "large")) == harness.pattern(LARGE)
    assert near.status()["devices"][0]["transport"] == "l2cap"


def test_what_is_selected_and_what_is_asked_for(lab):
    """A folder that keeps everything gets nothing by itself, and what a person asks for; one that selects gets that."""
    pair = Pair(lab, near_mode="full")
    near = pair.join("selected-and-on-demand")
    folder = pair.settled(lambda f: f.get("waiting", {}).get("files") == 3, "all of it waits")
    assert "only selected or requested files" in folder["waiting"]["message"]
    assert pair.here == set()
    near.run("fetch", "docs:small")
    assert pair.here == {"small"} and content(os.path.join(pair.near_root, "small")) == harness.pattern(SMALL)
    near.run("folder", "mode", "docs", "selective")
    near.run("select", "docs:other")
    near.run("wait", "docs", "--timeout", "60")
    assert pair.here == {"small", "other"}


def test_the_index_alone(lab):
    pair = Pair(lab)
    near = pair.join("index-only")
    near.wait_global("docs", 3)
    near.run("select", "docs:small")
    pair.settled(lambda f: f.get("waiting", {}).get("files") == 1, "the file waits")
    refused = near.try_run("fetch", "docs:small", "-o", lab.path("out"), "--json")
    assert refused.returncode == cli.FAILED or refused.returncode == cli.NO_HOLDER
    failure = next(r for r in cli.records(refused.stdout) if r["type"] == "failed")
    assert failure["error"]["code"] == "kept-off-bluetooth"
    assert "synctrain folder bluetooth docs selected-and-on-demand" in failure["error"]["message"]
    assert not os.path.exists(lab.path("out")) and pair.here == set()
    before = pair.radio.carried("far", "near")
    # Nothing is served either: the far side, which may ask, gets nothing of what is here.
    write(pair.near_root, {"small": SMALL})
    near.run("select", "docs:mine")
    # Not the bytes of another file: those the far side would find on its own disk.
    with open(os.path.join(pair.near_root, "mine"), "wb") as file:
        file.write(harness.pattern(SMALL)[::-1])
    near.run("scan", "docs")
    pair.far.wait_global("docs", 4)
    wait_until(lambda: pair.far.folder("docs")["need"]["files"] == 1, 20, "the far side needs it")
    assert not os.path.exists(os.path.join(pair.far_root, "mine"))
    assert pair.radio.carried("near", "far") < 2 * SMALL
    assert pair.radio.carried("far", "near") - before < SMALL
    pair.plug_in()
    wait_until(lambda: os.path.exists(os.path.join(pair.far_root, "mine")), 60, "over the network it comes")


@pytest.mark.parametrize("where", ["near", "far", "device"])
def test_off_is_not_spoken_of(lab, where):
    """Neither end hears of the folder while one of them keeps it off; a network brings it."""
    pair = Pair(lab)
    if where == "far":
        pair.far.run("folder", "bluetooth", "docs", "off")
        near = pair.join("all")
    elif where == "near":
        near = pair.join("off")
    else:
        pair.far.run("device", "bluetooth", "near", "off")
        near = pair.join("all")
    # What is shared otherwise goes: a second folder, so that there is something to wait for.
    write(lab.directory("far-open"), {"open": 1})
    if where != "device":
        pair.far.add_folder("open", lab.path("far-open"), near.id, mode="full")
        near.add_folder("open", lab.path("near-open"), pair.far.id)
        near.wait_global("open", 1)
    assert near.folder("docs")["global"]["files"] == 0
    pending = near.records("folder", "list", "--pending")
    assert [f["id"] for f in pending] == []
    pair.plug_in()
    near.wait_global("docs", 3)


def test_settings_stand_in_the_configuration(lab):
    """Without an agent, too; comments stay."""
    agent = lab.agent("one", start=False)
    agent.add_folder("docs", lab.directory("docs"))
    agent.run("folder", "bluetooth", "docs", "index-only", "--limit", "3MB")
    with open(agent.file("config.toml")) as file:
        text = file.read()
    assert 'bluetooth = "index-only"' in text and 'bluetooth-limit = "3 MB"' in text
    agent.start()
    folder = agent.folder("docs")
    assert (folder["bluetooth"], folder["bluetoothLimit"]) == ("index-only", 3_000_000)
    assert agent.try_run("folder", "bluetooth", "docs", "perhaps").returncode == cli.USAGE
    assert agent.try_run("folder", "bluetooth", "nothing", "all").returncode == cli.NO_SUCH
    assert json.loads(agent.run("status", "--json").stdout)["folders"][0]["bluetooth"] == "index-only"
