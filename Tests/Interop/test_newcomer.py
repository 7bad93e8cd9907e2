"""From the installed package to the first file, as somebody new types it: how many commands and characters that takes.

The lab's own options (where the agent listens, no discovery) are not counted: a newcomer does not type them.
"""

import os
import re

import pytest

from harness import read, write
from process import wait_until
from test_setup import Setup

COMMAND_LIMIT = 8


class Newcomer:
    """One person at the terminals of their devices."""

    def __init__(self, capsys):
        self.commands, self.answers, self.characters, self.capsys = [], 0, 0, capsys

    def note(self, agent, arguments):
        self.commands.append(" ".join(("synctrain", *arguments)))
        self.characters += len(self.commands[-1]) + 1

    def types(self, agent, *arguments, lab=()):
        """A command; returns all that it printed."""
        self.note(agent, arguments)
        result = agent.run(*arguments, *lab)
        return (result.stdout + result.stderr).decode()

    def begins_setup(self, agent, *arguments):
        self.note(agent, ("setup", *arguments))
        return Setup(agent, *arguments, "--listen", agent.address[len("tcp://"):], "--no-discovery")

    def answers_with(self, setup, question, line):
        self.answers += 1
        self.characters += len(line) + 1
        setup.answer(question, line)

    def says(self, what, commands, characters):
        with self.capsys.disabled():
            print(f"\n{what}: {len(self.commands)} commands, {self.answers} answers, {self.characters} characters typed")
            for command in self.commands:
                print(f"  {re.sub('[A-Z0-9]{7}(-[A-Z0-9]{7}){7}', 'DEVICE-ID', command[:100])}")
        assert len(self.commands) <= commands <= COMMAND_LIMIT, self.commands
        assert self.characters <= characters


@pytest.fixture
def newcomer(capsys):
    return Newcomer(capsys)


def lab_options(agent):
    return "--listen", agent.address, "--no-discovery"


def nas_with_songs(lab):
    nas = lab.syncthing("nas")
    there = lab.folder_path(nas, "library")
    write(os.path.join(there, "Songs/b.txt"), b"a song")
    write(os.path.join(there, "Films/a.bin"), b"x" * 300_000)
    return nas, there


def accept(nas, there, agent):
    """What is done in the GUI of the NAS."""
    nas.add_device(agent.id, agent.address, name="laptop")
    nas.set_folder("library", there, [agent.id], label="Library")
    nas.wait_scanned("library", 2)


def test_with_a_nas_by_setup(lab, newcomer):
    (nas, there), laptop = nas_with_songs(lab), lab.agent("laptop", start=False, init=False)
    os.makedirs(laptop.home)
    setup = newcomer.begins_setup(laptop)
    try:
        newcomer.answers_with(setup, "Name of this device [", "laptop")
        newcomer.answers_with(setup, "id of the other device", nas.id)
        newcomer.answers_with(setup, "Its address", f"127.0.0.1:{nas.port}")
        newcomer.answers_with(setup, "A name for it [", "nas")
        setup.expect("to accept this device.")
        accept(nas, there, laptop)
        here = lab.path("here")
        newcomer.answers_with(setup, "Which ones?", "1")
        newcomer.answers_with(setup, "Directory for Library", here)
        newcomer.answers_with(setup, "Keep which directories here?", "2")
        setup.expect("Everything selected is here.")
        assert setup.wait()[0] == 0
        assert read(os.path.join(here, "Songs/b.txt")) == b"a song"
    finally:
        setup.kill()
        laptop.try_run("agent", "stop")
    newcomer.says("a Syncthing NAS, by setup", commands=1, characters=300)


