"""The tray icon: a StatusNotifierItem at a watcher on a session bus of our own."""

import json
import os
import shutil
import sys
import tempfile

import dbus
import pytest
from bus import Browser, Bus
from harness import read, write
from process import wait_until
from tray import ITEM, ITEM_PATH, MENU, PROPERTIES, Tray

ERROR = "org.freedesktop.DBus.Error."


@pytest.fixture
def tray():
    directory = tempfile.mkdtemp(prefix="st-bus-")
    bus = Bus(directory, "session")
    tray = Tray(bus, directory)
    yield tray
    tray.end()
    bus.close()
    shutil.rmtree(directory, ignore_errors=True)


def agent_on(lab, tray, **variables):
    agent = lab.agent("laptop", start=False)
    agent.variables.update(tray.bus.variables, **variables)
    return agent.start()


def shown(tray, agent):
    return wait_until(lambda: tray.item, 20, "the icon is registered", child=agent)


def test_the_icon_is_true_while_files_come_and_a_device_waits(lab, tray):
    tray.begin()
    agent, other = agent_on(lab, tray), lab.agent("nas")
    item = shown(tray, agent)
    wait_until(lambda: item.tip == ["No folders"], 20, "nothing is there", child=agent)
    assert (item.get("Id"), item.get("Category"), item.get("Status")) == ("synctrain", "ApplicationStatus", "Active")
    assert item.get("ItemIsMenu") == False  # noqa: E712 -- dbus.Boolean
    assert len(item.get("IconPixmap")) > 0 and item.get("IconName") == ""
    rest = bytes(item.get("IconPixmap")[0][2])
    agent.run("config", "set", "limits.local-network", "true")
    agent.run("config", "set", "limits.down", "100 KiB/s")
    lab.introduce(agent, other)
    agent.add_folder("f", lab.path("agent-f"), other.id, mode="full")
    other.add_folder("f", lab.path("other-f"), agent.id, mode="full")
    agent.wait_connected(other.id)
    with open(os.path.join(lab.path("other-f"), "film"), "wb") as file:
        file.write(os.urandom(3 << 20))
    other.run("scan", "f")
    wait_until(lambda: item.tip[0] == "1 file (3.0 MiB) to download", 40, "the file comes", child=agent)
    assert "1 of 1 devices connected" in item.tip
    assert "Ready for the train: 3.0 MiB missing" in item.menu
    assert bytes(item.get("IconPixmap")[0][2]) != rest
    agent.run("config", "set", "limits.down", "0")
    wait_until(lambda: item.tip[0] == "Up to date", 40, "the file is there", child=agent)
    assert list(item.menu)[:2] == ["Up to date", "Ready for the train: yes"]
    assert bytes(item.get("IconPixmap")[0][2]) == rest
    # No device that is connected is no error.
    other.stop()
    wait_until(lambda: "0 of 1 devices connected" in item.tip, 40, "the other is gone", child=agent)
    assert (item.tip[0], item.get("Status")) == ("Up to date", "Active")

    stranger = lab.agent("stranger", start=False)
    stranger.add_device(agent.id, "laptop", agent.address)
    stranger.start()
    wait_until(lambda: item.get("Status") == "NeedsAttention", 40, "the device waits", child=agent)
    assert agent.status()["pending"] == 1
    assert item.menu["1 thing needs attention"] is not None
    assert {"NewStatus", "NewIcon", "NewToolTip", "ItemsPropertiesUpdated", "LayoutUpdated"} <= set(tray.signals)
    agent.run("device", "ignore", stranger.id)
    wait_until(lambda: item.get("Status") == "Active", 40, "nobody waits", child=agent)
    assert "1 thing needs attention" not in item.menu


def test_the_menu_pauses_resumes_and_quits(lab, tray):
    tray.begin()
    agent = agent_on(lab, tray)
    agent.add_folder("docs", lab.directory("docs"), mode="full")
    item = shown(tray, agent)
    wait_until(lambda: "Pause" in item.menu and "Resume" not in item.menu, 20, "it can be paused", child=agent)
    item.click("Pause")
    wait_until(lambda: agent.folder("docs")["state"] == "paused", 20, "status says so", child=agent)
    wait_until(lambda: list(item.menu)[0] == "Paused" and "Pause" not in item.menu, 20, "the menu says so", child=agent)
    item.click("Resume")
    wait_until(lambda: agent.folder("docs")["state"] == "idle", 20, "it goes on", child=agent)
    wait_until(lambda: "Pause" in item.menu, 20, "the menu says so", child=agent)
    item.click("Quit")
    wait_until(lambda: not agent.is_running, 20, "it has ended")
    assert agent.process.returncode == 0


