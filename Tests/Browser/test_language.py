"""The page in German and Dutch: as the browser asks, and as chosen in Settings. What is shown is held against the catalogue."""

import json
import os
import re
import time

import pytest
from harness import pattern, read, write
from page import PHONE, REPOSITORY, WIDE
from process import wait_until
from selenium.webdriver.support.select import Select

FOLDER = "photos"
LANGUAGES = ("de", "nl")
# What the browser of somebody who speaks it asks for: the first that the page has counts.
WANTED = {"de": "fr-FR,de-DE,en-GB", "nl": "nl-BE,en"}
MODIFIED = int(time.time()) - 5 * 86400


def catalogue(language):
    with open(os.path.join(REPOSITORY, "Sources/System/CTranslations/documents", f"{language}.json")) as file:
        return json.load(file)["texts"]


@pytest.fixture(scope="module")
def laptop(module_lab):
    """An agent that has something to show in every view: a NAS that is connected, a folder with versions, a deleted file and one
    that nobody selected, a device that waits to be accepted."""
    laptop, nas, guest = (module_lab.agent(name) for name in ("laptop", "nas", "guest"))
    module_lab.introduce(laptop, nas)
    laptop.here = module_lab.share(laptop, FOLDER, nas, mode="full")
    laptop.run("folder", "set", FOLDER, "versions=simple")
    there = module_lab.path(f"nas-{FOLDER}")
    files = {"Lisbon/one.txt": b"x", "Lisbon/two.txt": b"gone", "film.bin": pattern(3 << 19), "list.txt": b"a list\n"}
    for name, data in files.items():
        write(os.path.join(there, name), data)
        os.utime(os.path.join(there, name), (MODIFIED, MODIFIED))
    nas.run("scan", FOLDER)

    def here(name):
        return read(os.path.join(laptop.here, name))
    wait_until(lambda: all(here(name) == data for name, data in files.items()), what="the files are here", child=laptop)
    os.remove(os.path.join(there, "Lisbon/two.txt"))
    write(os.path.join(there, "list.txt"), b"another list\n")
    nas.run("scan", FOLDER)
    wait_until(lambda: here("list.txt") == b"another list\n" and here("Lisbon/two.txt") is None, what="one is changed and one is gone", child=laptop)
    laptop.nas_id = nas.id
    guest.add_device(laptop.id, "laptop", laptop.address)
    wait_until(lambda: laptop.status().get("pending"), what="a device waits", child=guest)
    return laptop


@pytest.fixture
def speak(page, laptop):
    """Makes the browser ask for languages, as its settings would, and opens the page."""
    def ask(wanted):
        page.languages(wanted)
        return page.log_in(laptop)
    yield ask
    page.script("localStorage.clear()")
    page.languages("en-GB")


# What is shown: texts that are seen or read aloud, each on its own and as the paragraph that it is part of. Names, codes and what
# was typed are nobody's texts.
SHOWN = """
const found = new Set();
const tidy = (text) => text.replace(/\\s+/g, " ").trim();
const nobodys = "bdi, code, pre, .id, .mono, #device, .records li, textarea, h1";
const seen = (element) => element.checkVisibility() && !element.closest(nobodys);
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (seen(element) || element.closest("select")?.checkVisibility()) found.add(tidy(walker.currentNode.data));
}
for (const element of document.querySelectorAll("p, li, dt, dd, label, h2, h3, h4, a, button, summary, legend, td, th, .tag, .quiet")) {
  if (seen(element)) found.add(tidy(element.innerText));
}
for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]")) {
  if (!seen(element) || element.matches("time")) continue;
  for (const name of ["aria-label", "title", "placeholder", "alt"]) if (element.hasAttribute(name)) found.add(tidy(element.getAttribute(name)));
}
found.add(document.title.replace(" – synctrain", ""));
found.delete("");
return [...found];
"""


class English:
    """The keys of a catalogue whose translation is other than they are; values in them are anything."""

    def __init__(self, texts):
        self.exact, self.shapes = set(), []
        translations = [form for forms in texts.values() for form in (forms if isinstance(forms, list) else [forms])]
        known = {word for form in translations for word in re.findall(r"\w+", form)}
        for key, forms in texts.items():
            context, _, text = key.rpartition("\4")
            forms = forms if isinstance(forms, list) else [forms]
            # Values of settings are shown with the word that config.toml has.
            if text in forms or context == "value":
                continue
            if "{" not in text:
                self.exact.add(text)
            # A sentence of words that the language has, too, as "{1} of {2}" in Dutch, tells nothing.
            elif set(re.findall(r"[A-Za-z]{2,}", text)) - known:
                self.shapes.append(re.compile(".+".join(re.escape(part) for part in re.split(r"\{\d\}", text))))
        # A translation may be the English text of something else.
        self.exact -= set(translations)

    def among(self, shown):
        return sorted(text for text in shown if text in self.exact or any(shape.fullmatch(text) for shape in self.shapes))


