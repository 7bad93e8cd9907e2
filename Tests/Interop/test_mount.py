"""`synctrain mount`: all files of a folder in one tree, read by real programs; a real node holds what is not here."""

import contextlib
import ctypes
import errno
import hashlib
import json
import mmap
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import harness
import pytest
from process import wait_until

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")

MIB = 1 << 20
SMALL_COUNT = 40
SMALL_DIRECTORIES = ["small", "small-backwards", "small-all/a", "small-all/b"]
ODD_NAMES = ["with space", "ünïcodé 文件", "new\nline", "n" * 255, "-dash", "a'b\"c", "back\\slash"]


def mounted(directory):
    """The process of the mount, or None."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[0].endswith(b"/synctrain-mount") and os.fsencode(directory) in words:
                return int(pid)
    return None


def state(pid):
    """The letter of ps(1): D waits and takes no signal but those that end it."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


@pytest.fixture(scope="module")
def setting(nodes):
    lab, node, agent = nodes
    root = lab.directory(f"{node.name}-films")
    harness.write(os.path.join(root, "film.bin"), harness.pattern(24 * MIB, 7))
    harness.write(os.path.join(root, "text/a/one.txt"), b"the first needle\n")
    harness.write(os.path.join(root, "text/b/two.txt"), b"nothing here\n" * 40000)
    harness.write(os.path.join(root, "empty"), b"")
    harness.write(os.path.join(root, "kept/here.bin"), harness.pattern(3 * MIB, 3))
    for name in ODD_NAMES:
        harness.write(os.path.join(root, "odd", name), name.encode())
    os.symlink("one.txt", os.path.join(root, "text/a/link"))
    for number in range(5000):
        harness.write(os.path.join(root, "many", f"name-{number:04}"), b"")
    for name in SMALL_DIRECTORIES:
        for number in range(SMALL_COUNT):
            harness.write(os.path.join(root, name, f"small-{number:02}"), harness.pattern(4096, number + len(name)))
    local = lab.share(agent, "films", node)
    files = sum(kind == "file" for kind in harness.walk(root).values())
    node.wait_scanned("films", files)
    agent.wait_global("films", files)
    agent.run("select", "films:kept")
    wait_until(lambda: os.path.exists(os.path.join(local, "kept/here.bin")), 20, "the selected file comes", child=agent)
    directory = lab.path("mount")
    agent.run("mount", directory, "--folder", "films")
    yield lab, node, agent, root, local, directory
    subprocess.run(["fusermount3", "-u", "-z", directory], check=False)


