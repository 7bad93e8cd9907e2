"""A folder on a disk of another system: what it holds is what the other device holds, byte by byte, and nothing that the disk
cannot keep is announced as a change. Runs in the machine of Tests/DiskLab/run; `disks.KIND` is the kind of disk."""

import os
import re
import shutil

import pytest
from disks import CONTROL, DEVICES, KIND, LONG, MIB, TRAILING, WINDOWS, DiskPair, disk, read, respell, run
from harness import pattern, walk, write
from process import wait_until


@pytest.fixture(scope="module")
def pair(module_lab):
    """Two agents that all tests of the module share, each in a directory of its own. The folder is in a directory of the
    disk, and keeps versions."""
    mounted = module_lab.directory("one-disk")
    with disk(module_lab, mounted) as made:
        pair = DiskPair(module_lab, settings='versions = "simple"\n', here=os.path.join(mounted, "f"))
        pair.disk = made
        yield pair


def roots(pair, side):
    """The agent of the side and its root."""
    return {"here": (pair.one, pair.here), "there": (pair.two, pair.there)}[side]


def names(root):
    """relative path → kind, without temporary files."""
    return {name: kind for name, kind in walk(root).items() if not os.path.basename(name).startswith(".syncthing.")}


def contents(root):
    """relative path → what is in the file, None if it vanished at this moment."""
    return {name: read(os.path.join(root, name)) for name, kind in names(root).items() if kind == "file"}


def wait_same(pair, base, timeout=60):
    """Until both have the same names and contents below the directory; the contents by name."""
    def both():
        return [(names(os.path.join(root, base)), contents(os.path.join(root, base))) for root in (pair.here, pair.there)]

    def same():
        one, two = both()
        return one == two
    try:
        wait_until(same, timeout, f"both have the same in {base}", every=0.1, child=pair.one)
    except TimeoutError as error:
        one, two = both()
        raise TimeoutError(f"{error}\nhere: {one}\nthere: {two}\nproblems: {pair.one.problems('f')}") from None
    return both()[0][1]


def wait_names(pair, base, wanted):
    """Until both have these files below the directory."""
    def found():
        return [contents(os.path.join(root, base)).keys() for root in (pair.here, pair.there)]
    try:
        wait_until(lambda: found() == [wanted, wanted], 60, "both have the names", every=0.1, child=pair.one)
    except TimeoutError:
        pytest.fail(f"here and there: {found()}; wanted: {wanted}; problems: {pair.one.problems('f')}")


def scan_finds_nothing(agent):
    """A scan of all; fails if it finds a change."""
    [summary] = agent.records("scan", "f")
    assert (summary["changed"], summary["deleted"], summary["problems"]) == (0, 0, 0), summary


def problems(pair, base):
    return {path.removeprefix(base + "/"): message for path, message in pair.one.problems("f").items() if path.startswith(base)}


# MARK: contents

FILES = {
    "one": pattern(300_000), "empty": b"", "deep/er/two": b"2", "with space.txt": b"space", ".hidden": b"hidden",
    "naïve café": b"latin", "日本語": b"kanji", "🚆": b"beyond the basic plane", "n" * 200: b"long", "block": pattern(128 << 10, 1),
    "gone/a": b"a", "gone/b": b"b",
}


@pytest.mark.parametrize("side", ["here", "there"])
def test_files_come_change_and_go(pair, side):
    agent, root = roots(pair, side)
    base = f"files {side}"
    for name, data in FILES.items():
        write(os.path.join(root, base, name), data)
    os.makedirs(os.path.join(root, base, "empty directory"))
    agent.run("scan", "f")
    wait_until(lambda: len(names(os.path.join(pair.here, base))) == len(names(os.path.join(pair.there, base))), 60, "all names")
    assert wait_same(pair, base) == FILES
    changed = dict(FILES, one=FILES["one"][:200_000] + b"!" + FILES["one"][200_001:], empty=b"full", block=FILES["block"][:777])
    changed["with space.txt"] += b" and more"
    for name in ("one", "empty", "block", "with space.txt"):
        write(os.path.join(root, base, name), changed[name])
    for name in ("gone/a", "gone/b", ".hidden"):
        os.remove(os.path.join(root, base, name))
        del changed[name]
    os.rmdir(os.path.join(root, base, "gone"))
    agent.run("scan", "f")
    wait_until(lambda: contents(os.path.join(pair.here, base)).keys() == changed.keys()
               == contents(os.path.join(pair.there, base)).keys(), 60, "the deletions are made", child=pair.one)
    assert wait_same(pair, base) == changed
    assert not os.path.exists(os.path.join(pair.here, base, "gone"))
    pair.settle()
    assert wait_same(pair, base) == changed
    assert problems(pair, base) == {}