def test_a_click_opens_the_page(lab, tray, tmp_path):
    tray.begin()
    browser = Browser(tmp_path)
    agent = agent_on(lab, tray, SYNCTRAIN_OPEN=browser.program)
    item = shown(tray, agent)
    item.call(ITEM_PATH, ITEM, "Activate", "ii", 1, 2)
    wait_until(lambda: len(browser.views(agent)) == 1, 20, "the page is opened", child=agent)
    stranger = lab.agent("stranger", start=False)
    stranger.add_device(agent.id, "laptop", agent.address)
    stranger.start()
    wait_until(lambda: item.get("Status") == "NeedsAttention", 40, "the device waits", child=agent)
    # What is needed, by a click on the icon; what was said, by one on the menu.
    item.call(ITEM_PATH, ITEM, "Activate", "ii", 1, 2)
    wait_until(lambda: len(browser.views(agent)) == 2, 20, "the page is opened again", child=agent)
    item.click("Open synctrain")
    wait_until(lambda: len(browser.views(agent)) == 3, 20, "the page is opened from the menu", child=agent)
    assert browser.views(agent) == ["/files", "/attention", "/files"]


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
def test_the_page_is_opened_outside_of_the_agents_unit(lab, tray, tmp_path):
    """As its systemd unit has it: a browser does not work with the rights that the unit leaves. systemd is played by this test."""
    tray.begin()
    browser = Browser(tmp_path)
    runtime, programs, asked = lab.directory("runtime"), lab.directory("programs"), lab.path("asked")
    write(os.path.join(runtime, "systemd/private"))
    play = f"""#!{sys.executable}
import json, os, sys
words = sys.argv[1:]
with open({asked!r}, "w") as file:
    json.dump(words, file)
program = [word.replace("$$", "$") for word in words[words.index("--") + 1:]]
os.execv(program[0], program)
"""
    write(os.path.join(programs, "systemd-run"), play.encode())
    agent = lab.agent("laptop", start=False)
    write(lab.path("wrapper"), f'#!/bin/sh\nexec setpriv --no-new-privs {agent.program} "$@"\n'.encode())
    for path in (os.path.join(programs, "systemd-run"), lab.path("wrapper")):
        os.chmod(path, 0o755)
    agent.program = lab.path("wrapper")
    agent.variables.update(tray.bus.variables, SYNCTRAIN_OPEN=browser.program, XDG_RUNTIME_DIR=runtime,
                           PATH=f"{programs}:{os.environ['PATH']}")
    agent.start()
    item = shown(tray, agent)
    item.call(ITEM_PATH, ITEM, "Activate", "ii", 1, 2)
    wait_until(lambda: len(browser.views(agent)) == 1, 20, "the page is opened", child=agent)
    options = set(json.loads(read(asked)))
    # A browser that goes on by itself is not killed with what started it.
    assert {"--user", "--collect", "--property=KillMode=process"} <= options


def test_a_watcher_that_comes_later_and_comes_back(lab, tray):
    agent = agent_on(lab, tray)
    tray.begin()
    name = shown(tray, agent).name
    tray.end()
    wait_until(lambda: not tray.bus.connection.name_has_owner("org.kde.StatusNotifierWatcher"), 20, "it is gone")
    agent.add_folder("docs", lab.directory("docs"), mode="full")
    tray.begin()
    item = shown(tray, agent)
    assert item.name == name
    # It says how things are now, not how they were.
    wait_until(lambda: item.tip == ["Up to date"], 20, "it is true", child=agent)
    assert tray.names == [name]


def test_the_setting_takes_it_away_and_the_session_gives_the_language(lab, tray):
    tray.begin()
    themes = lab.directory("share/icons/hicolor/scalable/apps")
    shutil.copyfile(os.path.join(os.path.dirname(__file__), "../../packaging/synctrain.svg"),
                    os.path.join(themes, "synctrain.svg"))
    agent = agent_on(lab, tray, LC_ALL="de_DE.UTF-8", XDG_DATA_DIRS=lab.path("share"))
    item = shown(tray, agent)
    assert item.tip == ["Keine Ordner"]
    # The icon theme has it.
    assert (item.get("IconName"), len(item.get("IconPixmap"))) == ("synctrain", 0)
    agent.run("config", "set", "desktop.tray", "false")
    wait_until(lambda: tray.item is None, 20, "the icon is gone", child=agent)
    agent.run("config", "set", "desktop.tray", "true")
    shown(tray, agent)


def test_malformed_calls_are_answered_with_errors(lab, tray):
    tray.begin()
    agent = agent_on(lab, tray)
    item = shown(tray, agent)
    menu = item.menu_path
    for name, call in [
        ("UnknownObject", ("/nowhere", ITEM, "Activate", "ii", 1, 2)),
        ("UnknownInterface", (ITEM_PATH, MENU, "AboutToShow", "i", 0)),
        ("UnknownMethod", (ITEM_PATH, ITEM, "Explode")),
        ("InvalidArgs", (ITEM_PATH, ITEM, "Activate", "s", "here")),
        ("InvalidArgs", (menu, MENU, "Event", "i", 1)),
        ("InvalidArgs", (menu, MENU, "GetLayout", "iias", 99, -1, [])),
        ("InvalidArgs", (menu, MENU, "GetLayout", "iias", -2147483648, -2147483648, [""])),
        ("UnknownProperty", (ITEM_PATH, PROPERTIES, "Get", "ss", ITEM, "Weight")),
        ("PropertyReadOnly", (ITEM_PATH, PROPERTIES, "Set", "ssv", ITEM, "Title", "mine")),
        # More than a call may bring.
        ("LimitsExceeded", (menu, MENU, "AboutToShowGroup", "ai", list(range(100_000)))),
        ("LimitsExceeded", (ITEM_PATH, ITEM, "ProvideXdgActivationToken", "s", "x" * (2 << 20))),
    ]:
        assert item.error(*call) == ERROR + name, call
    # It goes on, with the same connection.
    assert item.get("Title") == "synctrain"
    assert [node for node in ("StatusNotifierItem", "MenuBar")
            if f'<node name="{node}"/>' in item.call("/", "org.freedesktop.DBus.Introspectable", "Introspect")] \
        == ["StatusNotifierItem", "MenuBar"]
    known = item.call(menu, MENU, "GetGroupProperties", "aias", [1, 77, -5], ["label"])
    assert [(int(number), str(p["label"])) for number, p in known] == [(1, "No folders")]
    wrong = item.call(menu, MENU, "EventGroup", "a(isvu)", dbus.Array(
        [(number, "clicked", dbus.String("", variant_level=1), 0) for number in (1, 50)], signature="(isvu)"))
    assert [int(number) for number in wrong] == [50]
    assert len(tray.names) == 1 and agent.is_running
