"""The Files view: what a person sees, ticks, plays and finds, judged by the disk and by the other device."""

import http.server
import io
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.parse
import zipfile

import harness
import pytest
from page import PHONE, WIDE, Keys
from process import wait_until
from selenium.webdriver.support.select import Select

FOLDER = "home"
HOSTILE = ["<img src=x onerror=alert(1)>.txt", "holiday\u202egpj.exe", "\"><script>alert(2)</script>", "a&amp;b.txt"]
TOP = ["Documents", "Films", "Many", "Notes", "Odd", "Photos"]
HOSTILE_TEXT = """# A <img src=x onerror="document.title = 'taken'"> day

Some *soft* and **strong** words, `code <b>`, and snake_case_names.

- one
  - inner
- [x] done

[here](https://example.org/a) [bad](javascript:document.title='taken') [data](data:text/html;base64,PHNjcmlwdD4=) [own](/v1/status)
![a picture](https://example.org/tracker.png) <script>document.title = 'taken'</script> [<img src=x onerror=alert(1)>](https://example.org/b)

| name | size |
|------|-----:|
| a    | **2** |

```sh
echo "<img src=x onerror=alert(1)>"
```
"""
PROGRAM = "import os\n\n# <b>all</b> of them\nfor name in os.listdir():\n    os.rename(name, name.lower())\n"
MANY = 20_000
FILM = "Films/Summer at the lake.webm"


def write(root, path, data):
    place = os.path.join(root, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True, timeout=60, stdin=subprocess.DEVNULL)


def make_library(root):
    """What a person has: pictures, a film, letters, an archive, a directory of many names, and names that mean harm."""
    pictures = os.path.join(root, "Photos/2026/Lisbon")
    os.makedirs(pictures)
    ffmpeg("-f", "lavfi", "-i", "mandelbrot=s=640x480:r=1", "-frames:v", "8", os.path.join(pictures, "IMG_%04d.jpg"))
    os.makedirs(os.path.join(root, "Films"))
    # Five seconds that do not compress well, thirty-two times: playing the beginning is far from having it all.
    part = os.path.join(root, "part.webm")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=320x180:r=8,noise=alls=80:allf=t", "-t", "5", "-c:v", "libvpx", "-b:v", "3M",
           "-qmax", "8", "-g", "8", "-deadline", "realtime", "-cpu-used", "16", part)
    ffmpeg("-stream_loop", "31", "-i", part, "-c", "copy", os.path.join(root, FILM))
    os.remove(part)
    write(root, "Documents/Letter.txt", "Dear Ms Ferreira,\n" + "thank you for the keys.\n" * 5000)
    write(root, "Documents/Taxes/2025.txt", "paid\n")
    write(root, "Documents/Taxes/2024.txt", "paid, too\n")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("inside/side.txt", "what is inside\n")
        members.writestr("big.bin", harness.pattern(1 << 20))
        members.writestr("long.log", "a line of many\n" * 100_000, zipfile.ZIP_DEFLATED)
    write(root, "Documents/Scans.zip", archive.getvalue())
    write(root, "Documents/Lease.pdf", red_document())
    write(root, "Documents/page.html", "<script>parent.document.title = 'taken'; document.cookie = 'taken=1'; fetch('/v1/status')</script>")
    write(root, "Notes/day.md", HOSTILE_TEXT)
    write(root, "Notes/rename.py", PROGRAM)
    write(root, "Notes/ticket.pdf", red_document() + b"% of a journey\n")
    write(root, "Notes/ticket.txt", "seat 12\n")
    for name in HOSTILE:
        write(root, f"Odd/{name.replace('/', '')}", "odd\n")
    write(root, "Many/zoo/animals.txt", "none\n")
    for number in range(MANY):
        with open(os.path.join(root, f"Many/name {number}.txt"), "wb"):
            pass


def red_document():
    """A PDF of one page that is red all over."""
    drawing = b"1 0 0 rg 0 0 300 400 re f"
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
               b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R>>",
               b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing)]
    out, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (table, len(out))


def redness(png):
    """Which part of a picture's points are red."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", "-", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], input=png,
                         capture_output=True, check=True, timeout=60).stdout
    red = sum(1 for i in range(0, len(raw), 3) if raw[i] > 200 and raw[i + 1] < 60 and raw[i + 2] < 60)
    return red * 3 / len(raw)


class Setting:
    def __init__(self, lab):
        self.lab = lab
        self.nas, self.agent = lab.syncthing("nas"), lab.agent("laptop")
        lab.introduce(self.agent, self.nas)
        self.there = lab.folder_path(self.nas, FOLDER)
        os.makedirs(self.there)
        make_library(self.there)
        self.here = lab.share(self.agent, FOLDER, self.nas)
        files = sum(kind == "file" for kind in harness.walk(self.there).values())
        self.nas.wait_scanned(FOLDER, files)
        self.agent.wait_global(FOLDER, files)

    @property
    def bytes_in(self):
        return next(d["bytesIn"] for d in self.agent.status()["devices"] if d["id"] == self.nas.id)

    @property
    def lines(self):
        with open(os.path.join(self.here, ".stignore")) as file:
            return file.read().splitlines()

    def has(self, path):
        return os.path.exists(os.path.join(self.here, path))


@pytest.fixture(scope="module")
def setting(module_lab):
    return Setting(module_lab)


@pytest.fixture
def files(setting, page):
    """The page at the folder, nothing chosen; one login for all tests of this module."""
    if not getattr(setting, "is_logged_in", False):
        page.log_in(setting.agent)
        setting.origin, setting.is_logged_in = page.origin, True
    page.origin = setting.origin
    page.driver.get(f"{setting.origin}/#/files/{FOLDER}")
    at(page, *TOP)
    yield page
    # What a test kept is let go, whatever became of it.
    kept = [f"{FOLDER}:{line['path']}" for line in setting.agent.records("select", "--list")]
    if kept:
        setting.agent.try_run("deselect", *kept)


def names(page):
    return page.script("return [...document.querySelectorAll('.layer .row:not([hidden])')]"
                       ".sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((r) => r.querySelector('.name-text').textContent)")


def at(page, *expected):
    page.wait(lambda: names(page) == list(expected), f"the list is {expected}")


def row_state(page, name):
    """The word in the row's column State; "" if there is no such row."""
    return page.script("return [...document.querySelectorAll('.layer .row:not([hidden])')]"
                       ".find((r) => r.querySelector('.name-text').textContent === arguments[0])?.querySelector('.state').textContent ?? ''", name)