@pytest.mark.parametrize("side", ["here", "there"])
def test_renames(pair, side):
    agent, root = roots(pair, side)
    base = f"renames {side}"
    files = {"old name": pattern(200_000, 2), "d/inside": b"inside", "d/moves": b"moves", "case.txt": b"case", "dir/x": b"x"}
    for name, data in files.items():
        write(os.path.join(root, base, name), data)
    agent.run("scan", "f")
    wait_names(pair, base, files.keys())
    assert wait_same(pair, base) == files
    for old, new in (("old name", "new name"), ("d", "directory"), ("directory/moves", "moved")):
        os.rename(os.path.join(root, base, old), os.path.join(root, base, new))
    for old, new in (("case.txt", "CASE.txt"), ("dir", "DIR")):
        respell(os.path.join(root, base, old), os.path.join(root, base, new))
    agent.run("scan", "f")
    wanted = {"new name": files["old name"], "directory/inside": b"inside", "moved": b"moves", "CASE.txt": b"case", "DIR/x": b"x"}
    wait_names(pair, base, wanted.keys())
    pair.settle()
    assert wait_same(pair, base) == wanted
    assert problems(pair, base) == {}


# MARK: names

@pytest.mark.skipif(KIND.folds_case, reason="test_folding.py has what such a disk does")
def test_names_that_differ_in_case_are_two(pair):
    base = "case"
    files = {"Photo.JPG": b"upper", "photo.jpg": b"lower", "Dir/x": b"in Dir", "dir/x": b"in dir"}
    pair.write_there(**{f"{base}/{name}": data for name, data in files.items()})
    wait_until(lambda: len(contents(os.path.join(pair.here, base))) == 4, 60, "they come", child=pair.one)
    write(os.path.join(pair.here, base, "photo.jpg"), b"lower, edited here")
    pair.one.run("scan", "f")
    wait_until(lambda: read(os.path.join(pair.there, base, "photo.jpg")) == b"lower, edited here", 60, "the edit goes out")
    os.remove(os.path.join(pair.there, base, "Photo.JPG"))
    pair.two.run("scan", "f")
    wait_until(lambda: not os.path.exists(os.path.join(pair.here, base, "Photo.JPG")), 60, "the deletion comes", child=pair.one)
    pair.settle()
    assert wait_same(pair, base) == {"photo.jpg": b"lower, edited here", "Dir/x": b"in Dir", "dir/x": b"in dir"}


NAMES = sorted(WINDOWS | TRAILING | CONTROL | DEVICES | {
    " first", "percent%20", "~tilde", "#hash", "LONGNA~1.TXT",
    "é", "n" * 255, "a", "plain",
} | LONG)
"""Among others those that systems refuse, keep for themselves or change."""


def test_names_are_kept_letter_by_letter_or_refused(pair):
    base = "names"
    files = {name: f"content of {name}".encode() for name in NAMES}
    for name, data in files.items():
        write(os.path.join(pair.there, base, name), data)
    pair.two.run("scan", "f")
    pair.one.run("scan", "f")

    def found():
        return contents(os.path.join(pair.here, base)).keys() | problems(pair, base).keys()
    try:
        wait_until(lambda: found() == files.keys(), 60, "each is here or a problem", every=0.2, child=pair.one)
    except TimeoutError:
        pytest.fail(f"neither here nor a problem: {files.keys() - found()}; not asked for: {found() - files.keys()}")
    refused = set(problems(pair, base))
    print(problems(pair, base))
    assert refused == KIND.refused
    for _ in range(2):
        pair.one.run("scan", "f")
        pair.two.run("scan", "f")
        assert contents(os.path.join(pair.there, base)) == files
        assert contents(os.path.join(pair.here, base)) == {name: files[name] for name in files.keys() - refused}
    # Another name for each is the remedy.
    for number, name in enumerate(sorted(refused)):
        os.rename(os.path.join(pair.there, base, name), os.path.join(pair.there, base, f"renamed {number}"))
        files[f"renamed {number}"] = files.pop(name)
    pair.two.run("scan", "f")
    wait_until(lambda: contents(os.path.join(pair.here, base)).keys() == files.keys(), 60, "they come", child=pair.one)
    wait_until(lambda: problems(pair, base) == {}, 60, "nothing is wrong any more", child=pair.one)
    assert wait_same(pair, base) == files
    shutil.rmtree(os.path.join(pair.there, base))
    pair.two.run("scan", "f")
    wait_until(lambda: not os.path.exists(os.path.join(pair.here, base)), 60, "they go", child=pair.one)


