"""Files as a grid, and pictures over the whole window: what a person sees and presses, judged by the disk and the other device."""

import os
import subprocess

import harness
import pytest
from page import PHONE, WIDE, Keys
from process import wait_until
from selenium.webdriver.common.action_chains import ActionChains

FOLDER = "home"
TRIP = "Photos/Lisbon"
PICTURES = [f"IMG_{number:04}.jpg" for number in range(1, 13)]
MANY = 4000


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True, timeout=60, stdin=subprocess.DEVNULL)


class Setting:
    def __init__(self, lab):
        self.nas, self.agent = lab.syncthing("nas"), lab.agent("laptop")
        lab.introduce(self.agent, self.nas)
        self.there = lab.folder_path(self.nas, FOLDER)
        trip = os.path.join(self.there, TRIP)
        os.makedirs(trip)
        ffmpeg("-f", "lavfi", "-i", "mandelbrot=s=640x480:r=1", "-frames:v", str(len(PICTURES)), os.path.join(trip, "IMG_%04d.jpg"))
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=320x180:r=8", "-t", "2", "-c:v", "libvpx", os.path.join(trip, "clip.webm"))
        os.makedirs(os.path.join(self.there, "Attic"))
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=640x480", "-frames:v", "1", os.path.join(self.there, "Attic/old.jpg"))
        harness.write(os.path.join(trip, "IMG_0005.txt"), b"what is between two pictures\n")
        harness.write(os.path.join(trip, "broken.jpg"), b"this is no picture\n")
        harness.write(os.path.join(trip, "Raw", "note.txt"), b"raw\n")
        harness.write(os.path.join(self.there, "Letter.txt"), b"Dear Ms Ferreira\n")
        for number in range(MANY):
            harness.write(os.path.join(self.there, f"Many/name {number:05}.txt"))
        self.here = lab.share(self.agent, FOLDER, self.nas)
        files = sum(kind == "file" for kind in harness.walk(self.there).values())
        self.nas.wait_scanned(FOLDER, files)
        self.agent.wait_global(FOLDER, files)

    def has(self, *parts):
        return os.path.exists(os.path.join(self.here, *parts))


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


@pytest.fixture
def grid(page, setting):
    """The page at the trip, shown as a grid; nothing is kept."""
    setting.agent.wait_connected(setting.nas.id, timeout=90)
    kept = [f"{FOLDER}:{line['path']}" for line in setting.agent.records("select", "--list")]
    if kept:
        setting.agent.run("deselect", *kept)
    page.log_in(setting.agent)
    page.script("localStorage.removeItem('synctrain-grids')")
    page.go("files", FOLDER, *TRIP.split("/"))
    page.wait(lambda: page.has(".layer .row:not([hidden]):not(.skeleton)"), "the list")
    page.click("Show as a grid")
    page.wait(lambda: "IMG_0001.jpg" in tiles(page), "the tiles")
    yield page
    page.script("localStorage.removeItem('synctrain-grids')")


def tiles(page):
    """The names of the tiles that are seen, in their order."""
    return page.script("""return [...document.querySelectorAll('.layer .shelf:not([hidden])')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
        .flatMap((shelf) => [...shelf.querySelectorAll('.tile:not([hidden]) .name-text')].map((name) => name.textContent))""")


def tile(page, name):
    return next(t for t in page.all(".layer .tile:not([hidden])") if t.find_element("css selector", ".name-text").text == name)


def active(page):
    """The tile that the keys are at, as assistive technology has it."""
    return page.script("""const grid = document.querySelector('.list');
        return document.getElementById(grid.getAttribute('aria-activedescendant'))?.querySelector('.name-text').textContent""")


def picked(page):
    return page.script("return [...document.querySelectorAll('.tile.picked:not([hidden]) .name-text')].map((n) => n.textContent).sort()")


def stand_at(page, name):
    """The keys at a tile, by keys alone."""
    page.script("document.querySelector('.list').focus()")
    page.begin_name(name)
    page.wait(lambda: active(page) == name, f"the keys are at {name}")


def shows(page, name):
    page.wait(lambda: page.text("dialog.full h2") == name, f"{name} over the whole window: {page.texts('dialog.full')}")


def is_drawn(page, width=640):
    page.wait(lambda: page.script("return document.querySelector('dialog.full .preview > img')?.naturalWidth") == width, "the picture")


