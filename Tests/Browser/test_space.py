"""Freeing space and removing a folder on the page: nothing happens before it was said, judged by the disk and the other device."""

import os
import re

import harness
import pytest
from page import Keys
from process import wait_until

FOLDER = "library"
FILES = {"Films/long.bin": 3 << 20, "Films/short.bin": 1 << 20, "Letter.txt": 100}


class Setting:
    def __init__(self, lab):
        self.nas, self.agent = lab.syncthing("nas"), lab.agent("laptop")
        lab.introduce(self.agent, self.nas)
        self.there = lab.folder_path(self.nas, FOLDER)
        for path, size in FILES.items():
            harness.write(os.path.join(self.there, path), harness.pattern(size))
        self.here = lab.share(self.agent, FOLDER, self.nas)
        self.nas.wait_scanned(FOLDER, len(FILES))
        self.agent.wait_global(FOLDER, len(FILES))
        self.agent.run("select", *(f"{FOLDER}:{path}" for path in FILES))
        wait_until(lambda: self.present() == set(FILES), 60, "all are here", child=self.agent)

    def present(self):
        return {path for path in FILES if os.path.exists(os.path.join(self.here, path))}


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


@pytest.fixture
def folders(page, setting):
    page.log_in(setting.agent).go("files")
    page.wait(lambda: page.has(".folder-cards .card"), "the folder")
    return page


def ask_for(page, amount):
    """Up to what would go for so many GiB."""
    page.choose(f"More actions for {FOLDER}", "Free space…")
    page.wait_text("dialog", "are free on this disk now", timeout=60)
    assert page.script("return document.activeElement.type") == "number"
    field = page.find("dialog input")
    field.clear()
    field.send_keys(amount, Keys.ENTER)
    page.wait(lambda: not page.has("dialog input") and page.has("dialog[open]"), "the answer")


def test_what_would_go_is_shown_before_it_does(folders, setting):
    page = folders
    # More than there is: what others do to the disk meanwhile changes nothing.
    for choice in ("Cancel", "Free space"):
        ask_for(page, "1")
        page.wait_text("dialog h2", f"Free 4.0 MiB in {FOLDER}?")
        assert set(page.texts("dialog .staying li")) == set(FILES)
        assert "less than the 1.0 GiB that you asked for" in page.text("dialog .warn")
        assert page.driver.switch_to.active_element.text == "Cancel" and page.nameless() == []
        assert setting.present() == set(FILES)
        page.answer(choice)
    page.wait_text("#notices", f"3 files were freed in {FOLDER}: 4.0 MiB.", timeout=90)
    assert setting.present() == set()
    assert os.path.getsize(os.path.join(setting.there, "Films/long.bin")) == 3 << 20, "the other device has it"
    ask_for(page, "1")
    page.wait_text("dialog h2", f"Nothing can be freed in {FOLDER}")
    page.answer("Close")
    page.go("activity")
    page.wait(lambda: any(text.startswith("free space done") for text in page.texts("main.activity .line")), "the job has a name")


def test_a_folder_is_removed_and_its_files_stay(folders, setting):
    page = folders
    setting.agent.run("select", f"{FOLDER}:Letter.txt")
    wait_until(lambda: setting.present() == {"Letter.txt"}, 60, "one is here", child=setting.agent)
    page.wait_text(".folder-cards .card", "100 B on this disk", timeout=60)
    before = setting.present()
    page.choose(f"More actions for {FOLDER}", "Remove this folder…")
    page.wait_text("dialog", "Nothing is deleted, on this device or on others.")
    said = page.text("dialog")
    assert setting.here in said and re.search(rf"{len(before)} files?, ", said)
    page.answer("Cancel")
    assert setting.agent.folder(FOLDER)["id"] == FOLDER
    page.choose(f"More actions for {FOLDER}", "Remove this folder…")
    page.answer("Remove folder")
    page.wait_text("main.files", "No folders yet.")
    assert setting.agent.status()["folders"] == []
    assert setting.present() == before
    assert os.path.exists(os.path.join(setting.there, "Films/long.bin"))
