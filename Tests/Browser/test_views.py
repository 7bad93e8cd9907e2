"""Activity, Devices, Attention and Log, as a person uses them: what the page did is judged by what lies on disks and what
agents say of themselves."""

import contextlib
import http.client
import json
import os
import random
import re
import shutil
import socket
import tempfile
import zlib

import pytest
from harness import pattern, read, write
from machine import YES, Machine
from page import PHONE, WIDE, Keys
from process import wait_until
from radio import Radio
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.support.select import Select

THEIRS = """Lisbon, in May

Monday: the tram to Alfama, the castle
Tuesday: Belém, the tower and the tarts
Wednesday: the train to Sintra
Thursday: home by the night train
"""
MINE = """Lisbon, in May

Monday: the tram to Alfama, the castle
Tuesday: Belém, the monastery first
Wednesday: the train to Sintra
Thursday: the sea at Cascais
Friday: home by the night train
"""


@pytest.fixture(scope="module")
def two(module_lab):
    """A laptop, whose page is looked at, and a NAS; both have the folder `photos`, all of it."""
    laptop, nas = module_lab.agent("laptop"), module_lab.agent("nas")
    module_lab.introduce(laptop, nas)
    module_lab.share(laptop, "photos", nas, mode="full")
    write(module_lab.path("nas-photos", "readme.txt"), b"pictures\n")
    wait_until(lambda: read(module_lab.path("laptop-photos", "readme.txt")), what="the folder is shared", child=laptop)
    return laptop, nas


@pytest.fixture
def laptop(page, two):
    """The laptop's page."""
    page.log_in(two[0])
    return two[0]


def here(lab, *parts):
    return lab.path("laptop-photos", *parts)


def there(lab, *parts):
    return lab.path("nas-photos", *parts)


@contextlib.contextmanager
def apart(laptop, nas):
    """What is done meanwhile neither hears of the other."""
    laptop.run("pause", "--device", "nas")
    laptop.wait_disconnected(nas.id)
    yield
    for agent in (laptop, nas):
        agent.run("scan", "photos")
    laptop.run("resume", "--device", "nas")
    laptop.wait_connected(nas.id)


def conflict(lab, laptop, nas, path, mine, theirs):
    """A file that both change while no link joins them; the NAS's version is the newer one."""
    write(there(lab, path), b"in the beginning")
    wait_until(lambda: read(here(lab, path)) == b"in the beginning", what="both have it", child=laptop)
    with apart(laptop, nas):
        write(here(lab, path), mine)
        os.utime(here(lab, path), (1_790_000_000, 1_790_000_000))
        write(there(lab, path), theirs)
        os.utime(there(lab, path), (1_790_003_600, 1_790_003_600))
    wait_until(lambda: read(here(lab, path)) == theirs and copies(here(lab), path), what="the conflict", child=laptop)


def copies(root, path):
    """The conflict copies of a file, relative to the root."""
    stem, ending = os.path.splitext(os.path.basename(path))
    directory = os.path.dirname(path)
    return [os.path.join(directory, name) for name in os.listdir(os.path.join(root, directory))
            if name.startswith(stem + ".sync-conflict-") and name.endswith(ending)]


