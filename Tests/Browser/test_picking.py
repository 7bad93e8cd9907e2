"""Several entries at once: picked with the mouse and by keyboard, what the bar and the menus do, judged by both disks."""

import os

import harness
import pytest
from page import PHONE, Keys
from process import wait_until
from selenium.webdriver.common.action_chains import ActionChains

FOLDER = "docs"
NAMES = [f"letter {number}.txt" for number in range(1, 7)]


class Setting:
    def __init__(self, lab):
        self.nas, self.agent = lab.syncthing("nas"), lab.agent("laptop")
        lab.introduce(self.agent, self.nas)
        self.there = lab.folder_path(self.nas, FOLDER)
        for name in NAMES:
            harness.write(os.path.join(self.there, name), name.encode())
        self.here = lab.share(self.agent, FOLDER, self.nas)
        self.nas.wait_scanned(FOLDER, len(NAMES))
        self.agent.wait_global(FOLDER, len(NAMES))

    def present(self):
        return [name for name in NAMES if os.path.exists(os.path.join(self.here, name))]


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


@pytest.fixture
def listed(page, setting):
    kept = [f"{FOLDER}:{line['path']}" for line in setting.agent.records("select", "--list")]
    if kept:
        setting.agent.run("deselect", *kept)
    wait_until(lambda: setting.present() == [], 20, "nothing is here")
    page.log_in(setting.agent).go("files", FOLDER)
    page.wait(lambda: len(rows(page)) == len(NAMES), "the list")
    return page


def rows(page):
    return page.all(".layer .row:not([hidden]):not(.skeleton)")


def row(page, name):
    return next(r for r in rows(page) if r.find_element("css selector", ".name-text").text == name)


def size_cell(page, name):
    """A place of the row that opens nothing."""
    return row(page, name).find_element("css selector", ".cell.size")


def picked(page):
    return page.script("""return [...document.querySelectorAll('.layer .row.picked:not([hidden])')]
        .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((r) => r.querySelector('.name-text').textContent)""")


def is_picked(page, *names):
    page.wait(lambda: picked(page) == list(names), f"{names} are picked")
    assert page.script("return [...document.querySelectorAll('.row.picked')].every((r) => r.ariaSelected === 'true')")


def click(page, name, *keys):
    chain = ActionChains(page.driver, duration=0)
    for key in keys:
        chain.key_down(key)
    chain.click(size_cell(page, name))
    for key in keys:
        chain.key_up(key)
    chain.perform()


def test_the_mouse_picks_and_the_bar_keeps(listed, setting):
    page = listed
    assert not page.find(".pick-bar").is_displayed()
    click(page, NAMES[0], Keys.CONTROL)
    is_picked(page, NAMES[0])
    click(page, NAMES[3], Keys.SHIFT)
    is_picked(page, *NAMES[:4])
    click(page, NAMES[1], Keys.CONTROL)
    is_picked(page, NAMES[0], NAMES[2], NAMES[3])
    assert page.text(".pick-bar p") == "3 entries picked, 36 B"
    page.screenshot("picked")
    page.click("Keep here", within=".pick-bar")
    wait_until(lambda: setting.present() == [NAMES[0], NAMES[2], NAMES[3]], 20, "they are here", child=setting.agent)
    # What holds for all of them now.
    page.wait(lambda: "Stop keeping" in page.text(".pick-bar") and "Keep here" not in page.text(".pick-bar"), "the bar follows")
    page.click("Undo", within="#notices")
    wait_until(lambda: setting.present() == [], 20, "one Undo for all", child=setting.agent)
    click(page, NAMES[5])
    is_picked(page)
    assert not page.find(".pick-bar").is_displayed(), "a plain click picks nothing"


