"""The pictures of the page in docs/images that no other test takes; skipped unless `SYNCTRAIN_PICTURES` names a directory for them."""

import os
import random
import shutil
import subprocess

import harness
import pytest
from page import PHONE

PICTURES = os.environ.get("SYNCTRAIN_PICTURES", "")
FOLDER = "home"
LISBON = "Photos/2026/Lisbon"
NAMES = ["Alfama, from the tram", "Belém tower", "Cabo da Roca", "Cascais, evening", "Ferry to Cacilhas", "Praia da Ursa",
         "Sintra, the hills", "Sunset at the river", "The last day"]
WINDOW = (1200, 740)

pytestmark = pytest.mark.skipif(not os.path.isdir(PICTURES) or not shutil.which("vips"), reason="no SYNCTRAIN_PICTURES, or no vips")


def landscape(path, seed):
    """A photo of hills below a sky, drawn."""
    rnd = random.Random(seed)
    hue = rnd.randrange(360)

    def ridge(height):
        points = " L".join(f"{x} {height + rnd.randrange(-90, 90)}" for x in range(0, 1501, 250))
        return f"M0 1000 L{points} L1500 1000Z"
    hills = "".join(f'<path d="{ridge(500 + 150 * layer)}" fill="hsl({hue} 35% {55 - 18 * layer}%)"/>' for layer in range(3))
    drawing = f"""<svg xmlns="http://www.w3.org/2000/svg" width="1500" height="1000"><defs><linearGradient id="s" x2="0" y2="1">
      <stop offset="0" stop-color="hsl({hue} 60% 60%)"/><stop offset="1" stop-color="hsl({hue + 30} 70% 88%)"/></linearGradient></defs>
      <rect width="1500" height="1000" fill="url(#s)"/><circle cx="{rnd.randrange(200, 1300)}" cy="{rnd.randrange(120, 300)}" r="70" fill="#fdf6df"/>
      {hills}</svg>"""
    harness.write(path + ".svg", drawing.encode())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["vips", "copy", path + ".svg", f"{path}[Q=95]"], check=True)
    os.remove(path + ".svg")


@pytest.fixture(scope="module")
def laptop(module_lab):
    """A home of which little is on this device."""
    nas, agent = module_lab.syncthing("nas"), module_lab.agent("laptop")
    module_lab.introduce(agent, nas)
    there = module_lab.folder_path(nas, FOLDER)
    for number, name in enumerate(NAMES):
        landscape(os.path.join(there, LISBON, f"{name}.jpg"), number)
    for path in ("Documents/Tax 2025.ods", "Documents/Letters/To Anna.txt", "Music/Fado/Rua do Capelão.flac", "Photos/2023/Oslo/1.jpg",
                 "Photos/2024/Paris/1.jpg", "Photos/2025/Rome/1.jpg", "Photos/2026/Easter/1.jpg", "Photos/2026/Garden/1.jpg"):
        harness.write(os.path.join(there, path), harness.pattern(40_000, path))
    film = os.path.join(there, "Films", "The crossing.mkv")
    harness.write(film, harness.pattern(1 << 20))
    os.truncate(film, 1500 << 20)
    module_lab.share(agent, FOLDER, nas)
    nas.wait_scanned(FOLDER, len(NAMES) + 9)
    agent.wait_global(FOLDER, len(NAMES) + 9)
    agent.run("select", f"{FOLDER}:{LISBON}/{NAMES[1]}.jpg", f"{FOLDER}:{LISBON}/{NAMES[7]}.jpg", f"{FOLDER}:Documents")
    agent.run("wait", FOLDER)
    return agent


def take(page, name):
    page.wait_text("#space summary", "free of")
    page.driver.save_screenshot(os.path.join(PICTURES, f"{name}.png"))


def test_a_photo_that_is_not_here(page, laptop):
    page.resize(WINDOW)
    page.log_in(laptop).go("files", FOLDER, *LISBON.split("/"), f"{NAMES[5]}.jpg")
    page.wait(lambda: page.script("return [...document.querySelectorAll('.details .preview img')].some((i) => i.naturalWidth > 1000)"), "the photo")
    page.wait(lambda: len(page.all(".layer .picture img")) == len(NAMES), "the thumbnails")
    page.script("document.activeElement.blur()")
    take(page, "page-files")
    page.scheme("dark")
    take(page, "page-files-dark")
    page.scheme("light")
    page.go("files", FOLDER, *LISBON.split("/"))
    page.resize(PHONE)
    page.wait(lambda: len(page.all(".layer .picture img")) == len(NAMES), "the thumbnails")
    take(page, "page-files-phone")


def test_a_large_directory_is_asked_for(page, laptop):
    page.resize(WINDOW)
    page.log_in(laptop).go("files", FOLDER)
    page.wait(lambda: "Films" in page.texts(".layer .name-text"), "the list")
    page.click("Keep Films on this device", "checkbox")
    page.wait_text("dialog", "1.5 GiB")
    take(page, "page-select")
    page.answer("Cancel")