def opened(page):
    """Everything that can be opened in place is."""
    page.script("for (const details of document.querySelectorAll('main details')) details.open = true")


# Where, and what is there once the place has something to show.
PLACES = {
    "files": (("files",), ".folder-cards .card"),
    "a directory": (("files", FOLDER), ".row.active .name-text"),
    "a directory below": (("files", FOLDER, "Lisbon"), ".row.active .name-text"),
    "a file": (("files", FOLDER, "list.txt"), ".details .timeline"),
    "nothing": (("files", FOLDER, "missing.txt"), ".overview .empty p"),
    "activity": (("activity",), "[data-ready] .tag"),
    "devices": (("devices",), "[data-pending] summary"),
    "attention": (("attention",), ".line a"),
    "settings": (("settings",), ".setting"),
    "a folder's settings": (("settings", "folder", FOLDER), "[data-setting=versions]"),
    "a device's settings": (("settings", "device", None), "[data-setting=addresses]"),
    "log": (("log",), ".records li"),
}


def show(page, laptop, place):
    parts, there = PLACES[place]
    page.go(*[part or laptop.nas_id for part in parts])
    page.wait(lambda: page.has(f"main.{parts[0]} {there}"), place)
    opened(page)


def fits(page, what):
    """Nothing is wider than the window, nor out of its sight at the right."""
    assert page.overflow() <= 0, f"{what}: the page is {page.overflow()} px too wide"
    beyond = page.script("""
        const most = document.documentElement.clientWidth + 1;
        const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX) && element.id !== "view";
        const isScrolled = (element) => element !== null && (scrolls(element) || isScrolled(element.parentElement));
        return [...document.querySelectorAll("button, select, .tag, h2, h3, label, nav a, p")].filter((e) => e.checkVisibility()
          && !e.closest(".unseen, .skip") && !isScrolled(e) && e.getBoundingClientRect().right > most).map((e) => e.outerHTML.slice(0, 120))""")
    assert beyond == [], f"{what}: cut off at the right: {beyond}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_view_speaks_the_language_and_fits_a_phone(page, laptop, speak, language):
    speak(WANTED[language])
    english = English(catalogue(language))
    assert page.script("return document.documentElement.lang") == language
    left = {}
    for place in PLACES:
        page.resize(WIDE)
        show(page, laptop, place)
        shown = page.script(SHOWN)
        page.resize(PHONE)
        shown += page.script(SHOWN)
        assert len(shown) > 20, f"{place}: no texts are found"
        if found := english.among(shown):
            left[place] = found
        fits(page, place)
        tops = page.script("return [...document.querySelectorAll('#views a')].map((e) => e.offsetTop)")
        assert len(set(tops)) == 1, f"the views are in one row: {tops}"
    assert left == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_speak_the_language_and_fit_a_phone(page, laptop, speak, language):
    speak(WANTED[language])
    english = English(catalogue(language))
    texts = catalogue(language)
    page.resize(PHONE)
    for key in ("Delete everywhere…",):
        show(page, laptop, "a file")
        page.click(texts["More actions"], within=".details")
        page.click(texts[key], within=".menu")
        page.wait(lambda: page.has("dialog[open]"), "the question")
        assert english.among(page.script(SHOWN)) == []
        fits(page, key)
        page.answer(texts["Cancel"])
    show(page, laptop, "a directory")
    Select(page.named(texts["Which files to show"], "combobox")).select_by_value("deleted")
    page.wait(lambda: page.has(".deleted li"), "one that is gone")
    assert english.among(page.script(SHOWN)) == []
    fits(page, "deleted files")


