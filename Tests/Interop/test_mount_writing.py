"""Writing through `synctrain mount`: what real programs change arrives at a real node, byte for byte, and nothing conflicts."""

import errno
import os
import shutil
import subprocess

import harness
import pytest
from process import wait_until

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")


def files(root):
    """As `harness.regular_files`, without what a node keeps of a download that was overtaken; None while the tree changes."""
    try:
        return {path: digest for path, digest in harness.regular_files(root).items()
                if not os.path.basename(path).startswith(".syncthing.")}
    except FileNotFoundError:
        return None


def wait_equal(first, second, agent):
    """Waits until both give the same, and says what differs if they do not."""
    try:
        wait_until(lambda: first() == second() is not None, 30, "both are the same", child=agent)
    except TimeoutError:
        assert first() == second()


class Mounted:
    """A folder of a real node's, mounted by an agent that selects `here` of it."""

    def __init__(self, lab, node, agent, folder, files):
        self.lab, self.node, self.agent, self.folder = lab, node, agent, folder
        self.root = lab.directory(f"{node.name}-{folder}")
        for name, content in files.items():
            harness.write(os.path.join(self.root, name), content)
        self.local = lab.share(agent, folder, node)
        node.wait_scanned(folder, len(files))
        agent.wait_global(folder, len(files))
        agent.run("select", f"{folder}:here")
        kept = [name for name in files if name.startswith("here/")]
        wait_until(lambda: all(os.path.exists(os.path.join(self.local, name)) for name in kept), 20,
                   "what is selected comes", child=agent)
        self.directory = lab.path(f"mount-{agent.name}-{folder}")
        agent.run("mount", folder, self.directory)

    def end(self):
        subprocess.run(["fusermount3", "-u", "-z", self.directory], check=False)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def there(self, *parts):
        return os.path.join(self.root, *parts)

    def lines(self):
        with open(os.path.join(self.local, ".stignore"), encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if line.startswith("// synctrain: while-space")]

    def wait_there(self, name, content):
        def has():
            try:
                return harness.read(self.there(name)) == content
            except FileNotFoundError:
                return False
        wait_until(has, 20, f"{name} arrives", child=self.agent)

    def wait_gone_there(self, name):
        wait_until(lambda: not os.path.lexists(self.there(name)), 20, f"{name} goes", child=self.agent)

    def wait_same(self, under):
        wait_equal(lambda: files(self.there(under)), lambda: files(self.path(under)), self.agent)

    def conflicts(self):
        return [path for root in (self.root, self.local) for path in harness.walk(root) if ".sync-conflict-" in path]


@pytest.fixture(scope="module")
def work(nodes):
    files = {"here/present.txt": b"present\n" * 1000, "here/other.txt": b"other\n", "here/gone.txt": b"gone",
             "here/sub/deep.txt": b"deep"}
    for number in range(16):
        files[f"old/absent-{number}.txt"] = b"absent %d\n" % number * 500
    mounted = Mounted(*nodes, "work", files)
    yield mounted
    mounted.end()


def refused(number, action, *arguments, **options):
    with pytest.raises(OSError) as caught:
        action(*arguments, **options)
    assert caught.value.errno == number, caught.value


def test_a_present_file_is_written_in_its_place(work):
    path = work.path("here/present.txt")
    inode = os.stat(os.path.join(work.local, "here/present.txt")).st_ino
    with open(path, "r+b") as file:
        file.write(b"PRESENT")
        file.flush()
        assert os.stat(path).st_size == 8000
        file.seek(0, os.SEEK_END)
        file.write(b"end")
        file.flush()
        assert os.stat(path).st_size == 8003 == os.fstat(file.fileno()).st_size
        os.fsync(file.fileno())
        file.seek(0)
        assert file.read(9) == b"PRESENT\np"
    with open(path, "ab") as file:
        file.write(b"!\n")
    os.truncate(path, 8004)
    os.chmod(path, 0o640)
    os.utime(path, (1, 1_600_000_000))
    assert (os.stat(path).st_mode & 0o777, os.stat(path).st_mtime) == (0o640, 1_600_000_000)
    expected = b"PRESENT" + (b"present\n" * 1000)[7:] + b"end!"
    assert harness.read(path) == expected == harness.read(os.path.join(work.local, "here/present.txt"))
    assert os.stat(os.path.join(work.local, "here/present.txt")).st_ino == inode
    work.wait_there("here/present.txt", expected)
    wait_until(lambda: os.stat(work.there("here/present.txt")).st_mtime == 1_600_000_000, 20, "its time arrives",
               child=work.agent)


