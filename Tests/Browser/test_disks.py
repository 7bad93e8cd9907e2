"""How full the disks are, above every view of the page."""

import os
import re

import harness
import pytest
from page import PHONE, WIDE, Keys
from process import wait_until

FOLDER = "library"
FILES = {"Films/long.bin": 3 << 20, "Films/short.bin": 1 << 20, "Letter.txt": 100}


class Setting:
    def __init__(self, lab):
        nas, self.agent = lab.syncthing("nas"), lab.agent("laptop")
        lab.introduce(self.agent, nas)
        for path, size in FILES.items():
            harness.write(os.path.join(lab.folder_path(nas, FOLDER), path), harness.pattern(size))
        self.here = lab.share(self.agent, FOLDER, nas)
        nas.wait_scanned(FOLDER, len(FILES))
        self.agent.wait_global(FOLDER, len(FILES))


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


VIEWS = ["files", f"files/{FOLDER}", "activity", "devices", "attention", "settings", "log"]


def space(page):
    """As the agent says it."""
    return page.script_async("const { get } = await import('/page/api.js'); return (await get('space')).disks")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_says_how_full_the_disk_is(page, setting, view):
    page.log_in(setting.agent).go(*view.split("/"))
    page.wait(lambda: page.has(f"main.{view.split('/')[0]}"), "the view")
    page.wait_text("#space summary", "free of")
    assert re.search(r"[\d.]+ [MGTP]iB free of [\d.]+ [MGTP]iB", page.text("#space summary"))
    assert "cache" in page.text("#space summary")
    for size in (WIDE, PHONE):
        for scheme in ("light", "dark"):
            page.resize(size)
            page.scheme(scheme)
            assert page.find("#space .space-bar").is_displayed() and page.overflow() <= 0
            page.screenshot(f"space-{view.replace('/', '-')}-{size[0]}-{scheme}")
    # By keyboard.
    page.find("#space summary").send_keys(Keys.ENTER)
    page.wait(lambda: page.find("#space dl").is_displayed(), "what it is made of")
    assert page.overflow() <= 0
    page.wait(lambda: all(control.accessible_name for control in page.all("#space button, #space summary")), "names")
    page.screenshot(f"space-{view.replace('/', '-')}-open")


def test_what_the_disk_is_made_of(page, setting):
    agent = setting.agent
    page.log_in(agent).go("log")
    disk, = space(page)
    found = os.statvfs(setting.here)
    assert disk["folders"] == [FOLDER] and disk["total"] == found.f_blocks * found.f_frsize
    assert abs(disk["free"] - found.f_bavail * found.f_frsize) < 1 << 30
    agent.run("select", f"{FOLDER}:Films/short.bin", f"{FOLDER}:Letter.txt")
    agent.run("wait", FOLDER)
    wait_until(lambda: space(page)[0]["present"] == (1 << 20) + 100, 30, "both are counted", child=agent)
    disk, = space(page)
    assert disk["selected"] == disk["here"] == (1 << 20) + 100 and disk["short"] == 0
    page.wait_text("#space summary", "1.0 MiB selected, all on this disk")
    page.find("#space summary").click()
    page.wait_text("#space dl", "Selected, on this disk\n1.0 MiB")
    assert "Everything else" in page.text("#space dl") and "Size of the disk" in page.text("#space dl")
    # More is selected: it is said in the view that is shown.
    agent.run("pause", FOLDER)
    agent.run("select", f"{FOLDER}:Films/long.bin")
    page.wait_text("#space summary", "1.0 MiB of 4.0 MiB selected on this disk", timeout=60)
    page.wait_text("#space dl", "Selected, to be downloaded\n3.0 MiB")
    agent.run("resume", FOLDER)
    agent.run("wait", FOLDER)
    page.wait_text("#space summary", "4.0 MiB selected, all on this disk", timeout=60)
    page.click(f"Free space in {FOLDER}…")
    page.wait_text("dialog h2", f"Free space in {FOLDER}")
    page.answer("Cancel")


def test_parts_of_a_disk_are_its_size(page, setting):
    page.log_in(setting.agent)
    cases = [
        dict(total=1000, free=300, here=120, selected=140, present=100, short=0, cache=30),
        # A scan is behind: no part is less than nothing.
        dict(total=100, free=90, here=50, selected=50, present=50, short=0, cache=50),
        dict(total=100, free=10, here=0, selected=500, present=0, short=490, cache=0),
        dict(total=0, free=0, here=0, selected=0, present=0, short=0, cache=0)]
    parts = page.script_async("const { partsOf } = await import('/page/space.js'); return arguments[0].map(partsOf)", cases)
    for case, found in zip(cases, parts):
        assert sum(found.values()) == case["total"] and min(found.values()) >= 0, (case, found)
    assert parts[0] == {"other": 550, "present": 100, "unselected": 20, "cache": 30, "coming": 40, "free": 260}
    disks = [dict(cases[0], folders=["a"]), dict(cases[2], folders=["b"]), dict(cases[1], folders=[])]
    tightest = page.script_async(
        "const { tightest } = await import('/page/space.js'); return arguments[0].map((disks) => tightest(disks)?.folders)",
        [disks, disks[:1], disks[2:], []])
    assert tightest == [["b"], ["a"], None, None]