def test_with_a_nas_by_single_commands(lab, newcomer):
    """Each command is named by the output before it."""
    (nas, there), laptop = nas_with_songs(lab), lab.agent("laptop", start=False, init=False)
    os.makedirs(laptop.home)
    here = lab.path("here")
    try:
        newcomer.types(laptop, "init", "--name", "laptop", lab=lab_options(laptop))
        told = newcomer.types(laptop, "agent", "start")
        assert "The agent is running." in told and "device add DEVICE-ID`" in told, told
        told = newcomer.types(laptop, "device", "add", nas.id, "--name", "nas", "--address", nas.address)
        assert "Add this device there too" in told, told
        accept(nas, there, laptop)
        wait_until(lambda: laptop.document("folder", "list", "--pending")["folders"], 30, "the folder is offered")
        # What `synctrain` alone shows on a terminal; here as JSON, for want of one.
        told = newcomer.types(laptop, "--json")
        assert "folder add library ~/Library/Library`" in told, told
        told = newcomer.types(laptop, "folder", "add", "library", here)
        assert "synctrain select library:PATH`" in told, told
        laptop.wait_global("library", 2)
        newcomer.types(laptop, "select", "library:Songs")
        newcomer.types(laptop, "wait", "library")
        assert read(os.path.join(here, "Songs/b.txt")) == b"a song"
        assert sorted(name for name in os.listdir(here) if not name.startswith(".st")) == ["Songs"]
    finally:
        laptop.try_run("agent", "stop")
    newcomer.says("a Syncthing NAS, by single commands", commands=7, characters=400)


def test_with_two_synctrains(lab, newcomer):
    """Both are new; the first has the files."""
    desktop = lab.agent("desktop", start=False, init=False)
    laptop = lab.agent("laptop", start=False, init=False)
    for agent in (desktop, laptop):
        os.makedirs(agent.home)
    there, here = lab.path("there"), lab.path("here")
    write(os.path.join(there, "Songs/b.txt"), b"a song")
    write(os.path.join(there, "Films/a.bin"), b"x" * 300_000)
    try:
        newcomer.types(desktop, "init", "--name", "desktop", lab=lab_options(desktop))
        assert "synctrain" in newcomer.types(desktop, "agent", "start")
        newcomer.types(desktop, "folder", "add", "library", there, "--mode", "full")
        assert "not shared: `synctrain folder share library DEVICE`" in desktop.run("status").stdout.decode()
        told = newcomer.types(desktop, "invite", "library")
        code = told.split()[0]
        assert "synctrain join CODE" in told
        setup = newcomer.begins_setup(laptop, code)
        try:
            newcomer.answers_with(setup, "Name of this device [", "laptop")
            newcomer.answers_with(setup, "Where to create the folder's directory [~/Library]: ", here)
            setup.expect("Added device desktop.")
            newcomer.answers_with(setup, "Keep which directories here?", "2")
            setup.expect("Everything selected is here.")
            assert setup.wait()[0] == 0
        finally:
            setup.kill()
        assert read(os.path.join(here, "library/Songs/b.txt")) == b"a song"
        assert "not shared" not in desktop.run("status").stdout.decode()
    finally:
        desktop.try_run("agent", "stop")
        laptop.try_run("agent", "stop")
    newcomer.says("two synctrain devices", commands=5, characters=500)


def test_sharing_later(lab):
    """`folder share` and `unshare`, with and without a running agent."""
    desktop, laptop = lab.agent("desktop"), lab.agent("laptop")
    lab.introduce(desktop, laptop)
    path = lab.path("docs")
    write(os.path.join(path, "a.txt"), b"hello")
    desktop.run("folder", "add", "docs", path, "--mode", "full")
    assert desktop.run("folder", "share", "docs", laptop.id).stdout.startswith(b"Folder docs is shared with ")
    desktop.run("folder", "share", "docs", laptop.id)
    assert desktop.folder("docs")["devices"] == [laptop.id]
    wait_until(lambda: laptop.document("folder", "list", "--pending")["folders"], 30, "the folder is offered")
    here = lab.path("docs-here")
    laptop.run("folder", "add", "docs", here, "--mode", "full")
    wait_until(lambda: os.path.exists(os.path.join(here, "a.txt")), 30, "the file arrives")
    assert desktop.document("folder", "unshare", "docs", laptop.id)["message"].startswith("Folder docs is not shared")
    desktop.run("folder", "unshare", "docs", laptop.id)
    assert desktop.folder("docs")["devices"] == []
    assert any(wait["reason"] == "unshared" for wait in desktop.folder("docs")["waits"])
    assert read(os.path.join(here, "a.txt")) == read(os.path.join(path, "a.txt")) == b"hello"
    for arguments in (("share", "nope", laptop.id), ("share", "docs", "nope"), ("unshare", "docs", "nope")):
        assert desktop.try_run("folder", *arguments).returncode == 4, arguments
    desktop.stop()
    desktop.run("folder", "share", "docs", laptop.id)
    assert desktop.document("folder", "get", "docs", "devices")["values"] == [laptop.id]