def test_no_inodes_are_counted(work):
    """With a number and none of them free, `df -i` shows a full disk, and monitors warn."""
    space = os.statvfs(work.directory)
    assert (space.f_files, space.f_ffree, space.f_favail) == (0, 0, 0) and space.f_blocks > 0


def test_names_are_made_changed_and_removed(work):
    os.mkdir(work.path("here/made"), 0o750)
    assert os.stat(work.path("here/made")).st_mode & 0o777 == 0o750
    harness.write(work.path("here/made/a"), b"a")
    os.symlink("b", work.path("here/made/link"))
    os.rename(work.path("here/made/a"), work.path("here/made/b"))
    refused(errno.EEXIST, os.mkdir, work.path("here/made"))
    refused(errno.EEXIST, os.open, work.path("here/made/b"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    refused(errno.ENOTEMPTY, os.rmdir, work.path("here/made"))
    refused(errno.ENOTDIR, os.rmdir, work.path("here/made/b"))
    refused(errno.EISDIR, os.unlink, work.path("here/made"))
    refused(errno.EPERM, os.link, work.path("here/made/b"), work.path("here/made/c"))
    refused(errno.EPERM, os.mkfifo, work.path("here/made/pipe"))
    refused(errno.EPERM, os.mkdir, work.path(".stversions"))
    refused(errno.EPERM, harness.write, work.path(".stignore"), b"*")
    work.wait_there("here/made/b", b"a")
    wait_until(lambda: os.path.islink(work.there("here/made/link")), 20, "the link arrives", child=work.agent)
    work.wait_gone_there("here/made/a")
    os.rename(work.path("here/made"), work.path("here/moved"))
    assert sorted(os.listdir(work.path("here/moved"))) == ["b", "link"]
    assert harness.read(work.path("here/moved/link")) == b"a"
    work.wait_there("here/moved/b", b"a")
    work.wait_gone_there("here/made")
    with open(work.path("here/gone.txt"), "r+b") as file:
        os.unlink(work.path("here/gone.txt"))
        file.write(b"more")
        file.seek(0)
        assert file.read() == b"more" and os.fstat(file.fileno()).st_size == 4
    assert not os.path.exists(work.path("here/gone.txt"))
    work.wait_gone_there("here/gone.txt")
    shutil.rmtree(work.path("here/moved"))
    work.wait_gone_there("here/moved")


def test_two_spellings_of_a_name_are_two_names(work, tmp_path):
    """Names are bytes to Linux: `a` with an accent behind it is another name than `ä`."""
    apart, one = "a\u0308", "\u00e4"
    top = work.path("here/spellings")
    os.mkdir(top)
    for name in (apart, one):
        os.mkdir(os.path.join(top, name))
    for name in (apart, one):
        harness.write(os.path.join(top, name, "x"), b"in " + name.encode())
        harness.write(os.path.join(top, name + ".jpg"), b"of " + name.encode())
    assert sorted(os.listdir(top)) == sorted([apart, one, apart + ".jpg", one + ".jpg"])
    for name in (apart, one):
        assert harness.read(os.path.join(top, name, "x")) == b"in " + name.encode()
        assert harness.read(os.path.join(top, name + ".jpg")) == b"of " + name.encode()
    subprocess.run(["cp", "-a", top, str(tmp_path / "out")], check=True)
    subprocess.run(["cp", "-a", str(tmp_path / "out"), work.path("here/again")], check=True)
    assert files(work.path("here/again")) == files(top) == files(str(tmp_path / "out"))
    os.rename(os.path.join(top, one + ".jpg"), os.path.join(top, apart + ".jpg"))
    assert not os.path.lexists(os.path.join(top, one + ".jpg"))
    assert harness.read(os.path.join(top, apart + ".jpg")) == b"of " + one.encode()
    # As `status` advises.
    subprocess.run(["mv", os.path.join(top, apart + ".jpg"), os.path.join(top, one + ".jpg")], check=True)
    assert sorted(os.listdir(top)) == sorted([apart, one, one + ".jpg"])
    work.wait_there(f"here/spellings/{one}.jpg", b"of " + one.encode())
    work.wait_there(f"here/spellings/{one}/x", b"in " + one.encode())
    for name in ("spellings", "again"):
        shutil.rmtree(work.path("here", name))


def test_names_that_others_make_among_many_new_ones(work):
    """Who makes many names in a directory is told for a second that nobody has the next one; what others make is not hidden by that."""
    os.mkdir(work.path("here/many"))
    for number in range(30):
        name = f"{number:02}"
        harness.write(work.path(f"here/many/{name}"), b"ours")
        # Another program, in the folder's own directory.
        harness.write(os.path.join(work.local, f"here/many/other-{name}"), b"theirs")
        refused(errno.EEXIST, os.open, work.path(f"here/many/other-{name}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    wait_until(lambda: len(os.listdir(work.path("here/many"))) == 60, 5, "all names are listed", child=work.agent)
    for number in range(30):
        assert harness.read(work.path(f"here/many/other-{number:02}")) == b"theirs"
    work.wait_there("here/many/other-29", b"theirs")
    work.wait_there("here/many/29", b"ours")
    os.rename(work.path("here/many"), work.path("here/much"))
    assert harness.read(work.path("here/much/other-00")) == b"theirs"
    shutil.rmtree(work.path("here/much"))


def test_what_is_new_where_nothing_is_selected_stays_and_arrives(work):
    os.mkdir(work.path("fresh"))
    for number in range(20):
        harness.write(work.path(f"fresh/deep/{number}"), b"%d" % number)
    harness.write(work.path("old/lone.txt"), b"lone")
    work.wait_there("old/lone.txt", b"lone")
    work.wait_same("fresh")
    assert work.lines() == ["// synctrain: while-space /fresh", "// synctrain: while-space /old/lone.txt"]
    states = {entry["path"]: entry["state"] for entry in work.agent.records("ls", "--recursive", "work:fresh")}
    assert states["fresh/deep/7"] == "present"
    assert not list(work.agent.records("extraneous", "list", "work"))
    # A lone file's line goes with it, and the others hear of the deletion.
    os.unlink(work.path("old/lone.txt"))
    work.wait_gone_there("old/lone.txt")
    assert work.lines() == ["// synctrain: while-space /fresh"]
    shutil.rmtree(work.path("fresh"))
    work.wait_gone_there("fresh")
    assert work.lines() == []


def test_absent_files_are_written(work):
    for number, (action, expected) in enumerate([
            (lambda path: harness.write(path, b"new"), b"new"),
            (lambda path: harness.write(path, b"more", mode="ab"), b"absent 1\n" * 500 + b"more"),
            (lambda path: os.truncate(path, 4), b"abse"),
            (lambda path: os.truncate(path, 0), b""),
            (lambda path: subprocess.run(["sed", "-i", "s/absent/ABSENT/", path], check=True), b"ABSENT 4\n" * 500)]):
        name = f"old/absent-{number}.txt"
        assert not os.path.exists(os.path.join(work.local, name))
        action(work.path(name))
        assert harness.read(work.path(name)) == expected, name
        work.wait_there(name, expected)
    refused(errno.EOPNOTSUPP, os.chmod, work.path("old/absent-5.txt"), 0o600)
    assert work.conflicts() == []


def test_absent_names_are_deleted_and_not_renamed(work):
    refused(errno.EXDEV, os.rename, work.path("old/absent-6.txt"), work.path("old/other.txt"))
    refused(errno.EXDEV, os.rename, work.path("old"), work.path("older"))
    refused(errno.ENOTEMPTY, os.rmdir, work.path("old"))
    subprocess.run(["mv", work.path("old/absent-6.txt"), work.path("old/moved.txt")], check=True)
    work.wait_there("old/moved.txt", b"absent 6\n" * 500)
    work.wait_gone_there("old/absent-6.txt")
    os.unlink(work.path("old/absent-7.txt"))
    assert not os.path.exists(work.path("old/absent-7.txt"))
    work.wait_gone_there("old/absent-7.txt")
    # What takes the place of an absent file succeeds it.
    harness.write(work.path("old/.save.tmp"), b"saved")
    os.rename(work.path("old/.save.tmp"), work.path("old/absent-8.txt"))
    work.wait_there("old/absent-8.txt", b"saved")
    work.wait_gone_there("old/.save.tmp")
    assert work.conflicts() == []


def test_what_was_just_emptied_can_be_removed_and_renamed(work):
    for number in (11, 12, 13):
        os.truncate(work.path(f"old/absent-{number}.txt"), 0)
        if number == 12:
            os.rename(work.path("old/absent-12.txt"), work.path("old/emptied.txt"))
        else:
            os.unlink(work.path(f"old/absent-{number}.txt"))
        assert not os.path.exists(work.path(f"old/absent-{number}.txt"))
    harness.write(work.path("old/absent-13.txt"), b"made again", mode="ab")
    work.wait_there("old/emptied.txt", b"")
    work.wait_there("old/absent-13.txt", b"made again")
    work.wait_gone_there("old/absent-11.txt")
    work.wait_gone_there("old/absent-12.txt")
    assert work.conflicts() == []


def test_a_scan_while_a_file_is_written_and_an_edit_elsewhere(work):
    name = "old/absent-9.txt"
    with open(work.path(name), "wb") as file:
        work.agent.run("scan", "work")
        assert harness.read(work.there(name)) == b"absent 9\n" * 500, "what is open is not announced"
        file.write(b"mine")
        file.flush()
        work.agent.run("scan", "work")
    work.wait_there(name, b"mine")
    # An edit there while the file is open here: neither is lost, and no empty file is made of either.
    with open(work.path(name), "wb") as file:
        harness.write(work.there(name), b"theirs, longer")
        work.node.scan("work", name)
        work.agent.run("scan", "work")
        file.write(b"mine again")
    copies = wait_until(work.conflicts, 30, "a conflict copy", child=work.agent)
    contents = {harness.read(os.path.join(root, path)) for root in (work.root, work.local) for path in harness.walk(root)
                if path.startswith("old/absent-9")}
    assert contents == {b"mine again", b"theirs, longer"}, copies
    names = {path for root in (work.root, work.local) for path in harness.walk(root) if path.startswith("old/absent-9")}
    for path in names:
        wait_until(lambda name=path: os.path.exists(work.path(name)), 20, f"{path} is seen", child=work.agent)
        os.unlink(work.path(path))
    wait_until(lambda: work.conflicts() == [], 20, "the copies go", child=work.agent)


def test_a_directory_that_is_open_is_listed_under_its_new_name(work):
    os.mkdir(work.path("here/former"))
    harness.write(work.path("here/former/a"), b"a")
    directory = os.open(work.path("here/former"), os.O_RDONLY)
    os.rename(work.path("here/former"), work.path("here/latter"))
    assert os.listdir(directory) == ["a"]
    # What has its former name since is another one.
    os.mkdir(work.path("here/former"))
    assert os.listdir(directory) == ["a"]
    os.close(directory)


def test_what_is_open_has_attributes_without_its_name(work):
    """Of an absent file that another takes the place of, those that it had; of one on this disk, they can be set as well."""
    absent = os.open(work.path("old/absent-14.txt"), os.O_RDONLY)
    size = os.fstat(absent).st_size
    harness.write(work.path("old/new-14"), b"new")
    os.rename(work.path("old/new-14"), work.path("old/absent-14.txt"))
    assert (os.fstat(absent).st_size, os.fstat(absent).st_nlink) == (size, 0)
    assert os.stat(work.path("old/absent-14.txt")).st_size == 3
    os.close(absent)
    # Deleted elsewhere, what was read of it can be read again.
    with open(work.path("old/absent-15.txt"), "rb", buffering=0) as file:
        content = file.read()
        os.unlink(work.there("old/absent-15.txt"))
        work.node.scan(work.folder, "old")
        wait_until(lambda: not os.path.exists(work.path("old/absent-15.txt")), 20, "the deletion is seen", child=work.agent)
        assert (os.fstat(file.fileno()).st_size, os.pread(file.fileno(), 10_000, 0)) == (len(content), content)
    harness.write(work.path("here/nameless"), b"nameless")
    # The kernel does not say by which of them attributes are set.
    readers = [os.open(work.path("here/nameless"), os.O_RDONLY) for _ in range(20)]
    writer = os.open(work.path("here/nameless"), os.O_RDWR)
    os.unlink(work.path("here/nameless"))
    os.fchmod(writer, 0o600)
    os.utime(writer, (1, 1_600_000_000))
    status = os.fstat(readers[0])
    assert (status.st_mode & 0o777, status.st_mtime, status.st_size) == (0o600, 1_600_000_000, 8)
    for descriptor in [*readers, writer]:
        os.close(descriptor)


def test_real_programs(work):
    def run(*words, **options):
        return subprocess.run(words, check=True, capture_output=True, cwd=work.path("programs"), **options).stdout
    os.mkdir(work.path("programs"))
    source = work.lab.path("source")
    for number in range(30):
        harness.write(os.path.join(source, f"d{number % 3}", f"f{number}"), harness.pattern(3000 * number, number))
    run("cp", "-a", source, "copy")
    run("tar", "cf", "all.tar", "copy")
    os.mkdir(work.path("programs/out"))
    run("tar", "xf", "all.tar", "-C", "out")
    run("mv", "out/copy/d1", "out/renamed")
    run("rm", "-r", "out/copy/d2")
    run("sh", "-c", "for i in 1 2 3; do echo line $i >> log; done")
    run("sed", "-i", "s/line/LINE/", "log")
    assert run("cat", "log") == b"LINE 1\nLINE 2\nLINE 3\n"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", "repository")
    run("git", "init", "-q", "repository")
    run("cp", "-r", "copy/d0", "repository/d0")
    run(*git, "add", ".")
    run(*git, "commit", "-qm", "first")
    run("sh", "-c", "echo changed > repository/d0/f0")
    run(*git, "commit", "-qam", "second")
    assert run(*git, "status", "--porcelain") == b""
    run(*git, "fsck", "--strict")
    run("sqlite3", "base.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1),(2); DELETE FROM t WHERE a=1;")
    assert run("sqlite3", "base.db", "SELECT sum(a) FROM t; PRAGMA integrity_check;") == b"2\nok\n"
    run("vim", "-u", "NONE", "-es", "-c", "normal Goadded", "-c", "wq", "log")
    assert run("cat", "log").endswith(b"added\n")
    assert harness.regular_files(work.path("programs/copy")) == harness.regular_files(source)
    work.wait_same("programs")
    there = os.path.join(work.there("programs"), "repository")
    subprocess.run(["git", "-c", "safe.directory=*", "-C", there, "fsck", "--strict"], check=True, capture_output=True)
    assert work.conflicts() == []
    assert "// synctrain: while-space /programs" in work.lines()
    assert not [line for line in work.lines() if "/programs/" in line]


def test_pins_select_and_deselect(work):
    path, name = work.path("old/absent-10.txt"), "user.synctrain.pin"
    os.setxattr(path, name, b"1")
    wait_until(lambda: os.path.exists(os.path.join(work.local, "old/absent-10.txt")), 20, "it comes", child=work.agent)
    assert os.getxattr(path, name) == b"explicit"
    os.setxattr(path, name, b"0")
    wait_until(lambda: not os.path.exists(os.path.join(work.local, "old/absent-10.txt")), 20, "it is freed", child=work.agent)
    assert os.getxattr(path, name) == b"no" and harness.read(path) == b"absent 10\n" * 500
    refused(errno.EINVAL, os.setxattr, path, name, b"perhaps")
    for other in ("user.other", "user.synctrain.state"):
        refused(errno.EOPNOTSUPP, os.setxattr, path, other, b"1")


def test_read_only_mounts(work):
    second = work.lab.path("read-only")
    work.agent.run("mount", "work", second, "--read-only")
    try:
        other = os.path.join(second, "here/other.txt")
        refused(errno.EROFS, open, other, "r+b")
        refused(errno.EROFS, open, os.path.join(second, "new"), "wb")
        refused(errno.EROFS, os.mkdir, os.path.join(second, "d"))
        refused(errno.EROFS, os.unlink, other)
        refused(errno.EROFS, os.rename, other, os.path.join(second, "e2"))
        assert harness.read(os.path.join(second, "here/other.txt")) == b"other\n"
    finally:
        work.agent.run("unmount", second)


def test_a_folder_that_only_receives_is_mounted_read_only(nodes):
    lab, node, agent = nodes
    root = lab.directory(f"{node.name}-inward")
    harness.write(os.path.join(root, "a"), b"a")
    lab.share(agent, "inward", node, type="receiveonly")
    agent.wait_global("inward", 1)
    directory = lab.path("mount-inward")
    assert b"only receives" in agent.run("mount", "inward", directory).stderr
    try:
        refused(errno.EROFS, harness.write, os.path.join(directory, "b"), b"x")
    finally:
        agent.run("unmount", directory)


def test_many_deletions_of_absent_files_are_stopped(nodes):
    lab, node, agent = nodes
    mounted = Mounted(lab, node, agent, "many", {f"d/{number:03}": b"%d" % number for number in range(150)})
    try:
        result = subprocess.run(["rm", "-r", mounted.path("d")], check=False, capture_output=True)
        assert result.returncode != 0 and b"Operation not permitted" in result.stderr
        assert len(os.listdir(mounted.path("d"))) == 50
        wait_until(lambda: len(os.listdir(mounted.there("d"))) == 50, 20, "the node deletes the same", child=agent)
    finally:
        mounted.end()


def test_a_file_that_was_fetched_is_shown_as_others_have_it_by_now(nodes):
    """One that is not selected. What was changed here is another matter: that is shown, and nothing replaces it."""
    names = ["again.txt", "edited.txt", "removed.txt", "written.txt"]
    work = Mounted(*nodes, "fetched", {"here/kept": b"kept", **{f"old/{name}": b"first" for name in names}})
    try:
        work.agent.run("fetch", *(f"fetched:old/{name}" for name in names))
        for name in names:
            assert harness.read(work.path("old", name)) == b"first"
            assert os.getxattr(work.path("old", name), "user.synctrain.state") == b"downloaded"
        with open(os.path.join(work.local, "old/edited.txt"), "ab") as file:
            file.write(b", edited beside the mount")
        for name in names:
            harness.write(work.there("old", name), b"second, which is longer")
        work.node.scan("fetched")
        for name in ("again.txt", "removed.txt", "written.txt"):
            wait_until(lambda name=name: harness.read(work.path("old", name)) == b"second, which is longer", 20,
                       "the newer version is shown", child=work.agent)
            assert os.stat(work.path("old", name)).st_size == 23
            assert os.getxattr(work.path("old", name), "user.synctrain.state") == b"absent"
            assert harness.read(os.path.join(work.local, "old", name)) == b"first", "nothing selects it"
        assert sorted(os.listdir(work.path("old"))) == names
        assert harness.read(work.path("old/edited.txt")) == b"first, edited beside the mount"

        work.agent.run("fetch", "fetched:old/again.txt")
        assert harness.read(os.path.join(work.local, "old/again.txt")) == b"second, which is longer"
        assert os.getxattr(work.path("old/again.txt"), "user.synctrain.state") == b"downloaded"
        refusal = work.agent.try_run("fetch", "fetched:old/edited.txt")
        assert refusal.returncode != 0 and b"--force" in refusal.stderr, refusal
        assert harness.read(os.path.join(work.local, "old/edited.txt")) == b"first, edited beside the mount"

        with open(work.path("old/written.txt"), "ab") as file:
            file.write(b", and more")
        work.wait_there("old/written.txt", b"second, which is longer, and more")
        os.unlink(work.path("old/removed.txt"))
        work.wait_gone_there("old/removed.txt")
        assert not os.path.lexists(os.path.join(work.local, "old/removed.txt"))
        assert work.conflicts() == []
    finally:
        work.end()
