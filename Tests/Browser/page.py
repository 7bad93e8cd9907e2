"""The page in a real browser: one Chromium for all tests, and what a person does in it."""

import contextlib
import os
import re

from process import PATIENCE
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, TimeoutException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
SCREENSHOTS = os.environ.get("SYNCTRAIN_SCREENSHOTS", os.path.join(REPOSITORY, ".build", "screenshots"))
WIDE, PHONE = (1280, 800), (360, 740)


def start_browser(downloads):
    """A headless Chromium that keeps what it downloads in that directory."""
    options = Options()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en-GB",
                     "--hide-scrollbars=false", "--force-prefers-reduced-motion", f"--window-size={WIDE[0]},{WIDE[1]}"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": downloads, "download.prompt_for_download": False})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")))
    driver.set_page_load_timeout(90)
    driver.set_script_timeout(90)
    return driver


class Page:
    """A tab. Waits are for a state and end with what was there instead; nothing here sleeps."""

    def __init__(self, driver):
        self.driver = driver
        self.origin = None

    # where

    def log_in(self, agent):
        """Opens the page of an agent as `synctrain ui` does, by a link that is good once."""
        url = agent.document("ui", "--no-open")["url"]
        self.origin = re.match(r"https?://[^/]+", url)[0]
        self.driver.get(url)
        self.wait(lambda: self.find("#device").text, "the page knows its agent")
        return self

    def go(self, *parts):
        """To a view by the address: `go("files", "FOLDER", "a", "b")`."""
        address = self.script("return '#/' + [...arguments].map(encodeURIComponent).join('/')", *parts)
        self.script("location.hash = arguments[0]", address)
        return self

    @property
    def address(self):
        return self.script("return location.hash")

    # what is there

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def script_async(self, text, *arguments):
        """`text` is the body of an async function; what it returns is the answer."""
        return self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"(async (...arguments) => {{ {text} }})(...arguments).then(done, (error) => done('failed: ' + error));", *arguments)

    def find(self, selector):
        """What is there now. What is done to it is done to what is there then: a redraw in between does not matter."""
        element = self.driver.find_element(By.CSS_SELECTOR, selector)

        def at_what_is_there(name):
            act = getattr(element, name)

            def again(*arguments):
                return getattr(self.driver.find_element(By.CSS_SELECTOR, selector), name)(*arguments)

            def acting(*arguments):
                try:
                    return act(*arguments)
                except StaleElementReferenceException:
                    if name.startswith(("is_", "get_")):
                        return again(*arguments)
                    return self.wait(lambda: again(*arguments) or True, f"{selector} to {name}")
            return acting
        for name in ("click", "clear", "send_keys", "is_displayed", "is_enabled", "get_attribute", "get_property"):
            setattr(element, name, at_what_is_there(name))
        return element

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def has(self, selector):
        return bool(self.all(selector))

    def text(self, selector):
        """What people read there, "" if there is nothing."""
        return (self.texts(selector) or [""])[0]

    def texts(self, selector):
        """The same of each; of what is not shown, "", for which `innerText` would give what nobody reads."""
        return self.script("return [...document.querySelectorAll(arguments[0])].map((e) => e.checkVisibility() ? e.innerText : '')",
                           selector)

    def named(self, name, role="button", within="body"):
        """The one visible element of that role that assistive technology calls by that name."""
        selectors = {"button": "button, [role=button]", "link": "a[href]", "checkbox": "input[type=checkbox]",
                     "textbox": "input, textarea", "combobox": "select", "treeitem": "[role=treeitem]"}
        for attempt in range(20):
            # The page may replace an element between finding it and reading it.
            try:
                found = [e for e in self.all(", ".join(f"{within} {s.strip()}" for s in selectors[role].split(",")))
                         if e.is_displayed() and e.accessible_name.strip() == name]
                break
            except StaleElementReferenceException:
                if attempt == 19:
                    raise
        assert len(found) == 1, f"{len(found)} {role}s are called {name!r}: {[e.accessible_name for e in found]}"
        return found[0]

    # what a person does

    def press(self, *keys):
        """Keys, to whatever has the focus."""
        chain = webdriver.ActionChains(self.driver, duration=0)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def begin_name(self, text):
        """Letters to whatever has the focus, all in one: with a pause between them, which a busy machine makes, they are the beginning
        of another name."""
        self.script("""for (const key of arguments[0]) {
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        }""", text)

    def chord(self, modifier, *keys):
        """Keys while another one is held down."""
        chain = webdriver.ActionChains(self.driver, duration=0).key_down(modifier)
        for key in keys:
            chain.send_keys(key)
        chain.key_up(modifier).perform()

    def click(self, name, role="button", within="body"):
        """Once it is there and can be pressed; a redraw in between does not matter."""
        def pressed():
            element = self.named(name, role, within)
            if not element.is_enabled():
                return False
            element.click()
            return True
        self.wait(pressed, f"{role} {name!r}")

    def choose(self, menu, item, within="body"):
        """An item of an overflow menu."""
        self.click(menu, within=within)
        self.click(item, within=".menu")

    def answer(self, choice):
        """Clicks a choice of the dialog that asks, and waits until it is gone."""
        self.wait(lambda: self.has("dialog[open]"), "a dialog")
        self.click(choice, within="dialog[open]")
        self.wait(lambda: not self.has("dialog[open]"), "the dialog is closed")

    def resize(self, size):
        """The inside of the window in CSS pixels, whatever the window manager thinks of it."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False})

    def zoom(self, size, factor):
        """As the browser's own zoom: fewer CSS pixels, each of them larger."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": int(size[0] / factor), "height": int(size[1] / factor), "deviceScaleFactor": factor, "mobile": False})

    def scheme(self, name):
        """`light` or `dark`."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": name},
                         {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def languages(self, wanted):
        """Those that the browser asks for from the next page on, as its settings would: `de-DE,de,en`."""
        self.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {
            "userAgent": self.script("return navigator.userAgent"), "acceptLanguage": wanted})

    def trust_certificates(self, trusts):
        """As a user who has read the browser's warning about a certificate and passed it."""
        self.driver.execute_cdp_cmd("Security.setIgnoreCertificateErrors", {"ignore": trusts})

    def slow(self, rate):
        """So many bytes a second leave the browser, until `full_speed`."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": rate})

    def full_speed(self):
        self.driver.execute_cdp_cmd("Network.disable", {})

    def drop(self, selector, *paths):
        """Drops things of this machine, directories too, as a person does; gives what the page says meanwhile."""
        place = self.find(selector).rect
        where = {"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}
        data = {"items": [], "files": list(paths), "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver"):
            self.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, **where, "data": data})
        sign = self.text(".drop-sign")
        self.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": "drop", **where, "data": data})
        return sign

    # waiting

    def wait(self, condition, what="condition", timeout=60):
        """Until the condition gives something true; returns that. An element that is not there, or not any more, is false."""
        last = []

        def met(_):
            try:
                last[:] = [condition()]
            except (LookupError, AssertionError, NoSuchElementException, StaleElementReferenceException) as error:
                last[:] = [error]
                return None
            return last[0]
        try:
            return WebDriverWait(self.driver, timeout * PATIENCE, poll_frequency=0.05).until(met)
        except TimeoutException as error:
            self.screenshot("failed")
            raise TimeoutError(
                f"{what}: not after {timeout * PATIENCE} s; last: {last[0] if last else None!r}; notices: {self.texts('.notice')}") from error

    def wait_text(self, selector, text, timeout=20):
        seen = [""]

        def is_there():
            seen[0] = self.text(selector)
            return text in seen[0]
        try:
            self.wait(is_there, f"{text!r} in {selector}", timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; there is {seen[0]!r}") from error

    # judging

    def screenshot(self, name):
        """A PNG among the artefacts; returns its path."""
        os.makedirs(SCREENSHOTS, exist_ok=True)
        path = os.path.join(SCREENSHOTS, f"{name}.png")
        with contextlib.suppress(Exception):
            self.driver.save_screenshot(path)
        return path

    def complaints(self):
        """What the browser complained of since it was last asked: errors of scripts, violations of the policy, answers
        that say the agent failed. Answers such as 404 and 409 are no errors: the page shows them, or knows what they mean."""
        found = []
        for entry in self.driver.get_log("browser"):
            status = re.search(r"status of (\d+)", entry["message"])
            if status and int(status[1]) < 500 or status and int(status[1]) in (503, 507):
                continue
            if entry["level"] in ("SEVERE", "WARNING") or entry["source"] == "security":
                found.append(f"{entry['source']}: {entry['message']}")
        return found

    def overflow(self):
        """By how many pixels the page is wider than the window; more than 0 is a horizontal scroll bar."""
        return self.script("return document.scrollingElement.scrollWidth - document.documentElement.clientWidth")

    def nameless(self):
        """Controls that assistive technology has no name for, as HTML; beside an open dialog there is nothing to reach."""
        # What is drawn anew meanwhile is looked at again.
        return self.wait(lambda: (self.nameless_now(),), "controls that stay")[0]

    def nameless_now(self):
        root = "dialog[open] " if self.has("dialog[open]") else ""
        controls = self.all(", ".join(root + selector for selector in (
            "button", "a[href]", "input", "select", "textarea", "iframe", "video", "audio", "img", "[role=grid]", "[role=tree]",
            "[role=treeitem]", "[role=columnheader]", "[tabindex='0']")))
        return [e.get_attribute("outerHTML")[:200] for e in controls
                if e.is_displayed() and not e.accessible_name.strip() and e.get_attribute("alt") != ""]


__all__ = ["Keys", "PHONE", "Page", "SCREENSHOTS", "WIDE", "start_browser"]