# MARK: times and permissions

def test_what_the_disk_makes_of_times_and_permissions_is_no_change(pair):
    base = "times"
    files = {f"{number}": b"%d" % number for number in range(4)}
    times = [1_700_000_001_987_654_321, 1_700_000_002_000_000_001, 1_600_000_003_500_000_000, 1_234_567_891_000_000_000]
    for (name, data), time in zip(files.items(), times):
        write(os.path.join(pair.there, base, name), data)
        os.chmod(os.path.join(pair.there, base, name), 0o640 if int(name) % 2 else 0o755)
        os.utime(os.path.join(pair.there, base, name), ns=(time, time))
    pair.two.run("scan", "f")
    wait_until(lambda: contents(os.path.join(pair.here, base)).keys() == files.keys(), 60, "they come", child=pair.one)
    write(os.path.join(pair.here, base, "mine"), b"mine")
    pair.one.run("scan", "f")
    wait_until(lambda: read(os.path.join(pair.there, base, "mine")) == b"mine", 60, "mine goes out", child=pair.one)
    pair.settle()

    def metadata():
        return {name: (status.st_mtime_ns, status.st_mode) for name in [*files, "mine"]
                for status in [os.stat(os.path.join(pair.there, base, name))]}
    before, known = metadata(), pair.known(pair.one)
    # What the kernel had in memory is gone: all is as it is on the disk.
    pair.one.stop()
    pair.disk.unmount()
    pair.disk.mount()
    kept = {name: os.stat(os.path.join(pair.here, base, name)) for name in files}
    print({name: (status.st_mtime_ns, oct(status.st_mode)) for name, status in kept.items()})
    for name, time in zip(files, times):
        assert abs(kept[name].st_mtime_ns - time) < KIND.time_step, name
        if KIND.keeps_permissions:
            assert kept[name].st_mode & 0o777 == (0o640 if int(name) % 2 else 0o755), name
    pair.one.start()
    pair.one.wait_connected(pair.two.id)
    scan_finds_nothing(pair.one)
    pair.settle()
    assert pair.known(pair.one) == pair.known(pair.two) == known
    assert metadata() == before
    # An edit here changes the content there, and not its permissions.
    write(os.path.join(pair.here, base, "1"), b"edited")
    pair.one.run("scan", "f")
    wait_until(lambda: read(os.path.join(pair.there, base, "1")) == b"edited", 60, "the edit goes out", child=pair.one)
    assert os.stat(os.path.join(pair.there, base, "1")).st_mode & 0o777 == 0o640
    # One there that has the size and, on such a disk, nearly the time of what was there.
    write(os.path.join(pair.there, base, "2"), b"X")
    os.utime(os.path.join(pair.there, base, "2"), ns=(times[2] + 2_000_000_000,) * 2)
    pair.two.run("scan", "f")
    wait_until(lambda: read(os.path.join(pair.here, base, "2")) == b"X", 60, "the edit comes", child=pair.one)
    pair.settle()
    assert wait_same(pair, base) == {**files, "1": b"edited", "2": b"X", "mine": b"mine"}


# MARK: interruptions

def test_a_large_file_goes_on_after_kill_9(pair):
    size = 24 * MIB
    data = pattern(size, 3)
    pair.two.run("config", "set", "limits.up", "512 KiB/s")
    pair.two.run("config", "set", "limits.local-network", "true")

    def received():
        return next(device["bytesIn"] for device in pair.one.status()["devices"] if device["id"] == pair.two.id)
    before = received()
    pair.write_there(**{"large/film": data})
    wait_until(lambda: received() - before > 4 * MIB, 60, "some of it comes", child=pair.one)
    first = received() - before
    pair.one.kill()
    place = os.path.join(pair.here, "large/film")
    is_whole = os.path.exists(place)
    pair.one.start()
    assert not is_whole, f"it was not interrupted: {first / MIB:.1f} MiB had come"
    wait_until(lambda: os.path.exists(place), 120, "all of it comes", child=pair.one)
    assert read(place) == data
    second = received()
    print(f"{first / MIB:.1f} MiB, then {second / MIB:.1f} MiB")
    # What was under way when it was killed comes again.
    assert second < size - first / 2
    pair.two.run("config", "set", "limits.up", "0")
    pair.settle()
    assert wait_same(pair, "large") == {"film": data}
    shutil.rmtree(os.path.join(pair.there, "large"))
    pair.two.run("scan", "f")
    wait_until(lambda: not os.path.exists(os.path.join(pair.here, "large")), 60, "it goes", child=pair.one)


