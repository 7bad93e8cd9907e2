"""The agent stops, starts again and logs browsers out while a tab is open: the tab recovers by itself, and nothing that was
typed is lost."""

import http.client
import os
import re
import socket
import stat

import pytest
from harness import write
from process import free_port, wait_until


@pytest.fixture(scope="module")
def shared(module_lab):
    agent = module_lab.agent("laptop", start=False)
    # While it is stopped, the agent of another test may take the usual port.
    agent.run("config", "set", "http.listen", f"127.0.0.1:{free_port()}")
    agent.start()
    path = module_lab.directory("photos")
    write(os.path.join(path, "first.txt"), b"first\n")
    agent.add_folder("photos", path, mode="full")
    agent.run("scan", "photos")
    agent.path = path
    return agent


@pytest.fixture
def agent(page, shared):
    page.log_in(shared)
    yield shared
    # Of connections that were refused while the agent was stopped, and of requests that were not logged in.
    page.complaints()


def port(agent):
    return int(agent.status()["http"].rsplit(":", 1)[1])


def shows(page, name):
    page.wait(lambda: name in page.text("#view"), f"{name} is shown")


def test_an_open_tab_recovers_after_a_restart(page, agent):
    page.go("files", "photos")
    shows(page, "first.txt")
    page.script("window.isSameDocument = true")
    at = port(agent)
    agent.stop()
    page.wait_text("#state", "The agent does not answer; retrying.")
    write(os.path.join(agent.path, "meanwhile.txt"), b"came while the agent was stopped\n")
    agent.start()
    shows(page, "meanwhile.txt")
    page.wait_text("#state", "0 of 0 devices connected")
    assert port(agent) == at
    assert page.script("return window.isSameDocument") is True, "without a reload"
    # It is live: what comes from now on is shown, too.
    write(os.path.join(agent.path, "later.txt"), b"came later\n")
    shows(page, "later.txt")
    # A cookie of before the restart is replaced, and a second restart is survived with the new one.
    agent.stop()
    agent.start()
    write(os.path.join(agent.path, "last.txt"), b"after the second restart\n")
    shows(page, "last.txt")


def test_what_an_agent_that_is_stopped_answers_is_not_said_of_one_that_runs(page, agent):
    """The bar says that the agent does not answer as long as it is so; what a person asked for meanwhile is refused until then only."""
    page.go("activity")
    page.wait_text("main.activity", "No transfers in progress")
    agent.stop()
    page.wait_text("#state", "The agent does not answer; retrying.")
    page.script("""
        window.asked = { transfers: 0, ready: 0 };
        const real = window.fetch;
        window.fetch = (what, ...more) => { asked[String(what).split("/").at(-1)] += 1; return real(what, ...more); };""")
    page.wait(lambda: all(count > 1 for count in page.script("return [asked.transfers, asked.ready]")), "the view asks in vain")
    assert page.texts(".notice") == []
    page.click("Retry everything now")
    page.wait_text(".notice", "The agent does not answer. Start it")
    agent.start()
    page.wait_text("#state", "0 of 0 devices connected")
    page.wait(lambda: page.texts(".notice") == [], "it answers")


def test_tabs_that_nobody_sees_leave_their_connections_to_the_others(page, agent):
    """Browsers open six to an agent, for all tabs together. WebDriver's tabs are all in front, so each is told that it is not."""
    def behind(is_behind):
        page.script("Object.defineProperty(document, 'hidden', { configurable: true, value: arguments[0] });"
                    "document.dispatchEvent(new Event('visibilitychange'))", is_behind)
    first, others = page.driver.current_window_handle, []
    page.go("files", "photos")
    shows(page, "first.txt")
    try:
        for _ in range(7):
            behind(True)
            page.driver.switch_to.new_window("tab")
            others.append(page.driver.current_window_handle)
            page.driver.get(page.origin)
            page.wait_text("#device", "laptop")
        write(os.path.join(agent.path, "behind.txt"), b"came while another tab was in front\n")
        agent.run("scan", "photos")
    finally:
        for tab in others:
            page.driver.switch_to.window(tab)
            page.driver.close()
        page.driver.switch_to.window(first)
    assert "behind.txt" not in page.text("#view")
    behind(False)
    shows(page, "behind.txt")
    # It is live again.
    write(os.path.join(agent.path, "in front.txt"), b"came while it was seen\n")
    shows(page, "in front.txt")


def test_what_is_typed_is_there_after_a_restart(page, agent):
    page.go("settings")
    page.wait(lambda: page.has('[data-setting="name"] input'), "settings")
    typed(page, "name", "my laptop")
    agent.stop()
    page.wait_text("#state", "retrying")
    agent.start()
    page.wait_text("#state", "0 of 0 devices connected")
    page.click("Save Name")
    page.wait_text('[data-setting="name"] .said', "Saved.")
    assert agent.status()["name"] == "my laptop"


