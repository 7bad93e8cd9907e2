"""A newcomer's first run of the page, and how a directory is chosen where one would have to be typed."""

import os

import harness
import pytest
from page import PHONE, Keys
from process import wait_until

CLICKS, TYPED = 6, 0


class Newcomer:
    """A new agent that a NAS knows already and shares a folder with."""

    def __init__(self, lab):
        self.nas = lab.syncthing("nas")
        self.agent = lab.agent("laptop")
        self.own = lab.directory("own")
        there = lab.folder_path(self.nas, "photos")
        for name in ("Lisbon/tram.txt", "Lisbon/tower.txt", "Porto/bridge.txt"):
            harness.write(os.path.join(there, name), name.encode())
        self.nas.add_device(self.agent.id, name="laptop", address=self.agent.address)
        self.nas.set_folder("photos", there, [self.agent.id], label="Holiday photos")
        self.nas.wait_scanned("photos", 3)
        self.agent.stop()
        self.agent.variables = {"HOME": self.own}
        self.agent.start()

    def here(self, *path):
        return os.path.join(self.own, "Library", "Holiday photos", *path)


@pytest.fixture(scope="module")
def newcomer(module_lab):
    return Newcomer(module_lab)


def has(selector, page):
    return lambda: page.has(selector)


def test_from_nothing_to_the_first_directory(page, newcomer):
    page.log_in(newcomer.agent)
    page.script("""
        window.counted = { clicks: 0, typed: 0 };
        addEventListener('pointerdown', () => { counted.clicks += 1; }, true);
        addEventListener('keydown', () => { counted.typed += 1; }, true);""")
    page.wait_text("main.files", "No folders yet.")
    # All of it is where one has begun.
    waiting = f'[data-pending="{newcomer.nas.id}"]'
    page.wait(has(waiting, page), "the NAS asks to connect", 60)
    page.find(f"{waiting} summary").click()
    page.click("Add device", within=waiting)
    offer = '[data-offer="photos"]'
    page.wait(has(offer, page), "the NAS offers its folder", 60)
    page.find(f"{offer} summary").click()
    assert page.find(f"{offer} input").get_property("value") == "~/Library/Holiday photos"
    page.screenshot("first-run")
    page.click("Accept folder", within=offer)
    page.wait(has(".folder-cards a[data-key='open photos']", page), "the folder")
    page.find(".folder-cards a[data-key='open photos']").click()
    page.click("Keep Lisbon on this device", "checkbox")
    wait_until(lambda: os.path.exists(newcomer.here("Lisbon", "tram.txt")) and os.path.exists(newcomer.here("Lisbon", "tower.txt")),
               30, "what was ticked is here", child=newcomer.agent)
    assert not os.path.exists(newcomer.here("Porto", "bridge.txt"))
    counted = page.script("return counted")
    print(f"first run of the page: {counted['clicks']} clicks, {counted['typed']} keys")
    assert (counted["clicks"], counted["typed"]) == (CLICKS, TYPED)


def names(page):
    return page.script("return [...document.querySelectorAll('dialog.chooser .directories button')].map((b) => b.dataset.name)")


def shown(page, *expected):
    page.wait(lambda: names(page) == list(expected), f"the directories are {expected}")


def place(page):
    return page.text("dialog.chooser .path")


@pytest.fixture
def opened(page, newcomer):
    """The form for a new folder, with its chooser open at home."""
    for name in ("Music/Album 2", "Music/Album 10", ".hidden", "Library/Holiday photos"):
        os.makedirs(os.path.join(newcomer.own, name), exist_ok=True)
    harness.write(os.path.join(newcomer.own, "a file.txt"), b"")
    page.log_in(newcomer.agent).go("devices")
    page.wait(lambda: page.has("form.form"), "the view")
    page.script("[...document.querySelectorAll('main details')].find((d) => d.innerText.includes('Share a directory')).open = true")
    page.click("Choose a directory…", within="details[open]:has(form.form)")
    page.wait(lambda: page.has("dialog.chooser[open]"), "the chooser")
    return page


def test_a_directory_is_chosen_with_the_mouse(opened, newcomer):
    page, own = opened, newcomer.own
    shown(page, "Library", "Music")
    assert place(page) == own
    page.find('dialog.chooser [data-name="Library"]').click()
    shown(page, "Holiday photos")
    assert "folder Holiday photos" in page.text("dialog.chooser .directories")
    page.click("Up", within="dialog.chooser")
    shown(page, "Library", "Music")
    page.screenshot("choose-directory")
    page.find("dialog.chooser input[type=checkbox]").click()
    shown(page, ".hidden", "Library", "Music")
    page.find('dialog.chooser [data-name="Music"]').click()
    # Sorted as people count.
    shown(page, "Album 2", "Album 10")
    page.click("Up", within="dialog.chooser")
    page.wait(lambda: place(page) == own, "home again")
    assert page.script("return document.activeElement.dataset.name") == "Music", "where it came from"
    page.named("New directory in it optional", "textbox", "dialog.chooser").send_keys("Letters")
    page.wait(lambda: place(page) == os.path.join(own, "Letters"), "what would be used")
    page.click("Use this directory", within="dialog.chooser")
    page.wait(lambda: not page.has("dialog"), "it is closed")
    value = page.script("return document.activeElement.value")
    assert value == os.path.join(own, "Letters")
    assert not os.path.exists(value), "whoever takes the path makes it"


def test_a_directory_is_chosen_by_keyboard(opened, newcomer):
    page, own = opened, newcomer.own
    shown(page, "Library", "Music")
    page.press("m")
    assert page.script("return document.activeElement.dataset.name") == "Music"
    page.press(Keys.ENTER)
    shown(page, "Album 2", "Album 10")
    page.press(Keys.ARROW_DOWN)
    assert page.script("return document.activeElement.dataset.name") == "Album 10"
    page.press(Keys.ARROW_RIGHT)
    shown(page)
    page.wait_text("dialog.chooser", "No directories in it.")
    assert place(page) == os.path.join(own, "Music", "Album 10")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has("dialog"), "Escape chooses nothing")
    assert page.script("return document.activeElement.value") == ""


def test_the_chooser_fits_a_phone_and_has_names(opened):
    page = opened
    shown(page, "Library", "Music")
    page.resize(PHONE)
    assert page.nameless() == [] and page.overflow() <= 0
    page.screenshot("choose-directory-phone")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has("dialog"), "it is closed")


def test_what_does_not_exist_begins_at_what_does(opened, newcomer):
    page = opened
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has("dialog"), "it is closed")
    page.script("document.activeElement.value = '~/Music/New one'")
    page.click("Choose a directory…", within="details[open]:has(form.form)")
    shown(page, "Album 2", "Album 10")
    assert place(page) == os.path.join(newcomer.own, "Music", "New one")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has("dialog"), "it is closed")
