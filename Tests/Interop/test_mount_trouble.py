"""`synctrain mount` where something is missing: rights, space, the agent, the devices that have the files."""

import errno
import mmap
import os
import platform
import signal
import subprocess
import threading
import time

import harness
import pytest
from process import wait_until
from test_messages import USER, give, plain_user
from test_mount import mounted as process_of
from test_mount_writing import Mounted, pytestmark, refused  # noqa: F401 (skips where nothing can be mounted)

MIB = 1 << 20
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become somebody else and to make a small disk")


def program(script, *arguments, user=None):
    """A shell script's output, run by the user."""
    options = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    return subprocess.run(["sh", "-ec", script, "sh", *arguments], check=True, capture_output=True, cwd="/", **options).stdout


def guard_of(process):
    """The process that looks after the mount of another one."""
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        children = file.read().split()
    [guard] = [child for child in children if harness.read(f"/proc/{child}/comm") == b"mount-guard\n"]
    return guard


@needs_root
def test_an_ordinary_user_mounts_reads_writes_and_unmounts(lab):
    node, agent = lab.syncthing(), plain_user(lab)
    lab.introduce(agent, node)
    root, directory = lab.directory("real-own"), lab.directory("mounted")
    harness.write(os.path.join(root, "d/absent"), b"absent\n" * 1000)
    for path in (lab.directory(f"{agent.name}-own"), directory):
        give(path)
    local = lab.share(agent, "own", node)
    node.wait_scanned("own", 1)
    agent.wait_global("own", 1)
    agent.run("mount", "own", directory)
    process = process_of(directory)
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        assert f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}\n" in file.readlines()
    assert program('cat "$1"/d/absent', directory, user=USER) == b"absent\n" * 1000
    assert program('stat -c "%U %a" "$1"/d/absent', directory, user=USER).split()[1] == b"644"
    program('echo more >> "$1"/d/absent; mkdir "$1"/new; echo mine > "$1"/new/file; mv "$1"/new/file "$1"/new/name', directory,
            user=USER)
    for name, content in (("d/absent", b"absent\n" * 1000 + b"more\n"), ("new/name", b"mine\n")):
        wait_until(lambda name=name, content=content: os.path.exists(os.path.join(root, name))
                   and harness.read(os.path.join(root, name)) == content, 20, f"{name} arrives", child=agent)
        assert os.stat(os.path.join(local, name)).st_uid == USER
    program('rm "$1"/d/absent', directory, user=USER)
    wait_until(lambda: not os.path.exists(os.path.join(root, "d/absent")), 20, "its deletion arrives", child=agent)
    # A directory that may not be listed: the disk tells whether it is empty.
    program('mkdir -m 300 "$1"/shut "$1"/full; echo x > "$2"/full/x', directory, local, user=USER)
    assert b"not empty" in program('LC_ALL=C rmdir "$1"/full 2>&1 || true', directory, user=USER)
    program('rmdir "$1"/shut', directory, user=USER)
    assert [os.path.exists(os.path.join(local, name)) for name in ("full/x", "shut")] == [True, False]
    # A file that nobody may write to is written to by who makes it, as Git does; here and where nothing is selected.
    agent.run("folder", "mode", "own", "selective")
    agent.run("deselect", "own:new", "--keep-local")
    for name in ("objects", "new/object"):
        program('python3 -c "import os, sys; os.write(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o444), b\'blob\')" "$1"/' + name,
                directory, user=USER)
        assert program(f'cat "$1"/{name}; stat -c " %a" "$1"/{name}', directory, user=USER) == b"blob 444\n"
    # It is this user's alone: not even root looks in.
    refused(errno.EACCES, os.listdir, directory)
    # Killed, it is not left as a directory that refuses everything.
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: directory not in harness.read("/proc/self/mountinfo").decode(), 10, "what was killed is unmounted")
    assert os.listdir(directory) == []
    # What is mounted there again at once stays.
    agent.run("mount", "own", directory)
    process = process_of(directory)
    guard = guard_of(process)
    os.kill(process, signal.SIGKILL)
    agent.run("mount", "own", directory)
    wait_until(lambda: not os.path.exists(f"/proc/{guard}"), 10, "the guard of the first one has ended")
    assert program('cat "$1"/new/name', directory, user=USER) == b"mine\n"
    agent.run("unmount", directory)
    assert os.listdir(directory) == []
    wait_until(lambda: process_of(directory) is None, 10, "its process ends")


@pytest.fixture
def small(nodes):
    """A folder on a disk of 8 MiB."""
    lab, node, agent = nodes
    local = lab.directory(f"{agent.name}-small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", local], check=True)
    mounted = Mounted(lab, node, agent, "small", {"here/present": b"present\n", "huge": harness.pattern(20 * MIB, 1),
                                                  "absent": b"absent\n"})
    yield mounted
    mounted.end()
    agent.run("folder", "remove", "small", "--yes")
    subprocess.run(["umount", "-l", local], check=True)


