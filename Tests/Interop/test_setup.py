"""`synctrain setup` at a terminal: from nothing to a first file, with a real Syncthing."""

import os
import re

from agent import NEEDS_YES
from pairing import PairCommand
from process import wait_until


class Setup(PairCommand):
    """The command at a terminal, with a look at what it has printed since the last answer."""

    WORDS = ("setup",)

    def __init__(self, agent, *arguments):
        super().__init__(agent, *arguments, terminal=True)
        self.start = 0

    def expect(self, words, timeout=30):
        wait_until(lambda: words in self.text[self.start:], timeout, f"{words!r} in {self.text[self.start:]!r}")
        self.start = self.text.index(words, self.start) + len(words)

    def answer(self, question, line):
        self.expect(question)
        self.type(line + "\n")


def test_from_nothing_to_a_first_file(lab):
    node = lab.syncthing("nas")
    agent = lab.agent("laptop", start=False, init=False)
    there = lab.folder_path(node, "library")
    for name, size in (("Films/a.bin", 300_000), ("Songs/b.txt", 5), ("top.txt", 3)):
        os.makedirs(os.path.dirname(os.path.join(there, name)), exist_ok=True)
        with open(os.path.join(there, name), "wb") as file:
            file.write(b"x" * size)
    os.makedirs(agent.home, exist_ok=True)
    refused = agent.try_run("setup")
    assert refused.returncode == NEEDS_YES and b"--yes" in refused.stderr and os.listdir(agent.home) == []
    setup = Setup(agent, "--listen", agent.address[len("tcp://"):], "--no-discovery")
    try:
        setup.answer("Name of this device [", "laptop")
        setup.expect("The agent runs in the background.")
        setup.answer("Number or id of the other device", "nonsense")
        setup.expect('"nonsense" is not a device id')
        setup.answer("Number or id of the other device", node.id.lower())
        setup.answer("Its address, if it is not found by itself [dynamic]: ", f"127.0.0.1:{node.port}")
        setup.answer("A name for it [", "nas")
        setup.expect("Waiting for nas (")
        setup.expect("to accept this device.")
        setup.expect(agent.id)
        assert agent.status()["devices"][0]["addresses"] == [node.address]
        node.add_device(agent.id, agent.address, name="laptop")
        setup.expect("Connected to nas.")
        setup.expect("shares no new folder with this device")
        node.set_folder("library", there, [agent.id], label="My Library")
        node.wait_scanned("library", 3)
        setup.expect("My Library")
        setup.answer("Which ones?", "1")
        here = lab.path("here")
        setup.answer("[~/Library/My Library]: ", here)
        setup.expect("library: 3 files, ")
        setup.answer("Keep which directories here?", "5")
        assert re.search(r"1  Films/ +293 KiB +1 file", setup.text)
        setup.answer("Keep which directories here?", "2")
        setup.expect("library: ready, 1 file, 5 B")
        setup.expect("Everything selected is here.")
        code, text = setup.wait()
        assert code == 0, text
        with open(os.path.join(here, "Songs/b.txt")) as file:
            assert file.read() == "xxxxx"
        assert sorted(name for name in os.listdir(here) if not name.startswith(".st")) == ["Songs"]
        assert agent.folder("library")["label"] == "My Library"
        # Run again, it has nothing to ask.
        again = Setup(agent)
        again.expect("Everything selected is here.")
        assert again.wait()[0] == 0
    finally:
        setup.kill()
        agent.try_run("agent", "stop")