# MARK: versions, conflicts, selection

def test_versions_are_kept_and_come_back(pair):
    base = "versions"
    pair.write_there(**{f"{base}/a.txt": b"one", f"{base}/b": b"two"})
    wait_until(lambda: len(contents(os.path.join(pair.here, base))) == 2, 60, "they come", child=pair.one)
    pair.settle()
    os.remove(os.path.join(pair.there, base, "b"))
    pair.write_there(**{f"{base}/a.txt": b"one, changed"})
    wait_until(lambda: contents(os.path.join(pair.here, base)) == {"a.txt": b"one, changed"}, 60, "they change", child=pair.one)
    archive = os.path.join(pair.here, ".stversions", base)
    kept = {re.sub(r"~\d{8}-\d{6}", "", name): read(os.path.join(archive, name)) for name in os.listdir(archive)}
    assert kept == {"a.txt": b"one", "b": b"two"}
    pair.one.run("versions", "restore", f"f:{base}/b")
    pair.one.run("versions", "restore", f"f:{base}/a.txt", "--yes")
    pair.settle()
    wait_until(lambda: contents(os.path.join(pair.there, base)) == {"a.txt": b"one", "b": b"two"}, 60, "they go out")
    assert wait_same(pair, base) == {"a.txt": b"one", "b": b"two"}
    assert not os.path.exists(os.path.join(pair.there, ".stversions"))


def test_edits_on_both_sides_are_both_kept(pair):
    base = "conflict"
    pair.write_there(**{f"{base}/report.txt": b"in the beginning"})
    wait_until(lambda: os.path.exists(os.path.join(pair.here, base, "report.txt")), 60, "it comes", child=pair.one)
    pair.settle()
    pair.two.stop()
    for root, data, time in ((pair.here, b"from here", 1_700_000_001), (pair.there, b"from there", 1_700_000_901)):
        write(os.path.join(root, base, "report.txt"), data)
        os.utime(os.path.join(root, base, "report.txt"), (time, time))
    pair.one.run("scan", "f")
    pair.two.start()
    pair.one.wait_connected(pair.two.id)
    wait_until(lambda: all(len(contents(os.path.join(root, base))) == 2 for root in (pair.here, pair.there)), 60,
               "both have both", child=pair.one)
    found = wait_same(pair, base)
    assert found.pop("report.txt") == b"from there"
    [(name, data)] = found.items()
    assert re.fullmatch(r"report\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}\.txt", name) and data == b"from here"


def test_what_is_deselected_is_freed_and_comes_again(pair):
    root = os.path.join(os.path.dirname(pair.here), "g")
    there = pair.lab.path("two-g")
    pair.two.add_folder("g", there, pair.one.id, mode="full")
    pair.one.add_folder("g", root, pair.two.id, mode="selective")
    files = {"Music/one": pattern(200_000, 4), "Music/two": b"2"}
    for name, data in files.items():
        write(os.path.join(there, name), data)
    write(os.path.join(there, "other"), b"other")
    pair.two.run("scan", "g")
    wait_until(lambda: pair.one.try_run("stat", "g:Music/two").returncode == 0, 60, "the names are known", child=pair.one)
    pair.one.run("select", "g:Music")
    wait_until(lambda: contents(root) == files, 60, "they come", child=pair.one)
    # Until the other one has said that it keeps them.
    wait_until(lambda: pair.one.document("deselect", "--dry-run", "g:Music")["folders"][0]["freeing"]["staying"] == [], 60,
               "none has to stay", child=pair.one)
    pair.one.run("deselect", "g:Music")
    assert contents(root) == {}
    pair.one.run("scan", "g")
    pair.two.run("scan", "g")
    assert contents(there) == {**files, "other": b"other"}
    pair.one.run("select", "g:Music/one")
    wait_until(lambda: contents(root) == {"Music/one": files["Music/one"]}, 60, "it comes again", child=pair.one)
    assert contents(there) == {**files, "other": b"other"}


# MARK: disks that are full or gone