def test_a_directory_is_remembered_as_a_grid(grid, setting):
    page = grid
    assert tiles(page)[:2] == ["Raw", "broken.jpg"]
    assert page.script("return document.querySelector('.tile .tag .unseen').textContent")
    page.driver.refresh()
    page.wait(lambda: "IMG_0001.jpg" in tiles(page), "tiles again")
    # So is what is in it, and nothing else.
    page.go("files", FOLDER, *TRIP.split("/"), "Raw")
    page.wait(lambda: tiles(page) == ["note.txt"], "the directory in it")
    page.go("files", FOLDER)
    page.wait(lambda: page.has(".layer .row:not([hidden]):not(.skeleton)") and not page.has(".tile"), "a list")
    page.go("files", FOLDER, *TRIP.split("/"))
    page.click("Show as a list")
    page.wait(lambda: page.has(".layer .row:not([hidden])") and not page.has(".tile"), "a list again")


def test_small_pictures_come_without_keeping(grid, setting):
    page = grid
    page.wait(lambda: len(page.all(".tile .picture img")) == len(PICTURES) + 1, "the pictures and the film", timeout=90)
    assert not setting.has("Photos")


def test_keys_go_in_two_dimensions_and_pick(grid, setting):
    page = grid
    names = tiles(page)
    across = int(page.find(".list").get_attribute("aria-colcount"))
    assert across > 3
    page.script("document.querySelector('.list').focus()")
    page.press(Keys.HOME, Keys.ARROW_RIGHT)
    page.wait(lambda: active(page) == names[1], "one to the right")
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda: active(page) == names[1 + across], "one below")
    page.press(Keys.ARROW_UP, Keys.ARROW_LEFT)
    page.wait(lambda: active(page) == names[0], "back")
    # Above the first row there is nothing, and a last row that is not full is reached.
    page.press(Keys.ARROW_UP)
    assert active(page) == names[0]
    page.press(Keys.END, Keys.ARROW_UP, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert active(page) == names[-1]
    page.press(Keys.HOME, Keys.ARROW_RIGHT)
    page.chord(Keys.SHIFT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.wait(lambda: picked(page) == sorted(names[1:4]), "three are picked")
    page.press(Keys.ESCAPE)
    page.wait(lambda: picked(page) == [], "none is picked")
    chain = ActionChains(page.driver, duration=0).key_down(Keys.CONTROL)
    for name in ("IMG_0002.jpg", "IMG_0007.jpg"):
        chain.click(tile(page, name).find_element("css selector", ".picture"))
    chain.key_up(Keys.CONTROL).perform()
    page.wait(lambda: picked(page) == ["IMG_0002.jpg", "IMG_0007.jpg"], "two are picked")
    page.press(" ")
    wait_until(lambda: setting.has(TRIP, "IMG_0002.jpg") and setting.has(TRIP, "IMG_0007.jpg"), 30, "both are kept")
    page.wait(lambda: page.script("return [...document.querySelectorAll('.tile:has(input:checked) .name-text')].map((n) => n.textContent)")
              == ["IMG_0002.jpg", "IMG_0007.jpg"], "their boxes")
    assert not setting.has(TRIP, "IMG_0003.jpg")


def test_the_order_of_a_grid_is_chosen(grid):
    page = grid
    order = page.named("Order", "combobox")
    order.send_keys("Small")
    page.wait(lambda: [name for name in tiles(page) if name.endswith("txt") or name == "broken.jpg"] == ["broken.jpg", "IMG_0005.txt"]
              and tiles(page)[1] == "broken.jpg", "the smallest first")


def test_many_names_are_few_tiles(grid):
    page = grid
    page.go("files", FOLDER, "Many")
    page.wait(lambda: page.has(".layer .row:not([hidden]):not(.skeleton)"), "the list")
    page.click("Show as a grid")
    page.wait(lambda: tiles(page)[:1] == ["name 00000.txt"], "its beginning")
    assert len(page.all(".tile")) < 120
    page.script("document.querySelector('.list').focus()")
    page.press(Keys.END)
    page.wait(lambda: active(page) == f"name {MANY - 1:05}.txt" and f"name {MANY - 1:05}.txt" in tiles(page), "its end")
    assert len(page.all(".tile")) < 120
    across = int(page.find(".list").get_attribute("aria-colcount"))
    assert page.find(".list").get_attribute("aria-rowcount") == str(-(-MANY // across))
    page.script("document.querySelector('.scroller').scrollTop = 20000")
    page.wait(lambda: f"name {MANY - 1:05}.txt" not in tiles(page) and len(tiles(page)) > 10 and all(tiles(page)), "its middle")
    # A change of its look stands at the same entry.
    page.press(Keys.HOME, Keys.PAGE_DOWN)
    name = active(page)
    page.click("Show as a list")
    page.wait(lambda: page.text(".row.active .name-text") == name == active(page), "the same entry in the list")


def test_pictures_are_looked_at_over_the_whole_window(grid, setting):
    page = grid
    stand_at(page, "IMG_0004.jpg")
    page.press(Keys.ENTER)
    shows(page, "IMG_0004.jpg")
    is_drawn(page)
    place = page.find("dialog.full").rect
    assert (place["x"], place["y"], place["width"], place["height"]) == (0, 0, *WIDE)
    # What is no picture is passed over.
    page.press(Keys.ARROW_RIGHT)
    shows(page, "IMG_0005.jpg")
    is_drawn(page)
    page.press(Keys.ARROW_LEFT)
    shows(page, "IMG_0004.jpg")
    page.click("Next picture")
    shows(page, "IMG_0005.jpg")
    # The focus stays in it.
    for _ in range(12):
        page.press(Keys.TAB)
        assert page.script("return document.activeElement === document.body || document.activeElement.closest('dialog.full') !== null")
    assert page.nameless() == []
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has("dialog.full"), "closed")
    assert page.script("return document.activeElement.className") == "list"
    assert active(page) == "IMG_0005.jpg", "the keys are at what was seen last"
    assert page.address == f"#/files/{FOLDER}/{TRIP}"
    assert not setting.has("Photos"), "nothing was kept"


def test_the_first_and_the_last_are_said(grid):
    page = grid
    tile(page, PICTURES[-1]).find_element("css selector", ".picture").click()
    shows(page, PICTURES[-1])
    page.press(Keys.ARROW_RIGHT)
    page.wait_text("dialog.full .facts-line", "This is the last picture.")
    shows(page, PICTURES[-1])
    # Back in the browser closes it, too, and stays in the directory.
    page.driver.back()
    page.wait(lambda: not page.has("dialog.full"), "closed")
    assert page.address == f"#/files/{FOLDER}/{TRIP}"


def test_a_film_plays_over_the_whole_window(grid, setting):
    page = grid
    tile(page, "clip.webm").find_element("css selector", ".name-text").click()
    shows(page, "clip.webm")
    page.wait(lambda: page.script("const v = document.querySelector('dialog.full video'); return v?.controls && v.readyState > 0 && v.videoWidth === 320"),
              "the film")
    page.press(Keys.ARROW_LEFT)
    shows(page, "broken.jpg")
    page.wait_text("dialog.full .preview", "This browser cannot show it.")
    page.wait(lambda: not page.has("video"), "the player is gone")


def test_the_details_are_one_press_away(grid):
    page = grid
    stand_at(page, "IMG_0006.jpg")
    page.press(Keys.ENTER)
    shows(page, "IMG_0006.jpg")
    page.click("Details", within="dialog.full")
    page.wait(lambda: page.text(".details h2") == "IMG_0006.jpg" and not page.has("dialog.full"), "the details")
    page.click("Full window")
    shows(page, "IMG_0006.jpg")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.has("dialog.full"), "closed")
    assert page.text(".details h2") == "IMG_0006.jpg"


def test_a_picture_that_nobody_connected_has_says_so_and_comes_later(grid, setting):
    page = grid
    setting.nas.stop()
    setting.agent.wait_disconnected(setting.nas.id)
    try:
        # Nothing of it was read for a small picture before.
        page.go("files", FOLDER, "Attic")
        page.click("Show as a grid")
        page.wait(lambda: tiles(page) == ["old.jpg"], "the tile")
        tile(page, "old.jpg").find_element("css selector", ".name-text").click()
        shows(page, "old.jpg")
        page.wait_text("dialog.full .preview", "the only device that has it is not connected", timeout=60)
        said = page.text("dialog.full .preview")
    finally:
        setting.nas.start()
    assert "cannot show" not in said
    setting.agent.wait_connected(setting.nas.id, timeout=90)
    page.click("Try again")
    is_drawn(page)
    page.press(Keys.ESCAPE)


def test_grid_and_window_fit_a_phone(grid):
    page = grid
    page.resize(PHONE)
    page.wait(lambda: page.find(".list").get_attribute("aria-colcount") == "2", "two in a row")
    assert page.overflow() <= 0
    assert page.nameless() == []
    tile(page, tiles(page)[2]).find_element("css selector", ".picture").click()
    page.wait(lambda: page.has("dialog.full"), "open")
    assert page.overflow() <= 0
    assert page.script("return document.querySelector('dialog.full').scrollWidth <= innerWidth")
    page.click("Close", within="dialog.full")
    page.wait(lambda: not page.has("dialog.full"), "closed")