def picture(seed):
    """A PNG of 320 × 200, other for other seeds."""
    noise = random.Random(seed)
    colours = [bytes(noise.randrange(256) for _ in range(3)) for _ in range(4)]
    rows = b"".join(b"\0" + b"".join(colours[(x // 80 + y // 50) % 4] for x in range(320)) for y in range(200))

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
    head = (320).to_bytes(4, "big") + (200).to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def card(page, attribute, value):
    """The selector of a card, once it is there."""
    selector = f'[data-{attribute}="{value}"]'
    page.wait(lambda: page.has(selector), f"{attribute} {value}")
    return selector


def choose(page, name, option, within):
    """Chooses an option of a list as people read it."""
    def chosen():
        Select(page.named(name, "combobox", within)).select_by_visible_text(option)
        return True
    page.wait(chosen, f"{option} of {name}")


def configuration(agent):
    with open(agent.file("config.toml")) as file:
        return "".join(line for line in file if not line.startswith("#"))


def limit(agent, rate):
    """How fast what comes may come, from here, too."""
    with open(agent.file("config.toml")) as file:
        before, section, rest = file.read().partition("[limits]")
    rest = re.sub(r"^down = .*$", f"down = {rate}", rest, count=1, flags=re.M)
    rest = re.sub(r"^local-network = .*$", "local-network = true", rest, count=1, flags=re.M)
    with open(agent.file("config.toml"), "w") as file:
        file.write(before + section + rest)
    agent.run("reload")


# MARK: Activity

SPEED = 'li[data-folder="photos"] [data-speed]'


def test_the_file_that_ui_opens_logs_in(page, module_lab):
    """From a file to this machine is from one site to another: the cookie of the login must come through that."""
    agent = module_lab.agent("opened")
    opened = module_lab.path("opened page")
    agent.variables["SYNCTRAIN_OPEN"] = f"> '{opened}' printf %s"
    agent.run("ui")
    file = read(opened).decode()
    page.driver.get(f"file://{file}")
    page.wait(lambda: page.text("#device") == "opened", "the page knows its agent")
    page.wait(lambda: not os.path.exists(file), "the file goes with its use")
    # With a path it leads there, past the login, which sends the browser elsewhere.
    agent.run("folder", "add", "odd", module_lab.path("odd folder"), "--new", "--mode", "full")
    os.makedirs(module_lab.path("odd folder", "a b"))
    with open(module_lab.path("odd folder", "a b", "c#1%.txt"), "w") as text:
        text.write("text")
    agent.run("scan", "odd:")
    page.driver.get("about:blank")
    agent.run("ui", "odd:a b/c#1%.txt")
    page.driver.get(f"file://{read(opened).decode()}")
    page.wait(lambda: page.driver.current_url.endswith("/#/files/odd/a%20b/c%231%25.txt"), "the address of the file")
    page.wait(lambda: "c#1%.txt" in page.text("main"), "the file is shown")
    # The page would go on asking.
    page.driver.get("about:blank")
    agent.stop()


def test_activity_shows_what_moves(page, two, module_lab):
    laptop, nas = two
    page.log_in(laptop).go("activity")
    page.wait_text("main.activity", "No transfers in progress")
    limit(laptop, '"1 MiB/s"')
    try:
        look_at_a_transfer(page, laptop, nas, module_lab)
    finally:
        limit(laptop, "0")
    path = here(module_lab, "Lisbon", "tram 28.mp4")
    wait_until(lambda: os.path.exists(path), what="it is there", child=laptop)
    # What has come has no speed any more.
    page.log_in(laptop).go("activity")
    page.wait_text("main.activity", "Everything selected is on this device")
    page.wait(lambda: page.has(SPEED) and page.text(SPEED) == "" and "/s" not in page.text('[data-ready="photos"]'), "nothing moves")
    assert read(path) == pattern(24 << 20, "tram 28.mp4")


def test_one_button_makes_it_ready_for_the_train(page, laptop, two, module_lab):
    """What is missing is said with the time that it takes, and one press brings it, though the folder was paused."""
    nas, row, ticket = two[1], '[data-ready="photos"]', pattern(12 << 20, "ticket")
    page.go("activity")
    page.wait_text("main.activity", "Everything selected is on this device")
    assert not page.has('[data-key="finish"]')
    # It is not to be here before all of this was looked at.
    limit(laptop, '"256 KiB/s"')
    try:
        write(there(module_lab, "ticket.pdf"), ticket)
        nas.run("scan", "photos")
        page.wait(lambda: re.search(r"\d+ % here", page.text(row)) and "about" in page.text(row), "the time that is left")
        assert "1 folder is not ready" in page.text("main.activity")
        page.wait(lambda: re.search(r"complete until .+; missing since then: ticket.pdf", page.text(row)), "what is missing since when")
        page.screenshot("ready")
        laptop.run("pause", "photos")
        page.wait(lambda: "paused" in page.text(row) and "/s" not in page.text(row), "it is paused")
        assert not os.path.exists(here(module_lab, "ticket.pdf"))
    finally:
        limit(laptop, "0")
    page.click("Finish now")
    wait_until(lambda: read(here(module_lab, "ticket.pdf")) == ticket, what="the press brought it", child=laptop)
    page.wait_text("main.activity", "Everything selected is on this device")


def look_at_a_transfer(page, laptop, nas, module_lab):
    for name, size in (("tram 28.mp4", 24), ("Alfama at night.jpg", 6), ("the sea at Cascais.mov", 12)):
        write(there(module_lab, "Lisbon", name), pattern(size << 20, name))
    row = '.transfer[data-path="Lisbon/tram 28.mp4"]'
    page.wait(lambda: re.search(r"from nas by TCP: .* MiB, .*/s", page.text(row)) and " left" in page.text(row), "the transfer")
    assert "of 24.0 MiB" in page.text(row) and page.named("Lisbon/tram 28.mp4", "link", row)
    assert 0 < page.script("return Number(document.querySelector(arguments[0]).value)", row + " progress") < 24 << 20
    # The folder's own: what all of its files bring, and how long the rest of them takes.
    page.wait(lambda: re.search(r"[\d.]+ [KM]iB/s, .+ left", page.text(SPEED)), "the rate of the folder")
    page.wait(lambda: re.search(r"[\d.]+ MiB of [\d.]+ MiB, [\d.]+ [KM]iB/s, about", page.text('[data-ready="photos"]')), "the same of what is missing")
    page.wait(lambda: sum(page.script("return [...document.querySelectorAll('.transfer progress')].map((p) => p.value)")) > 4 << 20,
              "some more of it")
    page.screenshot("activity")
    # The other end of the same.
    page.log_in(nas).go("activity")
    page.wait(lambda: re.search(r"to laptop by TCP", page.text(row)), "the transfer on its way out")


def test_activity_shows_changes_and_by_whom(page, laptop, two, module_lab):
    page.go("activity")
    # What a peer calls a file is never read as HTML.
    name = "Porto <img src=x onerror=alert(1)>&amp;.txt"

    def noted(*words):
        return any(all(word in text for word in (name, *words)) for text in page.texts(".changes li"))
    write(there(module_lab, name), b"the bridge")
    page.wait(lambda: noted("added", "by nas"), "the change is there as it happens")
    wait_until(lambda: read(here(module_lab, name)), what="the file is here", child=laptop)
    os.remove(here(module_lab, name))
    page.wait(lambda: noted("deleted", "here"), "the deletion")
    laptop.add_folder("other", module_lab.directory("other"), mode="full")
    choose(page, "Folder to show changes of", "other", "main.activity")
    page.wait(lambda: "No change" in page.text("main.activity"), "nothing of photos")
    choose(page, "Folder to show changes of", "photos", "main.activity")
    page.wait(lambda: noted("deleted"), "the deletion")
    laptop.run("folder", "remove", "other", "--yes")


def test_a_burst_of_changes_is_one_line(page, laptop, two, module_lab):
    """600 files that another device has at once are a number in the log, and not 600 rows before what somebody did."""
    nas = two[1]
    module_lab.share(laptop, "noise", nas, mode="full")
    try:
        # Of a first index nothing is noted: both have something before.
        write(module_lab.path("nas-noise", "first.txt"), b"first")
        nas.run("scan", "noise")
        wait_until(lambda: read(module_lab.path("laptop-noise", "first.txt")), what="both have the folder", child=laptop)
        page.go("activity")
        choose(page, "Folder to show changes of", "noise", "main.activity")
        with apart(laptop, nas):
            for number in range(600):
                write(module_lab.path("nas-noise", "burst", f"{number}.txt"), b"x")
            nas.run("scan", "noise")
        # The directory is a name, too.
        page.wait(lambda: any("601 names changed at once" in text for text in page.texts(".changes li")), "the number")
        assert not any("burst" in text for text in page.texts(".changes li")), page.texts(".changes li")
        write(module_lab.path("nas-noise", "letter.txt"), b"by hand")
        nas.run("scan", "noise")
        page.wait(lambda: any("letter.txt" in text and "by nas" in text for text in page.texts(".changes li")), "what follows has its name")
    finally:
        # First where nobody looks: what one still shares is offered to the other.
        for agent in (nas, laptop):
            agent.run("folder", "remove", "noise", "--yes")


def test_pause_and_resume(page, laptop, two):
    page.go("activity")
    page.click("Pause the folder photos")
    laptop.wait_state("photos", "paused")
    page.click("Resume the folder photos")
    laptop.wait_state("photos", "idle")
    page.click("Pause all")
    wait_until(lambda: laptop.folder("photos")["state"] == "paused"
               and all(device["paused"] for device in laptop.status()["devices"]), what="all rests", child=laptop)
    page.click("Resume all")
    laptop.wait_connected(two[1].id)
    laptop.wait_state("photos", "idle")


def test_what_is_wrong_is_said_with_its_remedy(page, laptop, two, module_lab):
    laptop.add_folder("alone", module_lab.directory("alone"), mode="full")
    try:
        page.go("activity")
        page.wait(lambda: [text for text in page.texts(".trouble") if text.startswith("alone") and "→" in page.script(
            "return getComputedStyle(document.querySelector('.trouble .remedy'), '::before').content")], "the remedy")
    finally:
        laptop.run("folder", "remove", "alone", "--yes")
    page.wait(lambda: not any(text.startswith("alone") for text in page.texts(".trouble")), "it is in nobody's way any more")


def test_what_a_policy_holds_back_is_let_go_for_an_hour(page, module_lab):
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory)
        try:
            machine.network(YES)
            machine.power(False, 80)
            train = module_lab.agent("train", start=False)
            train.variables = machine.variables
            with open(train.file("config.toml")) as file:
                text = re.sub(r'^on-metered = .*$', 'on-metered = "on-demand-only"', file.read(), flags=re.M)
            with open(train.file("config.toml"), "w") as file:
                file.write(text)
            train.start()
            page.log_in(train).go("activity")
            page.wait_text("main.activity", "Metered connection")
            page.click("Ignore for an hour")
            page.wait_text("main.activity", "suspended until")
            policies = wait_until(lambda: (policies := train.document("policy"))["holds"] == [] and policies, what="nothing holds", child=train)
            assert policies["ignored"] and policies["ignoredUntil"]
            page.click("Re-enable policies")
            page.wait_text("main.activity", "Metered connection")
            assert not train.document("policy")["ignored"]
            page.driver.get("about:blank")
            train.stop()
        finally:
            machine.close()


# MARK: Devices

def unfold(page, within):
    """Opens what is folded there, and what is folded in that."""
    page.script("for (const details of document.querySelectorAll(`${arguments[0]} details`)) details.open = true", within)


def begin_pairing(page):
    page.go("devices", "pair")
    page.click("Start pairing")
    page.wait_text("main.devices", "Waiting for the other device")


def pairing_state(agent):
    connection = http.client.HTTPConnection("agent")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(agent.socket)
    with contextlib.closing(connection):
        connection.request("GET", "/v1/pair")
        return json.load(connection.getresponse())["state"]


def ids(agent):
    return {device["id"] for device in agent.status()["devices"]}


@pytest.fixture(scope="module")
def strangers(module_lab):
    """Two that know nobody and have nothing but a virtual radio; one has a folder to share."""
    radio = Radio(module_lab, speed=4)
    phone, tablet = radio.join("phone"), radio.join("tablet")
    tablet.add_folder("music", module_lab.directory("music"), mode="full")
    yield phone, tablet
    radio.kill()


def codes(page, tabs, phone, tablet):
    """Both pages wait, the phone calls the tablet, and both show the same six digits; gives them."""
    page.log_in(phone)
    begin_pairing(page)
    tabs(1)
    page.log_in(tablet).go("devices", "pair")
    page.click("music", "checkbox")
    page.click("Start pairing")
    page.wait_text("main.devices", "Waiting for the other device")
    tabs(0)
    page.click("Pair with tablet")
    page.wait(lambda: page.has(".digits"), "the digits")
    code = page.find(".digits").get_attribute("data-code")
    assert page.text(".digits") == f"{code[:3]} {code[3:]}" and re.fullmatch(r"\d{6}", code)
    # Digit by digit, and the safe answer has the focus.
    assert page.find(".digits").get_attribute("aria-label") == " ".join(code[:3]) + ", " + " ".join(code[3:])
    assert page.driver.switch_to.active_element.text == "They differ"
    tabs(1)
    page.wait(lambda: page.has(".digits"), "the digits there")
    assert page.find(".digits").get_attribute("data-code") == code
    return code


def test_codes_that_differ_store_nothing(page, tabs, strangers):
    phone, tablet = strangers
    codes(page, tabs, phone, tablet)
    page.press(Keys.ENTER)
    page.wait_text(".outcome", "You said that they differ")
    assert "Nothing was stored" in page.text("main.devices")
    tabs(0)
    page.wait_text(".outcome", "Refused on the other device")
    assert ids(phone) == ids(tablet) == set()
    assert "[[device" not in configuration(phone) + configuration(tablet)


def test_leaving_the_view_ends_the_pairing(page, strangers):
    phone, _ = strangers
    page.log_in(phone)
    begin_pairing(page)
    state = "return (await (await fetch('/v1/pair')).json()).state"
    assert page.script_async(state) == "waiting"
    page.go("log")
    page.wait(lambda: page.script_async(state) == "idle", "nothing waits any more")
    begin_pairing(page)
    page.click("Stop")
    page.wait(lambda: page.script_async(state) == "idle", "nothing waits any more")


def test_a_page_that_is_left_holds_nothing(page, strangers):
    """Browsers keep pages for those who go back; not a pairing, and not the connections to the agent."""
    phone, _ = strangers
    for _ in range(2):
        page.log_in(phone)
        begin_pairing(page)
        page.driver.get("about:blank")
        wait_until(lambda: [pairing_state(phone)] == ["idle"], what="the pairing has ended with its page", child=phone)
    page.driver.back()
    page.wait(lambda: page.text("#device") == "phone" and "devices connected" in page.text("#state"), "the page is back")


def test_two_agents_are_paired_by_the_page(page, tabs, strangers):
    phone, tablet = strangers
    code = codes(page, tabs, phone, tablet)
    page.screenshot("pairing")
    assert ids(phone) == ids(tablet) == set()
    page.click("They are the same")
    page.wait_text("#pair-said", "Waiting for the other device's user")
    assert ids(tablet) == set()
    tabs(0)
    assert page.find(".digits").get_attribute("data-code") == code
    page.wait_text("#pair-said", "confirmed the digits")
    page.press(Keys.TAB, Keys.ENTER)
    page.wait_text(".outcome", "Paired with tablet")
    tabs(1)
    page.wait_text(".outcome", "Paired with phone")
    assert ids(phone) == {tablet.id} and ids(tablet) == {phone.id}
    assert tablet.folder("music")["devices"] == [phone.id]
    # What is shared is offered, and taken by the page.
    tabs(0)
    phone.wait_connected(tablet.id)
    offer = card(page, "offer", "music")
    page.find(f"{offer} summary").click()
    directory = page.named("Directory on this device full path; created if it does not exist", "textbox", offer)
    directory.clear()
    directory.send_keys(os.path.join(os.path.dirname(phone.home), "phone-music"))
    page.click("Accept folder", within=offer)
    wait_until(lambda: phone.folder("music").get("mode") == "selective", what="the folder is here", child=phone)


def test_there_is_one_way_to_add_a_device(page, laptop):
    page.go("devices")
    page.wait(lambda: page.named("Add device"), "the button")
    assert not any(page.find(f"#way-{way}").is_displayed() for way in ("pair", "invite", "add"))
    page.click("Add device")
    page.wait(lambda: page.named("Start pairing"), "devices nearby come first")
    assert page.text("section.part h2:focus") == "Add a device"
    page.script("document.getElementById('tab-pair').focus()")
    page.press(Keys.ARROW_RIGHT)
    page.wait(lambda: page.find("#way-invite").is_displayed() and not page.find("#way-pair").is_displayed(), "invitations")
    page.press(Keys.ARROW_RIGHT)
    page.wait(lambda: page.text("#way-add .own-id") == laptop.id, "the own id beside the field for the other one")
    page.click("Close", within="main.devices")
    page.wait(lambda: page.script("return document.activeElement.textContent") == "Add device", "the focus is back")
    assert not page.find("#way-add").is_displayed()


def test_a_click_is_not_lost_when_the_status_comes_meanwhile(page, laptop, two):
    """The links are drawn anew with each status; what is pressed stays until it is let go."""
    page.go("activity")
    page.script("performance.clearResourceTimings()")

    def press():
        webdriver.ActionChains(page.driver, duration=0).click_and_hold(page.named("Devices", "link", "nav")).perform()
        return True

    def statuses():
        return page.script("return performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/v1/status')).length")
    page.wait(press, "the link")
    first = statuses()
    for number in range(2):
        laptop.run("pause" if number == 0 else "resume", "photos")
        # One may have been on its way.
        page.wait(lambda: statuses() >= first + 1 + number, "a status comes")  # noqa: B023
    webdriver.ActionChains(page.driver, duration=0).release().perform()
    page.wait(lambda: page.address == "#/devices", "the link is followed")


def test_the_search_is_one_key_away(page, laptop):
    for view in ("devices", "log", "attention"):
        page.go(view)
        page.wait(lambda: page.has(f"main.{view}"), view)
        page.press("/")
        page.wait(lambda: page.script("return document.activeElement.placeholder") == "Search names" and page.address.startswith("#/files"), "the search")
    # In a field it is a character.
    page.press("/")
    assert page.script("return document.activeElement.value") == "/"
    page.press(Keys.ESCAPE)


def test_a_device_is_added_by_its_id(page, laptop, module_lab):
    page.go("devices", "add")
    other = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
    field = page.wait(lambda: page.named("Id as the other device shows it", "textbox"), "the form")
    field.send_keys(other[:-1] + "A", Keys.ENTER)
    page.wait_text("[role=alert].whole", "typing error in groups 7 and 8")
    assert other not in ids(laptop)
    field.clear()
    field.send_keys(other)
    page.named("Name", "textbox", "form.form:has([placeholder^='8 groups'])").send_keys("old phone", Keys.ENTER)
    device = card(page, "device", other)
    assert other in ids(laptop) and "old phone" in page.text(device)
    page.find(f"{device} > [data-part=advanced] > summary").click()
    name = page.named("Name", "textbox", device)
    name.clear()
    name.send_keys("older phone", Keys.ENTER)
    page.wait_text(f"{device} h3", "older phone")
    page.choose("More actions for older phone", "Remove this device…", within=device)
    page.answer("Cancel")
    assert other in ids(laptop)
    page.choose("More actions for older phone", "Remove this device…", within=device)
    page.answer("Remove device")
    page.wait(lambda: not page.has(device), "the card is gone")
    assert other not in ids(laptop)


def test_an_id_is_read_from_a_picture_where_the_browser_can(page, laptop, module_lab):
    code = module_lab.path("code.png")
    write(code, picture(3))
    page.go("devices", "add")
    page.wait(lambda: page.has("[placeholder^='8 groups']"), "the form")
    has = page.script("return 'BarcodeDetector' in window")
    assert page.has("input[type=file][capture]") == has
    # The pictures of this test hold no code; a detector of the test's own says what it was asked for.
    page.go("activity").script("""
        window.found = [];
        window.BarcodeDetector = class {
            constructor(options) { this.formats = options.formats; }
            async detect(picture) { return picture.width === 320 && this.formats[0] === "qr_code" ? window.found : null; }
        };""")
    page.go("devices", "add")
    page.wait(lambda: page.has("input[type=file][capture]"), "the picture's field")
    page.find("input[type=file][capture]").send_keys(code)
    page.wait_text("[role=alert].whole", "No QR code found in this picture")
    page.script("window.found = [{ rawValue: ' P56IOI7-MZJNU2Y ' }]")
    page.find("input[type=file][capture]").clear()
    page.find("input[type=file][capture]").send_keys(code)
    page.wait(lambda: page.find("[placeholder^='8 groups']").get_attribute("value") == "P56IOI7-MZJNU2Y", "the id")


def test_a_role_is_set(page, laptop, two):
    nas = two[1]
    page.go("devices")
    device = card(page, "device", nas.id)
    page.find(f"{device} > [data-part=sharing] > summary").click()
    choose(page, "Role in photos", "may read", device)
    wait_until(lambda: laptop.folder("photos")["roles"] == {nas.id: "read"}, what="the role", child=laptop)
    choose(page, "Role in photos", "may read and change", device)
    wait_until(lambda: laptop.folder("photos")["roles"] == {}, what="the role", child=laptop)


def test_a_device_says_what_it_has_of_each_folder(page, laptop, two, module_lab):
    page.go("devices")
    nas = two[1]
    laptop.wait_connected(nas.id)
    line = f'{card(page, "device", nas.id)} [data-folder=photos]'
    page.wait_text(line, "has everything", timeout=60)
    laptop.run("pause", "--device", "nas")
    write(here(module_lab, "not there yet.txt"), b"12345")
    laptop.run("scan", "photos")
    page.wait_text(line, "lacks 1 file, 5 B", timeout=60)
    laptop.run("resume", "--device", "nas")
    page.wait_text(line, "has everything", timeout=60)


def test_the_ways_to_a_device_are_shown(page, laptop, two, module_lab):
    laptop.wait_connected(two[1].id)
    page.go("devices")
    device = card(page, "device", two[1].id)
    page.wait_text(f"{device} .state-line", "Connected over TCP")
    # What is technical is not seen before it is asked for.
    assert two[1].id not in page.text(device) and "127.0.0.1" not in page.text(device)
    unfold(page, device)
    page.wait_text(f"{device} [data-part=reach]", "in use (")
    assert two[1].id in page.text(device)
    unfold(page, "main.devices section.part:last-of-type")
    page.wait_text("main.devices", "discovery servers")
    page.wait_text("main.devices", "Nothing is told to any server.")


def test_addresses_that_fail_are_counted(page, laptop, module_lab):
    other = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
    laptop.run("device", "add", other, "--name", "old phone", "--address", "tcp://127.0.0.1:1")
    page.go("devices")
    device = card(page, "device", other)
    page.wait_text(f"{device} .state-line", "Never connected yet")
    unfold(page, device)
    page.wait_text(device, "1 failed: see “Connections and addresses tried”")
    laptop.run("device", "remove", other, "--yes")


def test_others_are_asked_whether_they_can_connect(page, laptop, two):
    laptop.wait_connected(two[1].id)
    page.go("devices")
    card(page, "device", two[1].id)
    unfold(page, "main.devices section.part:last-of-type")
    page.click("Test")
    # Both are on loopback, which is no address to test.
    page.wait_text("main.devices", "nas (in this network) tested nothing: no address of this device is known that it could test")
    page.wait_text("main.devices", "No address was tested.")


def test_a_device_that_waits_is_let_in(page, laptop, two, module_lab):
    guest = module_lab.agent("guest")
    guest.add_device(laptop.id, "laptop", laptop.address)
    page.go("devices")
    waiting = card(page, "pending", guest.id)
    page.go("attention")
    page.wait_text("main.attention", "The device guest wants to connect.")
    page.go("devices")
    card(page, "pending", guest.id)
    page.find(f"{waiting} summary").click()
    page.click("photos", "checkbox", waiting)
    page.click("Add device", within=waiting)
    laptop.wait_connected(guest.id)
    assert guest.id in laptop.folder("photos")["devices"]
    page.wait(lambda: not page.has(waiting), "nobody waits any more")
    # Rests, and does not any more.
    device = card(page, "device", guest.id)
    page.choose("More actions for guest", "Pause", within=device)
    laptop.wait_disconnected(guest.id)
    page.click("Resume guest", within=device)
    laptop.wait_connected(guest.id)
    # First: a device that was removed asks again.
    guest.stop()
    laptop.run("device", "remove", guest.id, "--yes")


def test_a_device_that_has_not_accepted_this_one_is_waited_for(page, laptop, module_lab):
    """It answers and hangs up: that is said, with what is to be done there, until it is done."""
    friend = module_lab.agent("friend 2")
    laptop.run("device", "add", friend.id, "--name", "friend", "--address", friend.address)
    page.go("devices")
    device = card(page, "device", friend.id)
    page.wait_text(f"{device} .state-line", "Waiting for friend to accept this device")
    assert page.text(f"{device} .own-id") == laptop.id and page.find(f"{device} img.qr").is_displayed()
    assert not page.has(f"{device} .dot.on") and page.find(f"{device} img.qr").get_attribute("alt")
    page.screenshot("waiting-for-acceptance")
    friend.add_device(laptop.id, "laptop", laptop.address)
    page.wait_text(f"{device} .state-line", "Connected over TCP")
    page.wait(lambda: not page.has(f"{device} .own-id"), "nothing more is to be done there")
    friend.stop()
    laptop.run("device", "remove", friend.id, "--yes")


def test_a_device_that_waits_is_ignored(page, laptop, two, module_lab):
    caller = module_lab.agent("caller")
    caller.add_device(laptop.id, "laptop", laptop.address)
    page.go("devices")
    waiting = card(page, "pending", caller.id)
    page.click("Ignore", within=waiting)
    page.wait(lambda: not page.has(waiting), "nobody waits any more")
    assert laptop.document("device", "ignored")["devices"] == [caller.id]
    # It stays ignored: afterwards it would be pending again, as before.
    caller.stop()


def test_an_invitation(page, laptop, two, module_lab):
    page.go("devices", "invite")
    page.wait(lambda: page.find("#way-invite").is_displayed(), "the way")
    page.script("for (const d of document.querySelectorAll('details')) d.open = true")
    page.click("Create invitation")
    page.wait(lambda: page.has("[data-code^='synctrain-']"), "the code")
    code = page.find("[data-code^='synctrain-']").get_attribute("data-code")
    friend = module_lab.agent("friend")
    page.log_in(friend).go("devices", "invite")
    page.wait(lambda: page.find("#way-invite").is_displayed(), "the way")
    page.script("for (const d of document.querySelectorAll('details')) d.open = true")
    page.named("Code", "textbox").send_keys(code)
    page.named("Directory on this device full path of the folder", "textbox").send_keys(
        os.path.join(os.path.dirname(friend.home), "friend-photos"))
    page.click("Join")
    wait_until(lambda: friend.folder("photos").get("global", {}).get("files", 0) > 0, what="the folder", child=friend)
    assert friend.folder("photos")["mode"] == "selective"
    assert laptop.folder("photos")["roles"][friend.id] == "read"
    page.log_in(laptop).go("devices", "invite")
    page.wait(lambda: any("used" in text and "friend" in text for text in page.texts("[data-invitation]")), "it is used")
    # First: a device that was removed asks again.
    friend.stop()
    laptop.run("device", "remove", friend.id, "--yes")


# MARK: Attention

def test_all_is_well(page, laptop):
    page.go("attention")
    page.wait_text("main.attention .well", "Nothing needs attention")


def test_a_conflict_is_resolved(page, laptop, two, module_lab):
    nas = two[1]
    conflict(module_lab, laptop, nas, "Lisbon/plan.txt", MINE.encode(), THEIRS.encode())
    page.go("attention")
    shown = card(page, "conflict", "Lisbon/plan.txt")
    page.wait(lambda: page.has(f"{shown} .diff"), "the differences")
    lines = page.texts(f"{shown} .diff > div")
    assert any("− theirs" in line and "the tower and the tarts" in line for line in lines)
    assert any("+ mine" in line and "the sea at Cascais" in line for line in lines)
    assert "this device" in page.texts(f"{shown} .side")[0] and "nas" in page.texts(f"{shown} .side")[1]
    page.screenshot("attention")
    page.wait(lambda: page.text(".bar nav a[aria-current] .badge").startswith("1"), "nothing else to review")
    page.choose("More actions for Lisbon/plan.txt", "Keep mine", within=shown)
    page.answer("Cancel")
    assert read(here(module_lab, "Lisbon/plan.txt")) == THEIRS.encode()
    page.choose("More actions for Lisbon/plan.txt", "Keep mine", within=shown)
    page.answer("Keep mine")
    page.wait(lambda: not page.has(shown), "it is settled")
    for root in (here(module_lab), there(module_lab)):
        wait_until(lambda: read(os.path.join(root, "Lisbon/plan.txt")) == MINE.encode() and not copies(root, "Lisbon/plan.txt"),
                   what=f"the answer is in {root}")


def test_names_that_turn_the_writing_are_seen_in_all_views(page, laptop, two, module_lab):
    """A name and a label with U+202E pass for others nowhere: neither in what is read nor in what is spoken."""
    nas, name = two[1], "bill\u202efdp.exe"
    laptop.run("folder", "set", "photos", "label=pic\u202eserut")
    try:
        conflict(module_lab, laptop, nas, name, b"mine\n", b"theirs\n")
        for view, expected in (("attention", "bill⟨202E⟩fdp.exe"), ("activity", "bill⟨202E⟩fdp.exe"), ("devices", "pic⟨202E⟩serut"),
                               ("settings", "pic⟨202E⟩serut"), ("files", "pic⟨202E⟩serut")):
            page.go(view)
            page.wait_text("#view", expected)
            assert turned(page) == []
        page.go("attention")
        selector = card(page, "conflict", name)
        page.choose("More actions for bill⟨202E⟩fdp.exe", "Keep mine", within=selector)
        page.wait_text("dialog[open] h2", "Keep mine of bill⟨202E⟩fdp.exe?")
        assert turned(page) == []
        page.answer("Cancel")
        page.click("Keep both", within=selector)
        page.wait_text("#notices", "the other is now bill⟨202E⟩fdp")
        assert turned(page) == []
    finally:
        laptop.run("folder", "set", "photos", "label=")


def turned(page):
    """Texts, and attributes that are shown or spoken, in which something turns the direction of writing."""
    return page.script("""
        const found = [], turns = /[\\u202a-\\u202e\\u2066-\\u2069]/;
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) if (turns.test(walk.currentNode.data)) found.push(walk.currentNode.data);
        for (const element of document.body.querySelectorAll("[title], [aria-label], [alt], [placeholder]")) {
            for (const name of ["title", "aria-label", "alt", "placeholder"]) if (turns.test(element.getAttribute(name))) found.push(`${name}: ${element.getAttribute(name)}`);
        }
        return found;""")


def test_pictures_in_conflict_are_both_kept(page, laptop, two, module_lab):
    nas = two[1]
    conflict(module_lab, laptop, nas, "Lisbon/tiles.png", picture(1), picture(2))
    page.go("attention")
    shown = card(page, "conflict", "Lisbon/tiles.png")
    page.wait(lambda: page.script("return [...document.querySelectorAll(arguments[0])].map((i) => i.naturalWidth)",
                                  f"{shown} img") == [320, 320], "both pictures")
    page.click("Keep both", within=shown)
    page.wait(lambda: not page.has(shown), "it is settled")
    wait_until(lambda: not copies(there(module_lab), "Lisbon/tiles.png"), what="no copy is left")
    kept = {read(there(module_lab, "Lisbon", name)) for name in os.listdir(there(module_lab, "Lisbon")) if "tiles" in name}
    assert kept == {picture(1), picture(2)}


def test_extraneous_files_are_kept_and_deleted(page, laptop, two, module_lab):
    path = module_lab.directory("loose")
    laptop.add_folder("loose", path)
    names = ["a draft.txt", "b keep.txt", "c gone.txt", "d gone.txt"]
    for name in names:
        write(os.path.join(path, name), name.encode())
    laptop.run("scan", "loose")
    page.go("attention")
    loose = card(page, "extraneous", "loose")
    page.wait(lambda: len(page.all(f"{loose} .picks label")) == 4, "all four")

    def pick(*chosen):
        for name in chosen:
            page.find(f'{loose} input[value="{name}"]').click()
    pick("c gone.txt", "d gone.txt")
    page.click("Delete here…", within=loose)
    page.wait_text("dialog", "2 files")
    assert page.driver.switch_to.active_element.text == "Cancel" and "would be lost" in page.text("dialog")
    page.answer("Cancel")
    assert sorted(os.listdir(path))[-2:] == names[2:]
    page.click("Delete here…", within=loose)
    page.answer("Delete here")
    page.wait(lambda: len(page.all(f"{loose} .picks label")) == 2, "two are left")
    assert [name for name in sorted(os.listdir(path)) if name.endswith(".txt")] == names[:2]
    pick("b keep.txt")
    page.click("Keep and share", within=loose)
    wait_until(lambda: laptop.tree("loose").get("b keep.txt", {}).get("state") == "present", what="it is kept", child=laptop)
    page.wait(lambda: len(page.all(f"{loose} .picks label")) == 1, "one is left")
    pick("a draft.txt")
    page.click("Ignore", within=loose)
    page.wait(lambda: not page.has(f"{loose}:not([hidden])"), "nothing is left to decide")
    assert read(os.path.join(path, "a draft.txt")) == b"a draft.txt"
    laptop.run("folder", "remove", "loose", "--yes")


def empty(directory, agent):
    """All at once for the agent: a scan in the middle would announce those that are gone by then, too few to be held."""
    agent.suspend()
    for name in os.listdir(directory):
        if name not in (".stfolder", ".stignore"):
            path = os.path.join(directory, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    agent.resume()


def test_halted_folders_are_repaired_and_confirmed(page, laptop, two, module_lab):
    nas = two[1]
    for number in range(5):
        write(there(module_lab, f"{number}.txt"), b"some text")
    files = {name for name in os.listdir(there(module_lab)) if name.endswith(".txt")}
    wait_until(lambda: files <= set(os.listdir(here(module_lab))), what="all are here", child=laptop)
    page.go("attention")
    empty(here(module_lab), laptop)
    stopped = card(page, "stopped", "photos")
    page.wait_text(stopped, "halted: all files are missing")
    page.click("Restore the files…", within=stopped)
    page.wait_text("dialog", "Nothing is deleted anywhere")
    assert re.search(r"\d+ files", page.text("dialog")) and page.driver.switch_to.active_element.text == "Not now"
    page.answer("Restore the files")
    wait_until(lambda: files <= set(os.listdir(here(module_lab))), what="all are here again", child=laptop)
    page.wait(lambda: not page.has(stopped), "it goes on")
    laptop.wait_state("photos", "idle")
    empty(here(module_lab), laptop)
    card(page, "stopped", "photos")
    page.choose("More actions for photos", "Confirm the deletion…", within=stopped)
    page.wait_text("dialog", "to delete")
    assert files <= set(os.listdir(there(module_lab)))
    page.answer("Delete everywhere")
    wait_until(lambda: not files & set(os.listdir(there(module_lab))), what="they are gone there", child=nas)
    page.wait(lambda: not page.has(stopped), "it goes on")


def test_deletions_by_other_devices_are_confirmed(page, laptop, two, module_lab):
    nas = two[1]
    files = [os.path.join("many", str(number)) for number in range(400)]
    for name in files:
        write(there(module_lab, name), name.encode())
    write(there(module_lab, "stays.txt"), b"stays")
    nas.run("scan", "photos")
    wait_until(lambda: all(os.path.exists(here(module_lab, name)) for name in files), 60, "all are here", child=laptop)
    page.go("attention")
    # At once: a scan in the middle of a slow removal announces those that are gone by then, too few to be held.
    os.rename(there(module_lab, "many"), os.path.join(module_lab.directory("removed"), "many"))
    nas.wait_state("photos", "halted-mass-delete")
    nas.run("folder", "confirm", "photos", "--yes")
    held = card(page, "held", "photos")
    page.wait_text(held, "deleted 400 of the")
    assert all(os.path.exists(here(module_lab, name)) for name in files)
    page.click("Confirm the deletion…", within=held)
    page.wait_text("dialog", "deleted here, too")
    assert page.driver.switch_to.active_element.text == "Not now"
    page.answer("Delete here")
    wait_until(lambda: not os.path.exists(here(module_lab, "many")), 60, "they are gone", child=laptop)
    page.wait(lambda: not page.has(held), "nothing is left to confirm")


def test_a_refused_change_is_given_back_and_accepted(page, laptop, two, module_lab):
    nas = two[1]
    for name in ("one.txt", "two.txt"):
        write(here(module_lab, name), b"ours")
    wait_until(lambda: all(read(there(module_lab, name)) for name in ("one.txt", "two.txt")), what="both have them", child=laptop)
    laptop.run("folder", "role", "photos", nas.id, "read")
    for name in ("one.txt", "two.txt"):
        write(there(module_lab, name), b"theirs, though they may only read")
    page.go("attention")
    card(page, "refused", "one.txt"), card(page, "refused", "two.txt")
    page.click("Revert one.txt")
    page.answer("Revert")
    wait_until(lambda: read(there(module_lab, "one.txt")) == b"ours", what="it is given back", child=nas)
    page.choose("More actions for two.txt", "Accept…")
    page.answer("Accept")
    wait_until(lambda: read(here(module_lab, "two.txt")) == b"theirs, though they may only read", what="it counts", child=laptop)
    laptop.run("folder", "role", "photos", nas.id, "write")


# MARK: Log

def test_the_log_is_live_and_can_be_filtered_and_saved(page, laptop, two, module_lab, downloads):
    page.go("log")
    write(there(module_lab, "noted.txt"), b"x")
    page.wait(lambda: any("files-changed" in text for text in page.texts(".records li")), "the event")
    count = len(page.all(".records li"))
    field = page.named("Lines containing this text", "textbox")
    field.send_keys("files-changed")
    page.wait(lambda: 0 < len(page.all(".records li")) < count and all("files-changed" in t for t in page.texts(".records li")),
              "only what was asked for")
    kept = len(page.all(".records li"))
    before = set(os.listdir(downloads))
    page.click("Save as NDJSON")
    [name] = page.wait(lambda: [n for n in set(os.listdir(downloads)) - before if n.endswith(".ndjson")], "the file")
    with open(os.path.join(downloads, name)) as file:
        saved = [json.loads(line) for line in file]
    assert len(saved) >= kept and all(line["type"] == "files-changed" for line in saved)
    field.clear()
    field.send_keys(Keys.SPACE, Keys.BACKSPACE)
    page.wait(lambda: len(page.all(".records li")) >= count, "all again")


def test_the_log_follows_until_somebody_scrolls(page, laptop):
    page.resize((700, 360))
    page.go("log")

    def rest():
        return page.script("const r = document.querySelector('.records'); return r.scrollHeight - r.scrollTop - r.clientHeight")

    def more():
        last = page.script("return document.querySelector('.records').lastChild?.dataset.number ?? '-1'")
        laptop.run("scan", "photos")
        page.wait(lambda: int(page.script("return document.querySelector('.records').lastChild?.dataset.number ?? '-1'")) > int(last), "news")
    while page.script("const r = document.querySelector('.records'); return r.scrollHeight < 2 * r.clientHeight"):
        more()
    page.wait(lambda: rest() < 9, "it follows")
    page.script("document.querySelector('.records').scrollTop = 0")
    page.wait(lambda: page.find(".log .tools button:not([hidden])").text.startswith("Jump to newest"), "it does not follow")
    more()
    page.wait(lambda: "new line" in page.find(".log .tools button").text, "how many are new")
    assert page.script("return document.querySelector('.records').scrollTop") == 0
    page.find(".log .tools button").click()
    page.wait(lambda: rest() < 9 and not page.find(".log .tools button").is_displayed(), "it follows again")


def test_the_log_of_a_day_stays_small(page, laptop):
    """The view with an agent that says a great deal: only the newest are kept, and filters look at these."""
    found = page.script_async("""
        const { mount } = await import("/page/log.js");
        let tell;
        const app = { status: { folders: [{ id: "a", label: "A" }], devices: [] }, deviceName: (id) => id,
            onStatus(listen) { listen(app.status); return () => {}; }, onEvent(listen) { tell = listen; return () => {}; },
            api: { async *lines() { for (let n = 0; n < 3000; n += 1) yield { type: "record", id: n, time: new Date(1e12 + n).toISOString(),
                level: ["debug", "info", "warning"][n % 3], label: "agent", message: `line ${n}`, metadata: n % 2 ? { folder: "a" } : {} };
                await new Promise(() => {}); } }, fail(error) { throw error; } };
        const root = document.createElement("div");
        document.body.append(root);
        const view = mount(root, app);
        const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        const until = async (condition) => { while (!condition()) await drawn(); };
        const lines = () => [...root.querySelectorAll(".records li")].map((line) => line.querySelector(".text").textContent.trim());
        await until(() => lines().at(-1)?.startsWith("line 2999"));
        for (let n = 0; n < 1500; n += 1) tell({ type: "tick", time: new Date(2e12 + n).toISOString(), message: `${n}` });
        await until(() => lines().at(-1)?.includes("1499"));
        const all = lines().length;
        const set = (name, value) => { const control = root.querySelector(name); control.value = value; control.dispatchEvent(new Event("input")); };
        set("select[aria-label=Level]", "warning");
        const warnings = lines();
        set("select[aria-label=Level]", "trace");
        set("select[aria-label=Subject]", "folder a");
        const about = lines();
        set("input", "LINE 2998");
        const none = lines().length;
        set("select[aria-label=Subject]", "");
        const one = lines();
        view.unmount();
        root.remove();
        return { all, warnings: warnings.length, about: about.length, none, one };""")
    assert isinstance(found, dict), found
    # 2,000 are kept: 1,500 events and the last 500 records.
    assert found["all"] == 2000
    assert found["warnings"] == len([n for n in range(2500, 3000) if n % 3 == 2])
    assert found["about"] == 250 and found["none"] == 0 and found["one"] == ["line 2998"]


def test_differences_are_read_line_by_line(page, laptop):
    lines = page.script_async("""
        const { parse } = await import("/page/diff.js");
        return parse(arguments[0]);""", "--- theirs\n+++ mine\n@@ -1,2 +1,3 @@\n same\n--- a\n+++ b\n+\n\\ No newline at end of file\n")
    assert [(line["kind"], line["text"]) for line in lines] == [
        ("where", "@@ -1,2 +1,3 @@"), ("both", "same"), ("theirs", "-- a"), ("mine", "++ b"), ("mine", ""),
        ("remark", "No newline at end of file")]


# MARK: all of them

VIEWS = ["activity", "devices", "attention", "log"]


@pytest.mark.parametrize("view", VIEWS)
def test_at_phone_width_at_200_percent_and_for_screen_readers(page, laptop, view):
    page.go(view)
    page.wait(lambda: page.has(f"main.{view}"), "the view")
    def unfold():
        # What is folded away has no names.
        page.script("for (const details of document.querySelectorAll('details')) details.open = true")
    unfold()
    for size, factor in ((WIDE, 1), (WIDE, 2), (PHONE, 1)):
        page.zoom(size, factor)
        assert page.overflow() <= 0, f"{view} is wider than {size} at {factor}"
        page.screenshot(f"{view}-{size[0]}-{factor}")

    def all_have_names():
        # What has been drawn meanwhile is folded.
        unfold()
        assert page.nameless() == []
        return True
    page.wait(all_have_names, "every control has a name")


def test_by_keyboard_alone(page, laptop, two):
    """From the beginning of the page to a folder that rests, without a mouse."""
    page.go("files")
    # What has the focus while the page is still being put together loses it.
    page.wait(lambda: "photos" in page.text("body"), "the folder in the page")
    page.script("document.activeElement.blur()")

    def reach(name, limit=60):
        for _ in range(limit):
            page.press(Keys.TAB)
            # What is drawn anew while it is looked at is passed by once more.
            with contextlib.suppress(StaleElementReferenceException):
                if page.driver.switch_to.active_element.accessible_name.strip().startswith(name):
                    return
        raise AssertionError(f"{name!r} is not reached")
    reach("Activity")
    page.press(Keys.ENTER)
    page.wait(lambda: page.has('[data-folder="photos"]'), "the folder")
    reach("Pause the folder photos")
    page.press(Keys.SPACE)
    laptop.wait_state("photos", "paused")
    page.wait(lambda: page.driver.switch_to.active_element.accessible_name == "Resume the folder photos", "the focus stays")
    page.press(Keys.SPACE)
    laptop.wait_state("photos", "idle")


def test_this_device_is_checked(page, laptop):
    """What `doctor` finds, with the command that helps."""
    key = laptop.file("key.pem")
    os.chmod(key, 0o644)
    try:
        page.go("devices")
        page.click("Check this device")
        page.wait(lambda: page.has("[data-doctor=sum]"), "the findings")
        assert page.text("[data-doctor=sum]") == "1 problem found."
        found = page.text("[data-finding=key-mode]")
        assert found.startswith("problem Other users can read the private key") and f"chmod 600 {key}" in found
    finally:
        os.chmod(key, 0o600)
    page.click("Check this device")
    page.wait(lambda: page.text("[data-doctor=sum]") == "No problems found.", "the problem is gone")


def test_a_mount_is_proposed_beside_the_folder_of_that_name(page, laptop, module_lab):
    laptop.add_folder("films", module_lab.directory("films"), mode="full")
    try:
        page.go("activity")
        form = "section.part details:has(form) "
        page.wait(lambda: page.has(f"{form} summary"), "the form")
        page.find(f"{form} summary").click()
        choose(page, "Folder", "films", form)
        assert page.find(f"{form} input[type=text]").get_property("value") == "~/films-all"
        choose(page, "Folder", "photos", form)
        assert page.find(f"{form} input[type=text]").get_property("value") == "~/photos"
    finally:
        laptop.run("folder", "remove", "films", "--yes")


@pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
                    reason="mounting needs /dev/fuse and fusermount3")
def test_a_folder_is_mounted_and_unmounted(page, laptop, module_lab):
    """Where it is mounted is kept in the configuration; what programs hold open is not taken from them."""
    directory, row = module_lab.path("laptop-mount"), '[data-mount="photos"]'
    page.go("activity")
    form = "section.part details:has(form) "
    page.wait(lambda: page.has(f"{form} summary"), "the form")
    page.find(f"{form} summary").click()
    field = page.find(f"{form} input[type=text]")
    assert field.get_attribute("value") == "~/photos"
    field.clear()
    field.send_keys(directory, Keys.ENTER)
    page.wait(lambda: page.has(row) and "mounted" in page.text(row) and "not mounted" not in page.text(row), "it is mounted")
    assert "whenever the agent starts" in page.text(row) and directory in page.text(row)
    # Which files there are, the tests before this one decide.
    name = sorted(os.listdir(directory))[0]
    assert f'mount = "{directory}"' in read(laptop.file("config.toml")).decode()
    with open(os.path.join(directory, name), "rb"):
        page.click("Unmount photos", within=row)
        page.wait(lambda: f"({os.getpid()})" in page.text("body"), "who uses it is named")
    assert os.listdir(directory)
    # It may lie over the button.
    page.click("Close", within="#notices")
    page.click("Unmount photos", within=row)
    page.wait(lambda: not page.has(row), "it is not mounted any more")
    assert os.listdir(directory) == [] and "mount = " not in read(laptop.file("config.toml")).decode().replace("#   mount = ", "")
