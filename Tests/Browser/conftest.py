"""The page, driven in a real browser by what people see and press. Agents and nodes are those of Tests/Interop."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "Interop"))

from harness import Lab  # noqa: E402
from page import WIDE  # noqa: E402

if os.environ.get("SYNCTRAIN_BROWSER") == "firefox":
    from firefox import FirefoxPage as Page, start_firefox as start_browser
else:
    from page import Page, start_browser


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for node in (item, item.parent, item.session):
            node.has_failed = True
        page = getattr(item, "funcargs", {}).get("page")
        if page is not None and call.when == "call":
            page.screenshot(f"failed-{item.name}")


@pytest.fixture(scope="module")
def module_lab(request):
    """A laboratory that the tests of a module share: starting nodes costs more than the tests."""
    lab = Lab()
    yield lab
    lab.close(keep=getattr(request.node, "has_failed", False))


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    """Where the browser puts what it downloads."""
    return str(tmp_path_factory.mktemp("downloads"))


@pytest.fixture(scope="session")
def browser(downloads):
    driver = start_browser(downloads)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, request):
    """The one tab, wide and light; the test fails if the browser complained of anything."""
    page = Page(browser)
    page.resize(WIDE)
    page.scheme("light")
    page.complaints()
    yield page
    complaints = page.complaints()
    browser.get("about:blank")
    assert not complaints, "the browser complains:\n" + "\n".join(complaints)


@pytest.fixture
def tabs(page):
    """The page's own tab, and another one; `turn(0)` and `turn(1)` go to them."""
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    second = page.driver.current_window_handle
    page.resize(WIDE)

    def turn(index):
        page.driver.switch_to.window([first, second][index])
    turn(0)
    yield turn
    page.driver.switch_to.window(second)
    page.driver.close()
    page.driver.switch_to.window(first)
