"""`synctrain` alone on a terminal: the status and the next step, live until q or Ctrl-C."""

import os
import signal
import termios

import pytest

import agent as cli
from pairing import PairCommand
from process import wait_until


class Alone(PairCommand):
    WORDS = ()

    def is_as_before(self):
        """Whether what is typed is shown, and handed over by lines."""
        wanted = termios.ECHO | termios.ICANON
        return termios.tcgetattr(self._master)[3] & wanted == wanted

    def last(self):
        """What was drawn last."""
        return self.text.split("\x1b[H")[-1]


@pytest.fixture
def alone():
    commands = []

    def start(agent):
        commands.append(Alone(agent, terminal=True))
        return commands[-1]

    yield start
    for command in commands:
        command.kill()


@pytest.mark.parametrize("end", ["q", "Ctrl-C", "agent"])
def test_it_is_live_until_it_is_ended(lab, alone, end):
    agent = lab.agent()
    command = alone(agent)
    # What is drawn ends with this line.
    shown = wait_until(lambda: "Live; q or Ctrl-C ends." in (text := command.last()) and text, what="the first state")
    assert "Folders" in shown and "Next" in shown and "synctrain" in shown
    assert not command.is_as_before(), "keys are handed over at once"
    agent.run("folder", "add", "photos", lab.path("photos"))
    wait_until(lambda: "photos" in command.last(), what="the new folder")
    if end == "q":
        command.type("xq")
    elif end == "Ctrl-C":
        os.kill(command.process.pid, signal.SIGINT)
    else:
        agent.stop()
    code, text = command.wait()
    assert code == (130 if end == "Ctrl-C" else 0), text
    assert "photos" in command.last(), "the last state stays"
    assert command.is_as_before()
    assert ("agent start" in command.last()) == (end == "agent"), "what starts it again"


@pytest.mark.parametrize("is_set_up", [True, False])
def test_without_an_agent_it_says_the_next_step_and_ends(lab, alone, is_set_up):
    agent = lab.agent(start=False, init=is_set_up)
    code, text = alone(agent).wait()
    assert code == 0 and "\x1b[H" not in text
    assert ("agent start" if is_set_up else "setup") in text


def test_in_a_pipe_it_is_the_help_and_status_once(lab):
    agent = lab.agent()
    assert agent.run().stdout.startswith(b"OVERVIEW:")
    assert agent.run("overview").stdout.count(b"Folders") == 1
    assert agent.try_run("overview", "--json").returncode == cli.DONE