def test_the_file_of_logins_has_no_secret(page, agent):
    with open(agent.file("http.sessions")) as file:
        stored = file.read()
    secret = next(c["value"] for c in page.driver.get_cookies() if c["name"] == f"synctrain-{port(agent)}")
    assert re.fullmatch("[0-9a-f]{64}", secret) and secret not in stored
    assert stat.S_IMODE(os.stat(agent.file("http.sessions")).st_mode) == 0o600


def test_everybody_is_logged_out(page, agent):
    page.go("settings")
    cookies = {c["name"]: c["value"] for c in page.driver.get_cookies()}
    page.click("Log out everywhere")
    page.answer("Log out everywhere")
    page.wait_text("#view", "This browser is not logged in")
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", port(agent), timeout=10)
        connection.request("GET", "/v1/status", headers={"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items())})
        assert connection.getresponse().status == 401
        connection.close()
        # A restart brings nothing back.
        agent.stop()
        agent.start()


def test_a_tab_that_is_logged_out_comes_back_with_what_was_typed(page, agent):
    page.go("settings")
    page.wait(lambda: page.has('[data-setting="limits.up"] input'), "settings")
    typed(page, "limits.up", "7MiB/s")
    agent.run("ui", "--logout")
    page.wait_text("#view", "This browser is not logged in")
    assert "Limits: up" not in page.text("#view")
    tab = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.log_in(agent)
    page.driver.close()
    page.driver.switch_to.window(tab)
    page.wait(lambda: page.has('[data-setting="limits.up"] input'), "the view is back")
    assert page.find('[data-setting="limits.up"] input').get_property("value") == "7MiB/s"
    page.click("Discard the change of Limits: up")


def test_a_port_that_is_taken_is_said(module_lab):
    number = free_port()
    taken = socket.create_server(("127.0.0.1", number))
    agent = module_lab.agent("second", start=False)
    agent.run("config", "set", "http.listen", f"127.0.0.1:{number}")
    agent.start()
    other = port(agent)
    assert other != number
    words = f"Port {number} cannot be used (another program uses it), so the page is at port {other}."
    assert agent.status()["httpRemark"] == words
    assert words in agent.run("status").stdout.decode()
    opened = agent.run("ui", "--no-open")
    assert words in opened.stderr.decode() and f":{other}/login" in opened.stdout.decode()
    assert words in agent.try_run("doctor", "--all").stdout.decode() or words in agent.try_run("doctor").stdout.decode()
    # The same other port is used the next time, and the first one when it is free.
    agent.stop()
    agent.start()
    assert port(agent) == other
    agent.stop()
    taken.close()
    agent.start()
    assert port(agent) == number and "httpRemark" not in agent.status()
    agent.stop()


# MARK: what was typed

def typed(page, key, value):
    def done():
        field = page.find(f'[data-setting="{key}"] [data-control]')
        field.clear()
        field.send_keys(value)
        return True
    page.wait(done, f"the field of {key}")


def test_leaving_the_view_asks_for_what_is_not_saved(page, agent):
    page.go("settings", "folder", "photos")
    page.wait(lambda: page.has('[data-setting="label"] input'), "settings")
    typed(page, "label", "Pictures")
    page.wait(lambda: page.find("#patterns").is_enabled(), "the patterns")
    page.find("#patterns").send_keys("*.bak\n")
    for place in (["files"], ["settings"]):
        page.go(*place)
        page.wait_text("dialog[open]", "Not saved: Label, Ignore patterns.")
        page.answer("Stay")
        assert page.address == "#/settings/folder/photos"
        assert page.find('[data-setting="label"] input').get_property("value") == "Pictures"
        assert "*.bak" in page.find("#patterns").get_property("value")
    page.click("Discard the change of the ignore patterns")
    page.go("files")
    page.wait_text("dialog[open]", "Not saved: Label.")
    page.answer("Discard and leave")
    page.wait(lambda: not page.has('[data-setting="label"]'), "the view is left")
    assert page.address == "#/files"
    assert "Pictures" not in open(agent.file("config.toml")).read()
    # With nothing to lose nothing is asked.
    page.go("settings", "folder", "photos")
    page.wait(lambda: page.has('[data-setting="label"] input'), "settings")
    page.go("files")
    page.wait(lambda: not page.has('[data-setting="label"]'), "the view is left")
    assert not page.has("dialog[open]")


def test_closing_the_tab_asks_for_what_is_not_saved(page, agent):
    """WebDriver answers that question itself before anybody sees it, so the page is asked what the browser asks it."""
    page.go("settings")
    page.wait(lambda: page.has('[data-setting="limits.up"] input'), "settings")

    def asks():
        return page.script("const event = new Event('beforeunload', { cancelable: true }); return !window.dispatchEvent(event)")
    assert not asks()
    typed(page, "limits.up", "8MiB/s")
    assert asks()
    page.click("Discard the change of Limits: up")
    assert not asks()