def box(page, name):
    """`true`, `false` or `mixed`."""
    element = page.named(f"Keep {name} on this device", "checkbox")
    return "mixed" if element.get_property("indeterminate") else str(element.get_property("checked")).lower()


def said(page, text):
    page.wait(lambda: any(text in notice for notice in page.texts(".notice")), f"{text!r} is said")


def contents(root):
    """What is in Documents, to the byte."""
    return harness.snapshot(os.path.join(root, "Documents"))


def open_file(page, *parts):
    page.go("files", FOLDER, *parts)
    page.wait(lambda: page.text(".details h2") == parts[-1], f"details of {parts[-1]}")


# Keeping and letting go


def test_a_directory_of_which_nothing_is_here_says_so(files, setting):
    page, agent = files, setting.agent
    found = [os.path.join(root, name) for root, _, names in os.walk(os.path.join(setting.there, "Documents")) for name in names]
    size = f"{sum(map(os.path.getsize, found)) / 1024 / 1024:.1f} MiB"
    agent.run("pause", "--device", setting.nas.id)
    try:
        agent.wait_disconnected(setting.nas.id)
        agent.run("select", f"{FOLDER}:Documents")
        page.wait(lambda: box(page, "Documents") == "true" and row_state(page, "Documents") == f"0 of {size} here", "the row says so")
    finally:
        agent.run("resume", "--device", setting.nas.id)
    page.wait(lambda: row_state(page, "Documents") == "Kept", "all of it is here")
    # Of a part of it, that part.
    agent.run("deselect", f"{FOLDER}:Documents/Taxes")
    page.wait(lambda: box(page, "Documents") == "mixed" and row_state(page, "Documents").endswith(" here")
              and " of " not in row_state(page, "Documents"), "up to date")


def test_what_does_not_fit_is_said_before_and_is_never_green(files, setting):
    page, agent = files, setting.agent
    config = agent.file("config.toml")
    with open(config) as file:
        before = file.read()

    def keep_free(line):
        with open(config, "w") as file:
            file.write(before.replace(f'id = "{FOLDER}"', f'id = "{FOLDER}"\n{line}', 1))
        agent.run("reload")
    keep_free('minimum-free = "100 %"')
    try:
        page.click("Keep Documents on this device", "checkbox")
        page.wait_text("dialog", "It does not fit: ")
        page.answer("Keep")
        page.wait(lambda: box(page, "Documents") == "true" and row_state(page, "Documents").endswith(" short"), "the row says so")
        assert not page.has(".row:not([hidden]) .state .tag.good")
        assert not setting.has("Documents/Taxes/2024.txt")
    finally:
        keep_free("")
    agent.run("fetch", "-q")
    page.wait(lambda: row_state(page, "Documents") == "Kept", "there is space again")


def test_a_tick_brings_a_directory_and_another_frees_it(files, setting):
    page = files
    size = sum(os.path.getsize(os.path.join(root, name)) for root, _, found in os.walk(os.path.join(setting.there, "Documents")) for name in found)
    page.click("Keep Documents on this device", "checkbox")
    said(page, f"“Documents” is now kept; downloading {size / 1024 / 1024:.1f} MiB.")
    assert not page.has("dialog"), "what is small is not asked"
    wait_until(lambda: contents(setting.here) == contents(setting.there), 20, "the bytes are here")
    assert "!/Documents" in setting.lines
    page.wait(lambda: box(page, "Documents") == "true" and row_state(page, "Documents") == "Kept", "the row says so")

    # One file of it less: the directory is kept in part, and the others stay.
    page.go("files", FOLDER, "Documents", "Taxes")
    page.wait(lambda: row_state(page, "2025.txt") == "Here", "it is here")
    page.click("Keep 2025.txt on this device", "checkbox")
    said(page, "Deselected “2025.txt”; freed 5 B.")
    wait_until(lambda: not setting.has("Documents/Taxes/2025.txt"), 10, "it is freed")
    assert setting.has("Documents/Taxes/2024.txt") and os.path.exists(os.path.join(setting.there, "Documents/Taxes/2025.txt"))
    page.wait(lambda: row_state(page, "2025.txt") == "Not here" and box(page, "2025.txt") == "false", "the row says so")
    page.go("files", FOLDER)
    page.wait(lambda: box(page, "Documents") == "mixed", "kept in part")

    # A directory that is kept in part is kept whole by a tick, and then let go.
    page.click("Keep Documents on this device", "checkbox")
    wait_until(lambda: setting.has("Documents/Taxes/2025.txt"), 10, "it is back")
    page.wait(lambda: box(page, "Documents") == "true", "kept")
    page.click("Keep Documents on this device", "checkbox")
    wait_until(lambda: not setting.has("Documents"), 10, "all is freed")
    assert "!/Documents" not in setting.lines
    assert len(harness.regular_files(os.path.join(setting.there, "Documents"))) == 6, "nothing is deleted elsewhere"
    page.wait(lambda: box(page, "Documents") == "false", "not kept")


