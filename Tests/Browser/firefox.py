"""The same page in Firefox, for `make firefox-test`: what WebDriver has no words for is done as the browser's own window does it."""

import os

import pytest
from page import WIDE, Page
from selenium import webdriver
from selenium.webdriver.firefox.options import Options
from selenium.webdriver.firefox.service import Service


def start_firefox(downloads):
    """A headless Firefox that keeps what it downloads in that directory; `$GECKODRIVER` drives it."""
    options = Options()
    options.binary_location = os.environ.get("FIREFOX", "/usr/bin/firefox-esr")
    # The second is for `chrome`, below.
    for argument in ("-headless", "-remote-allow-system-access", f"--width={WIDE[0] + 100}", f"--height={WIDE[1] + 300}"):
        options.add_argument(argument)
    for name, value in {
            "browser.download.folderList": 2, "browser.download.dir": downloads, "browser.download.useDownloadDir": True,
            "browser.helperApps.neverAsk.saveToDisk": "application/octet-stream", "intl.accept_languages": "en-GB",
            "ui.prefersReducedMotion": 1, "intl.locale.requested": "en-GB", "dom.disable_beforeunload": True}.items():
        options.set_preference(name, value)
    options.set_capability("acceptInsecureCerts", True)
    driver = webdriver.Firefox(options=options, service=Service(os.environ["GECKODRIVER"], log_path=os.devnull))
    driver.set_page_load_timeout(90)
    driver.set_script_timeout(90)
    return driver


class FirefoxPage(Page):
    def chrome(self, text, *arguments):
        """A script of the browser's own window."""
        with self.driver.context(self.driver.CONTEXT_CHROME):
            return self.driver.execute_script(text, *arguments)

    def resize(self, size):
        self.zoom(size, 1)

    def zoom(self, size, factor):
        # A window cannot be narrower than its buttons; what shows the page can.
        self.chrome("""
            const browser = gBrowser.selectedBrowser;
            for (const kind of ["width", "minWidth", "maxWidth"]) browser.style[kind] = arguments[0] + "px";
            for (const kind of ["height", "minHeight", "maxHeight"]) browser.style[kind] = arguments[1] + "px";
            browser.browsingContext.fullZoom = arguments[2];""", *size, factor)
        self.wait(lambda: abs(self.script("return innerWidth") - size[0] / factor) <= 1, f"it is {size[0]} pixels wide")

    def scheme(self, name):
        self.chrome("gBrowser.selectedBrowser.browsingContext.prefersColorSchemeOverride = arguments[0]", name)

    def languages(self, wanted):
        self.chrome("Services.prefs.setStringPref('intl.accept_languages', arguments[0])", wanted)

    def trust_certificates(self, trusts):
        """All are trusted, as the session was started so."""

    def slow(self, rate):
        pytest.skip("Firefox has no means to slow one page down")

    def full_speed(self):
        """It always is."""

    def drop(self, selector, *paths):
        pytest.skip("Firefox has no means to drop files on a page")

    def complaints(self):
        return self.chrome("""
            const found = [];
            for (const message of Services.console.getMessageArray()) {
                if (!(message instanceof Ci.nsIScriptError)) continue;
                const isOurs = /^(content javascript|CSP|CORS|Mixed Content)/.test(message.category);
                // It ends what still runs in a tab that goes elsewhere, and says it so.
                if (/^Script terminated by timeout/.test(message.errorMessage)) continue;
                if (isOurs && /^https?:/.test(message.sourceName || message.errorMessage)) found.push(`${message.category}: ${message.errorMessage} ${message.sourceName}:${message.lineNumber}`);
            }
            Services.console.reset();
            return found;""")
