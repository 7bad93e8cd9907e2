"""Disks of other systems, each in a file, and two agents with one folder, one of them on such a disk.

$SYNCTRAIN_TEST_DISK is the kind (`exfat-fuse`, which needs no driver of the kernel). The others are for Tests/DiskLab/run, most in
the machine that it starts.
"""

import contextlib
import dataclasses
import itertools
import os
import subprocess

import harness
from harness import walk, write
from process import PATIENCE, wait_until

MIB = 1 << 20
SMB_PORTS = itertools.count(4450)
"""One for each share: there may be two at a time, and the kernel takes a share of the same port for the one that it knows already."""


@dataclasses.dataclass
class Kind:
    """What a disk of this kind is like, as the tests expect it."""
    name: str
    make: list
    mount: list
    # Whether `A` and `a` are one name.
    folds_case: bool = True
    # Nanoseconds: times are multiples of it.
    time_step: int = 1
    keeps_permissions: bool = False
    keeps_attributes: bool = False
    # Seconds since 1970 of the first time that it has.
    first_time: int = 0
    keeps_links: bool = False
    keeps_holes: bool = False
    # Names that cannot be on it as they are.
    refused: frozenset = frozenset()


# 1980-01-01
DOS_BEGINNING = 315_532_800

WINDOWS = frozenset(["a:b", "star*", "what?", 'quo"te', "pipe|", "les<s", "more>", "back\\slash"])
"""Names that Windows refuses, and with it FAT and exFAT."""
TRAILING = frozenset(["a.", "dots...", "space "])
CONTROL = frozenset(["tab\there"])
DEVICES = frozenset(["aux", "CON", "nul.txt", "COM1"])
LONG = frozenset(["ü" * 100, "🚆" * 60])
"""Names of 200 and 240 bytes. Samba 4.17 makes no file of the like (ENOENT), but of 255 letters of ASCII."""

KINDS = {kind.name: kind for kind in [
    Kind("exfat-fuse", ["mkfs.exfat"], ["mount.exfat-fuse"], time_step=1_000_000_000, first_time=DOS_BEGINNING,
         refused=WINDOWS | CONTROL),
    # It would keep "space ": the agent asks only whether it drops dots or spaces.
    Kind("exfat", ["mkfs.exfat"], ["mount", "-t", "exfat"], time_step=10_000_000, first_time=DOS_BEGINNING,
         refused=WINDOWS | TRAILING | CONTROL),
    Kind("vfat", ["mkfs.vfat", "-F", "32", "-s", "1"], ["mount", "-t", "vfat", "-o", "utf8,shortname=mixed,flush"],
         time_step=2_000_000_000, first_time=DOS_BEGINNING, refused=WINDOWS | TRAILING | CONTROL),
    Kind("ntfs3", ["mkntfs", "-Q", "-F"], ["mount", "-t", "ntfs3", "-o", "force"], folds_case=False, time_step=100,
         keeps_permissions=True, keeps_attributes=True, keeps_links=True),
    # By FUSE, as Debian 12 mounts NTFS. These need no driver of the kernel either.
    Kind("ntfs-3g", ["mkntfs", "-Q", "-F"], ["ntfs-3g"], folds_case=False, time_step=100, keeps_attributes=True,
         keeps_links=True),
    Kind("ntfs-3g-windows", ["mkntfs", "-Q", "-F"], ["ntfs-3g", "-o", "windows_names"], folds_case=False, time_step=100,
         keeps_attributes=True, keeps_links=True, refused=WINDOWS | TRAILING | CONTROL | DEVICES),
    Kind("ntfs3-windows", ["mkntfs", "-Q", "-F"], ["mount", "-t", "ntfs3", "-o", "force,windows_names,nocase"], time_step=100,
         keeps_permissions=True, keeps_attributes=True, keeps_links=True, refused=WINDOWS | TRAILING | CONTROL | DEVICES),
    Kind("smb", ["mkfs.ext4", "-q", "-F"], ["mount"], time_step=100, keeps_attributes=True, refused=DEVICES | LONG | {"back\\slash"}),
    Kind("casefold", ["mkfs.ext4", "-q", "-F", "-O", "casefold"], ["mount"], keeps_permissions=True, keeps_attributes=True,
         keeps_links=True, keeps_holes=True),
]}
KIND = KINDS[os.environ.get("SYNCTRAIN_TEST_DISK", "exfat-fuse")]
NAMED = KIND if "SYNCTRAIN_TEST_DISK" in os.environ else None
"""The kind for tests that run on this machine's own disk unless one is named."""


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, timeout=60 * PATIENCE, **options)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {result.stdout}{result.stderr}")
    return result.stdout.strip()


def read(path):
    """As `harness.read`. On a share, a file that is replaced while somebody has it open is closed to all until they close it: None."""
    try:
        return harness.read(path)
    except PermissionError:
        if KIND.name != "smb":
            raise
        return None


def respell(path, target):
    """Renames a file or directory to the same name in other letters, as a person has to: Linux's drivers for such disks say
    that a rename to itself succeeded, and leave the name."""
    os.rename(path, path + " aside")
    os.rename(path + " aside", target)