def test_what_cannot_come_again_now_is_asked_before_it_is_freed(files, setting):
    page, agent = files, setting.agent
    agent.run("select", f"{FOLDER}:Documents")
    page.wait(lambda: row_state(page, "Documents") == "Kept", "it is here")
    agent.run("pause", "--device", setting.nas.id)
    try:
        agent.wait_disconnected(setting.nas.id)
        page.wait_text("#state", "0 of ")
        page.click("Keep Documents on this device", "checkbox")
        page.wait_text("dialog", "None of these devices is connected now")
        assert page.script("return document.activeElement.textContent") == "Cancel", "what frees something is not what Enter does"
        page.press(Keys.ESCAPE)
        page.wait(lambda: not page.has("dialog"), "Escape is no")
        assert setting.has("Documents/Taxes/2024.txt") and "!/Documents" in setting.lines, "a question changes nothing"
        page.click("Keep Documents on this device", "checkbox")
        page.answer("Stop keeping, leave the files here")
        said(page, "Deselected “Documents”")
        wait_until(lambda: "!/Documents" not in setting.lines, 10, "it is deselected")
        assert setting.has("Documents/Taxes/2024.txt")
    finally:
        agent.run("resume", "--device", setting.nas.id)
    agent.run("select", f"{FOLDER}:Documents")


def test_what_cannot_be_kept_says_why(files, setting):
    page = files
    path = os.path.join(setting.here, ".stignore")
    with open(path) as file:
        before = file.read()
    with open(path, "w") as file:
        file.write("(?i)films\n" + before)
    try:
        page.wait(lambda: setting.agent.try_run("explain", f"{FOLDER}:Films", "--json").stdout.count(b"(?i)films"), "the line is read")
        page.click("Keep Films on this device", "checkbox")
        page.wait_text("#notices", "(?i)films")
        assert not page.has("dialog"), "what cannot be done is not asked"
    finally:
        with open(path, "w") as file:
            file.write(before)
    page.click("Close", within="#notices")
    page.wait(lambda: not setting.agent.try_run("explain", f"{FOLDER}:Films", "--json").stdout.count(b"(?i)films"), "the line is gone")


def test_by_keyboard_alone(files, setting):
    page = files
    page.script("document.querySelector('.list').focus()")
    page.press("P")  # a name's beginning
    page.press(Keys.ENTER)
    at(page, "2026")
    page.press(Keys.ENTER)
    at(page, "Lisbon")
    page.press(Keys.ENTER)
    page.wait(lambda: len(names(page)) == 8, "Lisbon")
    assert page.address == f"#/files/{FOLDER}/Photos/2026/Lisbon"
    page.press(Keys.END)
    active = page.script("return document.getElementById(document.querySelector('.list').getAttribute('aria-activedescendant')).innerText")
    assert "IMG_0008.jpg" in active
    page.press(Keys.HOME, Keys.ARROW_DOWN, Keys.SPACE)
    wait_until(lambda: setting.has("Photos/2026/Lisbon/IMG_0002.jpg"), 20, "the picture is here")
    page.wait(lambda: row_state(page, "IMG_0002.jpg") == "Here", "the row says so")
    assert page.script("return document.activeElement.className") == "list", "the focus is where it was"
    page.press(Keys.SPACE)
    wait_until(lambda: not setting.has("Photos/2026/Lisbon/IMG_0002.jpg"), 10, "freed")
    said(page, "Deselected “IMG_0002.jpg”")
    page.chord(Keys.CONTROL, "z")
    wait_until(lambda: setting.has("Photos/2026/Lisbon/IMG_0002.jpg"), 20, "Ctrl+Z brings it back")
    said(page, "Undone")
    page.script("document.querySelector('.list').focus()")
    page.wait(lambda: row_state(page, "IMG_0002.jpg") == "Here", "the row says so")
    page.press(Keys.SPACE)
    wait_until(lambda: not setting.has("Photos/2026/Lisbon/IMG_0002.jpg"), 10, "freed again")
    page.press(Keys.BACKSPACE)
    at(page, "Lisbon")
    page.driver.back()
    page.wait(lambda: len(names(page)) == 8, "back is where it was")

    # The tree: arrows open and close, Enter goes there.
    page.script("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
    page.press(Keys.HOME)
    page.press(Keys.ARROW_RIGHT, "F")
    page.wait(lambda: page.script("return document.activeElement.querySelector('.label')?.textContent") == "Films", "a beginning moves")
    page.press(Keys.ENTER)
    at(page, os.path.basename(FILM))


# Looking without keeping


def test_a_film_plays_and_seeks_without_being_fetched(files, setting):
    page, size = files, os.path.getsize(os.path.join(setting.there, FILM))
    assert size > 48 << 20
    before = setting.bytes_in
    open_file(page, *FILM.split("/"))
    page.wait(lambda: page.script("return document.querySelector('.details video')?.readyState >= 1"), "its metadata")
    assert 159 < page.script("return document.querySelector('video').duration") < 161
    answer = page.script_async("""
        const video = document.querySelector('video');
        video.muted = true;
        await video.play();
        await new Promise((resolve) => video.addEventListener('timeupdate', resolve, { once: true }));
        video.pause();
        await new Promise((resolve) => { video.addEventListener('seeked', resolve, { once: true }); video.currentTime = 150; });
        const canvas = document.createElement('canvas');
        canvas.width = video.videoWidth; canvas.height = video.videoHeight;
        const context = canvas.getContext('2d');
        context.drawImage(video, 0, 0);
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        return { at: video.currentTime, width: video.videoWidth, bright: data.some((value, i) => i % 4 < 3 && value > 200) };
    """)
    assert answer == {"at": 150, "width": 320, "bright": True}
    assert setting.bytes_in - before < size * 0.6, "what lies between was not needed"
    assert not setting.has(FILM) and not setting.has("Films")
    page.click("Close details")
    page.wait(lambda: not page.has("video"), "the player is gone")
    assert page.address == f"#/files/{FOLDER}/Films"


def test_a_film_whose_device_goes_says_why_it_stops(files, setting):
    page, agent = files, setting.agent
    open_file(page, "Films", os.path.basename(FILM))
    page.wait(lambda: page.script("return document.querySelector('.preview video')?.readyState") >= 1, "the film")
    agent.run("pause", "--device", setting.nas.id)
    try:
        agent.wait_disconnected(setting.nas.id)
        page.script("document.querySelector('.preview video').currentTime = 90")
        page.wait_text(".preview", "Try again")
        assert "the only device that has it is not connected" in page.text(".preview") and "cannot play" not in page.text(".preview")
    finally:
        agent.run("resume", "--device", setting.nas.id)
    agent.wait_connected(setting.nas.id)
    page.click("Try again", within=".preview")
    page.wait(lambda: page.script("return document.querySelector('.preview video')?.readyState") >= 1, "the film")


def test_pictures_texts_and_archives_are_looked_at(files, setting):
    page = files
    open_file(page, "Photos", "2026", "Lisbon", "IMG_0003.jpg")
    page.wait(lambda: page.script("return document.querySelector('.preview img')?.naturalWidth") == 640, "the picture")
    page.wait_text(".details", "nas\nhas it")
    page.wait_text(".details", "of .stignore: *")
    page.wait_text(".facts", "by nas")
    assert not setting.has("Photos/2026/Lisbon/IMG_0003.jpg")
    # The details follow the keys.
    page.script("document.querySelector('.list').focus()")
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda: page.text(".details h2").startswith("IMG_000"), "a neighbour")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.find(".details").is_displayed(), "closed")

    open_file(page, "Documents", "Letter.txt")
    page.wait_text(".preview pre", "Dear Ms Ferreira")
    assert len(page.find(".preview pre").get_property("textContent")) == 64 << 10
    page.wait_text(".preview", "The first 64 KiB of")

    # What is got is the file.
    link = page.named("Download", "link")
    assert link.get_property("download") == "Letter.txt"
    got = page.script_async("const answer = await fetch(arguments[0]); return [answer.headers.get('Content-Disposition'), (await answer.text()).length]",
                            link.get_property("href"))
    assert got[0].startswith("attachment") and got[1] == os.path.getsize(os.path.join(setting.there, "Documents/Letter.txt"))

    # A member of an archive comes without the rest of it.
    before = setting.bytes_in
    open_file(page, "Documents", "Scans.zip")
    page.click("inside/side.txt", within=".members")
    page.wait_text(".preview .preview pre", "what is inside")
    assert setting.bytes_in - before < 600 << 10, "not the archive"
    assert page.script("return document.activeElement.textContent") == "Back to the archive"
    page.press(Keys.ENTER)
    page.wait(lambda: page.script("return document.activeElement.textContent") == "inside/side.txt", "back where it was")
    # Of one that is compressed no more is read than is shown.
    page.click("long.log", within=".members")
    page.wait_text(".preview .preview", "The first 64 KiB of 1.4 MiB.")
    assert len(page.find(".preview .preview pre").get_property("textContent")) == 64 << 10
    page.click("Back to the archive")
    link = page.named("Download big.bin", "link")
    got = page.script_async("return (await (await fetch(arguments[0])).arrayBuffer()).byteLength", link.get_property("href"))
    assert got == 1 << 20
    open_file(page, "Documents", "Letter.txt")

    page.click("Copy link")
    page.wait(lambda: page.has("dialog") or "Link copied" in page.text("#notices"), "a link")
    if page.has("dialog"):
        page.answer("Close")


