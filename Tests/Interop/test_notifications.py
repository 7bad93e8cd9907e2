"""Notifications on the desktop: a session bus of our own with python3-dbusmock's notification daemon on it."""

import json
import os
import shutil
import sys
import tempfile

import dbus
import pytest
from bus import Browser, Bus
from process import Child, wait_until

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Desktop:
    """A session bus; `begin` has the notification daemon come."""

    def __init__(self, directory):
        self.directory = directory
        self.bus = Bus(directory, "session")
        self.variables, self.connection = self.bus.variables, self.bus.connection
        self.daemon = None

    def begin(self, *parameters):
        self.daemon = Child("notification-daemon", os.path.join(self.directory, "daemon.log"))
        self.daemon.spawn([sys.executable, "-m", "dbusmock", "--session", "--template", "notification_daemon", *parameters],
                          env={**os.environ, **self.variables})
        self.bus.wait_owner(NAME, self.daemon)

    @property
    def shown(self):
        """The calls of `Notify`: `(application, number of the one that it replaces, summary, body, urgency)`."""
        mock = dbus.Interface(self.connection.get_object(NAME, PATH, introspect=False), "org.freedesktop.DBus.Mock")
        return [(str(a[0]), int(a[1]), str(a[3]), str(a[4]), int(a[6]["urgency"]))
                for _, method, a in mock.GetCalls() if method == "Notify"]

    @property
    def actions(self):
        """What a click does, by the summary."""
        mock = dbus.Interface(self.connection.get_object(NAME, PATH, introspect=False), "org.freedesktop.DBus.Mock")
        return {str(a[3]): [str(action) for action in a[5]] for _, method, a in mock.GetCalls() if method == "Notify"}

    def click(self, number, action="default"):
        """As the daemon says that notification `number` was clicked; it counts them from 1."""
        mock = dbus.Interface(self.connection.get_object(NAME, PATH, introspect=False), "org.freedesktop.DBus.Mock")
        mock.EmitSignal(NAME, "ActionInvoked", "us", [dbus.UInt32(number), action], signature="sssav")

    def summaries(self):
        return [summary for _, _, summary, _, _ in self.shown]

    def close(self):
        if self.daemon:
            self.daemon.kill()
        self.bus.close()


@pytest.fixture
def desktop():
    directory = tempfile.mkdtemp(prefix="st-bus-")
    desktop = Desktop(directory)
    yield desktop
    desktop.close()
    shutil.rmtree(directory, ignore_errors=True)


def agent_on(lab, desktop, name="laptop"):
    agent = lab.agent(name, start=False)
    agent.variables.update(desktop.variables)
    return agent.start()


def test_a_device_that_wants_to_connect_and_a_folder_that_stops(lab, desktop):
    desktop.begin()
    agent = agent_on(lab, desktop)
    path = lab.directory("docs")
    agent.add_folder("docs", path, mode="full")
    with open(os.path.join(path, "a.txt"), "w") as file:
        file.write("a")
    agent.run("scan", "docs")
    # Its name is shown as text, whatever it is.
    stranger = lab.agent("<i>stranger", start=False)
    stranger.add_device(agent.id, "laptop", agent.address)
    stranger.start()
    wait_until(lambda: "<i>stranger wants to connect" in desktop.summaries(), 40, "the device is told of", child=agent)
    # At once for the agent: the marker goes before the directory.
    agent.suspend()
    shutil.rmtree(path)
    agent.resume()
    agent.try_run("scan", "docs")
    wait_until(lambda: "docs has stopped syncing" in desktop.summaries(), 40, "the folder is told of", child=agent)
    urgencies = {summary: urgency for _, _, summary, _, urgency in desktop.shown}
    assert urgencies == {"<i>stranger wants to connect": 1, "docs has stopped syncing": 2}
    bodies = {summary: body for _, _, summary, body, _ in desktop.shown}
    assert bodies["docs has stopped syncing"] == agent.folder("docs")["message"]
    assert all(application == "synctrain" and replaced == 0 for application, replaced, *_ in desktop.shown)


def test_a_setting_ends_them(lab, desktop):
    desktop.begin()
    agent = lab.agent("laptop", start=False)
    agent.variables.update(desktop.variables)
    agent.run("config", "set", "notifications.enabled", "false")
    agent.start()
    quiet, heard = lab.agent("quiet", start=False), lab.agent("heard", start=False)
    quiet.add_device(agent.id, "laptop", agent.address)
    quiet.start()
    wait_until(lambda: agent.status()["pending"] == 1, 20, "it waits", child=agent)
    # What was not told of is not told of later.
    agent.stop()
    agent.run("config", "set", "notifications.enabled", "true")
    agent.start()
    heard.add_device(agent.id, "laptop", agent.address)
    heard.start()
    wait_until(lambda: desktop.summaries() == ["heard wants to connect"], 40, "the second is told of", child=agent)


def test_a_desktop_without_a_daemon_is_no_problem(lab, desktop):
    agent = agent_on(lab, desktop)
    stranger = lab.agent("stranger", start=False)
    stranger.add_device(agent.id, "laptop", agent.address)
    stranger.start()
    wait_until(lambda: "notifications cannot be shown" in agent.log_tail(), 40, "the log says why", child=agent)
    assert agent.status()["problems"] == []
    agent.stop()


def test_a_click_opens_the_page_at_what_the_notification_is_about(lab, desktop, tmp_path):
    browser = Browser(tmp_path)
    desktop.begin("-p", json.dumps({"capabilities": "body actions"}))
    agent = lab.agent("laptop", start=False)
    agent.variables.update({**desktop.variables, "SYNCTRAIN_OPEN": browser.program})
    agent.start()
    path = lab.directory("docs")
    agent.add_folder("docs", path, mode="full")
    with open(os.path.join(path, "a.txt"), "w") as file:
        file.write("a")
    agent.run("scan", "docs")
    stranger = lab.agent("stranger", start=False)
    stranger.add_device(agent.id, "laptop", agent.address)
    stranger.start()
    wait_until(lambda: desktop.summaries() == ["stranger wants to connect"], 40, "the device is told of", child=agent)
    assert desktop.actions["stranger wants to connect"] == ["default", "Open the page"]
    shutil.rmtree(path)
    agent.try_run("scan", "docs")
    wait_until(lambda: "docs has stopped syncing" in desktop.summaries(), 40, "the folder is told of", child=agent)
    # One is shown after the other: with the second one the agent knows the number of the first.
    # Another action, and a notification that is not this program's, open nothing: the next click is the first to do so.
    desktop.click(1, "settings")
    desktop.click(7)
    desktop.click(1)
    wait_until(lambda: len(browser.opened) == 1, 20, "the page is opened", child=agent)
    # The number of the last one it may not know at once.
    wait_until(lambda: desktop.click(2) or len(browser.opened) > 1, 20, "the page is opened again", every=1, child=agent)
    first, *others = browser.views(agent)
    assert first == "/devices" and set(others) == {"/attention"}


def test_a_desktop_that_knows_no_actions_is_offered_none(lab, desktop):
    desktop.begin()
    agent = agent_on(lab, desktop)
    stranger = lab.agent("stranger", start=False)
    stranger.add_device(agent.id, "laptop", agent.address)
    stranger.start()
    wait_until(lambda: desktop.summaries() == ["stranger wants to connect"], 40, "the device is told of", child=agent)
    assert desktop.actions["stranger wants to connect"] == []
