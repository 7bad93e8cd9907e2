"""Old versions, deleted files and Undo: the way back, judged by the disk and by the other device."""

import contextlib
import os
import shutil

import harness
import pytest
from process import wait_until
from selenium.webdriver.support.select import Select

KEPT, PICKED = "home", "picks"


class Setting:
    def __init__(self, lab):
        self.lab, self.nas, self.agent = lab, lab.syncthing("nas"), lab.agent("laptop")
        lab.introduce(self.agent, self.nas)
        for folder in (KEPT, PICKED):
            harness.write(self.there(folder, "Papers/letter.txt"), b"first\n")
        self.roots = {KEPT: lab.share(self.agent, KEPT, self.nas, mode="full"), PICKED: lab.share(self.agent, PICKED, self.nas)}
        self.agent.run("folder", "set", KEPT, "versions=simple")
        for folder in (KEPT, PICKED):
            self.agent.wait_global(folder, 1)
        self.both(KEPT, "Papers/letter.txt", b"first\n")

    def here(self, folder, *path):
        return os.path.join(self.roots[folder], *path)

    def there(self, folder, *path):
        return os.path.join(self.lab.folder_path(self.nas, folder), *path)

    def both(self, folder, path, data):
        """The same bytes on both devices, or nothing."""
        for place in (self.here(folder, path), self.there(folder, path)):
            wait_until(lambda place=place: read(place) == data, 30, f"{place}: {data!r}")

    def change_there(self, folder, path, data):
        """Writes a file on the other device, or removes it, and has that noticed."""
        if data is None:
            os.remove(self.there(folder, path))
        else:
            harness.write(self.there(folder, path), data)
        self.nas.scan(folder)

    @contextlib.contextmanager
    def apart(self):
        self.agent.run("pause", "--device", self.nas.id)
        self.agent.wait_disconnected(self.nas.id)
        try:
            yield
        finally:
            self.agent.run("resume", "--device", self.nas.id)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


@pytest.fixture
def shown(setting, page):
    return page.log_in(setting.agent)


def said(page, text):
    page.wait(lambda: any(text in notice for notice in page.texts(".notice")), f"{text!r} is said")


def undo(page, text):
    page.wait(lambda: any(text in said for said in page.texts(".notice")), f"{text!r} is said")
    page.click("Undo", within="#notices")


def show(page, which):
    Select(page.named("Which files to show", "combobox")).select_by_visible_text(which)


def test_the_versions_of_a_file_are_a_time_line(shown, setting):
    page = shown
    for data in (b"second\n", b"the third\n"):
        setting.change_there(KEPT, "Papers/letter.txt", data)
        setting.both(KEPT, "Papers/letter.txt", data)
    page.go("files", KEPT, "Papers", "letter.txt")
    page.wait(lambda: len(page.all(".details .timeline li")) == 3, "what is now, and two before")
    assert page.texts(".details .timeline li")[0].startswith("Now")
    contents = page.script_async("""
        return Promise.all([...document.querySelectorAll('.details .timeline a')].map(async (link) => {
          const answer = await fetch(link.href);
          return [answer.status, answer.headers.get('Content-Type'), await answer.text()];
        }));""")
    assert contents == [[200, "application/octet-stream", "second\n"], [200, "application/octet-stream", "first\n"]]
    page.screenshot("versions")
    page.find(".details .timeline li:last-child button").click()
    page.answer("Restore")
    setting.both(KEPT, "Papers/letter.txt", b"first\n")


def test_a_deleted_file_has_a_way_back(shown, setting):
    page = shown
    setting.change_there(KEPT, "Papers/Taxes/old.txt", b"paid\n")
    setting.both(KEPT, "Papers/Taxes/old.txt", b"paid\n")
    setting.change_there(KEPT, "Papers/Taxes/old.txt", None)
    setting.both(KEPT, "Papers/Taxes/old.txt", None)
    page.go("files", KEPT, "Papers")
    page.wait(lambda: "letter.txt" in page.text(".list"), "the list")
    show(page, "Deleted")
    # What is there in another version is not deleted.
    page.wait(lambda: len(page.all(".deleted li")) == 1, "one that is gone")
    assert "old.txt" in page.text(".deleted li") and "by nas" in page.text(".deleted li")
    page.screenshot("deleted")
    assert page.nameless() == [] and page.overflow() <= 0
    page.click("Restore old.txt")
    setting.both(KEPT, "Papers/Taxes/old.txt", b"paid\n")
    page.wait_text(".deleted", "No deleted files that can be restored.")
    show(page, "All")
    page.wait(lambda: "Taxes" in page.text(".list"), "the list is back")


