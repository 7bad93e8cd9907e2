"""What the extension remembers and asks again, with an agent, a clock and timers of the test's."""

from urllib.parse import parse_qs, urlsplit

import pytest
from synctrain_files import view as module
from synctrain_files.view import View


class World:
    """An agent that knows a tree. Questions wait in `asked` until they are answered."""

    def __init__(self):
        self.now, self.timers, self.asked, self.changes, self.streams, self.mounts = 0.0, [], [], [], [], b""
        self.tree = {"a": {"x": "absent", "y": "present"}}
        self.view = View(self, lambda: self.now, lambda seconds, call: self.timers.append((self.now + seconds, call)),
                         lambda: self.mounts, self.changes.append)
        self.seen = {}

    def ask(self, method, target, document, seconds, done):
        self.asked.append((target, done))

    def follow(self, target, line, ended):
        self.streams.append((line, ended))
        return object()

    def answer(self, is_away=False):
        """Answers all that is asked, also what is asked because of it; gives how much that was."""
        count = 0
        while self.asked:
            target, done = self.asked.pop(0)
            count += 1
            done(*((0, None) if is_away else self._answer(target)))
        return count

    def _answer(self, target):
        parts = urlsplit(target)
        query = {key: value[0] for key, value in parse_qs(parts.query).items()}
        if parts.path == "/v1/folders":
            return 200, {"folders": [{"id": "f", "path": "/home/f"}]}
        path = query["path"].partition(":")[2]
        if parts.path == "/v1/stat":
            return 200, self._entry("", "present", "directory")
        if path not in self.tree:
            return 404, {"type": "error", "code": "no-such-path"}
        names = sorted(self.tree[path].items())
        offset, limit = int(query["offset"]), int(query["limit"])
        shown = names[offset:offset + limit]
        return 200, {"entries": [self._entry(f"{path}/{name}".strip("/"), state) for name, state in shown], "offset": offset,
                     "total": len(names)}

    @staticmethod
    def _entry(path, state, kind="file"):
        selected = "explicit" if state in ("present", "downloading") else "no"
        return {"type": kind, "folder": "f", "path": path, "state": state, "selected": selected}

    def look(self, path):
        def known(entry):
            self.seen[path] = entry.state if entry else None
            self.view.show(path, module.states.emblem(entry))

        self.seen.pop(path, None)
        self.view.look(path, known)

    def wait(self, seconds):
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, call in due:
            call()


@pytest.fixture
def world():
    return World()


def test_a_directory_is_asked_for_once(world):
    for name in ("x", "y", "z"):
        world.look(f"/home/f/a/{name}")
    assert world.answer() == 2, "the folders, and the directory"
    assert world.seen == {"/home/f/a/x": "absent", "/home/f/a/y": "present", "/home/f/a/z": None}
    world.look("/home/f/a/x")
    world.look("/home/elsewhere/x")
    assert world.asked == [] and world.seen["/home/f/a/x"] == "absent" and world.seen["/home/elsewhere/x"] is None
    assert world.view.known("/home/f/a/y").state == "present"
    assert world.view.known("/home/f/b/y") is None


def test_a_folders_root_and_mounts(world):
    world.look("/home/f")
    world.answer()
    assert world.seen == {"/home/f": "present"}
    world.mounts = (b"9 1 0:5 / /media/f rw - fuse.synctrain synctrain:f rw\n"
                    b"9 1 0:5 / /media/g rw - fuse.synctrain synctrain:g rw\n")
    world.now += 2
    world.look("/media/f/a/x")
    world.look("/media/g/a/x")
    world.answer()
    assert (world.seen["/media/f/a/x"], world.seen["/media/g/a/x"]) == ("absent", None), "g is no folder of this agent"


def test_a_large_directory_comes_in_parts_and_early_names_early(world):
    world.tree["a"] = {f"{number:05}": "absent" for number in range(2500)}
    world.look("/home/f/a/00001")
    world.look("/home/f/a/02400")
    world.asked.pop(0)[1](*world._answer("/v1/folders"))
    target, done = world.asked.pop(0)
    done(*world._answer(target))
    assert world.seen == {"/home/f/a/00001": "absent"}
    world.answer()
    assert world.seen["/home/f/a/02400"] == "absent"
    # No more than so many parts.
    world.tree["b"] = {f"{number:05}": "absent" for number in range(module.PAGE * module.PAGES + 5)}
    world.look(f"/home/f/b/{module.PAGE * module.PAGES + 1:05}")
    assert world.answer() == module.PAGES
    assert world.seen[f"/home/f/b/{module.PAGE * module.PAGES + 1:05}"] is None


