"""Settings, as a person changes them: what the page saved is judged by `config.toml` and by what the command line says of it."""

import json
import os
import tomllib

import pytest
from harness import read, write
from page import PHONE, Keys
from process import wait_until
from selenium.webdriver.support.select import Select

FOLDER = "photos"


@pytest.fixture(scope="module")
def shared(module_lab):
    """An agent with a folder and a device; the file has a comment of the user's and a proxy with a password."""
    agent = module_lab.agent("laptop", start=False)
    with open(agent.file("config.toml")) as file:
        before = file.read()
    with open(agent.file("config.toml"), "w") as file:
        file.write("# mine: do not touch\n" + before)
    agent.run("config", "set", "network.proxy", "socks5://anna:secret@127.0.0.1:1")
    agent.start()
    peer = module_lab.peer("nas")
    agent.add_device(peer.id, "nas")
    os.makedirs(module_lab.path("photos"))
    agent.add_folder(FOLDER, module_lab.path("photos"), peer.id)
    agent.peer_id = peer.id
    return agent


@pytest.fixture
def agent(page, shared):
    page.log_in(shared)
    return shared


def text(agent):
    with open(agent.file("config.toml")) as file:
        return file.read()


def settings(agent):
    return tomllib.loads(text(agent))


def shown(page, *place):
    """The settings of the agent, or of `folder ID` or `device ID`."""
    page.go("settings", *place)
    page.wait(lambda: page.has(".setting"), "settings")


def of(key):
    return f'[data-setting="{key}"]'


def typed(page, key, value):
    """Types a value in the place of the one that is there."""
    def done():
        field = page.find(f"{of(key)} [data-control]")
        field.clear()
        field.send_keys(value)
        return True
    page.wait(done, f"the field of {key}")


def saved(page, key):
    page.wait_text(f"{of(key)} .said", "Saved.")


def test_a_setting_is_saved_undone_and_reset(page, agent):
    shown(page)
    typed(page, "limits.up", "2MiB/s")
    page.click("Save Limits: up")
    saved(page, "limits.up")
    assert settings(agent)["limits"]["up"] == "2 MiB/s"
    assert text(agent).startswith("# mine: do not touch\n") and "# Upload and download limits" in text(agent)
    assert agent.run("config", "get", "limits.up").stdout == b"2 MiB/s\n"
    assert page.find(f"{of('limits.up')} input").get_property("value") == "2 MiB/s"
    page.click("Undo the change of Limits: up")
    wait_until(lambda: "up" not in settings(agent)["limits"], what="it is undone")
    typed(page, "limits.up", "3MiB/s" + Keys.ENTER)  # Enter saves, too, and what is being saved is no hindrance.
    wait_until(lambda: settings(agent)["limits"].get("up") == "3 MiB/s", what="it is saved")
    page.click("Restore the default of Limits: up")
    wait_until(lambda: "up" not in settings(agent)["limits"], what="the default is back")
    page.wait(lambda: page.find(f"{of('limits.up')} input").get_property("value") == "0", "the default is shown")


def test_a_wrong_value_changes_nothing(page, agent):
    shown(page, "folder", FOLDER)
    before = text(agent)
    typed(page, "rescan-interval", "soon")
    page.click("Save Rescan interval")
    page.wait_text(f"{of('rescan-interval')} .said", "Use a number from 0 to 31536000")
    field = page.find(f"{of('rescan-interval')} input")
    assert field.get_attribute("aria-invalid") == "true"
    # What was typed is there to be put right.
    assert field.get_property("value") == "soon" and text(agent) == before
    page.click("Discard the change of Rescan interval")
    assert field.get_property("value") == "3600" and not field.get_attribute("aria-invalid")


def test_a_folder_is_set(page, agent):
    shown(page, "folder", FOLDER)
    typed(page, "label", "Pictures")
    page.click("Save Label")
    saved(page, "label")
    Select(page.find(f"{of('versions')} select")).select_by_value("trashcan")
    page.click("Save Versions")
    saved(page, "versions")
    typed(page, "priority", "*.md\n*.{txt,csv}")
    page.click("Save Priority")
    saved(page, "priority")
    page.click("Watch", "checkbox")
    saved(page, "watch")
    page.wait(lambda: page.has("main nav a[aria-current]") and page.text("main nav a[aria-current]") == "Pictures", "the new name")
    folder = settings(agent)["folder"][0]
    assert folder["label"] == "Pictures" and folder["versions"] == "trashcan" and folder["watch"] is False
    assert folder["priority"] == ["*.md", "*.{txt,csv}"]
    assert agent.run("folder", "get", FOLDER, "watch").stdout == b"false\n"
    page.click("nas", "checkbox", of("devices"))
    page.click("Save Devices")
    wait_until(lambda: settings(agent)["folder"][0]["devices"] == [], what="it is not shared any more")
    page.click("Undo the change of Devices")
    wait_until(lambda: settings(agent)["folder"][0]["devices"] == [agent.peer_id], what="it is shared again")