def test_a_full_disk(lab):
    with disk(lab, lab.directory("one-f"), size=32 * MIB):
        pair = DiskPair(lab)
        pair.one.wait_state("f", "idle")
        write(os.path.join(pair.here, ".stignore"), b"/ignored\n")
        space = os.statvfs(pair.here)
        write(os.path.join(pair.here, "ignored/filler"), bytes(space.f_bavail * space.f_frsize - 6 * MIB))
        large = pattern(9 * MIB)
        pair.write_there(large=large, small=b"small")
        wait_until(lambda: read(os.path.join(pair.here, "small")) == b"small", 60, "what has room comes", child=pair.one)
        assert pair.one.wait_state("f", "low-space", 60)["message"]
        assert "large" in pair.one.problems("f")
        write(os.path.join(pair.here, "mine"), b"mine")
        pair.one.run("scan", "f")
        wait_until(lambda: read(os.path.join(pair.there, "mine")) == b"mine", 60, "the change goes out", child=pair.one)
        assert not os.path.exists(os.path.join(pair.here, "large"))
        assert contents(pair.there) == {"large": large, "small": b"small", "mine": b"mine"}
        os.remove(os.path.join(pair.here, "ignored/filler"))
        wait_until(lambda: read(os.path.join(pair.here, "large")) == large, 90, "it comes by itself", child=pair.one)
        wait_until(lambda: pair.one.problems("f") == {}, 60, "nothing is wrong any more", child=pair.one)


def plugged():
    """The virtio disk of this machine; None if it is not plugged in."""
    for name in os.listdir("/sys/block"):
        serial = read(f"/sys/block/{name}/serial")
        if serial and serial.strip(b"\0\n") == b"disk":
            return name


def pull_out(made):
    """Has the disk, still mounted, vanish; for a share the server."""
    if made.share:
        made.share.stop()
    else:
        write(os.path.join(os.path.realpath(f"/sys/block/{plugged()}/device/.."), "remove"), b"1")


def plug_in(made):
    if made.share:
        made.share.start()
        return
    made.unmount("-l")
    write("/sys/bus/pci/rescan", b"1")
    made.device = "/dev/" + wait_until(plugged, 20, "the disk is plugged in")
    wait_until(lambda: os.path.exists(made.device), 20, "its device is there")
    made.mount()


@pytest.mark.parametrize("how", ["unmounted", pytest.param("pulled out", marks=pytest.mark.skipif(
    plugged() is None and KIND.name != "smb", reason="a disk to pull out is in the emulated machine of Tests/DiskLab/run"))])
def test_a_disk_that_is_gone_for_a_while(lab, how):
    device = f"/dev/{plugged()}" if how == "pulled out" and KIND.name != "smb" else None
    with disk(lab, lab.directory("one-f"), device=device) as made:
        pair = DiskPair(lab)
        files = {f"d{number % 3}/{number}": pattern(20_000, number) for number in range(12)}
        pair.write_there(**files)
        wait_until(lambda: contents(pair.here) == files, 60, "they come", child=pair.one)
        pair.settle()
        run("sync")
        if how == "unmounted":
            made.unmount("-l")
        else:
            pull_out(made)

        def is_there_what_was():
            """Nothing is deleted there, and the other agent has heard of no deletion."""
            assert contents(pair.there) == files
            known = {entry["path"] for entry in pair.two.records("ls", "--json", "-R", "f:") if entry["type"] == "file"}
            assert known == files.keys()
        pair.one.try_run("scan", "f")
        write(os.path.join(pair.there, "written meanwhile"), b"meanwhile")
        files["written meanwhile"] = b"meanwhile"
        pair.two.run("scan", "f")
        halted = wait_until(lambda: pair.one.folder("f").get("state", "").startswith("halted") and pair.one.folder("f"), 60,
                            "the folder halts", child=pair.one)
        print(halted["state"], halted.get("message"))
        assert halted["message"]
        is_there_what_was()
        # Nor is it if the agent starts without the disk.
        pair.one.stop()
        pair.one.start()
        pair.one.wait_connected(pair.two.id)
        pair.one.try_run("scan", "f")
        wait_until(lambda: pair.one.folder("f").get("state", "").startswith("halted"), 60, "the folder halts", child=pair.one)
        is_there_what_was()
        if how == "unmounted":
            assert os.listdir(pair.here) == [], "nothing is put into its place"
            made.mount()
        else:
            plug_in(made)
        wait_until(lambda: contents(pair.here) == files, 90, "it goes on by itself", child=pair.one)
        pair.settle()
        assert contents(pair.here) == contents(pair.there) == files
        assert pair.one.problems("f") == {}