@needs_root
def test_a_full_disk(small):
    local = small.local
    refused(errno.ENOSPC, open, small.path("huge"), "r+b")
    assert not os.path.exists(os.path.join(local, "huge")), "nothing of it was begun"
    assert os.getxattr(small.path("huge"), "user.synctrain.state") == b"absent"
    with open(small.path("huge"), "rb") as file:
        file.seek(19 * MIB)
        assert file.read() == harness.pattern(20 * MIB, 1)[19 * MIB:]

    def fill(file):
        for _ in range(20):
            file.write(bytes(MIB))
    with open(small.path("here/full"), "wb", buffering=0) as file:
        refused(errno.ENOSPC, fill, file)
        size = os.fstat(file.fileno()).st_size
    assert 4 * MIB < size <= 8 * MIB and os.stat(small.path("here/full")).st_size == size
    for name, mode in (("here/present", "ab"), ("here/new", "wb"), ("absent", "ab")):
        refused(errno.ENOSPC, harness.write, small.path(name), b"x" * 100_000, mode=mode)
    # As on any disk, the rest of the file's last page was free.
    present = harness.read(small.path("here/present"))
    assert present == (b"present\n" + b"x" * 4096)[:len(present)] and harness.read(small.path("absent")) == b"absent\n"
    os.unlink(small.path("here/full"))

    def is_free():
        disk = os.statvfs(local)
        return disk.f_bavail * disk.f_frsize > 4 * MIB
    wait_until(is_free, 20, "its space is free once nobody reads it", child=small.agent)
    harness.write(small.path("here/present"), b"more\n", mode="ab")
    harness.write(small.path("absent"), b"more\n", mode="ab")
    small.wait_there("here/present", present + b"more\n")
    small.wait_there("absent", b"absent\nmore\n")
    small.wait_gone_there("here/full")
    assert small.conflicts() == [] and harness.read(small.there("huge")) == harness.pattern(20 * MIB, 1)


@pytest.fixture(scope="module")
def work(nodes):
    files = {"here/present": b"present\n" * 1000}
    for number in range(8):
        files[f"old/absent-{number}"] = b"absent %d\n" % number * 500
    mounted = Mounted(*nodes, "trouble", files)
    yield mounted
    mounted.end()


@pytest.mark.parametrize("name, mode, before", [
    ("here/present", "r+b", b"present\n" * 1000), ("old/absent-0", "r+b", b"absent 0\n" * 500), ("old/absent-1", "wb", b""),
    ("fresh/new", "wb", b"")], ids=["present", "absent", "emptied", "new"])
def test_the_agent_is_killed_while_a_program_writes(work, name, mode, before):
    os.makedirs(os.path.dirname(work.path(name)), exist_ok=True)
    with open(work.path(name), mode, buffering=0) as file:
        file.write(b"before ")
        work.agent.kill()
        try:
            file.write(b"during ")
            assert os.fstat(file.fileno()).st_size == max(14, len(before)), "the mount does not ask the agent"
            os.fsync(file.fileno())
        finally:
            work.agent.start()
        work.agent.wait_connected(work.node.id)
        file.write(b"after")
    expected = b"before during after" + before[19:]
    work.wait_there(name, expected)
    wait_until(lambda: harness.read(work.path(name)) == expected, 20, "the mount shows it", child=work.agent)
    work.agent.run("scan", work.folder)
    assert work.conflicts() == []


@pytest.mark.parametrize("name", ["here/present", "old/absent-7"])
def test_a_file_that_is_opened_while_there_is_no_agent(work, name):
    """The next agent opens it, and hears that it was closed: what stays open for writing is announced once a minute."""
    # By its name, it would be looked for before it is opened.
    found = os.open(work.path(name), os.O_PATH)
    work.agent.kill()
    content = f"{name}, written after that".encode()

    def write():
        while True:
            try:
                return harness.write(f"/proc/self/fd/{found}", content)
            except OSError as error:
                # The mount had not noticed yet that the agent is gone.
                assert error.errno == errno.EIO, error
    program = threading.Thread(target=write)
    program.start()
    try:
        wait_until(lambda: b"request_wait" in (harness.read(f"/proc/self/task/{program.native_id}/wchan") or b""), 5,
                   "the program waits for the mount", every=0.005)
    finally:
        work.agent.start()
    program.join()
    os.close(found)
    work.wait_there(name, content)