def test_markdown_is_drawn_and_nothing_of_it_runs(files, setting):
    page = files
    open_file(page, "Notes", "day.md")
    page.wait_text(".markdown h4", "A <img src=x")
    assert page.texts(".markdown strong") == ["strong", "2"] and page.text(".markdown em") == "soft"
    assert page.text(".markdown pre") == 'echo "<img src=x onerror=alert(1)>"'
    assert page.texts(".markdown ul ul li") == ["inner"] and page.texts(".markdown th") == ["name", "size"]
    # Links lead to the web or nowhere; nothing is loaded, and HTML is words.
    links = page.script("return [...document.querySelectorAll('.markdown a')].map((a) => [a.href, a.rel, a.target])")
    assert links == [[f"https://example.org/{end}", "noopener noreferrer", "_blank"] for end in "ab"]
    assert not page.has(".markdown :is(img, script, iframe, style, input)")
    assert "[a picture]" in page.text(".markdown") and "<script>" in page.text(".markdown") and "bad" in page.text(".markdown")
    assert page.script("return document.title") != "taken"
    assert "example.org" not in str(page.script("return performance.getEntriesByType('resource').map((e) => e.name)"))
    page.click("As written")
    page.wait(lambda: page.script("return document.querySelector('.preview pre').textContent") == HOSTILE_TEXT, "as it is written")
    page.click("As written")
    page.wait(lambda: page.has(".markdown h4"), "as it is meant")
    assert page.nameless() == []


def test_markdown_of_signs_alone_is_drawn(files):
    page = files
    texts = ["[" * 65536, "_a" * 32768, "`a" * 32768, " " * 65536 + "x", "**a *b " * 9000, "```\n" * 16000, "> " * 32768, "|-" * 32768, "  - x\n" * 8000,
             # Lines that fit nearly.
             "#" + " " * 2400 + "a" + " " * 2400 + "\u2028b\u2028c", "[](" + " " * 65536, ("~~~" + " " * 4900 + "`\n") * 13,
             ("~" * 4900 + "`\n") * 13, "a|b\n-" + " " * 4900 + "x", ("# " * 2400 + "\u2028x\n") * 13]
    # What is left of the hashes, as words.
    titles = page.script_async("const { markdown } = await import('/page/files-markdown.js');"
                               "return arguments[0].map((text) => markdown(text)[0].textContent)",
                               ["# a", "## a ##  ", "# a#", "#", "# #", "#\ta # b #"])
    assert titles == ["a", "a", "a#", "", "", "a # b"], titles
    counts = page.script_async("const { markdown } = await import('/page/files-markdown.js');"
                               "return arguments[0].map((text) => markdown(text).length)", texts)
    assert len(counts) == len(texts) and all(counts[:3] + counts[4:]), counts


