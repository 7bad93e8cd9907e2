"""axe-core over every view, light and dark, wide and narrow. `make accessibility`; skipped where `SYNCTRAIN_AXE` names no axe.min.js."""

import os

import harness
import pytest
from page import PHONE, WIDE, Keys
from process import wait_until
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

AXE = os.environ.get("SYNCTRAIN_AXE", "")
FOLDER = "home"

pytestmark = pytest.mark.skipif(not os.path.isfile(AXE), reason="no axe.min.js; run `make accessibility`")


@pytest.fixture(scope="module")
def setting(module_lab):
    """An agent that has something to show in every view."""
    agent, nas = module_lab.agent("laptop"), module_lab.syncthing("nas")
    module_lab.introduce(agent, nas)
    there = module_lab.folder_path(nas, FOLDER)
    for name in ("Papers/letter.txt", "Papers/old.txt", "Photos/broken.jpg"):
        harness.write(os.path.join(there, name), b"a letter\n")
    agent.here = module_lab.share(agent, FOLDER, nas, mode="full")
    agent.run("folder", "set", FOLDER, "versions=simple")
    agent.wait_global(FOLDER, 3)
    wait_until(lambda: os.path.exists(os.path.join(agent.here, "Papers/old.txt")), 30, "the files are here")
    harness.write(os.path.join(there, "Papers/letter.txt"), b"another letter\n")
    os.remove(os.path.join(there, "Papers/old.txt"))
    nas.scan(FOLDER)
    wait_until(lambda: not os.path.exists(os.path.join(agent.here, "Papers/old.txt")), 30, "one is gone")
    agent.upload = os.path.join(module_lab.directory("source"), "big.bin")
    harness.write(agent.upload, harness.pattern(6 << 20))
    return agent


def violations(page):
    """What axe finds, in a few words each."""
    with open(AXE) as file:
        page.script(file.read())
    found = page.script_async("return (await axe.run(document, {resultTypes: ['violations']})).violations")
    assert isinstance(found, list), found
    return [f"{one['id']}: {one['help']}: {node['html'][:160]} {node['failureSummary'][:300]}" for one in found for node in one["nodes"][:3]]


def judge(page):
    for size in (WIDE, PHONE):
        for scheme in ("light", "dark"):
            page.resize(size)
            page.scheme(scheme)
            assert violations(page) == [], f"{page.address} at {size}, {scheme}"


@pytest.mark.parametrize("view", [
    "files", f"files/{FOLDER}/Papers", f"files/{FOLDER}/Papers/letter.txt", "activity", "devices", "attention", "settings",
    f"settings/folder/{FOLDER}", "log"])
def test_no_view_has_a_violation(page, setting, view):
    page.log_in(setting)
    page.go(*view.split("/"))
    name = view.split("/")[0]
    page.wait(lambda: page.has(f"main.{name}") and page.text(f"main.{name}"), "the view")
    if view.endswith("letter.txt"):
        page.wait(lambda: page.has(".details .timeline"), "the versions")
    judge(page)


def test_how_full_the_disk_is_has_no_violation(page, setting):
    page.log_in(setting).go("log")
    page.wait_text("#space summary", "free of")
    page.find("#space summary").click()
    page.wait(lambda: page.find("#space dl").is_displayed(), "what it is made of")
    judge(page)


def test_search_filters_have_no_violation(page, setting):
    page.log_in(setting).go("files", FOLDER, "Papers")
    page.find(".finding input").click()
    page.wait(lambda: page.find(".chips").is_displayed(), "the chips")
    Select(page.named("Kind", "combobox")).select_by_visible_text("Documents")
    Select(page.named("Changed", "combobox")).select_by_visible_text("From – to…")
    page.wait(lambda: page.text(".layer .name-text") == "letter.txt", "what is found")
    page.screenshot("search-filters")
    judge(page)
    page.resize(PHONE)
    assert page.overflow() <= 0
    page.screenshot("search-filters-phone")


def test_a_grid_and_the_whole_window_have_no_violation(page, setting):
    page.log_in(setting).go("files", FOLDER, "Photos")
    page.click("Show as a grid")
    page.wait(lambda: page.text(".tile .name-text") == "broken.jpg", "the tile")
    try:
        judge(page)
        page.find(".tile .name-text").click()
        page.wait_text("dialog.full .preview", "This browser cannot show it.")
        judge(page)
        page.press(Keys.ESCAPE)
        page.wait(lambda: not page.has("dialog.full"), "closed")
    finally:
        page.script("localStorage.removeItem('synctrain-grids')")


def test_adding_a_device_has_no_violation(page, setting):
    for way in ("pair", "invite", "add"):
        page.log_in(setting).go("devices", way)
        page.wait(lambda: page.find(f"#way-{way}").is_displayed(), "the way")
        judge(page)


def test_deleted_files_have_no_violation(page, setting):
    page.log_in(setting).go("files", FOLDER, "Papers")
    page.wait(lambda: page.has(".list"), "the list")
    Select(page.named("Which files to show", "combobox")).select_by_visible_text("Deleted")
    page.wait(lambda: page.has(".deleted li"), "one that is gone")
    judge(page)


def test_what_is_being_added_has_no_violation(page, setting):
    page.log_in(setting).go("files", FOLDER, "Papers")
    page.wait(lambda: page.named("Add files…").get_attribute("aria-disabled") == "false", "files can be added")
    page.slow(32 << 10)
    try:
        page.driver.find_element(By.CSS_SELECTOR, ".add-files input").send_keys(setting.upload)
        page.wait(lambda: page.has(".adding progress"), "it has begun")
        judge(page)
        page.resize(WIDE)
        page.click("Cancel adding big.bin")
        page.wait(lambda: not page.has(".uploads:not([hidden])"), "it is cancelled")
    finally:
        page.full_speed()


def test_choosing_a_directory_has_no_violation(page, setting):
    page.log_in(setting).go("settings", "folder", FOLDER)
    page.wait(lambda: page.has('[data-setting="path"] .control'), "the settings")
    page.click("Choose a directory…", within='[data-setting="path"]')
    page.wait(lambda: page.has("dialog.chooser .directories button"), "the directories")
    judge(page)
    page.answer("Cancel")


def test_what_is_picked_has_no_violation(page, setting):
    page.log_in(setting).go("files", FOLDER, "Papers")
    page.wait(lambda: page.has(".layer .row:not([hidden]):not(.skeleton)"), "the list")
    page.script("document.querySelector('.list').focus()")
    page.chord(Keys.CONTROL, "a")
    page.wait(lambda: page.has(".row.picked") and page.find(".pick-bar").is_displayed(), "the bar")
    judge(page)


def test_questions_have_no_violation(page, setting):
    page.log_in(setting).go("files", FOLDER, "Papers", "letter.txt")
    page.click("More actions", within=".details")
    page.wait(lambda: page.has(".menu"), "the menu")
    assert violations(page) == []
    page.click("Delete everywhere…", within=".menu")
    page.wait(lambda: page.has("dialog[open]"), "the question")
    judge(page)
    page.answer("Cancel")