def test_what_is_kept_is_changed_as_on_files(page, agent, module_lab):
    """The button asks what the mode costs; nothing is changed before the answer."""
    shown(page, "folder", FOLDER)
    mode = agent.folder(FOLDER)["mode"]
    other = {"selective": ("full", "Keep everything"), "full": ("selective", "Keep only selected files")}
    page.click("Change what is kept here")
    page.answer("Cancel")
    assert agent.folder(FOLDER)["mode"] == mode
    for _ in range(2):
        mode, choice = other[mode]
        page.click("Change what is kept here")
        page.answer(choice)
        wait_until(lambda: agent.folder(FOLDER)["mode"] == mode, what=f"the mode is {mode}")
        page.wait(lambda: page.text(f"{of('mode')} .value") == mode, "the page shows it")


def test_a_device_is_set(page, agent):
    shown(page, "device", agent.peer_id)
    typed(page, "addresses", "dynamic\ntcp://192.0.2.7:22000")
    page.click("Save Addresses")
    saved(page, "addresses")
    page.click("Paused", "checkbox")
    saved(page, "paused")
    device = settings(agent)["device"][0]
    assert device["addresses"] == ["dynamic", "tcp://192.0.2.7:22000"] and device["paused"] is True
    assert agent.status()["devices"][0]["paused"] is True
    page.click("Paused", "checkbox")
    wait_until(lambda: not agent.status()["devices"][0]["paused"], what="it is resumed")


def test_a_password_is_neither_shown_nor_lost(page, agent):
    shown(page)
    proxy = "socks5://anna:secret@127.0.0.1:1"
    field = page.find(f"{of('network.proxy')} input")
    assert field.get_property("value") == proxy.replace("secret", "…")
    assert "secret" not in page.script("return document.documentElement.outerHTML")
    assert "A password is set" in page.text(of("network.proxy"))
    # What is as it was is not saved: no button does it, and neither does Enter.
    field.send_keys("\n")
    typed(page, "network.proxy", proxy.replace("secret", "…").replace(":1", ":2"))
    page.click("Save Network: proxy")
    page.wait_text(f"{of('network.proxy')} .said", "enter the password again")
    assert settings(agent)["network"]["proxy"] == proxy
    # Nor does another program that sends back what it got.
    assert ask(page, "PATCH", {"settings": [{"key": "network.proxy", "value": proxy.replace("secret", "…")}]})[0] == 200
    assert settings(agent)["network"]["proxy"] == proxy


def test_what_needs_a_restart_is_said_at_the_top(page, agent):
    shown(page)
    assert not page.has(".waiting p")
    typed(page, "cache.limit", "2GiB")
    page.click("Save Cache: limit")
    page.wait_text(f"{of('cache.limit')} .said", "Takes effect when the agent is restarted.")
    page.wait_text(".waiting", "Restart the agent so that 1 change takes effect: synctrain agent restart")
    page.driver.refresh()
    page.wait_text(".waiting", "Cache: limit")
    page.click("Restore the default of Cache: limit")
    page.wait(lambda: not page.has(".waiting p"), "nothing waits any more")


def ask(page, method, body=None):
    """What the agent answers the page: the status and the document."""
    status, document = page.script_async("""
        const answer = await fetch("/v1/settings", { method: arguments[0], headers: { "X-Synctrain": "page", "Content-Type": "application/json" },
            body: arguments[1] ?? undefined });
        return [answer.status, await answer.text()];""", method, json.dumps(body) if body else None)
    return status, json.loads(document)