CODE = {
    "a.js": ('let a = "x // y"; // c', {"keyword": ["let"], "string": ['"x // y"'], "comment": ["// c"]}),
    "a.swift": ("func f() -> Int { 0x1F } /* b\n b */", {"keyword": ["func"], "number": ["0x1F"], "comment": ["/* b\n b */"]}),
    "a.py": ("def f(x): # c\n  return 'a'", {"keyword": ["def", "return"], "comment": ["# c"], "string": ["'a'"]}),
    "a.yaml": ("# c\nurl: http://a#b\non: true", {"comment": ["# c"], "keyword": ["url", "on", "true"]}),
    "a.json": ('{"a": "b", "n": 1.5}', {"keyword": ['"a"', '"n"'], "string": ['"b"'], "number": ["1.5"]}),
    "a.html": ('<a href="x">"not"</a><script>', {"keyword": ["<a", ">", "</a", ">", "<script", ">"], "string": ['"x"']}),
    "a.diff": ("--- a\n-old\n+new", {"comment": ["--- a"], "removed": ["-old"], "string": ["+new"]}),
    "a.sql": ("select 'a' -- c", {"keyword": ["select"], "string": ["'a'"], "comment": ["-- c"]}),
}


def test_code_is_coloured_and_stays_what_it_is(files):
    page = files
    module = "const { code, languageOf } = await import('/page/files-code.js');"
    drawn = page.script_async(module + """return Object.entries(arguments[0]).map(([name, text]) => {
        const place = document.createElement('pre');
        place.append(...code(text, languageOf(name)));
        return [name, place.textContent, [...place.children].map((part) => [part.className, part.textContent])];
    })""", {name: text for name, (text, _) in CODE.items()})
    for name, text, parts in drawn:
        assert text == CODE[name][0]
        assert {kind: [part for other, part in parts if other == kind] for kind, _ in parts} == CODE[name][1], name
    # Whatever it is made of, nothing of it is lost, and it is read in one go.
    signs = ['"', "\\", "/*", "`", "'", "#", "<", "-", " ", "a", '"""', "[", "=", "+", "a=", "--[[", "\n ", "0x", "é", "💾", "\u0000"]
    same = page.script_async(module + """return arguments[0].map((sign) => ['js', 'swift', 'css', 'py', 'toml', 'json', 'lua', 'xml', 'tex', 'patch'].every((name) => {
        const text = sign.repeat(65536 / sign.length);
        return code(text, languageOf(name)).map((part) => part.textContent ?? part).join('') === text;
    }))""", signs)
    assert same == [True] * len(signs)
    assert page.script_async(module + "return [languageOf('Letter.txt') ?? '', languageOf('constructor') ?? '']") == ["", ""]


def test_a_program_is_looked_at(files):
    page = files
    open_file(page, "Notes", "rename.py")
    page.wait_text(".preview pre .keyword", "import")
    assert page.text(".preview pre .comment") == "# <b>all</b> of them"
    assert page.script("return document.querySelector('.preview pre').textContent") == PROGRAM
    assert not page.has(".preview pre b")


def test_a_document_is_looked_at(files, setting):
    page = files
    open_file(page, "Documents", "Lease.pdf")
    page.wait(lambda: redness(page.find(".preview iframe").screenshot_as_png) > 0.2, "the page of the document")
    assert not setting.has("Documents/Lease.pdf")


def test_a_file_that_only_this_disk_has_offers_no_link(files, setting):
    page = files
    write(setting.here, "Drafts/draft.txt", "a draft\n")
    try:
        setting.agent.run("scan", FOLDER)
        open_file(page, "Drafts", "draft.txt")
        page.wait_text(".details", "No other device has reported a complete copy.")
        assert "not found" not in page.text(".details")
        assert not page.has(".details a[download]") and "Copy link" not in page.text(".details")
    finally:
        shutil.rmtree(os.path.join(setting.here, "Drafts"))
        setting.agent.run("scan", FOLDER)


def test_what_is_looked_at_is_the_version_that_the_details_name(files, setting):
    page = files
    for words in ("on time\n", "20 minutes late\n"):
        write(setting.there, "Notes/board.txt", words)
        setting.nas.scan(FOLDER)
        setting.agent.wait_entry(f"{FOLDER}:Notes/board.txt", lambda entry, size=len(words): entry and entry["size"] == size)
        if "time" in words:
            open_file(page, "Notes", "board.txt")
        page.wait_text(".preview pre", words.strip())
        page.wait_text(".facts", f"{len(words)} B")


def test_what_nobody_connected_has_says_so_and_comes_later(files, setting):
    page, agent = files, setting.agent
    agent.run("pause", "--device", setting.nas.id)
    try:
        agent.wait_disconnected(setting.nas.id)
        for name in ("ticket.txt", "ticket.pdf"):
            open_file(page, "Notes", name)
            page.wait_text(".preview", "the only device that has it is not connected")
            page.named("Try again", within=".preview")
        assert not page.has(".preview iframe")
    finally:
        agent.run("resume", "--device", setting.nas.id)
    agent.wait_connected(setting.nas.id)
    page.click("Try again", within=".preview")
    page.wait(lambda: redness(page.find(".preview iframe").screenshot_as_png) > 0.2, "the page of the document")
    open_file(page, "Notes", "ticket.txt")
    page.wait_text(".preview pre", "seat 12")


def test_thumbnails_come_without_keeping(files, setting):
    page = files
    page.go("files", FOLDER, "Photos", "2026", "Lisbon")
    page.wait(lambda: len(page.all(".layer .picture img")) == 8, "eight small pictures", timeout=60)
    sizes = page.script("return [...document.querySelectorAll('.layer .picture img')].map((i) => Math.max(i.naturalWidth, i.naturalHeight))")
    assert all(0 < size <= 255 for size in sizes)
    assert not setting.has("Photos")


