"""A virtual Bluetooth LE radio as a process, and agents that have nothing else."""

import json
import os
import socket

from agent import find_program
from process import Child, wait_until


class Radio(Child):
    """`synctrain virtual-air`: agents that were made with `join` are on it."""

    def __init__(self, lab, *settings, speed=1):
        super().__init__("radio", lab.path("radio.log"))
        self.lab, self.path = lab, lab.path("air")
        options = [option for setting in settings for option in ("--set", setting)]
        self.spawn([find_program(), "virtual-air", self.path, "--speed", str(speed), *options])
        wait_until(lambda: os.path.exists(self.path), 20, "the radio plays", child=self)

    def join(self, name, start=True, tcp=False):
        """An agent that listens on virtual://NAME, and at its port of a network only with `tcp`."""
        agent = self.lab.agent(name, start=False, init=False)
        agent.address = f"virtual://{name}"
        agent.variables["SYNCTRAIN_VIRTUAL_AIR"] = self.path
        agent.init(*["--listen", f"tcp://127.0.0.1:{agent.port}"] if tcp else [])
        return agent.start() if start else agent

    def ask(self, line):
        """Says a line to the air and returns what it answers, without the word `done`."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.sendall(line.encode() + b"\n")
            answer = connection.makefile().readline().rstrip("\n")
        word, _, rest = answer.partition(" ")
        if word != "done":
            raise RuntimeError(f"{line}: {answer}")
        return rest

    def set(self, **settings):
        for name, value in settings.items():
            self.ask(f"set {name.replace('_', '-')} {value}")

    def set_signal(self, name, strength):
        """How strong the agent's signal is, in dBm; below -100 it is out of range."""
        self.ask(f"signal {name} {strength}")

    def cut(self):
        """Ends all connections; their number."""
        return int(self.ask("cut"))

    @property
    def statistics(self):
        return json.loads(self.ask("statistics"))

    def carried(self, sender, receiver, what="frameBytes"):
        return self.statistics["directions"].get(f"{sender}>{receiver}", {}).get(what, 0)