def test_a_browser_names_no_program(page, agent):
    shown(page, "folder", FOLDER)
    row = of("conflicts-command")
    assert not page.has(f"{row} input, {row} textarea, {row} button")
    assert f"synctrain folder set {FOLDER} 'conflicts-command=" in page.text(row)
    before = text(agent)
    for setting in ({"key": "conflicts-command", "values": ["/bin/sh", "-c", "true"]}, {"key": "conflicts-command"}):
        status, error = ask(page, "PATCH", {"folder": FOLDER, "settings": [{"key": "label", "value": "x"}, setting]})
        assert status == 403 and error["code"] == "no-permission" and "synctrain folder set photos" in error["message"]
    assert text(agent) == before
    agent.run("folder", "set", FOLDER, "conflicts-command=/bin/true")
    page.wait_text(f"{row} .value", "/bin/true")
    for key in ("id", "untrusted", "introduced"):
        assert not page.has(f"{of(key)} input, {of(key)} textarea, {of(key)} button") and page.has(f"{of(key)} .fixed"), key


def test_what_is_typed_stays_when_others_change_settings(page, agent):
    shown(page)
    typed(page, "limits.down", "4MiB/s")
    agent.run("config", "set", "limits.down", "1MiB/s")
    page.wait_text(f"{of('limits.down')} .said", "Changed elsewhere to 1 MiB/s.")
    assert page.find(f"{of('limits.down')} input").get_property("value") == "4MiB/s"
    page.click("Discard the change of Limits: down")
    assert page.find(f"{of('limits.down')} input").get_property("value") == "1 MiB/s"


@pytest.mark.parametrize("scope", ["agent", "folder", "device"])
def test_it_is_read_aloud_and_fits(page, agent, scope):
    shown(page, *{"agent": [], "folder": ["folder", FOLDER], "device": ["device", agent.peer_id]}[scope])
    page.wait(lambda: page.named("Find a setting", "textbox"), "the field that finds")
    page.named("Find a setting", "textbox").send_keys("a")  # opens what is folded
    page.wait(lambda: all(element.get_property("open") for element in page.all("#view details:not([hidden])")), "all is open")
    assert page.nameless() == []
    for size in (PHONE, (320, 640)):
        page.resize(size)
        assert page.overflow() <= 0, size
    page.named("Find a setting", "textbox").send_keys("qqq")
    page.wait_text(".panel", "No setting matches.")


def test_patterns_say_what_they_match_and_are_saved(page, agent, module_lab):
    root = module_lab.path("photos")
    for path in ("a.tmp", "cat.jpg", "old/b.tmp", "old/keep.tmp"):
        write(os.path.join(root, path), b"x" * 1024)
    write(os.path.join(root, ".stignore"), b"// mine\n/nothing\n*\n")
    agent.run("folder", "mode", FOLDER, "full")
    agent.run("scan", FOLDER)
    agent.wait_global(FOLDER, 4)
    shown(page, "folder", FOLDER)
    page.wait_text(".sum", "0 of 4 shared files ignored, 0 B.")
    before = page.find("#patterns").get_property("value")
    page.find("#patterns").clear()
    page.find("#patterns").send_keys("!keep.tmp\n*.tmp\n")
    page.wait_text(".sum", "2 of 4 shared files ignored, 2.0 KiB. 2 files, 2.0 KiB, will no longer be kept: a.tmp, old/b.tmp.")
    assert page.texts(".matches li") == ["!keep.tmp keeps 1 file: old/keep.tmp", "*.tmp ignores 2 files: a.tmp, old/b.tmp"]
    assert read(os.path.join(root, ".stignore")).decode() == before
    page.click("Save the ignore patterns")
    page.wait_text("#patterns-said", "Saved.")
    assert read(os.path.join(root, ".stignore")) == b"!keep.tmp\n*.tmp\n"
    assert json.loads(agent.run("explain", f"{FOLDER}:a.tmp", "--json").stdout)["selected"] == "no"
    page.click("Undo the change of the ignore patterns")
    wait_until(lambda: read(os.path.join(root, ".stignore")).decode() == before, what="it is undone")
    # A mistake is named, and cannot be saved; what another program wrote meanwhile is not overwritten.
    page.find("#patterns").send_keys("[a\n")
    page.wait_text("#patterns-said", ".stignore")
    page.wait(lambda: not page.named("Save the ignore patterns").is_enabled(), "it cannot be saved")
    page.click("Discard the change of the ignore patterns")
    page.find("#patterns").send_keys("*.bak\n")
    write(os.path.join(root, ".stignore"), b"*.old\n")
    page.wait_text(".sum", "ignored")
    page.click("Save the ignore patterns")
    page.wait_text("#patterns-said", "changed meanwhile")
    assert read(os.path.join(root, ".stignore")) == b"*.old\n"