def test_a_file_is_fetched_at_once(files, setting):
    page = files
    open_file(page, "Documents", "Taxes", "2024.txt")
    page.click("Fetch now")
    wait_until(lambda: setting.has("Documents/Taxes/2024.txt"), 20, "it is here")
    page.wait_text("#notices", "“2024.txt” was fetched.")
    page.wait_text(".facts", "Downloaded")
    setting.agent.run("extraneous", "resolve", "--delete", "--yes", f"{FOLDER}:Documents/Taxes/2024.txt")
    page.wait_text(".facts", "Not here")


def test_deleting_everywhere_asks(files, setting):
    page = files
    write(setting.there, "Films/old.txt", "old")
    setting.nas.scan(FOLDER)
    setting.agent.wait_entry(f"{FOLDER}:Films/old.txt", lambda entry: entry)
    open_file(page, "Films", "old.txt")
    page.click("More actions", within=".details")
    page.click("Delete everywhere…", within=".menu")
    page.wait_text("dialog", "nas: 1 file")
    page.answer("Cancel")
    assert os.path.exists(os.path.join(setting.there, "Films/old.txt"))
    page.click("More actions", within=".details")
    page.click("Delete everywhere…", within=".menu")
    page.answer("Delete everywhere")
    wait_until(lambda: not os.path.exists(os.path.join(setting.there, "Films/old.txt")), 20, "gone there")
    page.wait(lambda: names(page) == [os.path.basename(FILM)], "gone from the list")


# Names that mean harm


def test_names_are_text(files, setting):
    page = files
    page.go("files", FOLDER, "Odd")
    page.wait(lambda: len(names(page)) == len(os.listdir(os.path.join(setting.there, "Odd"))), "the names")
    shown = names(page)
    assert HOSTILE[0] in shown and HOSTILE[3] in shown
    assert "holiday⟨202E⟩gpj.exe" in shown, "what turns the writing is seen"
    assert not page.has(".layer script") and not page.has(".layer img[src='x']")
    open_file(page, "Odd", HOSTILE[0])
    page.wait_text(".preview pre", "odd")
    page.wait_text(".details", "Available from")
    assert not page.has(".details script") and not page.has("img[src='x']")
    page.click("Keep here", within=".details")
    said(page, f"“{HOSTILE[0]}” is now kept")
    assert not page.has("#notices img")
    page.click("Undo", within="#notices")
    said(page, "Undone")


def test_a_page_of_a_peer_does_not_run_here(files, setting, downloads):
    page = files
    open_file(page, "Documents", "page.html")
    page.wait_text(".preview pre", "<script>")
    url = page.script("return document.querySelector('.details a.button').href").replace("&download=true", "")
    # In a frame of the page it is offered to be saved, like any file that could hold a script, and shown nowhere.
    page.script("document.body.append(Object.assign(document.createElement('iframe'), { src: arguments[0], title: 'theirs' }))", url)
    saved = os.path.join(downloads, "page.html")
    wait_until(lambda: os.path.exists(saved) and os.path.getsize(saved) > 0, 20, "the browser saves it")
    assert page.script("return document.title") == "Files – synctrain" and "taken" not in page.script("return document.cookie")
    assert page.script("return document.querySelector('iframe[title=theirs]').contentDocument?.scripts.length ?? 0") == 0
    # Were it shown, it would have no origin and no scripts.
    policy = page.script_async("return (await fetch(arguments[0])).headers.get('Content-Security-Policy')", url)
    assert "sandbox" in policy and "allow-scripts" not in policy


# Finding


def test_search_finds_as_one_types(files):
    page = files
    page.find(".finding input").send_keys("img_000")
    page.wait(lambda: len(names(page)) == 8, "all pictures")
    page.wait_text(".summary", "8 names found.")
    page.find(".finding input").send_keys("7")
    at(page, "IMG_0007.jpg")
    assert "Photos/2026/Lisbon" in page.text(".layer .where")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait(lambda: page.text(".details h2") == "IMG_0007.jpg", "its details")
    assert page.address == f"#/files/{FOLDER}/Photos/2026/Lisbon/IMG_0007.jpg"
    page.find(".finding input").send_keys("nothing is called so")
    page.wait_text(".summary", "No results.")
    page.press(Keys.ESCAPE)
    page.wait(lambda: len(names(page)) == 8 and page.find(".finding input").get_property("value") == "", "cleared")


def test_filters_narrow_a_search(files, setting):
    page = files

    def choose(label, option):
        page.wait(lambda: Select(page.named(label, "combobox")).select_by_visible_text(option) or True, f"{option} of {label}")

    assert not page.find(".chips").is_displayed()
    page.find(".finding input").click()
    page.wait(lambda: page.find(".chips").is_displayed(), "the chips")
    for _ in range(8):
        page.press(Keys.TAB)
        if page.driver.switch_to.active_element.accessible_name == "Kind":
            break
    assert page.driver.switch_to.active_element.accessible_name == "Kind", "the chips are reached by Tab"
    choose("Kind", "Photos")
    page.wait(lambda: names(page) == [f"IMG_{number:04}.jpg" for number in range(1, 9)], "all pictures, without a text")
    page.find(".finding input").send_keys("7")
    at(page, "IMG_0007.jpg")
    choose("On device", "This device")
    page.wait_text(".listing .empty", "No files match the filters.")
    choose("On device", "nas")
    at(page, "IMG_0007.jpg")
    page.click("Clear filters")
    page.wait(lambda: len(names(page)) > 8, "names with a 7")
    page.script("document.querySelector('.finding input').value = ''")
    choose("Kind", "Videos")
    choose("Size", "Over 1.0 MiB")
    at(page, "Summer at the lake.webm")
    choose("Size", "Under 100 KiB")
    page.wait_text(".listing .empty", "No files match the filters.")
    choose("Size", "Size")
    choose("Changed", "From – to…")
    page.wait(lambda: page.find(".chips .range").is_displayed(), "two dates")
    page.script("const field = arguments[0]; field.value = '2999-01-01'; field.dispatchEvent(new Event('change'))", page.find(".chips input"))
    page.wait_text(".listing .empty", "No files match the filters.")
    choose("Changed", "Last year")
    at(page, "Summer at the lake.webm")
    page.script("arguments[0].focus()", page.named("On device", "combobox"))
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.find(".chips").is_displayed() and "Documents" in names(page), "the folder again")