def test_lists_of_what_is_archived_have_no_end_before_the_last(shown, setting):
    page = shown
    setting.change_there(KEPT, "Logs/run.txt", b"now\n")
    setting.both(KEPT, "Logs/run.txt", b"now\n")
    for number in range(60):
        harness.write(setting.here(KEPT, f".stversions/Logs/run~20261101-1011{number:02}.txt"), b"x" * number)
    page.go("files", KEPT, "Logs", "run.txt")
    page.wait(lambda: len(page.all(".details .timeline li")) == 61, "what is now, and sixty before")
    assert ", 59 B" in page.texts(".details .timeline li")[1], "the newest first"
    for number in range(1050):
        harness.write(setting.here(KEPT, f".stversions/Logs/old {number}~20261101-101112.txt"), b"old\n")
    page.go("files", KEPT, "Logs")
    show(page, "Deleted")
    page.wait(lambda: len(page.all(".deleted li")) == 100, "the first of them")
    while page.has(".deleted > button"):
        count = len(page.all(".deleted li"))
        page.find(".deleted > button").click()
        page.wait(lambda count=count: len(page.all(".deleted li")) > count, f"more than {count}")
    assert len(page.all(".deleted li")) == 1050
    shutil.rmtree(setting.here(KEPT, ".stversions/Logs"))
    show(page, "All")


def test_a_version_that_is_too_large_to_be_downloaded_says_so(shown, setting):
    page = shown
    setting.change_there(KEPT, "Films/now.bin", b"now\n")
    setting.both(KEPT, "Films/now.bin", b"now\n")
    for name in ("now", "gone"):
        path = setting.here(KEPT, f".stversions/Films/{name}~20261101-101112.bin")
        harness.write(path, b"")
        os.truncate(path, (32 << 20) + 1)
    page.go("files", KEPT, "Films", "now.bin")
    words = "The version has 32.0 MiB. Restore it to open it."
    page.wait_text(".details .timeline", words)
    assert not page.has(".details .timeline a")
    page.go("files", KEPT, "Films")
    show(page, "Deleted")
    page.wait_text(".deleted", words)
    assert not page.has(".deleted a")
    shutil.rmtree(setting.here(KEPT, ".stversions/Films"))
    show(page, "All")


def test_deleting_everywhere_can_be_undone(shown, setting):
    page = shown
    harness.write(setting.here(KEPT, "Papers/draft.txt"), b"a draft\n")
    setting.agent.run("scan", KEPT)
    setting.both(KEPT, "Papers/draft.txt", b"a draft\n")
    page.go("files", KEPT, "Papers", "draft.txt")
    page.click("More actions", within=".details")
    page.click("Delete everywhere…", within=".menu")
    page.answer("Delete everywhere")
    wait_until(lambda: read(setting.here(KEPT, "Papers/draft.txt")) is None, 30, "it is deleted")
    undo(page, "was deleted on all devices")
    setting.both(KEPT, "Papers/draft.txt", b"a draft\n")


def test_undo_of_a_deletion_restores_no_older_version(shown, setting):
    """The file was not on this device: nothing was archived, though an older version of it is."""
    page = shown
    setting.agent.run("folder", "set", PICKED, "versions=simple")
    setting.change_there(PICKED, "Papers/book.txt", b"current\n")
    setting.agent.wait_entry(f"{PICKED}:Papers/book.txt", lambda entry: entry)
    harness.write(setting.here(PICKED, ".stversions/Papers/book~20261101-101112.txt"), b"a month ago\n")
    page.go("files", PICKED, "Papers", "book.txt")
    page.click("More actions", within=".details")
    page.click("Delete everywhere…", within=".menu")
    page.answer("Delete everywhere")
    said(page, "was deleted on all devices")
    assert not page.has("#notices .undo")
    wait_until(lambda: read(setting.there(PICKED, "Papers/book.txt")) is None, 30, "it is deleted")
    assert read(setting.here(PICKED, "Papers/book.txt")) is None


