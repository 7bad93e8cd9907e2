#!/usr/bin/env python3
"""Writes Tests/Interop/homes/VERSION-COMMIT.tar.xz: the homes and folders of two devices, as the program of today leaves them.

    SYNCTRAIN=…/synctrain make_old_homes.py

`test_upgrade.py` opens each of these archives with the program of its own day. Add one for each release, never change one that is
there: what it holds is what users have. The keys in it are made here and are nobody's. The commands below are what a person types.
"""

import io
import os
import shutil
import sys
import tarfile

from agent import Agent, find_program
from harness import write
from process import wait_until

# Short, and the same each time: configuration and index have it, and the test puts its own directory in its place.
ROOT = "/tmp/synctrain-old-homes"
HOMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "homes")
# What a program of another day makes itself.
LEFT_OUT = ("agent.sock", "mount.sock", "agent.lock", "agent.log", "cache")

FILES = {
    "letters/to nobody.txt": b"a letter\n", "letters/draft.md": b"# Draft\n\nfirst\n", "films/train.bin": bytes(range(256)) * 2000,
    "films/bridge.bin": b"bridge" * 50_000, "top.txt": b"top\n", "zürich/straße.txt": "ß\n".encode(),
}


def make(program):
    shutil.rmtree(ROOT, ignore_errors=True)
    os.makedirs(ROOT)
    desktop, laptop = (Agent(program, name, os.path.join(ROOT, name)) for name in ("desktop", "laptop"))
    there, here = os.path.join(ROOT, "desktop-library"), os.path.join(ROOT, "laptop-library")
    try:
        for agent in (desktop, laptop):
            os.makedirs(agent.home)
            agent.init("--curve", "p256")
            agent.start()
        for name, data in FILES.items():
            write(os.path.join(there, name), data)
        os.symlink("top.txt", os.path.join(there, "link"))
        os.makedirs(os.path.join(there, "empty"))
        desktop.run("device", "add", laptop.id, "--name", "laptop")
        laptop.run("device", "add", desktop.id, "--name", "desktop", "--address", desktop.address)
        desktop.run("folder", "add", "library", there, "--mode", "full", "--label", "Library", "--device", "laptop")
        laptop.run("folder", "add", "library", here, "--device", "desktop")
        desktop.run("folder", "set", "library", "versions=simple", "versions-keep=3", "rescan-interval=600")
        laptop.run("folder", "set", "library", "min-copies=1", "max-conflicts=5")
        laptop.run("config", "set", "limits.up", "20MiB/s")
        laptop.wait_global("library", len(FILES))
        laptop.run("select", "library:letters", "library:films/bridge.bin")
        laptop.run("wait", "library", "--timeout", "60")
        # What was replaced, renamed and deleted leaves its traces in index and archive.
        write(os.path.join(there, "letters/draft.md"), b"# Draft\n\nsecond\n")
        os.rename(os.path.join(there, "films/bridge.bin"), os.path.join(there, "films/The Bridge.bin"))
        os.remove(os.path.join(there, "top.txt"))
        desktop.run("scan", "library:")
        wait_until(lambda: os.path.exists(os.path.join(here, "films/The Bridge.bin")), 30, "the renamed film", child=laptop)
        laptop.run("wait", "library", "--timeout", "60")
        write(os.path.join(here, "letters/to nobody.txt"), b"a longer letter\n")
        laptop.run("scan", "library:")
        wait_until(lambda: desktop.records("versions", "list"), 30, "the archived letter", child=desktop)
        laptop.run("note", "library:letters/draft.md", "rating=5")
        desktop.run("invite", "library", "--for", "30d")
        desktop.run("device", "ignore", "FVYRMQV-XE2YEID-ALCPSU7-XLBS6XO-EFGD5RS-A6MJWYQ-CEWDRPE-Q2JCAQI")
        desktop.run("wait", "library", "--timeout", "60")
        version = desktop.document("--version")
    finally:
        desktop.stop()
        laptop.stop()
    name = f"{version['version']}-{version['commit'][:12]}.tar.xz"
    with tarfile.open(os.path.join(HOMES, name), "w:xz") as archive:
        def kept(info):
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            return None if os.path.basename(info.name) in LEFT_OUT else info
        for directory in ("desktop", "laptop", "desktop-library", "laptop-library"):
            archive.add(os.path.join(ROOT, directory), directory, filter=kept)
        # The test looks for these in config.toml.
        ports = f"{desktop.port} {laptop.port}\n".encode()
        info = tarfile.TarInfo("ports")
        info.size = len(ports)
        archive.addfile(info, io.BytesIO(ports))
    shutil.rmtree(ROOT)
    return name


if __name__ == "__main__":
    os.makedirs(HOMES, exist_ok=True)
    print(make(find_program()))
    sys.exit(0)