def test_sort_and_filter(files, setting):
    page = files
    page.go("files", FOLDER, "Documents")
    at(page, "Taxes", "Lease.pdf", "Letter.txt", "page.html", "Scans.zip")
    page.click("Name")
    at(page, "Taxes", "Scans.zip", "page.html", "Letter.txt", "Lease.pdf")
    page.click("Size")
    page.wait(lambda: names(page)[-1] == "Scans.zip", "the largest last")
    assert page.find(".row.head .size").get_attribute("aria-sort") == "ascending"
    page.click("Size")
    page.wait(lambda: names(page)[0] == "Scans.zip", "the largest first")
    assert page.find(".row.head .size").get_attribute("aria-sort") == "descending"
    page.script("const box = arguments[0]; box.value = 'here'; box.dispatchEvent(new Event('change'))", page.named("Which files to show", "combobox"))
    page.wait_text(".listing .empty", "Nothing in this directory is on this disk.")


# Many names


def test_many_names_are_few_elements(files):
    """They are ordered as people count, however many they are, and found by their beginnings."""
    def active():
        return page.script("return document.querySelector('.row.active .name-text')?.textContent")

    page = files
    page.go("files", FOLDER, "Many")
    page.wait(lambda: names(page)[:4] == ["zoo", "name 0.txt", "name 1.txt", "name 2.txt"], "the beginning")
    count = page.script("return document.querySelectorAll('*').length")
    page.script("document.querySelector('.list').focus()")
    page.press(Keys.END)
    page.wait(lambda: names(page)[-1:] == [f"name {MANY - 1}.txt"], "the end")
    assert page.find(".list").get_attribute("aria-rowcount") == str(MANY + 2)
    page.script("document.querySelector('.scroller').scrollTop = document.querySelector('.scroller').scrollHeight / 2")
    page.wait(lambda: re.match(r"name (99|100)\d\d\.", names(page)[5]), "the middle")
    page.begin_name("NAME 15000")
    page.wait(lambda: active() == "name 15000.txt", "a beginning far away")
    assert page.script("return document.querySelectorAll('*').length") < count + 200, "rows are used again"
    page.click("Name")
    page.wait(lambda: names(page)[:2] == ["zoo", f"name {MANY - 1}.txt"], "from the end, directories first")
    page.script("document.querySelector('.list').focus()")
    page.begin_name("name 77")
    page.wait(lambda: active() == "name 7799.txt", "the first of them in that order")


def test_a_million_names_scroll(browser, page):
    """The list alone, over an API that has a million names: no index, no agent."""
    directory = os.path.join(os.path.dirname(__file__), "../../Sources/Agent/WebPage/page")

    class Million(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=directory)

        def do_GET(self):
            parts = urllib.parse.urlsplit(self.path)
            if not parts.path.startswith("/v1/"):
                self.path = self.path.removeprefix("/page")
                return super().do_GET()
            query = dict(urllib.parse.parse_qsl(parts.query))
            body = self.answer(parts.path, query)
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/event-stream" if parts.path == "/v1/events" else "application/json")
            self.end_headers()
            self.wfile.write(body.encode() if body else b"{}")

        def answer(self, path, query):
            if path == "/v1/status":
                zero = {"files": 0, "directories": 0, "bytes": 0}
                return json.dumps({"schema": 1, "device": "A", "name": "stub", "devices": [], "problems": [], "transfers": [], "folders": [
                    {"id": "f", "label": "f", "state": "idle", "mode": "selective", "global": zero, "local": zero, "need": zero, "problems": [], "waits": []}]})
            if path == "/v1/entries":
                if query.get("filter") == "directories":
                    return json.dumps({"schema": 1, "entries": [], "offset": 0, "total": 0})
                offset, limit = int(query["offset"]), int(query["limit"])
                if "beginning" in query:
                    offset = int(query["beginning"].removeprefix("n").ljust(7, "0"))
                return json.dumps({"schema": 1, "offset": offset, "total": 1_000_000, "entries": [
                    {"type": "file", "folder": "f", "path": f"n{i:07}", "size": i, "modified": None, "state": "absent", "selected": "no", "holders": []}
                    for i in range(offset, min(offset + limit, 1_000_000))]})
            return "retry: 1000000\n\n" if path == "/v1/events" else None

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Million)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page.driver.get(f"http://127.0.0.1:{server.server_port}/#/files/f")
        page.wait(lambda: names(page)[:2] == ["n0000000", "n0000001"], "the beginning")
        rows = len(page.all(".layer .row"))
        assert rows < 60
        page.script("document.querySelector('.list').focus()")
        page.press(Keys.END)
        page.wait(lambda: names(page)[-1:] == ["n0999999"], "the last")
        # The whole way by the bar, and small steps one to one although the bar is finer than the list.
        page.script("const s = document.querySelector('.scroller'); s.scrollTop = s.scrollHeight / 2")
        page.wait(lambda: names(page)[5:6] and 0.4 < int(names(page)[5][1:] or 0) / 1e6 < 0.6, "the middle")
        first = page.script("return Math.min(...[...document.querySelectorAll('.layer .row:not([hidden])')].map((r) => +r.ariaRowIndex))")
        page.script("document.querySelector('.scroller').scrollTop += 180")
        page.wait(lambda: page.script("return Math.min(...[...document.querySelectorAll('.layer .row:not([hidden])')].map((r) => +r.ariaRowIndex))") == first + 5,
                  "five rows further")
        for _ in range(3):
            page.press(Keys.PAGE_DOWN)
        assert len(page.all(".layer .row")) <= rows + 6, "rows are used again"
        page.press(Keys.HOME)
        page.wait(lambda: names(page)[:1] == ["n0000000"], "the first")
        page.begin_name("n077777")
        page.wait(lambda: page.script("return document.querySelector('.row.active .name-text')?.textContent") == "n0777770", "by its beginning")
    finally:
        page.driver.get("about:blank")
        server.shutdown()
        page.complaints()  # the stub has no events