def test_numbers_plurals_and_times_are_those_of_the_language(page, laptop, speak):
    day = time.localtime(MODIFIED)
    expected = {
        "de": ("1 Eintrag", "3 Einträge", "1,5 MiB", "1.572.864 Byte", f"{day.tm_mday}.{day.tm_mon}.{day.tm_year}", "vor 5 Tagen"),
        "nl": ("1 item", "3 items", "1,5 MiB", "1.572.864 bytes", f"{day.tm_mday}/{day.tm_mon}/{day.tm_year}", "5 dagen geleden"),
    }
    for language, (one, many, size, whole, date, ago) in expected.items():
        speak(WANTED[language])
        page.go("files", FOLDER, "Lisbon")
        page.wait_text(".summary", one)
        page.go("files", FOLDER)
        page.wait_text(".summary", many)
        page.wait(lambda: size in page.texts(".row .size"), f"{size} in {page.texts('.row .size')}")
        titles = page.script("return [...document.querySelectorAll('.row .size')].map((e) => e.title)")
        assert whole in titles, titles
        times = page.script("return [...document.querySelectorAll('.row time')].map((e) => [e.title, e.innerText])")
        # The date stands before a comma or a blank, as the browser's locale has it.
        assert any(title.split(",")[0].split(" ")[0] == date and text == ago for title, text in times), times


def german(phrase):
    """A phrase of the control API, whose arguments may be phrases."""
    if isinstance(phrase, str):
        return phrase
    arguments = [german(argument) for argument in phrase["arguments"]]
    return re.sub(r"\{(\d+)\}", lambda place: arguments[int(place[1]) - 1], catalogue("de").get(phrase["template"], phrase["template"]))


def test_what_the_agent_says_is_translated_where_it_is_known(page, laptop, speak):
    """A message with the phrase that it was made of; one that is a text of the catalogue; one that is neither."""
    speak(WANTED["de"])
    phrase = {"template": "{1} offers the folder {2}.", "arguments": [
        "nas", {"template": "{1} file", "plural": "{1} files", "count": 2, "arguments": ["2"]}]}
    said = page.script_async("const { said } = await import('/page/language.js'); return arguments[0].map((one) => said(...one))", [
        ["nas offers the folder 2 files.", phrase], ["The job was cancelled."], ["No text of any catalogue."], ["x", {"template": "{1}: nothing known", "arguments": ["a"]}]])
    shown, body = page.script_async("""const { get } = await import('/page/api.js');
        const body = await (await fetch('/v1/stat?path=nothing:a.txt', { headers: { "X-Synctrain": "page" } })).json();
        try { return [await get('stat', { path: 'nothing:a.txt' }), body]; } catch (error) { return [error.message, body]; }""")
    assert shown == german(body["text"]) != body["message"]
    assert said == ["nas bietet den Ordner 2 Dateien an.", "Der Auftrag wurde abgebrochen.", "No text of any catalogue.", "a: nothing known"]


def test_the_language_is_chosen_in_settings(page, laptop, speak):
    """Whatever the browser asks for; until it is to decide again."""
    speak("en-GB")
    for value, save, name, heading in (("nl", "Save the language", "Nederlands", "Taal"), ("de", "Taal opslaan", "Deutsch", "Sprache"),
                                       ("", "Sprache speichern", "as the browser", "Language")):
        page.go("settings")
        page.wait(lambda: page.has("#language"), "the choice")
        Select(page.find("#language")).select_by_value(value)
        page.click(save)
        page.wait(lambda: page.script("return document.documentElement.lang") == (value or "en"), f"the language is {value}")
        page.wait(lambda: page.has("#language") and Select(page.find("#language")).first_selected_option.text == name, "it is shown")
        assert heading in page.texts("main h3")
        assert not page.find("#language + button").is_displayed(), "there is nothing to save"
    page.driver.refresh()
    page.wait_text("#state", "devices connected")


def test_which_language_and_locale_are_picked(page, laptop, speak):
    speak("en-GB")
    cases = [("", ["fr", "nl-BE", "de"]), ("", ["fr-CA"]), ("de", ["en-US", "de-CH"]), ("nl", ["en-US"]), ("", []), ("", ["de-AT", "de"]),
             ("", ["en-US", "de"])]
    picked = page.script_async(
        "const { pick } = await import('/page/language.js'); return arguments[0].map(([chosen, wanted]) => pick(chosen, wanted))", cases)
    assert [(each["language"], each["locale"]) for each in picked] == [
        ("nl", "nl-BE"), ("en", "en-GB"), ("de", "de-CH"), ("nl", "nl"), ("en", "en-GB"), ("de", "de-AT"), ("en", "en-US")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_is_logged_out_reads_it_too(page, laptop, speak, language):
    speak(WANTED[language])
    page.driver.delete_all_cookies()
    page.driver.refresh()
    page.wait_text("main", "synctrain ui")
    assert English(catalogue(language)).among(page.script(SHOWN)) == []
    page.resize(PHONE)
    fits(page, "logged out")
