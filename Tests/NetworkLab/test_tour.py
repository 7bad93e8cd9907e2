"""What docs/tour.md shows of two devices that share no network, from `init` to `fetch`: its commands, run in two homes, answer what it
says. `python3 Tests/NetworkLab/test_tour.py` prints the section's commands with what they answer now."""

import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../Interop")]

import netlab  # noqa: E402
from agent import find_program  # noqa: E402
from nodes import without_proxies  # noqa: E402

TITLE = "## Two devices that share no network\n"
ID = re.compile(r"\b[A-Z2-7]{7}(?:-[A-Z2-7]{7}){7}\b")
QUESTIONS = re.compile(r"synctrain (device list|folder list|ls|reach)\b")
"""They are asked until they answer what is written, as somebody does who looks a moment later."""
PATIENCE = 30
VARIABLE = [(re.compile(pattern), text) for pattern, text in (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME"), (r"\b\d+(\.\d)? (s|ms)\b", r"N \2"), (r"\d+(\.\d)? (B|KiB|MiB)(/s)?", "SIZE"))]


def steps():
    """(device, command, what it answers) as the tour has them."""
    with open(os.path.join(HERE, "../../docs/tour.md")) as file:
        section = file.read().split(TITLE)[1].split("\n## ")[0]
    found = []
    for line in re.search(r"```\n(.*?)```", section, re.DOTALL)[1].splitlines():
        prompt = re.fullmatch(r"(nas|laptop)\$ (.*)", line)
        if prompt:
            found.append([prompt[1], prompt[2], []])
        else:
            found[-1][2].append(line)
    return [(device, command, "\n".join(lines)) for device, command, lines in found]


class Ids:
    """The ids of the tour and those of this run, which are other keys."""

    def __init__(self):
        self.real = {}

    def learn(self, written, answered):
        for old, new in zip(ID.findall(written), ID.findall(answered)):
            self.real.setdefault(old, new)

    def of_this_run(self, text):
        for old, new in self.real.items():
            text = text.replace(old, new)
            text = re.sub(rf"\b{old[:7]}\b(?!-)", new[:7], text)
        return text


def without_what_varies(text):
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    return [" ".join(line.split()) for line in text.splitlines()]


class Tour:
    def __init__(self, lab):
        self.lab, self.ids = lab, Ids()
        self.homes = {"nas": lab.home_a, "laptop": lab.home_b}
        for device in self.homes:
            os.makedirs(self.path(device))
        for name, content in (("docs/tickets.txt", b"two tickets"), ("films/bridge.mkv", os.urandom(24 << 20))):
            path = self.path("nas", "Library", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def path(self, device, *names):
        return os.path.join(self.lab.root, "users", device, *names)

    def run(self, device, command):
        """What the user of the device sees, whose home directory is shown as `/home/anna`."""
        home = self.path(device)
        kept = {name: value for name, value in without_proxies(os.environ).items() if not name.startswith(("XDG_", "SYNCTRAIN"))}
        programs = os.path.dirname(find_program())
        environment = {**kept, "HOME": home, "PATH": f"{programs}:{os.environ['PATH']}", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        result = self.homes[device].run(["bash", "-c", command], check=False, env=environment, cwd=home)
        return (result.stdout + result.stderr).replace(home, "/home/anna").rstrip("\n")

    def walk(self):
        """For each step: device, the command as it was run, what was expected, and what it answered."""
        for device, command, written in steps():
            for option, real in (("discovery-server", self.lab.discovery), ("relay", self.lab.relay)):
                for value in re.findall(rf"--{option} (\S+)", command):
                    self.ids.learn(value, real)
            command = self.ids.of_this_run(command)
            end = time.monotonic() + PATIENCE
            while True:
                answered = self.run(device, command)
                self.ids.learn(written, answered)
                expected = self.ids.of_this_run(written)
                is_met = without_what_varies(answered) == without_what_varies(expected)
                if is_met or not QUESTIONS.match(command) or time.monotonic() > end:
                    break
                time.sleep(0.2)
            yield device, command, expected, answered


def test_the_tour_from_init_to_fetch(network):
    lab = network(nat_a="symmetric", nat_b="restricted", servers=("discovery", "relay"))
    tour = Tour(lab)
    for device, command, expected, answered in tour.walk():
        assert without_what_varies(answered) == without_what_varies(expected), f"{device}$ {command}\n{answered}"
    with open(tour.path("laptop", "tickets.txt"), "rb") as file:
        assert file.read() == b"two tickets"
    assert lab.relay_status()["bytesProxied"] > 0


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    with netlab.NetworkLab(nat_a="symmetric", nat_b="restricted", servers=("discovery", "relay")) as laboratory:
        for step in Tour(laboratory).walk():
            print(f"{step[0]}$ {step[1]}", *filter(None, [step[3]]), sep="\n", flush=True)