# For everybody


@pytest.mark.parametrize("size, factor", [(WIDE, 1), (WIDE, 2), (PHONE, 1)])
def test_it_fits_every_window(files, size, factor):
    page = files
    page.zoom(size, factor)
    for parts in ((), (FOLDER,), (FOLDER, "Photos", "2026", "Lisbon"), (FOLDER, "Documents", "Letter.txt")):
        page.go("files", *parts)
        page.wait(lambda: page.has(".folder-cards li") if not parts else names(page), "something is there")
        assert page.overflow() <= 0, f"{parts} is too wide at {size} × {factor}"
    page.wait_text(".preview pre", "Dear")
    page.wait_text(".details", "Available from")
    assert page.overflow() <= 0
    page.click("Close details")
    page.wait(lambda: "Taxes" in names(page), "the list")
    page.wait(lambda: page.named("Keep Taxes on this device", "checkbox").is_displayed(), "name and box")
    assert row_state(page, "Taxes")
    if size == PHONE:
        page.click("Folders")
        page.wait(lambda: page.find(".folders").is_displayed(), "the tree")
        page.find(".folders [role=treeitem] .label").click()
        at(page, *TOP)
        assert not page.find(".folders").is_displayed()


def test_all_controls_have_names(files):
    page = files
    open_file(page, "Documents", "Letter.txt")
    page.wait_text(".details", "Available from")
    assert page.nameless() == []
    page.go("files", FOLDER, "Photos", "2026", "Lisbon")
    page.wait(lambda: len(names(page)) == 8, "pictures")
    assert page.nameless() == []
    page.click("Keep IMG_0001.jpg on this device", "checkbox")
    said(page, "“IMG_0001.jpg” is now kept")
    assert page.nameless() == []
    page.click("Undo", within="#notices")
    said(page, "Undone")
    page.go("files")
    page.wait(lambda: page.has(".folder-cards li"), "folders")
    assert page.nameless() == []


def test_a_whole_folder_is_kept_and_let_go(files, setting, module_lab):
    page = files
    there = module_lab.folder_path(setting.nas, "trip")
    for name in ("Day 1/map.txt", "Day 2/map.txt"):
        write(there, name, name)
    # First there, then here: as a folder that is offered and taken.
    setting.nas.set_folder("trip", there, [setting.agent.id])
    setting.nas.wait_scanned("trip", 2)
    here = module_lab.path("laptop-trip")
    setting.agent.add_folder("trip", here, setting.nas.id)
    setting.agent.wait_global("trip", 2)
    page.go("files")
    page.click("Keep everything…: trip")
    page.wait_text("dialog .cost", "2 files")
    page.answer("Cancel")
    assert not os.path.exists(os.path.join(here, "Day 1"))
    page.click("Keep everything…: trip")
    page.answer("Keep everything")
    wait_until(lambda: all(os.path.exists(os.path.join(here, day, "map.txt")) for day in ("Day 1", "Day 2")), what="all of it is here")
    page.click("Keep only selected files…: trip")
    page.wait_text("dialog", "2 files")
    page.answer("Keep only selected files")
    wait_until(lambda: setting.agent.folder("trip")["mode"] == "selective", what="the mode")
    with open(os.path.join(here, ".stignore")) as file:
        assert [line for line in file.read().splitlines() if line and not line.startswith("//")] == ["*"]
    assert os.path.exists(os.path.join(here, "Day 1", "map.txt")), "nothing is deleted by it"
    setting.agent.run("folder", "remove", "trip", "--yes")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(files, scheme):
    """Text on its ground is at least 4.5 to 1 for every pair of tokens that the page uses."""
    page = files
    page.scheme(scheme)
    tokens = ["ground", "raised", "chosen", "text", "quiet", "accent", "on-accent", "good", "warn", "bad", "warn-ground", "bad-ground"]
    values = page.script("""
        const probe = document.body.appendChild(document.createElement('span'));
        const found = {};
        for (const name of arguments[0]) {
          probe.style.color = `var(--${name})`;
          found[name] = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
        }
        probe.remove();
        return found;
    """, tokens)

    def luminance(colour):
        channels = [c / 255 for c in colour]
        red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(a, b):
        bright, dark = sorted((luminance(values[a]), luminance(values[b])), reverse=True)
        return (bright + 0.05) / (dark + 0.05)

    pairs = [(text, ground) for ground in ("ground", "raised", "chosen") for text in ("text", "quiet", "accent", "good", "warn", "bad")]
    pairs += [("on-accent", "accent"), ("text", "warn-ground"), ("text", "bad-ground"), ("quiet", "warn-ground"), ("ground", "bad")]
    poor = {pair: round(contrast(*pair), 2) for pair in pairs if contrast(*pair) < 4.5}
    assert poor == {}


def test_without_a_login_it_says_what_to_do(setting, page):
    page.driver.get("about:blank")
    page.driver.delete_all_cookies()
    origin = setting.agent.status()["http"]
    page.driver.get(origin + "/")
    page.driver.delete_all_cookies()
    page.driver.get(origin + "/")
    page.wait_text("#view", "synctrain ui")
    setting.is_logged_in = False