class Share:
    """A directory as a share of Samba, served by a smbd of its own."""

    def __init__(self, directory, state):
        self.directory, self.state, self.port = directory, state, next(SMB_PORTS)
        os.makedirs(state, exist_ok=True)
        self.configuration = os.path.join(state, "smb.conf")
        write(self.configuration, f"""[global]
server role = standalone server
interfaces = lo
bind interfaces only = yes
load printers = no
disable spoolss = yes
disable netbios = yes
smb ports = {self.port}
log file = {state}/smbd.log
pid directory = {state}
lock directory = {state}
state directory = {state}
cache directory = {state}
private dir = {state}
[disk]
path = {directory}
read only = no
""".encode())
        run("smbpasswd", "-c", self.configuration, "-a", "-s", "root", input="lab\nlab\n")
        self.server = None

    def start(self):
        with open(os.path.join(self.state, "output.log"), "ab") as log:
            self.server = subprocess.Popen(
                ["smbd", "--foreground", "--no-process-group", "-s", self.configuration], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)

    def stop(self):
        """As at the loss of power: nothing says goodbye."""
        os.killpg(self.server.pid, 9)
        self.server.wait()

    def mount(self, root):
        options = f"port={self.port},username=root,password=lab,vers=3.1.1,echo_interval=1"
        wait_until(lambda: subprocess.run(["mount", "-t", "cifs", "-o", options, "//127.0.0.1/disk", root],
                                          capture_output=True).returncode == 0, 20, "the share is mounted")


class Disk:
    """A disk of `KIND`, made anew, and mounted at the directory `root` by `mount`.

    `device`: a device to make it on; None: a file in `state` with `size` bytes."""

    def __init__(self, root, state, size=64 * MIB, device=None):
        self.root, self.state, self.kind = root, state, KIND
        os.makedirs(state, exist_ok=True)
        self.image = None
        self.device = device
        if device is None:
            self.image = os.path.join(state, "image")
            with open(self.image, "wb") as file:
                file.truncate(size)
            self.device = run("losetup", "--find", "--show", self.image)
        self.share = None
        run(*self.kind.make, self.device)
        if self.kind.name == "smb":
            store = os.path.join(state, "store")
            os.makedirs(store)
            run("mount", self.device, store)
            os.rmdir(os.path.join(store, "lost+found"))
            self.share = Share(store, os.path.join(state, "samba"))
            self.share.start()
        if self.kind.name == "casefold":
            self.mount()
            os.rmdir(os.path.join(root, "lost+found"))
            run("chattr", "+F", root)
            self.unmount()

    def mount(self):
        if self.share:
            self.share.mount(self.root)
        else:
            run(*self.kind.mount, self.device, self.root)

    def unmount(self, *options):
        run("umount", *options, self.root)

    def close(self):
        with contextlib.suppress(RuntimeError):
            self.unmount("-l")
        if self.share:
            self.share.stop()
            run("umount", "-l", self.share.directory)
        if self.image:
            run("losetup", "--detach", self.device)


@contextlib.contextmanager
def disk(lab, root, **options):
    """A disk that is mounted at the directory `root` for as long as the agents of `lab` run."""
    disk = Disk(root, lab.path("disk"), **options)
    try:
        disk.mount()
        yield disk
    finally:
        lab.end()
        disk.close()


class DiskPair:
    """Two agents with folder `f`: the root of `one`, `here`, is (or has, or is on) the disk, that of `two` is on this machine's
    disk, and has all files. `settings` are lines for the folder of `one`."""

    def __init__(self, lab, mode="full", settings="", here=None):
        self.lab = lab
        self.one, self.two = lab.agent("one"), lab.agent("two")
        self.here, self.there = here or lab.path("one-f"), lab.path("two-f")
        lab.introduce(self.one, self.two)
        self.one.add_folder("f", self.here, self.two.id, mode=mode)
        self.two.add_folder("f", self.there, self.one.id, mode="full")
        if settings:
            path = self.one.file("config.toml")
            text = read(path).decode()
            write(path, text.replace('id = "f"\n', 'id = "f"\n' + settings).encode())
            self.one.run("reload")
        self.one.wait_connected(self.two.id)

    def write_there(self, **files):
        for name, data in files.items():
            write(os.path.join(self.there, name), data)
        self.two.run("scan", "f")

    def settle(self):
        """Until both have seen all that the other has, and looked at their own disks after that."""
        for _ in range(2):
            for agent in (self.one, self.two):
                agent.run("scan", "f")
                agent.wait_state("f", "idle")
            wait_until(lambda: self.known(self.one) == self.known(self.two), 30, "both know the same", child=self.one)
            for agent in (self.one, self.two):
                wait_until(lambda: not self.awaited(agent), 30, "nothing is about to come", child=agent)

    def known(self, agent):
        return {entry["path"]: (entry.get("size"), entry.get("modified")) for entry in agent.records("ls", "--json", "-R", "f:")}

    def awaited(self, agent):
        """What is to come and has no problem. A directory waits for what is in it."""
        awaited = [entry["path"] for entry in agent.records("ls", "--json", "-R", "f:")
                   if entry["type"] != "directory" and entry["state"] in ("queued", "downloading")]
        problems = agent.problems("f") if awaited else {}
        return [path for path in awaited if path not in problems]

    def files(self, root):
        return {name: read(os.path.join(root, name)) for name, kind in walk(root).items() if kind == "file"}