def test_all_names_are_shown_and_nothing_is_fetched(setting):
    _, _, agent, root, local, directory = setting
    out = subprocess.run(["ls", "-lR", directory], check=True, capture_output=True).stdout
    assert b"film.bin" in out
    shown = {os.path.relpath(os.path.join(base, name), directory)
             for base, directories, files in os.walk(directory) for name in directories + files}
    listed = {entry["path"] for entry in agent.records("ls", "--recursive", "films:")}
    assert shown == listed
    assert len(os.listdir(os.path.join(directory, "many"))) == 5000
    for path in shown:
        here, there = os.lstat(os.path.join(directory, path)), os.lstat(os.path.join(root, path))
        assert os.path.islink(os.path.join(directory, path)) == os.path.islink(os.path.join(root, path)), path
        # Nobody announces times of links.
        if os.path.isfile(os.path.join(root, path)) and not os.path.islink(os.path.join(root, path)):
            assert (here.st_size, here.st_mtime_ns // 10**9) == (there.st_size, there.st_mtime_ns // 10**9), path
            assert here.st_blocks * 512 >= here.st_size
    found = subprocess.run(["find", directory, "-type", "f"], check=True, capture_output=True).stdout
    assert b"film.bin" in found
    assert [entry["state"] for entry in agent.records("stat", "films:film.bin")] == ["absent"]
    assert harness.regular_files(local).keys() == {"kept/here.bin"}
    assert cached(agent) == 0, "names cost no blocks"


def test_only_the_blocks_that_are_read_are_fetched(setting):
    _, node, agent, root, _, directory = setting
    path, size = os.path.join(directory, "film.bin"), 24 * MIB
    before = cached(agent)
    out = subprocess.run(["tail", "-c", "1000", path], check=True, capture_output=True).stdout
    assert out == harness.pattern(size, 7)[-1000:]
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[0] == harness.pattern(size, 7)[0]
    assert cached(agent) - before < 4 * MIB, "blocks at both ends, not the file"


def cached(agent):
    """Bytes of all blocks that were fetched and kept."""
    def sizes():
        found = (os.stat(os.path.join(base, name))
                 for base, _, names in os.walk(os.path.join(agent.home, "blocks")) for name in names)
        try:
            return {status.st_ino: status.st_size for status in found}
        except FileNotFoundError:
            return None
    # One that is just kept is renamed, and seen twice or not at all.
    while (found := sizes()) is None or found != sizes():
        pass
    return sum(found.values())


def test_programs_read_right_bytes(setting):
    lab, _, _, root, local, directory = setting
    out = subprocess.run(["sha256sum", os.path.join(directory, "film.bin")], check=True, capture_output=True).stdout
    assert out.split()[0].decode() == hashlib.sha256(harness.pattern(24 * MIB, 7)).hexdigest()
    out = subprocess.run(["grep", "-rl", "needle", os.path.join(directory, "text")], check=True, capture_output=True).stdout
    assert b"one.txt" in out
    copy = lab.path("copy")
    subprocess.run(["cp", "-r", os.path.join(directory, "text"), copy], check=True)
    assert harness.regular_files(copy) == harness.regular_files(os.path.join(root, "text"))
    for name in ODD_NAMES:
        with open(os.path.join(directory, "odd", name), "rb") as file:
            assert file.read() == name.encode()
    assert os.readlink(os.path.join(directory, "text/a/link")) == "one.txt"
    with open(os.path.join(directory, "empty"), "rb") as file:
        assert file.read() == b""
    with open(os.path.join(directory, "film.bin"), "rb") as file:
        for offset in (20 * MIB, 5, 11 * MIB + 77, 23 * MIB):
            file.seek(offset)
            assert file.read(300000) == harness.pattern(24 * MIB, 7)[offset:offset + 300000]


def read_small(directory, name, numbers):
    for number in numbers:
        with open(os.path.join(directory, name, f"small-{number:02}"), "rb") as file:
            assert file.read() == harness.pattern(4096, number + len(name))


def test_small_files_that_are_read_in_order_are_fetched_ahead(setting):
    _, _, agent, root, _, directory = setting
    before = cached(agent)
    # Nothing is behind the last one, whatever was read just before.
    read_small(directory, "small-backwards", (SMALL_COUNT - 1, 20, 10, 9, 8, 7))
    read_small(directory, "small", (4, 5))
    assert cached(agent) - before == 8 * 4096, "these are no run"
    read_small(directory, "small", (6,))
    wait_until(lambda: cached(agent) - before == (9 + 8) * 4096, 10, "eight more come", child=agent)
    read_small(directory, "small", (7, 8, 9))
    wait_until(lambda: cached(agent) - before >= (9 + 16) * 4096, 10, "and more with each that is read", child=agent)
    assert cached(agent) - before <= (6 + SMALL_COUNT) * 4096
    out = subprocess.run(["grep", "-rc", "", os.path.join(directory, "small-all")], check=False, capture_output=True).stdout
    assert len(out.splitlines()) == 2 * SMALL_COUNT
    for name in SMALL_DIRECTORIES:
        read_small(directory, name, range(SMALL_COUNT))


def test_a_present_file_is_read_by_its_descriptor(setting):
    _, _, _, _, local, directory = setting
    with open(os.path.join(directory, "kept/here.bin"), "rb") as file:
        assert file.read() == harness.pattern(3 * MIB, 3)
        links = {os.readlink(f"/proc/{mounted(directory)}/fd/{number}")
                 for number in os.listdir(f"/proc/{mounted(directory)}/fd")}
        assert os.path.join(local, "kept/here.bin") in links


def test_more_present_files_can_be_open_than_the_soft_limit_says(setting):
    lab, _, agent, _, _, _ = setting
    directory = lab.path("limited")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    agent.run("mount", "films", directory, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))
    with contextlib.ExitStack() as stack:
        stack.callback(agent.run, "unmount", directory)
        files = [stack.enter_context(open(os.path.join(directory, "kept/here.bin"), "rb")) for _ in range(100)]
        assert all(file.read(4) == harness.pattern(4, 3) for file in files)


