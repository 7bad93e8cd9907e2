"""Files that are added from the browser: what is on the disk and on the other device in the end, and what is not."""

import hashlib
import os

import harness
import pytest
from page import Keys
from process import free_port, wait_until
from selenium.webdriver.common.by import By

FOLDER = "home"
BIG = harness.pattern(6 << 20)


class Setting:
    def __init__(self, lab):
        self.lab, self.nas = lab, lab.syncthing("nas")
        self.agent = lab.agent("laptop", start=False)
        self.agent.run("config", "set", "http.listen", f"127.0.0.1:{free_port()}")
        self.agent.start()
        lab.introduce(self.agent, self.nas)
        self.there = lab.folder_path(self.nas, FOLDER)
        harness.write(os.path.join(self.there, "Papers/letter.txt"), b"theirs\n")
        harness.write(os.path.join(self.there, "Away/far.txt"), b"far\n")
        self.here = lab.share(self.agent, FOLDER, self.nas)
        self.nas.wait_scanned(FOLDER, 2)
        self.agent.wait_global(FOLDER, 2)
        self.agent.run("select", f"{FOLDER}:Papers")
        wait_until(lambda: self.read("Papers/letter.txt") == b"theirs\n", 20, "the letter is here")
        self.source = lab.directory("source")

    def make(self, name, data):
        path = os.path.join(self.source, name)
        harness.write(path, data)
        return path

    def read(self, path, root=None):
        try:
            with open(os.path.join(root or self.here, path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def lines(self):
        return self.read(".stignore").decode().splitlines()

    def arrives(self, path, data):
        """The bytes are here, and at the real peer."""
        wait_until(lambda: self.read(path) == data, 30, f"{path} is here")
        wait_until(lambda: self.read(path, self.there) == data, 30, f"{path} is on the other device")

    def temporary(self):
        return [name for _, _, names in os.walk(self.here) for name in names if name.startswith(".syncthing.")]


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


@pytest.fixture
def page_at(setting, page):
    page.log_in(setting.agent)

    def go(*parts):
        page.go("files", FOLDER, *parts)
        page.wait(lambda: page.text(".crumbs [aria-current=page]") == [FOLDER, *parts][-1], "the directory")
        wait_ready(page)
        return page
    yield go
    page.full_speed()
    page.complaints()


def wait_ready(page):
    """Until the page knows which directory it shows, and that files can be added to it."""
    page.wait(lambda: page.named("Add files…").get_attribute("aria-disabled") == "false", "files can be added")


def choose(page, *paths):
    page.driver.find_element(By.CSS_SELECTOR, ".add-files input").send_keys("\n".join(paths))


def test_files_that_are_chosen_arrive_and_are_announced(page_at, setting):
    page = page_at("Papers")
    choose(page, setting.make("new.txt", b"mine\n"), setting.make("empty.txt", b""), setting.make("big.bin", BIG))
    setting.arrives("Papers/new.txt", b"mine\n")
    setting.arrives("Papers/empty.txt", b"")
    setting.arrives("Papers/big.bin", BIG)
    time = os.stat(os.path.join(setting.source, "big.bin")).st_mtime
    assert abs(os.stat(os.path.join(setting.here, "Papers/big.bin")).st_mtime - time) < 0.01
    page.wait(lambda: "big.bin" in page.text(".list"), "it is in the list")
    page.wait(lambda: not page.has(".uploads:not([hidden])"), "nothing is left to show")
    assert setting.temporary() == []


def test_a_directory_that_is_dropped_comes_with_what_is_in_it(page_at, setting):
    page = page_at("Papers")
    setting.make("trip/a.txt", b"a")
    setting.make("trip/deep/er/b.txt", b"b")
    sign = page.drop(".middle", os.path.join(setting.source, "trip"), setting.make("beside.txt", b"c"))
    assert sign == "Drop files to add them to Papers"
    for path, data in (("trip/a.txt", b"a"), ("trip/deep/er/b.txt", b"b"), ("beside.txt", b"c")):
        setting.arrives(f"Papers/{path}", data)


def test_where_nothing_is_kept_a_line_is_added_and_said(page_at, setting):
    page = page_at("Away")
    choose(page, setting.make("kept.txt", b"kept\n"))
    setting.arrives("Away/kept.txt", b"kept\n")
    page.wait_text("#notices", "a line for the file was added to the selection")
    assert "!/Away/kept.txt" in setting.lines() and setting.read("Away/far.txt") is None


def test_a_name_that_is_taken_is_never_overwritten(page_at, setting):
    page = page_at("Papers")
    choose(page, setting.make("letter.txt", b"other\n"))
    page.wait_text("dialog h2", "“letter.txt” exists already")
    page.screenshot("upload-exists")
    page.answer("Keep both")
    setting.arrives("Papers/letter (2).txt", b"other\n")
    assert setting.read("Papers/letter.txt") == b"theirs\n"
    # One that only other devices have is no less there.
    page = page_at("Away")
    choose(page, setting.make("far.txt", b"near\n"))
    page.wait_text("dialog h2", "“far.txt” exists already")
    page.answer("Skip")
    page.wait(lambda: not page.has(".uploads:not([hidden])"), "it is skipped")
    assert setting.read("Away/far.txt", setting.there) == b"far\n" and setting.temporary() == []


def test_what_was_cut_off_goes_on_where_it_was(page_at, setting):
    page = page_at("Papers")
    path = setting.make("cut.bin", BIG[::-1])
    page.slow(256 << 10)
    choose(page, path)
    # The agent is stopped in the middle; the tab goes on by itself.
    page.wait(lambda: page.has(".adding progress") and 0.05 < page.find(".adding progress").get_property("value") < 0.8, "a part is here")
    page.screenshot("upload-progress")
    setting.agent.stop()
    page.wait_text(".adding", "Waiting for the agent")
    setting.agent.start()
    page.wait(lambda: page.has(".adding progress") and page.find(".adding progress").get_property("value") > 0.1, "it goes on")
    # The tab is loaded again; the same file is chosen again.
    page.full_speed()
    page.script("window.onbeforeunload = null; window.addEventListener('beforeunload', (e) => e.stopImmediatePropagation(), true)")
    page.driver.refresh()
    page.wait_text(".adding", "Choose the same file again to go on.")
    said = page.text(".adding li")
    assert "cut.bin" in said and not said.startswith("0 B"), said
    wait_ready(page)
    # Another file of that name is not taken for it, wherever it is chosen.
    choose(page, setting.make("another/cut.bin", b"another"))
    page.wait_text("#notices", "“cut.bin” is not the file that was begun")
    page.click("Close", within="#notices")
    page.script("HTMLInputElement.prototype.click = function () { this.id = 'chosen'; }")
    page.click("Choose the file to go on with: cut.bin")
    page.find("#chosen").send_keys(setting.make("other.bin", b"another"))
    page.wait_text("#notices", "is not the file that was begun")
    page.click("Close", within="#notices")
    page.click("Choose the file to go on with: cut.bin")
    page.find("#chosen").send_keys(path)
    setting.arrives("Papers/cut.bin", BIG[::-1])
    assert setting.temporary() == []


def test_what_is_cancelled_leaves_nothing(page_at, setting):
    page = page_at("Papers")
    page.slow(256 << 10)
    choose(page, setting.make("unwanted.bin", BIG))
    page.wait(lambda: page.has(".adding progress"), "it has begun")
    wait_until(lambda: setting.temporary(), 10, "a part is here")
    # Another file of that name does not pass for it.
    choose(page, setting.make("another/unwanted.bin", b"another"))
    page.wait_text("#notices", "“unwanted.bin” is not the file that was begun")
    page.click("Close", within="#notices")
    page.named("Cancel adding unwanted.bin").send_keys(Keys.ENTER)
    wait_until(lambda: not setting.temporary(), 20, "the part is gone")
    assert setting.read("Papers/unwanted.bin") is None


def test_what_another_tab_uploads_is_not_left_behind(page_at, setting, tabs):
    page = page_at("Papers")
    page.slow(256 << 10)
    choose(page, setting.make("both.bin", BIG))
    page.wait(lambda: page.has(".adding progress") and page.find(".adding progress").get_property("value") > 0, "a part is here")
    tabs(1)
    page.driver.get(page.origin)
    page.go("files", FOLDER, "Papers")
    page.wait(lambda: page.named("Add files…").get_attribute("aria-disabled") == "false", "files can be added")
    found = page.script_async("""
        const { get } = await import('/page/api.js');
        return [(await get('uploads')).uploads.map(({ wanted }) => wanted), document.querySelector('.uploads').hidden];""")
    assert found == [["Papers/both.bin"], True]
    tabs(0)
    page.click("Cancel adding both.bin")
    wait_until(lambda: not setting.temporary(), 20, "the part is gone")
    page.full_speed()


def test_a_folder_that_takes_nothing_says_so_before(page_at, setting):
    page = page_at("Papers")
    setting.agent.run("pause", FOLDER)
    try:
        page.wait(lambda: page.named("Add files…").get_attribute("aria-disabled") == "true", "it is off")
        assert page.named("Add files…").get_attribute("title") == "home is paused; resume it to add files"
        page.named("Add files…").send_keys(Keys.ENTER)
        page.wait_text("#notices", "home is paused; resume it to add files")
        assert page.drop(".middle", setting.make("never.txt", b"x")) == "home is paused; resume it to add files"
    finally:
        setting.agent.run("resume", FOLDER)
    page.wait(lambda: page.named("Add files…").get_attribute("aria-disabled") == "false", "it is on again")
    assert setting.read("Papers/never.txt") is None


def test_the_own_digest_is_that_of_the_browser(page_at):
    page = page_at("Papers")
    found = page.script_async("""
        const { ownDigest, hex } = await import('/page/sha256.js');
        return [0, 1, 55, 56, 64, 1000].map((size) => hex(ownDigest(new Uint8Array(size).map((_, i) => i * 7))));""")
    assert found == [hashlib.sha256(bytes(i * 7 % 256 for i in range(size))).hexdigest() for size in (0, 1, 55, 56, 64, 1000)]
