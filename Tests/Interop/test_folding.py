"""A folder on a disk that does not distinguish `A` and `a` (`disks.KIND`): names that differ in case harm no content, here or
elsewhere."""

import os
from collections import Counter

import pytest
from disks import KIND, DiskPair, disk, read, respell
from harness import write
from process import wait_until
from test_attributes import attributes, configure

pytestmark = [
    pytest.mark.skipif(not KIND.folds_case, reason="a disk of this kind keeps `A` and `a` apart"),
    pytest.mark.skipif(os.getuid() != 0, reason="needs root, to mount a disk"),
]


@pytest.fixture
def folding(lab):
    """Two agents with all of folder `f`: the root of `one` is on such a disk, that of `two` on this machine's disk."""
    with disk(lab, lab.directory("one-f")) as made:
        pair = DiskPair(lab)
        pair.disk = made
        yield pair


@pytest.fixture
def mounted(lab):
    """The same with the root of `one` on this machine's disk and such a disk mounted at `disk` in it."""
    lab.directory("one-f")
    with disk(lab, lab.directory("one-f/disk")):
        yield DiskPair(lab)


def test_times_and_permissions_that_the_disk_does_not_keep_are_not_announced(folding):
    files = {f"d/{number}": b"%d" % number * 1000 for number in range(5)}
    folding.write_there(**files)
    # A time that no clock shows by chance, in an odd second.
    for name in files:
        os.utime(os.path.join(folding.there, name), ns=(1_700_000_001_987_654_321,) * 2)
    folding.two.run("scan", "f")
    wait_until(lambda: folding.files(folding.here) == files, 30, "they come", child=folding.one)

    def metadata():
        return {name: (os.stat(os.path.join(folding.there, name)).st_mtime_ns, os.stat(os.path.join(folding.there, name)).st_mode)
                for name in ["d", *files]}
    before = metadata()
    folding.settle()
    assert metadata() == before
    kept = 1_700_000_001_987_654_321 // KIND.time_step * KIND.time_step
    assert {os.stat(os.path.join(folding.here, name)).st_mtime_ns // KIND.time_step * KIND.time_step for name in files} == {kept}
    assert {entry["state"] for entry in folding.one.records("ls", "--json", "f:d")} == {"present"}
    # What is changed or deleted there replaces and removes what is here.
    files["d/0"] = b"changed"
    del files["d/1"]
    os.remove(os.path.join(folding.there, "d/1"))
    folding.write_there(**{"d/0": files["d/0"]})
    wait_until(lambda: folding.files(folding.here) == files, 30, "the changes come", child=folding.one)
    folding.settle()
    assert folding.files(folding.here) == folding.files(folding.there) == files
    assert folding.one.problems("f") == {}


BOTH = {"Photo.JPG": b"upper" * 1000, "photo.jpg": b"lower" * 1000}


def test_two_names_that_differ_in_case(folding):
    write(os.path.join(folding.there, "other"), b"other")
    for name, data in BOTH.items():
        write(os.path.join(folding.there, name), data)
    folding.two.run("scan", "f")
    wait_until(lambda: folding.one.problems("f"), 30, "a problem is named", child=folding.one)
    problems = folding.one.problems("f")
    [missing] = problems
    [present] = BOTH.keys() - {missing}
    assert present in problems[missing] and "case" in problems[missing]
    folding.settle()
    assert folding.files(folding.here) == {"other": b"other", present: BOTH[present]}
    assert folding.files(folding.there) == {"other": b"other", **BOTH}
    # What is here is edited: that goes out, and to nothing else.
    write(os.path.join(folding.here, present), b"edited here")
    folding.one.run("scan", "f")
    wait_until(lambda: read(os.path.join(folding.there, present)) == b"edited here", 30, "the edit goes out", child=folding.one)
    assert read(os.path.join(folding.there, missing)) == BOTH[missing]
    # It is deleted there: the other one has room.
    os.remove(os.path.join(folding.there, present))
    folding.two.run("scan", "f")
    wait_until(lambda: folding.files(folding.here) == {"other": b"other", missing: BOTH[missing]}, 60, "the other one comes",
               child=folding.one)
    wait_until(lambda: folding.one.problems("f") == {}, 30, "nothing is wrong any more", child=folding.one)
    folding.settle()
    assert folding.files(folding.there) == {"other": b"other", missing: BOTH[missing]}


def test_the_one_that_is_missing_here_is_deleted(folding):
    folding.write_there(**{"a": b"lower"})
    wait_until(lambda: folding.files(folding.here) == {"a": b"lower"}, 30, "it comes", child=folding.one)
    folding.write_there(**{"A": b"upper"})
    wait_until(lambda: "A" in folding.one.problems("f"), 30, "a problem is named", child=folding.one)
    os.remove(os.path.join(folding.there, "A"))
    folding.two.run("scan", "f")
    wait_until(lambda: folding.one.problems("f") == {}, 30, "nothing is wrong any more", child=folding.one)
    folding.settle()
    assert folding.files(folding.here) == folding.files(folding.there) == {"a": b"lower"}


@pytest.mark.parametrize("renamer", ["one", "two"])
def test_a_rename_that_changes_the_case_only(folding, renamer):
    data = b"x" * 300_000
    folding.write_there(**{"d/letter.txt": data, "empty": b""})
    wait_until(lambda: folding.files(folding.here) == {"d/letter.txt": data, "empty": b""}, 30, "they come", child=folding.one)
    root = folding.here if renamer == "one" else folding.there
    respell(os.path.join(root, "d/letter.txt"), os.path.join(root, "d/Letter.TXT"))
    getattr(folding, renamer).run("scan", "f")
    wanted = {"d/Letter.TXT": data, "empty": b""}
    for agent, place in ((folding.one, folding.here), (folding.two, folding.there)):
        wait_until(lambda: folding.files(place) == wanted, 30, f"{agent.name} follows", child=agent)
    respell(os.path.join(root, "d"), os.path.join(root, "D"))
    getattr(folding, renamer).run("scan", "f")
    wanted = {"D/Letter.TXT": data, "empty": b""}
    for agent, place in ((folding.one, folding.here), (folding.two, folding.there)):
        wait_until(lambda: folding.files(place) == wanted, 30, f"{agent.name} follows", child=agent)
    folding.settle()
    assert folding.files(folding.here) == folding.files(folding.there) == wanted
    assert folding.one.problems("f") == folding.two.problems("f") == {}


@pytest.mark.skipif("what?" not in KIND.refused, reason="a disk of this kind allows the name")
def test_a_name_that_the_disk_refuses(folding):
    files = {"what?": b"file", "a:b/x": b"in a directory", "other": b"other"}
    folding.write_there(**files)
    wait_until(lambda: folding.one.problems("f").keys() == {"what?", "a:b", "a:b/x"}, 60, "all are problems", child=folding.one)
    assert all("does not allow the name" in message for message in folding.one.problems("f").values())
    folding.settle()
    assert (folding.files(folding.here), folding.files(folding.there)) == ({"other": b"other"}, files)
    os.rename(os.path.join(folding.there, "what?"), os.path.join(folding.there, "what"))
    os.rename(os.path.join(folding.there, "a:b"), os.path.join(folding.there, "ab"))
    folding.two.run("scan", "f")
    wanted = {"what": b"file", "ab/x": b"in a directory", "other": b"other"}
    wait_until(lambda: folding.files(folding.here) == wanted, 60, "they come", child=folding.one)
    wait_until(lambda: folding.one.problems("f") == {}, 60, "nothing is wrong any more", child=folding.one)
    assert folding.files(folding.there) == wanted


def test_a_time_before_the_first_of_the_disk_is_no_change(folding):
    write(os.path.join(folding.there, "old"), b"old")
    os.utime(os.path.join(folding.there, "old"), (86_400, 86_400))
    folding.write_there(other=b"other")
    wait_until(lambda: folding.files(folding.here) == {"old": b"old", "other": b"other"}, 60, "they come", child=folding.one)
    folding.settle()
    known = folding.known(folding.one)
    # What the kernel or FUSE had in memory is gone.
    folding.one.stop()
    folding.disk.unmount()
    folding.disk.mount()
    assert os.stat(os.path.join(folding.here, "old")).st_mtime == max(86_400, KIND.first_time)
    folding.one.start()
    folding.one.wait_connected(folding.two.id)
    [summary] = folding.one.records("scan", "f")
    assert (summary["changed"], summary["deleted"], summary["problems"]) == (0, 0, 0), summary
    folding.settle()
    assert folding.known(folding.one) == folding.known(folding.two) == known
    assert os.stat(os.path.join(folding.there, "old")).st_mtime == 86_400
    # A newer version is no conflict.
    folding.write_there(old=b"newer")
    wait_until(lambda: folding.files(folding.here) == {"old": b"newer", "other": b"other"}, 60, "the edit comes", child=folding.one)
    assert folding.files(folding.there) == {"old": b"newer", "other": b"other"}


def test_directories_that_differ_in_case(folding):
    files = {"Dir/x": b"in Dir", "dir/y": b"in dir", "dir/sub/z": b"below dir"}
    folding.write_there(**{"Dir/x": b"in Dir"})
    wait_until(lambda: folding.files(folding.here) == {"Dir/x": b"in Dir"}, 30, "the first comes", child=folding.one)
    folding.write_there(**files)
    wait_until(lambda: "dir" in folding.one.problems("f"), 30, "a problem is named", child=folding.one)
    assert "Dir" in folding.one.problems("f")["dir"]
    folding.settle()
    assert folding.files(folding.here) == {"Dir/x": b"in Dir"}
    assert folding.files(folding.there) == files


def test_what_the_agent_keeps_for_itself_is_not_synced_in_another_case(folding):
    write(os.path.join(folding.here, ".STIGNORE"), b"// none\n")
    os.makedirs(os.path.join(folding.here, ".StVersions"))
    write(os.path.join(folding.here, ".StVersions/old"), b"old")
    write(os.path.join(folding.here, "new"), b"new")
    folding.one.run("scan", "f")
    wait_until(lambda: "new" in folding.files(folding.there), 30, "the file comes", child=folding.two)
    folding.settle()
    assert set(folding.files(folding.there)) == {"new"}


def test_a_disk_that_is_mounted_below_the_root(mounted):
    both = {f"{place}/{name}": data for place in ("here", "disk") for name, data in BOTH.items()}
    mounted.write_there(**both)
    for name in both:
        os.chmod(os.path.join(mounted.there, name), 0o600)
        os.utime(os.path.join(mounted.there, name), ns=(1_700_000_001_987_654_321,) * 2)
    mounted.two.run("scan", "f")
    wait_until(lambda: len(mounted.files(mounted.here)) == 3, 30, "all that has room comes", child=mounted.one)
    wait_until(lambda: mounted.one.problems("f"), 30, "a problem is named", child=mounted.one)
    [missing] = mounted.one.problems("f")
    assert missing.startswith("disk/")
    mounted.settle()
    assert mounted.files(mounted.there) == both
    assert mounted.files(mounted.here) == {name: data for name, data in both.items() if name != missing}
    # What one disk does not keep is kept on the other, and neither is taken for a change.
    for name in both:
        status = os.stat(os.path.join(mounted.there, name))
        assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o600, 1_700_000_001_987_654_321)
    here = os.stat(os.path.join(mounted.here, "here/Photo.JPG"))
    assert (here.st_mode & 0o777, here.st_mtime_ns) == (0o600, 1_700_000_001_987_654_321)
    os.chmod(os.path.join(mounted.there, "here/photo.jpg"), 0o640)
    mounted.two.run("scan", "f")
    wait_until(lambda: os.stat(os.path.join(mounted.here, "here/photo.jpg")).st_mode & 0o777 == 0o640, 30,
               "permissions still come", child=mounted.one)
    # A change of case only, on that disk.
    [present] = [name for name in both if name.startswith("disk/") and name != missing]
    os.remove(os.path.join(mounted.there, missing))
    os.rename(os.path.join(mounted.there, present), os.path.join(mounted.there, "disk/PHOTO.jpg"))
    mounted.two.run("scan", "f")
    wait_until(lambda: "disk/PHOTO.jpg" in mounted.files(mounted.here), 30, "the rename comes", child=mounted.one)
    wait_until(lambda: mounted.one.problems("f") == {}, 30, "nothing is wrong any more", child=mounted.one)
    assert mounted.files(mounted.here) == mounted.files(mounted.there)