def test_what_has_changed_is_told_and_nothing_else(world):
    for name in ("x", "y"):
        world.look(f"/home/f/a/{name}")
    world.answer()
    (line, _), = world.streams
    world.tree["a"]["x"] = "downloading"
    for _ in range(50):
        line({"type": "files-changed", "folder": "f"})
    assert world.asked == [] and world.changes == []
    world.wait(module.PAUSE)
    assert world.answer() == 1, "once for all that happened"
    assert world.changes == ["/home/f/a/x"]
    # Another folder's change asks nothing; nor does an event that says nothing of files.
    line({"type": "files-changed", "folder": "g"})
    line({"type": "job", "folder": "f"})
    world.wait(10)
    assert world.answer() == 0
    assert world.timers == [], "at rest nothing wakes up"


def test_changes_while_it_asks_are_asked_for_again(world):
    world.look("/home/f/a/x")
    world.answer()
    (line, _), = world.streams
    line({"type": "files-changed", "folder": "f"})
    world.wait(module.PAUSE)
    world.tree["a"]["x"] = "present"
    line({"type": "folder-changed", "folder": "f"})
    world.now += 2
    world.answer()
    assert world.changes == ["/home/f/a/x"]
    world.look("/home/f/a/x")
    world.changes.clear()
    world.tree["a"]["x"] = "absent"
    world.wait(module.PAUSE)
    assert world.answer() == 0, "an agent that took two seconds is left alone for twenty"
    world.wait(20)
    world.answer()
    assert world.changes == ["/home/f/a/x"]


def test_without_an_agent_nothing_is_claimed_and_it_is_left_alone(world):
    world.look("/home/f/a/x")
    world.answer(is_away=True)
    assert world.seen == {"/home/f/a/x": None}
    for _ in range(100):
        world.look("/home/f/a/x")
    assert world.asked == []
    # What was looked at meanwhile gets its emblem when the agent comes.
    world.wait(module.AWAY)
    world.answer(is_away=True)
    world.wait(6 * module.AWAY)
    world.answer()
    assert world.changes == ["/home/f/a/x"]
    world.look("/home/f/a/x")
    world.answer()
    assert world.seen == {"/home/f/a/x": "absent"}


def test_an_agent_that_goes_takes_its_emblems_along(world):
    world.look("/home/f/a/x")
    world.answer()
    world.streams.pop()[1]()
    world.wait(module.AWAY)
    world.answer(is_away=True)
    assert world.changes == ["/home/f/a/x"]
    world.look("/home/f/a/x")
    assert world.seen == {"/home/f/a/x": None} and world.asked == []
    world.changes.clear()
    world.wait(6 * module.AWAY)
    world.answer()
    assert world.changes == ["/home/f/a/x"] and len(world.streams) == 1


def test_an_agent_that_is_restarted(world):
    world.look("/home/f/a/x")
    world.answer()
    world.streams.pop()[1]()
    world.wait(module.AWAY)
    world.answer()
    world.look("/home/f/a/x")
    assert world.answer() == 1, "an answer of the agent before it is not good"


def test_memory_is_bounded(world):
    world.look("/home/f/a/x")
    world.answer()
    for number in range(3 * module.DIRECTORIES):
        world.tree[f"d{number}"] = {"x": "absent"}
        world.look(f"/home/f/d{number}/x")
    world.answer()
    assert len(world.view._directories) == module.DIRECTORIES
    for number in range(module.SHOWN + 10):
        world.view.show(f"/{number}", None)
    assert len(world.view._shown) == module.SHOWN
    # However many wait, no more than so many are remembered; the others are answered at once.
    for number in range(module.WAITING + 5):
        world.look(f"/home/f/new/{number}")
    assert sum(value is None for path, value in world.seen.items() if "/new/" in path) == 5


def test_what_is_under_way_is_bounded(world):
    world.look("/home/f/a/x")
    world.answer()
    for number in range(20):
        world.look(f"/home/f/d{number}/x")
    assert len(world.asked) == module.UNDER_WAY
    world.answer()
    assert len([path for path in world.seen if "/d" in path]) == 20