def test_what_is_written_while_no_device_is_connected(work):
    work.node.change_device(work.agent.id, paused=True)
    work.agent.wait_disconnected(work.node.id)
    refused(errno.ENETDOWN, open, work.path("old/absent-2"), "r+b")
    refused(errno.ENETDOWN, os.truncate, work.path("old/absent-2"), 5)
    assert os.stat(work.path("old/absent-2")).st_size == 4500
    assert not os.path.exists(os.path.join(work.local, "old/absent-2"))
    harness.write(work.path("old/absent-3"), b"replaced")
    harness.write(work.path("old/.new.tmp"), b"saved")
    os.rename(work.path("old/.new.tmp"), work.path("old/absent-4"))
    os.unlink(work.path("old/absent-5"))
    harness.write(work.path("old/made"), b"made")
    refused(errno.EXDEV, os.rename, work.path("old/absent-6"), work.path("old/elsewhere"))
    assert sorted(os.listdir(work.path("old"))) == sorted(
        ["made"] + [f"absent-{number}" for number in range(8) if number != 5])
    work.node.change_device(work.agent.id, paused=False)
    work.agent.wait_connected(work.node.id)
    for name, content in (("absent-3", b"replaced"), ("absent-4", b"saved"), ("made", b"made")):
        work.wait_there(f"old/{name}", content)
    work.wait_gone_there("old/absent-5")
    harness.write(work.path("old/absent-2"), b"more", mode="ab")
    work.wait_there("old/absent-2", b"absent 2\n" * 500 + b"more")
    assert work.conflicts() == []


def test_what_another_program_has_just_written_into_the_folder_is_read_whole(work):
    """The kernel may use for a second what it was told of a file on this disk, but not to read it."""
    for number, size in enumerate((100_000, 3, 200_000)):
        content = b"%d" % number * size
        os.stat(work.path("here/present"))
        harness.write(os.path.join(work.local, "here/present"), content, mode="r+b" if number == 0 else "wb")
        with open(work.path("here/present"), "rb") as file:
            assert file.read() == content


def test_a_full_ignore_file_is_named(work):
    """Each name that is made where nothing is selected takes two lines; a file of 1 MiB takes no more."""
    ignored = os.path.join(work.local, ".stignore")
    before = harness.read(ignored)
    room = MIB - len(before) - 60
    lines = b"".join(b"// " + b"x" * (min(60_000, room - start) - 4) + b"\n" for start in range(0, room - 100, 60_000))
    harness.write(ignored, lines + before)
    work.agent.run("scan", work.folder)
    try:
        refused(errno.EDQUOT, harness.write, work.path("old", "n" * 100), b"new")
        assert not os.path.exists(os.path.join(work.local, "old", "n" * 100))
        assert b"select --while-space" in os.getxattr(work.path("old"), "user.synctrain.error")
    finally:
        harness.write(ignored, before)
        work.agent.run("scan", work.folder)
    harness.write(work.path("old", "n" * 100), b"new")
    work.wait_there("old/" + "n" * 100, b"new")


def counted(work, name):
    """What Linux counts of the process of the mount: `rchar`, the bytes that it has read, `syscr`, the calls that it took for them."""
    with open(f"/proc/{process_of(work.directory)}/io", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


@pytest.mark.skipif(tuple(map(int, platform.release().split(".")[:2])) < (5, 11),
                    reason="before each write Linux asks whether the file has privileges to lose")
def test_a_small_write_is_one_request(work):
    path = work.path("here/small-writes")
    with open(path, "wb", buffering=0) as file:
        file.write(b"first")
        before = counted(work, "syscr")
        for _ in range(1000):
            file.write(b"0123456789")
        assert counted(work, "syscr") - before < 1500
    os.unlink(path)


def test_what_is_read_again_is_in_memory_until_it_changes(work):
    """Waits three seconds: a younger change could hide another. What a program stores into a mapping of its own changes no time."""
    local, shown, size = os.path.join(work.local, "here/again"), work.path("here/again"), 4 * MIB
    mapped, shown_mapped = os.path.join(work.local, "here/mapped"), work.path("here/mapped")
    harness.write(shown, harness.pattern(size, 1))
    harness.write(mapped, harness.pattern(size, 1))
    with open(mapped, "r+b") as file, mmap.mmap(file.fileno(), size) as mapping:
        mapping[0:3] = b"one"
        wait_until(lambda: time.time() - max(os.stat(path).st_ctime for path in (local, mapped)) > 3.1, 20, "the files are old enough",
                   every=0.1)

        def read(path=shown):
            before = counted(work, "rchar")
            return harness.read(path), counted(work, "rchar") - before >= size
        assert read() == (harness.pattern(size, 1), True)
        assert read() == (harness.pattern(size, 1), False)
        assert read(shown_mapped)[0][:3] == b"one"
        mapping[0:3] = b"two"
        assert read(shown_mapped)[0][:3] == b"two", "somebody may store into it, and no time changes"
    harness.write(local, harness.pattern(size, 2), mode="r+b")
    assert read() == (harness.pattern(size, 2), True), "what another program has written in its place, of the same size"


@pytest.mark.long
def test_who_reads_what_is_not_here_waits_once_for_an_agent_that_is_stopped(work):
    """Twenty seconds and some more, though the kernel tries again what it read ahead in vain."""
    with open(work.path("old/absent-6"), "rb", buffering=0) as file:
        work.agent.suspend()
        try:
            start = time.monotonic()
            refused(errno.EIO, file.read, 1)
            assert time.monotonic() - start < 28
        finally:
            work.agent.resume()
        assert file.read(10) == b"absent 6\na"