def test_ticks_can_be_undone(shown, setting):
    page, lines = shown, setting.here(PICKED, ".stignore")
    before = read(lines)
    page.go("files", PICKED)
    page.click("Keep Papers on this device", "checkbox")
    wait_until(lambda: read(setting.here(PICKED, "Papers/letter.txt")) == b"first\n", 30, "it is here")
    kept = read(lines)
    undo(page, "“Papers” is now kept")
    wait_until(lambda: read(lines) == before, 10, "the lines are those of before")
    # Nothing of it was here before the tick.
    said(page, "6 B were freed: other devices have them.")
    assert read(setting.here(PICKED, "Papers/letter.txt")) is None
    assert read(setting.there(PICKED, "Papers/letter.txt")) == b"first\n"
    # What is said is said of a list that shows it: the next press means what its box shows.
    assert not page.named("Keep Papers on this device", "checkbox").get_property("checked")
    page.click("Keep Papers on this device", "checkbox")
    wait_until(lambda: read(lines) == kept and read(setting.here(PICKED, "Papers/letter.txt")) == b"first\n", 30, "it is kept again")
    page.wait(lambda: page.named("Keep Papers on this device", "checkbox").get_property("checked"), "the box says so")
    page.click("Keep Papers on this device", "checkbox")
    wait_until(lambda: read(setting.here(PICKED, "Papers/letter.txt")) is None, 30, "its space is free")
    undo(page, "Deselected “Papers”; freed 6 B.")
    wait_until(lambda: read(setting.here(PICKED, "Papers/letter.txt")) == b"first\n" and read(lines) == kept, 30, "it is here again")
    said(page, "6 B that were freed are downloaded again.")


def test_undo_leaves_what_was_here_before_and_says_so(shown, setting):
    page, lines = shown, setting.here(PICKED, ".stignore")
    setting.agent.run("deselect", "--keep-local", f"{PICKED}:Papers")
    before = read(lines)
    page.go("files", PICKED)
    page.wait(lambda: not page.named("Keep Papers on this device", "checkbox").get_property("checked"), "the box says so")
    page.click("Keep Papers on this device", "checkbox")
    undo(page, "“Papers” is now kept")
    wait_until(lambda: read(lines) == before, 10, "the lines are those of before")
    said(page, "Undone: the selection is as it was before.")
    assert read(setting.here(PICKED, "Papers/letter.txt")) == b"first\n"


def test_undo_is_refused_over_the_changes_of_others(shown, setting):
    page, lines = shown, setting.here(PICKED, ".stignore")
    setting.agent.run("deselect", f"{PICKED}:Papers")
    wait_until(lambda: read(setting.here(PICKED, "Papers/letter.txt")) is None, 30, "nothing is here")
    page.go("files", PICKED)
    page.click("Keep Papers on this device", "checkbox")
    page.wait(lambda: any("is now kept" in text for text in page.texts(".notice")), "it is said")
    setting.agent.run("select", f"{PICKED}:Plans")
    after = read(lines)
    undo(page, "“Papers” is now kept")
    said(page, "was changed meanwhile")
    assert read(lines) == after
    setting.agent.run("deselect", f"{PICKED}:Plans", f"{PICKED}:Papers")


def test_a_choice_over_a_conflict_can_be_undone(shown, setting):
    page = shown
    setting.change_there(KEPT, "plan.txt", b"in the beginning\n")
    setting.both(KEPT, "plan.txt", b"in the beginning\n")
    with setting.apart():
        for place, data, time in ((setting.here, b"mine\n", 1_790_000_000), (setting.there, b"theirs\n", 1_790_003_600)):
            harness.write(place(KEPT, "plan.txt"), data)
            os.utime(place(KEPT, "plan.txt"), (time, time))
        setting.agent.run("scan", KEPT)
        setting.nas.scan(KEPT)
    wait_until(lambda: read(setting.here(KEPT, "plan.txt")) == b"theirs\n", 30, "theirs is the newer one")
    page.go("attention")
    card = '[data-conflict="plan.txt"]'
    page.wait(lambda: page.has(card), "the conflict")
    page.choose("More actions for plan.txt", "Keep mine", within=card)
    wait_until(lambda: read(setting.here(KEPT, "plan.txt")) == b"mine\n", 30, "mine is in the place")
    undo(page, "Resolved")
    setting.both(KEPT, "plan.txt", b"theirs\n")
