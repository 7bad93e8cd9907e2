"""What the extension decides, without a file manager: states, menus, places, HTTP."""

import json
import random

import pytest
from synctrain_files import http, places, states


def entry(state="absent", selected="no", kind="file", path="a/b.jpg", **other):
    return states.entry({"type": kind, "folder": "library", "path": path, "state": state, "selected": selected, **other})


@pytest.mark.parametrize(("document", "emblem"), [
    (entry("absent"), "synctrain-absent"),
    (entry("absent", kind="directory"), "synctrain-absent"),
    (entry("queued", "explicit"), "synctrain-busy"),
    (entry("queued", "explicit", waitsFor="device"), "synctrain-busy"),
    (entry("queued", "explicit", waitsFor="space"), "synctrain-problem"),
    (entry("queued", "implicit", waitsFor="halted"), "synctrain-problem"),
    (entry("downloading", "implicit"), "synctrain-busy"),
    (entry("downloading"), "synctrain-busy"),
    (entry("partial", "implicit"), "synctrain-busy"),
    # Some blocks were read: nobody waits for the others.
    (entry("partial"), "synctrain-absent"),
    (entry("partial", kind="directory", selectedBelow=True), "synctrain-busy"),
    (entry("present", "explicit"), "synctrain-here"),
    (entry("modified", "implicit"), "synctrain-here"),
    (entry("downloaded"), "synctrain-here"),
    (entry("present", "explicit", "directory"), "synctrain-here"),
    # Some of what is below is here, some is not: neither holds.
    (entry("present", "no", "directory", selectedBelow=True), None),
    (entry("present", "explicit", "directory", leftOutBelow=True), None),
    (entry("conflict", "implicit"), "synctrain-problem"),
    (entry("extraneous"), "synctrain-problem"),
    (entry("a word of a later agent"), None),
    (None, None),
])
def test_emblems(document, emblem):
    assert states.emblem(document) == emblem


@pytest.mark.parametrize("document", [
    None, 7, [], {}, {"type": "file"}, {"type": "file", "folder": 1, "path": "a", "state": "absent", "selected": "no"},
    {"type": "error", "code": "gone", "message": "…", "path": "a"}])
def test_what_is_no_entry_says_nothing(document):
    assert states.entry(document) is None


def labels(*entries):
    return [(item.action, item.references) for item in states.menu(list(entries))]


def test_menus():
    absent, here = entry("absent", path="x"), entry("present", "explicit", path="y")
    mixed = entry("present", "explicit", "directory", path="z", leftOutBelow=True)
    assert labels(absent) == [("keep", ("library:x",)), ("show", ("library:x",))]
    assert labels(here) == [("free", ("library:y",)), ("show", ("library:y",))]
    assert labels(entry("downloaded", path="d")) == [("keep", ("library:d",)), ("free", ("library:d",)), ("show", ("library:d",))]
    # Each item does what can be done with some of them.
    assert labels(absent, here) == [("keep", ("library:x",)), ("free", ("library:y",))]
    assert labels(mixed) == [("keep", ("library:z",)), ("free", ("library:z",)), ("show", ("library:z",))]
    # A whole folder is for the page.
    assert labels(entry("present", kind="directory", path="")) == [("show", ("library:",))]
    assert labels(entry("present", kind="directory", path=""), absent) == []
    # Of what is not known nothing is offered, not even for the rest.
    assert labels() == labels(absent, None) == []
    assert labels(*[absent] * (states.PATH_LIMIT + 1)) == []


def test_requests_and_commands():
    keep, show = states.menu([entry("absent", path="-x y\n")])
    assert states.request(keep) == ("/v1/selection", {
        "paths": [{"text": "library:-x y\n", "workingDirectory": "/"}], "select": True, "dryRun": False})
    assert states.command(show) == ["synctrain", "ui", "--", "library:-x y\n"]
    free, _ = states.menu([entry("present", "explicit")])
    assert states.request(free)[1]["select"] is False


def test_remarks():
    keep, _ = states.menu([entry("absent")])
    free, _ = states.menu([entry("present", "explicit")])
    assert states.remark(keep, 200, {"folders": [{"folder": "library"}]}) is None
    assert states.remark(keep, 200, None) is None
    assert states.remark(keep, 0, None)[1] == "The agent did not answer."
    assert states.remark(free, 409, {"code": "busy", "message": "Try later."})[1] == "Try later."
    assert "1.5 GiB more" in states.remark(keep, 200, {"folders": [{"short": 3 << 29}]})[1]
    staying = {"freeing": {"stayingFiles": 3, "staying": [{"path": "a", "message": "No other device has it."}]}}
    assert states.remark(free, 200, {"folders": [staying]})[1] == "a (and 2 more) stays: No other device has it."
    for odd in ({"folders": 1}, {"folders": [1]}, {"folders": [{"freeing": []}]}, {"folders": [{"freeing": {"staying": [1]}}]}):
        assert states.remark(free, 200, odd) is None