def test_a_program_that_copies_attributes_takes_the_bytes_alone(setting):
    lab, directory = setting[0], setting[5]
    copied = lab.path("copied.txt")
    result = subprocess.run(["cp", "--preserve=all", os.path.join(directory, "text/a/one.txt"), copied], capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert harness.read(copied) == b"the first needle\n" and os.listxattr(copied) == []


def test_mounting_and_unmounting_say_so(setting):
    lab, agent = setting[0], setting[2]
    place = lab.directory("said")
    assert agent.document("mount", place, "--folder", "films")["message"].startswith(f"Mounted films on {place}")
    assert agent.document("unmount", place) == {"schema": 1, "message": f"No folder is mounted on {place} any more."}


def test_a_word_that_is_a_folder_is_no_directory(setting):
    lab, agent, directory = setting[0], setting[2], setting[5]
    place = lab.directory("where films would be")
    result = agent.try_run("mount", "films", cwd=place)
    assert result.returncode != 0 and b"`synctrain mount films DIRECTORY`" in result.stderr and os.listdir(place) == []
    again = agent.try_run("mount", directory)
    assert again.returncode != 0 and f"`synctrain unmount {directory}`" in again.stderr.decode()


def test_a_path_in_the_mount_is_a_path_in_the_folder(setting):
    agent, directory = setting[2], setting[5]
    assert agent.run("ls", cwd=os.path.join(directory, "text")).stdout == agent.run("ls", "films:text").stdout
    assert [found["path"] for found in agent.records("ls", "./a", cwd=os.path.join(directory, "text"))] == ["text/a/link", "text/a/one.txt"]
    assert agent.document("stat", os.path.join(directory, "film.bin"))["path"] == "film.bin"
    assert agent.try_run("ls", directory + "x").returncode == 4


def test_extended_attributes(setting):
    directory = setting[5]
    film, here = os.path.join(directory, "film.bin"), os.path.join(directory, "kept/here.bin")
    assert os.getxattr(film, "user.synctrain.state") == b"absent"
    assert os.getxattr(here, "user.synctrain.state") == b"present"
    assert os.getxattr(film, "user.synctrain.holders") == b"1 (1 connected)"
    assert os.getxattr(here, "user.synctrain.here") == str(3 * MIB).encode()
    assert os.getxattr(film, "user.synctrain.pin") == b"no"
    assert os.listxattr(film) == []
    for name, number in (("user.other", errno.ENODATA), ("user.synctrain.nothing", errno.ENODATA), ("user.synctrain.error", errno.ENODATA),
                         ("security.selinux", errno.EOPNOTSUPP), ("system.posix_acl_access", errno.EOPNOTSUPP)):
        with pytest.raises(OSError) as caught:
            os.getxattr(film, name)
        assert caught.value.errno == number, name


def test_changes_elsewhere_are_seen(setting):
    _, node, agent, root, _, directory = setting
    path = os.path.join(directory, "news.txt")
    assert not os.path.exists(path)
    harness.write(os.path.join(root, "news.txt"), b"old")
    node.scan("films", "news.txt")
    wait_until(lambda: os.path.exists(path), 10, "the new name is seen", child=agent)
    with open(path, "rb") as file:
        assert file.read() == b"old"
        harness.write(os.path.join(root, "news.txt"), b"newer text")
        node.scan("films", "news.txt")
        wait_until(lambda: os.stat(path).st_size == 10, 10, "the new version is seen", child=agent)
        with open(path, "rb") as other:
            assert other.read() == b"newer text"
        file.seek(0)
        assert file.read() == b"old", "an open file keeps its version"
    os.unlink(os.path.join(root, "news.txt"))
    os.mkdir(os.path.join(root, "fresh"))
    node.scan("films")
    wait_until(lambda: not os.path.exists(path), 10, "the deletion is seen", child=agent)
    wait_until(lambda: os.path.isdir(os.path.join(directory, "fresh")), 10, "the directory is seen", child=agent)


def test_a_list_that_the_kernel_keeps_is_read_anew_after_a_change(setting):
    """Nothing of the directory is on this disk: reading it again asks nobody, until something changes."""
    _, node, agent, root, _, directory = setting
    shown = os.path.join(directory, "text/a")
    for _ in range(3):
        assert sorted(os.listdir(shown)) == ["link", "one.txt"]
    harness.write(os.path.join(root, "text/a/second.txt"), b"new")
    node.scan("films", "text/a")
    wait_until(lambda: "second.txt" in os.listdir(shown), 10, "the new name is listed", child=agent)
    os.unlink(os.path.join(root, "text/a/second.txt"))
    node.scan("films", "text/a")
    wait_until(lambda: "second.txt" not in os.listdir(shown), 10, "the deletion is listed", child=agent)
    # What comes to this disk is listed with what does not.
    agent.run("fetch", "films:text/a/one.txt")
    assert sorted(os.listdir(shown)) == ["link", "one.txt"]


def test_scanners_do_not_fetch(setting):
    lab, _, agent, _, _, directory = setting
    program = lab.path("tracker-extract")
    shutil.copy("/bin/cat", program)
    film, here = os.path.join(directory, "film.bin"), os.path.join(directory, "kept/here.bin")
    result = subprocess.run([program, film], capture_output=True, check=False)
    assert result.returncode != 0 and b"No data available" in result.stderr
    assert subprocess.run([program, here], capture_output=True, check=True).stdout == harness.pattern(3 * MIB, 3)


def test_who_started_a_scanner_is_refused_once(setting):
    """Nemo reads a picture itself when its thumbnail program fails. Who opens it again wants it."""
    lab, _, _, _, _, directory = setting
    film, thumbnailer = os.path.join(directory, "film.bin"), lab.path("tumblerd")
    shutil.copy("/usr/bin/head", thumbnailer)
    refused = subprocess.run([thumbnailer, "-c", "10", film], capture_output=True, check=False)
    assert b"No data available" in refused.stderr
    with pytest.raises(OSError) as caught:
        open(film, "rb")
    assert caught.value.errno == errno.ENODATA
    with open(film, "rb") as file:
        assert file.read(10) == harness.pattern(10, 7)


@contextlib.contextmanager
def mapped_without_descriptor(path):
    """A page of a file is mapped, which its process has not open, and which its table of mappings names behind the first 4 KiB."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype, library.munmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

    def map_page(protection, flags, descriptor):
        place = library.mmap(None, mmap.PAGESIZE, protection, flags, descriptor, 0)
        assert place != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
        return place

    with open(path, "rb") as file:
        places = [map_page(mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno())]
    # New mappings come below the older ones; those of different protection stay apart.
    for number in range(200):
        places.append(map_page(mmap.PROT_READ if number % 2 else 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1))
    try:
        assert harness.read("/proc/self/maps").index(os.fsencode(path)) > 4096
        yield
    finally:
        for place in places:
            library.munmap(place, mmap.PAGESIZE)


def test_list_and_unmount(setting):
    lab, _, agent, _, _, directory = setting
    listed = json.loads(agent.run("mount", "--list", "--json").stdout)
    assert {"directory": directory, "folder": "films", "state": "mounted", "access": "read-write"} in listed["mounts"]
    second = lab.path("second")
    assert agent.try_run("mount", "films", second, "--folder", "none").returncode == 64
    agent.run("mount", "films", second)
    with open(os.path.join(second, "empty"), "rb"):
        result = agent.try_run("unmount", second)
        assert result.returncode != 0 and str(os.getpid()).encode() in result.stderr
    with mapped_without_descriptor(os.path.join(second, "kept/here.bin")):
        result = agent.try_run("unmount", second)
        assert result.returncode != 0 and str(os.getpid()).encode() in result.stderr
    agent.run("unmount", second)
    assert os.listdir(second) == []
    wait_until(lambda: mounted(second) is None, 10, "its process ends")


def test_a_mount_in_the_foreground(setting):
    lab, _, agent, _, _, _ = setting
    directory = lab.path("foreground")
    process = subprocess.Popen(agent.command("mount", "films", directory, "--foreground"), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    assert "films" in [mount["folder"] for mount in json.loads(agent.run("mount", "--list", "--json").stdout)["mounts"]
                       if mount["directory"] == directory]
    process.terminate()
    assert process.wait(20) == 0
    assert os.listdir(directory) == [] and not mounted(directory)


def test_a_mount_in_the_foreground_answers_in_json(setting):
    lab, _, agent, _, _, _ = setting
    directory = lab.path("foreground json")
    process = subprocess.Popen(
        agent.command("mount", "films", directory, "--foreground", "--json"), stdout=subprocess.PIPE)
    try:
        answer = json.loads(process.stdout.readline())
        assert answer["schema"] == 1 and answer["message"].startswith(f"Mounted films on {directory}")
        assert mounted(directory)
    finally:
        process.terminate()
    assert process.wait(20) == 0 and process.stdout.read() == b""


@pytest.mark.parametrize("place, words", [
    ("inside", "inside the synced folder"), ("full", "is not empty"), ("file", "is not a directory"),
    ("mounted", "already mounted")])
def test_mount_points_that_are_refused(setting, place, words):
    lab, _, agent, _, local, directory = setting
    harness.write(lab.path("full", "file"), b"x")
    path = {"inside": os.path.join(local, "kept/m"), "full": lab.path("full"), "file": lab.path("full", "file"),
            "mounted": directory}[place]
    result = agent.try_run("mount", path, "--folder", "films")
    assert result.returncode != 0 and words in result.stderr.decode()
    assert agent.try_run("mount", lab.path("other"), "--folder", "none").returncode == 4


def test_a_killed_mount_can_be_mounted_again(setting):
    lab, _, agent, _, _, directory = setting
    third = lab.path("third")
    agent.run("mount", third, "--folder", "films")
    for _ in range(3):
        # What the kernel remembers of the root is no sign of a mount that answers.
        os.stat(third)
        os.kill(mounted(third), signal.SIGKILL)
        agent.run("mount", third, "--folder", "films")
        with open(os.path.join(third, "odd/with space"), "rb") as file:
            assert file.read() == b"with space"
    agent.run("unmount", third)


def test_without_holder_reads_fail_and_come_back(setting):
    _, node, agent, root, _, directory = setting
    harness.write(os.path.join(root, "later.bin"), harness.pattern(MIB, 9))
    node.scan("films", "later.bin")
    path = os.path.join(directory, "later.bin")
    wait_until(lambda: os.path.exists(path), 10, "the name is seen", child=agent)
    node.change_device(agent.id, paused=True)
    agent.wait_disconnected(node.id)
    assert os.stat(path).st_size == MIB
    reader = subprocess.Popen(["cat", path], stdout=subprocess.DEVNULL)
    wait_until(lambda: state(reader.pid) == "D", 10, "the reader waits for the block")
    reader.send_signal(signal.SIGINT)
    assert reader.wait(10) == -signal.SIGINT, "a reader that waits can be ended"
    for _ in range(2):
        with open(path, "rb", buffering=0) as file:
            with pytest.raises(OSError) as caught:
                file.read(10)
        assert caught.value.errno == errno.ENETDOWN
    assert os.getxattr(path, "user.synctrain.error") == b"no connected device has it"
    node.change_device(agent.id, paused=False)
    agent.wait_connected(node.id)
    with open(path, "rb") as file:
        assert file.read() == harness.pattern(MIB, 9)
    with pytest.raises(OSError) as caught:
        os.getxattr(path, "user.synctrain.error")
    assert caught.value.errno == errno.ENODATA, "nothing is the matter any more"


def test_the_kernel_keeps_lists_of_what_is_elsewhere(setting):
    _, _, agent, _, _, directory = setting
    many = os.path.join(directory, "many")

    def is_kept():
        assert len(os.listdir(many)) == 5000
        agent.suspend()
        try:
            return len(os.listdir(many)) == 5000
        except OSError:
            # A change, of whatever file, was told of during the first listing: that one is not kept.
            return False
        finally:
            agent.resume()
    wait_until(is_kept, what="the list is kept")


def test_the_agent_stops_and_comes_back(setting):
    _, node, agent, _, local, directory = setting
    film, here = os.path.join(directory, "film.bin"), os.path.join(directory, "kept/here.bin")
    os.stat(film)
    assert len(os.listdir(os.path.join(directory, "many"))) == 5000
    with open(here, "rb") as open_here, open(film, "rb") as open_film:
        open_film.read(10)
        agent.suspend()
        try:
            assert os.stat(film).st_size == 24 * MIB
            assert open_here.read(100) == harness.pattern(3 * MIB, 3)[:100]
            with pytest.raises(OSError) as caught:
                os.stat(os.path.join(directory, "never seen"))
            assert caught.value.errno == errno.EIO
            start = time.monotonic()
            # Looks up the directory and the name first.
            with pytest.raises(OSError):
                os.close(os.open(os.path.join(directory, "kept/new"), os.O_WRONLY | os.O_CREAT))
            with pytest.raises(OSError):
                os.stat(os.path.join(directory, "many/never seen"))
            assert time.monotonic() - start < 2, "for an agent that says nothing, programs wait once"
            os.statvfs(directory)
        finally:
            agent.resume()
        agent.kill()
        assert os.stat(film).st_size == 24 * MIB
        assert open_here.read(100) == harness.pattern(3 * MIB, 3)[100:200]
        agent.start()
        agent.wait_connected(node.id)
        open_film.seek(12 * MIB)
        assert open_film.read(1000) == harness.pattern(24 * MIB, 7)[12 * MIB:12 * MIB + 1000], "an open file goes on"
    assert len(os.listdir(os.path.join(directory, "many"))) == 5000


WHERE = """
import os, sys
for _ in sys.stdin:
    try:
        place = os.getcwd()
    except OSError as error:
        place = error
    print(place, *os.listdir("."), sep="\\t", flush=True)
"""


@pytest.mark.skipif([int(number) for number in os.uname().release.split("-")[0].split(".")[:2]] < [6, 2],
                    reason="before Linux 6.2 a directory's name can only be dropped")
def test_a_program_stays_in_its_directory_when_the_agent_comes_back(setting):
    """The kernel asks for all names again. A directory whose name it dropped would have no path until somebody goes there by it."""
    _, node, agent, root, _, directory = setting
    place = os.path.join(directory, "text/b")
    with subprocess.Popen([sys.executable, "-c", WHERE], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        def answer():
            program.stdin.write("\n")
            program.stdin.flush()
            return program.stdout.readline().rstrip("\n").split("\t")

        assert answer() == [place, "two.txt"]
        agent.stop()
        agent.start()
        agent.wait_connected(node.id)
        harness.write(os.path.join(root, "text/b/later.txt"), b"later\n")
        node.scan("films", "text/b")
        # The kernel hears of this after it was to ask for all names again.
        wait_until(lambda: "later.txt" in answer(), 20, "the new name is listed", child=agent)
        assert answer()[0] == place
        program.stdin.close()
    os.unlink(os.path.join(root, "text/b/later.txt"))
    node.scan("films", "text/b")


def test_a_list_is_read_from_its_middle(setting):
    """As the kernel does over a handle of which nothing was read, when a change comes while it gives a list that it has kept."""
    _, _, agent, _, _, directory = setting
    many = os.path.join(directory, "many")
    names = sorted(os.listdir(many))
    assert len(names) == 5000
    for count in (10, 1500, 4999, 5000, 6000):
        # What the kernel has kept is dropped.
        os.mkdir(os.path.join(many, "zzz"))
        os.rmdir(os.path.join(many, "zzz"))
        file = os.open(many, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Before the names are "." and "..".
            os.lseek(file, count + 2, os.SEEK_SET)
            assert sorted(os.listdir(file)) == names[count:], count
        finally:
            os.close(file)