@pytest.mark.skipif(KIND.keeps_attributes, reason="a disk of this kind keeps attributes")
def test_a_disk_without_attributes_says_so_once_and_removes_none(folding):
    try:
        os.setxattr(folding.there, "user.a", b"1")
    except OSError:
        # The machine in user mode has the other device's files in memory, where Linux keeps attributes since 6.6.
        pytest.skip("the other device's disk keeps no attributes either")
    for agent in (folding.one, folding.two):
        configure(agent, "f", "sync-xattrs = true\n")
    files = {f"d/{number}": b"%d" % number * 1000 for number in range(5)}
    for name, data in files.items():
        write(os.path.join(folding.there, name), data)
        os.setxattr(os.path.join(folding.there, name), "user.a", b"1")
    folding.two.run("scan", "f")
    wait_until(lambda: folding.files(folding.here) == files, 30, "they come", child=folding.one)
    message = folding.one.wait_problem("f", "")
    assert "keeps no extended attributes" in message and "sync-xattrs" in message
    assert list(folding.one.problems("f")) == [""]
    # What is edited there keeps, elsewhere, what the disk cannot have.
    write(os.path.join(folding.here, "d/1"), b"edited")
    folding.one.run("scan", "f")
    files["d/1"] = b"edited"
    wait_until(lambda: folding.files(folding.there) == files, 30, "the edit goes back", child=folding.two)
    folding.settle()
    assert all(attributes(os.path.join(folding.there, name)) == {"user.a": b"1"} for name in files)
    assert "user.a" not in str(folding.two.problems("f"))