def test_a_command_that_failed_says_why():
    assert states.complaint(0, "Opened.\n") is None
    said = "note: of no weight\nsynctrain: No agent answers on /run/agent.sock. Start it.\n\n"
    assert states.complaint(3, said)[1] == "No agent answers on /run/agent.sock. Start it."
    assert states.complaint(-1, "")[1] == "`synctrain ui` failed."
    # It is not on the path of the file manager.
    assert "synctrain" in states.complaint(-1, "Failed to execute child process “synctrain” (No such file or directory)")[1]


MOUNTS = b"""22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/vda rw
90 22 0:50 / /home/me/My\\040Library rw,nosuid,nodev,relatime shared:9 - fuse.synctrain synctrain:library rw,user_id=1000
91 22 0:51 / /home/me/odd rw - fuse.synctrain synctrain:a:b\\134c rw
92 22 0:52 / /home/me/other rw - fuse.sshfs synctrain:library rw
93 22 0:53 / /home/me/fuse.synctrain rw - ext4 synctrain:x rw
short - fuse.synctrain
"""


def test_mounts_of_ours():
    assert places.mounts(MOUNTS) == [("/home/me/My Library", "library"), ("/home/me/odd", "a:b\\c")]
    assert places.mounts(b"") == []


def test_places():
    document = {"folders": [{"id": "library", "path": "/home/me/library/"}, {"id": "inner", "path": "/home/me/library/in"},
                            {"id": 7, "path": "/x"}, {"path": "relative", "id": "y"}, "nonsense"]}
    roots = places.folders(document) + places.mounts(MOUNTS)
    assert places.find("/home/me/library", roots) == ("library", "")
    assert places.find("/home/me/library/a/b", roots) == ("library", "a/b")
    assert places.find("/home/me/library/in/a", roots) == ("inner", "a")
    assert places.find("/home/me/library2/a", roots) is None
    assert places.find("/home/me/My Library/a", roots) == ("library", "a")
    assert places.find("/home/me/library/\udcff", roots) is None, "not UTF-8"
    assert places.folders(None) == places.folders({"folders": 3}) == []
    assert places.shown(("library", "")) == (("library", None), "")
    assert places.shown(("library", "a")) == (("library", ""), "a")
    assert places.shown(("library", "a/b c")) == (("library", "a"), "b c")
    assert places.listing(("library", None), 0, 10) == "/v1/stat?path=library%3A"
    assert places.listing(("library", "ä&b"), 10, 5) == "/v1/entries?path=library%3A%C3%A4%26b&limit=5&offset=10"


@pytest.mark.parametrize(("environment", "socket"), [
    ({"SYNCTRAIN_HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1"}, "/h/agent.sock"),
    ({"SYNCTRAIN_HOME": "relative"}, None),
    ({"XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/me"}, "/run/user/1/synctrain/agent.sock"),
    ({"XDG_STATE_HOME": "/s", "HOME": "/home/me"}, "/s/synctrain/agent.sock"),
    ({"XDG_RUNTIME_DIR": "relative", "HOME": "/home/me"}, "/home/me/.local/state/synctrain/agent.sock"),
    ({}, None)])
def test_the_socket_is_where_the_agent_puts_it(environment, socket):
    assert places.socket(environment) == socket


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Type: application/json\r\n\r\n{\"a\":1}"
CHUNKED = b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3;x=y\r\n:1}\r\n0\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n{\"a\":1}"


@pytest.mark.parametrize(("data", "status"), [(PLAIN, 200), (CHUNKED, 404), (ENDLESS, 200)])
def test_answers_whatever_their_pieces(data, status):
    for pieces in ([data], [data[i:i + 1] for i in range(len(data))], [data[:30], data[30:60], data[60:]]):
        answer = http.Answer()
        body = b"".join(answer.feed(piece) for piece in pieces)
        answer.end()
        assert (answer.status, http.parsed(body), answer.is_whole) == (status, {"a": 1}, True)


@pytest.mark.parametrize("data", [
    b"", PLAIN[:-1], CHUNKED[:-9], b"SSH-2.0\r\n\r\n", b"HTTP/1.1 20\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: \xc2\xb2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"x" * (http.HEAD_LIMIT + 1)])
def test_what_is_no_answer_is_an_error(data):
    answer = http.Answer()
    with pytest.raises(http.Malformed):
        answer.feed(data)
        answer.end()


def test_changed_bytes_do_no_harm():
    source = random.Random(7)
    for _ in range(3000):
        data = bytearray(source.choice([PLAIN, CHUNKED, ENDLESS]))
        for _ in range(source.randint(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        answer = http.Answer()
        try:
            body = answer.feed(bytes(data))
            answer.end()
        except http.Malformed:
            continue
        states.entry(http.parsed(body))
        places.folders(http.parsed(body))


def test_requests_on_the_wire():
    assert http.request("GET", "/v1/folders").endswith(b"\r\n\r\n")
    head, _, body = http.request("POST", "/v1/selection", {"a": "ä\n"}).partition(b"\r\n\r\n")
    assert json.loads(body) == {"a": "ä\n"} and f"Content-Length: {len(body)}".encode() in head


def test_lines():
    lines = http.Lines(limit=20)
    assert lines.feed(b'{"a":1}\n{"b"') == [{"a": 1}]
    assert lines.feed(b':2}\nnonsense\n7\n') == [{"b": 2}]
    with pytest.raises(http.Malformed):
        lines.feed(b"x" * 21)