def test_the_keyboard_picks_and_ticks(listed, setting):
    page = listed
    page.script("document.querySelector('.list').focus()")
    page.press(Keys.HOME)
    page.chord(Keys.SHIFT, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    is_picked(page, *NAMES[:3])
    page.chord(Keys.SHIFT, Keys.ARROW_UP)
    is_picked(page, *NAMES[:2])
    page.chord(Keys.CONTROL, " ")
    is_picked(page, NAMES[0])
    page.chord(Keys.CONTROL, "a")
    is_picked(page, *NAMES)
    page.press(Keys.SPACE)
    wait_until(lambda: setting.present() == NAMES, 20, "a tick of one is one of all", child=setting.agent)
    page.wait(lambda: "Keep here" not in page.text(".pick-bar"), "all are kept")
    page.press(Keys.SPACE)
    wait_until(lambda: setting.present() == [], 20, "all are let go", child=setting.agent)
    page.press(Keys.ESCAPE)
    is_picked(page)
    assert page.script("return document.activeElement.className") == "list", "the focus is where it was"


def test_a_menu_has_what_can_be_done(listed, setting):
    page = listed
    ActionChains(page.driver, duration=0).context_click(size_cell(page, NAMES[2])).perform()
    page.wait(lambda: page.has(".menu"), "the menu")
    assert page.texts(".menu button") == ["Open", "Details", "Keep here", "Download", "Pick", "Pick all", "Delete everywhere…"]
    assert page.script("return document.activeElement.textContent") == "Open"
    page.screenshot("context-menu")
    page.press("k", Keys.ENTER)
    wait_until(lambda: setting.present() == [NAMES[2]], 20, "it is kept", child=setting.agent)
    page.wait(lambda: not page.has(".menu"), "the menu is gone")
    page.wait(lambda: "Here" in row(page, NAMES[2]).text, "the row says so")
    # By keyboard, and what is picked together.
    click(page, NAMES[2])
    page.script("document.querySelector('.list').focus()")
    page.chord(Keys.SHIFT, Keys.ARROW_DOWN)
    is_picked(page, *NAMES[2:4])
    page.chord(Keys.SHIFT, Keys.F10)
    page.wait(lambda: page.has(".menu"), "the menu")
    assert page.texts(".menu button") == ["Keep here", "Stop keeping", "Stop keeping, leave the files here", "Do not pick", "Pick all", "Delete everywhere…"]
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has(".menu"), "Escape closes it")
    assert page.script("return document.activeElement.className") == "list"
    is_picked(page, *NAMES[2:4])


def test_what_destroys_is_in_an_overflow_menu(listed, setting):
    page = listed
    for name in NAMES[4:]:
        click(page, name, Keys.CONTROL)
    is_picked(page, *NAMES[4:])
    assert "Delete" not in page.text(".pick-bar")
    page.click("More actions", within=".pick-bar")
    page.click("Delete everywhere…", within=".menu")
    page.wait_text("dialog", "2 files")
    page.answer("Cancel")
    page.click("More actions", within=".pick-bar")
    page.click("Delete everywhere…", within=".menu")
    page.answer("Delete everywhere")
    wait_until(lambda: not any(os.path.exists(os.path.join(setting.there, name)) for name in NAMES[4:]), 30, "they are deleted there")
    page.wait(lambda: len(rows(page)) == len(NAMES) - 2, "the list says so")
    is_picked(page)
    for name in NAMES[4:]:
        harness.write(os.path.join(setting.there, name), name.encode())
    setting.nas.scan(FOLDER)
    page.wait(lambda: len(rows(page)) == len(NAMES), "they are back")


def test_of_a_list_that_has_become_shorter_nothing_is_known_beyond_its_end(listed):
    """What is picked there counts as gone, and letters lead to no name of it."""
    found = listed.script_async("""
        const { PagedSource } = await import('/page/files-source.js');
        let names = Array.from({ length: 600 }, (_, number) => ({ path: `name ${number}` }));
        const source = new PagedSource(async (offset, limit) => ({ entries: names.slice(offset, offset + limit), total: names.length, offset }), () => {});
        const facts = () => [source.total, source.known.length, source.isWhole, source.findKnown((entry) => entry.path === 'name 500')];
        source.want(0, 599);
        await source.refresh();
        const before = facts();
        names = names.slice(0, 150);
        source.want(0, 20);
        await source.refresh();
        return [before, facts()];""")
    assert found == [[600, 600, True, 500], [150, 150, True, -1]]


def test_bar_and_menu_fit_a_phone_and_have_names(listed):
    page = listed
    page.script("document.querySelector('.list').focus()")
    page.chord(Keys.CONTROL, "a")
    is_picked(page, *NAMES)
    page.resize(PHONE)
    page.click("More actions", within=".pick-bar")
    page.wait(lambda: page.has(".menu"), "the menu")
    assert page.nameless() == [] and page.overflow() <= 0
    box = page.script("const { left, right, bottom } = document.querySelector('.menu').getBoundingClientRect(); return [left, innerWidth - right, innerHeight - bottom]")
    assert min(box) >= 0
    page.screenshot("picked-phone")