def renamed(folding, files, later):
    """Waits until both have `files`, that at `later` under another name; gives what both have then."""
    earlier = {name: data for name, data in files.items() if name != later}
    stem, extension = os.path.splitext(later)

    def both():
        here = folding.files(folding.here)
        new = [name for name in here if name.startswith(f"{stem}.case-clash-") and name.endswith(extension)]
        return here == folding.files(folding.there) == {**earlier, **{name: files[later] for name in new[:1]}} and len(new) == 1
    wait_until(both, 60, "both have both files", child=folding.one)
    return folding.files(folding.here)


@pytest.mark.parametrize("first", sorted(BOTH))
def test_one_of_two_names_that_differ_in_case_is_renamed(folding, first):
    for agent in (folding.one, folding.two):
        configure(agent, "f", 'case-clash = "rename"\n')
    folding.write_there(**{first: BOTH[first], "other": b"other"})
    wait_until(lambda: folding.files(folding.here) == {first: BOTH[first], "other": b"other"}, 30, "the first comes", child=folding.one)
    folding.write_there(**BOTH)
    files = renamed(folding, {**BOTH, "other": b"other"}, "photo.jpg")
    folding.settle()
    assert folding.files(folding.here) == folding.files(folding.there) == files
    wait_until(lambda: folding.one.problems("f") == folding.two.problems("f") == {}, 30, "nothing is wrong", child=folding.one)
    # Its time is what it was, and an edit of either goes to both.
    [new] = files.keys() - BOTH.keys() - {"other"}
    for name in ("Photo.JPG", new):
        times = [os.stat(os.path.join(root, name)).st_mtime for root in (folding.here, folding.there)]
        assert abs(times[0] - times[1]) < 2  # the disk keeps every other second
        write(os.path.join(folding.here, name), b"edited " + name.encode())
    folding.one.run("scan", "f")
    edited = {"other": b"other", **{name: b"edited " + name.encode() for name in ("Photo.JPG", new)}}
    wait_until(lambda: folding.files(folding.there) == edited, 30, "the edits go out", child=folding.two)
    # Somebody makes the old name again: that is another file.
    folding.write_there(**{"photo.jpg": b"again"})
    # What is being given another name while it is read has no content.
    wanted = Counter([*edited.values(), b"again"])
    wait_until(lambda: Counter(folding.files(folding.here).values()) == wanted, 60, "it comes under another name", child=folding.one)
    wait_until(lambda: folding.files(folding.there) == folding.files(folding.here), 30, "both have the same", child=folding.two)
    assert edited.items() < folding.files(folding.there).items() and "photo.jpg" not in folding.files(folding.there)
