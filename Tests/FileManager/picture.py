"""The picture of docs/images/nautilus.png: `Tests/FileManager/run picture.py` with PICTURE=FILE makes it again."""

import os
import shutil
import subprocess
import time

import harness
from desktop import Desktop
from process import wait_until

NAMES = ("Amsterdam", "Beach", "Canal", "Dunes", "Evening", "Ferry", "Garden", "Harbour", "Island", "Jetty")
KEPT = ("Amsterdam", "Canal", "Dunes")


def test_picture(module_lab):
    lab = module_lab
    agent, peer = lab.agent("laptop", start=False), lab.peer("nas")
    # Both are the same user's, so the thumbnails of what is not here are the agent's.
    agent.variables["XDG_CACHE_HOME"] = os.path.join(lab.directory("desktop"), "home/.cache")
    agent.start()
    lab.introduce(agent, peer)
    root = lab.share(agent, "library", peer)
    shared = peer.folders["library"]
    for number, name in enumerate(NAMES):
        path = lab.path("picture.jpg")
        colours = ("steelblue-wheat", "skyblue-khaki", "seagreen-lightblue", "sandybrown-lightblue", "tomato-midnightblue")
        subprocess.run(["convert", "-seed", str(number), "-size", "640x480", f"plasma:{colours[number % 5]}", "-blur", "0x6", path],
                       check=True)
        with open(path, "rb") as file:
            shared.add(f"Pictures/{name}.jpg", file.read())
    shared.add("Pictures/2019/old.jpg", b"old")
    shared.add("Pictures/2025/new.jpg", b"new")
    answer = peer.serve
    # One that is being downloaded as long as the picture takes.
    peer.serve = lambda session, request: None if request["name"].endswith("Ferry.jpg") else answer(session, request)
    peer.dial_until(agent.address).send_index("library")
    agent.wait_global("library", len(NAMES) + 2)
    desktop = Desktop(lab.directory("desktop"), agent.socket)
    compositor = None
    if shutil.which("xcompmgr"):
        # Menus have shadows, which are black without it.
        compositor = subprocess.Popen(["xcompmgr"], env=desktop.environment, stderr=subprocess.DEVNULL)
    try:
        directory = os.path.join(desktop.home, "Library")
        agent.run("mount", "library", directory)
        agent.run("select", "library:Pictures/2025", *(f"library:Pictures/{name}.jpg" for name in KEPT))
        wait_until(lambda: all(os.path.exists(f"{root}/Pictures/{name}.jpg") for name in KEPT), 30, "some are here", child=agent)
        wait_until(lambda: os.path.exists(f"{root}/Pictures/2025/new.jpg"), 30, "2025 is here", child=agent)
        agent.run("select", "library:Pictures/Ferry.jpg")
        harness.write(os.path.join(root, "Pictures/Notes.txt"), b"not selected\n")
        agent.run("scan", "library:")
        shown = os.path.join(directory, "Pictures")
        manager = desktop.show("nautilus", shown)
        manager.wait_emblems({
            f"{shown}/Amsterdam.jpg": "synctrain-here", f"{shown}/Beach.jpg": "synctrain-absent",
            f"{shown}/Ferry.jpg": "synctrain-busy", f"{shown}/Notes.txt": "synctrain-problem", f"{shown}/2025": "synctrain-here"})
        manager.settle(3)
        desktop.point("search", "--onlyvisible", "--class", "nautilus", "windowsize", "1000", "640")
        manager.settle(2)
        desktop.point("mousemove", "350", "125", "click", "3")
        time.sleep(2)
        desktop.picture(os.environ["PICTURE"])
    finally:
        if compositor is not None:
            compositor.kill()
        subprocess.run(["fusermount3", "-u", "-z", os.path.join(desktop.home, "Library")], check=False)
        desktop.close()
