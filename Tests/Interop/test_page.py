"""The API over TCP as a browser that is logged in asks it, on real files of a real node."""

import http.client
import json
import os
import re
import socket
import time
import urllib.parse

import agent as cli
import pytest
from page import EventStream, Page
from process import free_port, wait_until

SIZES = {"b.txt": 2000, "a.txt": 10, "Z.bin": 300, "d/inner": 5000, "ä.txt": 0}


@pytest.fixture(scope="module")
def setting(nodes):
    lab, node, agent = nodes
    root = lab.folder_path(node, "docs")
    for name, size in SIZES.items():
        os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(os.urandom(size))
    for index in range(1500):
        os.makedirs(os.path.join(root, "many"), exist_ok=True)
        with open(os.path.join(root, "many", f"f{index:04}"), "wb") as file:
            file.write(b"x" * index)
    local = lab.share(agent, "docs", node)
    node.wait_scanned("docs", len(SIZES) + 1500)
    agent.wait_global("docs", len(SIZES) + 1500)
    return lab, node, agent, root, local


def names(document):
    return [entry["path"] for entry in document["entries"]]


def test_the_page_and_who_may_ask(setting):
    _, _, agent, _, _ = setting
    stranger = Page(agent, log_in=False)
    answer, body = stranger.ask("GET", "/")
    assert answer.status == 200 and b"<title>" in body
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    for file in re.findall(rb'(?:src|href)="(/page/[^"#]+)', body):
        assert stranger.ask("GET", file.decode())[0].status == 200, file
    answer, body = stranger.ask("GET", "/v1/status")
    assert answer.status == 401 and json.loads(body)["code"] == "not-logged-in"
    page = Page(agent)
    assert page.get("/v1/status")["device"] == agent.id
    other = f"http://127.0.0.1:{page.agent.port}"
    for headers in ({"Origin": other}, {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "cross-site"},
                    {"Origin": "null"}, {"Host": "evil.example"}):
        assert page.ask("GET", "/v1/status", **headers)[0].status == 403, headers
    for headers in ({"X_Synctrain": None}, {"Origin": None}, {"Origin": other}, {"X_Synctrain": "1"}):
        assert page.ask("POST", "/v1/sync", {}, **headers)[0].status == 403, headers
    assert page.send("POST", "/v1/sync", {}) == {"schema": 1}


def test_ten_thousand_idle_connections(setting):
    """Who connects and says nothing takes no more than its share, and not for long."""
    _, _, agent, _, _ = setting
    page = Page(agent)
    host, port = page.netloc.rsplit(":", 1)
    descriptors = f"/proc/{agent.process.pid}/fd"
    before, most, idle = len(os.listdir(descriptors)), 0, []

    def is_closed(connection):
        try:
            return connection.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
    def left():
        """How many the agent still has open."""
        for connection in [connection for connection in idle if is_closed(connection)]:
            connection.close()
            idle.remove(connection)
        return len(idle)
    try:
        # As many at a time as wait at a port that listens.
        for _ in range(100):
            new = [socket.create_connection((host, int(port)), 60) for _ in range(100)]
            for connection in new:
                connection.setblocking(False)
            idle += new
            most = max(most, len(os.listdir(descriptors)))
            wait_until(lambda: left() <= 256, 60, "those above the limit are closed", child=agent)
        assert most < before + 256 + 100 + 50
        assert agent.status()["device"] == agent.id, "the socket is served meanwhile"
        # The others stay open; a request replaces the oldest of them.
        assert page.get("/v1/status")["device"] == agent.id
        wait_until(lambda: left() == 0, 60, "none is left", child=agent)
    finally:
        for connection in idle:
            connection.close()


def test_logout(setting):
    _, _, agent, _, _ = setting
    first, second = Page(agent), Page(agent)
    events = EventStream(first)
    events.next()
    assert json.loads(agent.run("ui", "--logout", "--json").stdout)["ended"] >= 2
    with pytest.raises(http.client.IncompleteRead):
        events.answer.read()
    for page in (first, second):
        assert page.ask("GET", "/v1/status")[0].status == 401
    assert "logged out" in agent.run("ui", "--logout").stdout.decode()
    assert agent.try_run("ui", "--logout", "--no-open").returncode == cli.USAGE


def test_pages_of_a_directory(setting):
    _, _, agent, _, local = setting
    page = Page(agent)
    by_name = page.get("/v1/entries", path="docs:", limit=10, offset=0)
    assert names(by_name) == ["Z.bin", "a.txt", "b.txt", "d", "many", "ä.txt"] and by_name["total"] == 6
    assert names(page.get("/v1/entries", path="docs:", limit=2, offset=1)) == ["a.txt", "b.txt"]
    assert names(page.get("/v1/entries", path="docs:", limit=9, sort="size", order="desc")) == [
        "many", "d", "b.txt", "Z.bin", "a.txt", "ä.txt"]
    assert names(page.get("/v1/entries", path="docs:", limit=9, sort="name", order="desc"))[0] == "ä.txt"
    paged = []
    while len(paged) < 1500:
        part = page.get("/v1/entries", path="docs:many", limit=700, offset=len(paged))
        assert part["total"] == 1500 and part["offset"] == len(paged)
        paged += names(part)
    assert paged == [f"many/f{index:04}" for index in range(1500)]
    assert page.get("/v1/entries", path="docs:many", limit=1, offset=1500)["entries"] == []
    assert names(page.get("/v1/entries", path="docs:a.txt", limit=5)) == ["a.txt"]
    assert page.ask("GET", "/v1/entries?path=docs:nowhere&limit=5")[0].status == 404

    # What this disk has is filtered and sorted in, and seen at once.
    assert page.get("/v1/entries", path="docs:", limit=9, filter="here")["total"] == 0
    agent.run("select", "docs:b.txt")
    agent.wait_entry("docs:b.txt", lambda entry: entry["state"] == "present")
    with open(os.path.join(local, "own"), "wb") as file:
        file.write(b"1" * 100)
    assert names(page.get("/v1/entries", path="docs:", limit=9, filter="here")) == ["b.txt", "own"]
    assert names(page.get("/v1/entries", path="docs:", limit=9, filter="selected")) == ["b.txt"]
    extraneous = page.get("/v1/entries", path="docs:", limit=9, filter="extraneous")
    assert names(extraneous) == ["own"] and extraneous["entries"][0]["state"] == "extraneous"
    assert names(page.get("/v1/entries", path="docs:", limit=9, sort="size"))[:4] == ["ä.txt", "a.txt", "own", "Z.bin"]
    whole = {entry["path"]: entry for entry in cli.records(agent.run("ls", "docs:", "--json").stdout)}
    for entry in page.get("/v1/entries", path="docs:", limit=9)["entries"]:
        assert whole[entry["path"]] == entry
    os.unlink(os.path.join(local, "own"))
    assert page.get("/v1/entries", path="docs:", limit=9)["total"] == 6


def test_a_part_of_a_stream(setting):
    """More than the part has follows in the stream; the agent ends it there, and that is no error."""
    _, _, agent, _, local = setting
    page = Page(agent)
    mine = [os.path.join(local, name) for name in ("mine-1", "mine-2", "mine-3")]
    for path in mine:
        with open(path, "w") as file:
            file.write("mine")
    agent.run("scan", "docs")
    whole = names(page.get("/v1/extraneous", limit=100))
    assert {"mine-1", "mine-2", "mine-3"} <= set(whole)
    part = page.get("/v1/extraneous", limit=2)
    assert names(part) == whole[:2] and part.get("total") is None
    for path in mine:
        os.remove(path)
    agent.run("scan", "docs")


def test_pages_of_a_search_and_of_streams(setting):
    _, node, agent, root, _ = setting
    page = Page(agent)
    first = page.get("/v1/search", text="many/f", limit=1000, offset=0)
    rest = page.get("/v1/search", text="many/f", limit=1000, offset=1000)
    assert first["total"] == rest["total"] == 1500
    assert names(first) + names(rest) == [f"many/f{index:04}" for index in range(1500)]
    for name in ("one", "two"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"1")
        node.scan("docs")
        wait_until(lambda: name in names(page.get("/v1/changes", limit=1, offset=0)), 20, "the newest is first")
    assert names(page.get("/v1/changes", limit=1, offset=1)) == ["one"]
    assert page.get("/v1/need", limit=5)["offset"] == 0
    for path in ("selection", "extraneous", "conflicts", "versions", "refused"):
        part = page.get(f"/v1/{path}", limit=5)
        assert part["schema"] == 1 and part["offset"] == 0 and isinstance(part["entries"], list), path


def test_jobs_and_events(setting):
    _, _, agent, root, _ = setting
    page = Page(agent)
    events = EventStream(page)
    assert events.next() == (None, None) and events.last
    answer, body = page.ask("POST", "/v1/scan", {"paths": []}, Prefer="respond-async")
    assert answer.status == 202
    job = json.loads(body)["job"]
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}" and job["kind"] == "scan"
    ended = events.until("job", lambda event: event["job"]["id"] == job["id"] and "ended" in event["job"])
    assert ended["job"]["state"] == "done"
    result = page.get(f"/v1/jobs/{job['id']}")["job"]["result"]
    assert [folder["folder"] for folder in result["folders"]] == ["docs"]
    # What happens while nobody listens is there for who comes back.
    last = events.last
    events.close()
    fetch = {"paths": [{"text": "docs:d/inner", "workingDirectory": "/"}], "force": False,
             "output": agent.home + "/fetched"}
    number = page.send("POST", "/v1/fetch", fetch, Prefer="respond-async")["job"]["id"]
    wait_until(lambda: page.get(f"/v1/jobs/{number}")["job"]["state"] != "running", 20, "the fetch has ended")
    job = page.get(f"/v1/jobs/{number}")["job"]
    assert job["state"] == "done" and job["progress"]["type"] == "done" and job["progress"]["failed"] == 0
    with open(os.path.join(root, "d/inner"), "rb") as there, open(agent.home + "/fetched", "rb") as here:
        assert there.read() == here.read()
    events = EventStream(page, last=last)
    seen = [events.until("job")["job"]["id"] for _ in range(2)]
    assert seen == [number, number]
    events.close()
    events = EventStream(page, last="of-another-run-7")
    assert events.next()[1] is None and events.next()[0] == "gap"
    events.close()
    assert {number} <= {job["id"] for job in page.get("/v1/jobs")["jobs"]}
    page.send("DELETE", f"/v1/jobs/{number}")
    assert page.ask("GET", f"/v1/jobs/{number}")[0].status == 404


def test_records_and_the_code(setting):
    _, _, agent, _, _ = setting
    page = Page(agent)
    answer, body = page.ask("GET", "/v1/records?limit=50")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    records = [json.loads(line) for line in body.decode().strip().split("\n")]
    assert any("page and links" in record["message"] for record in records)
    assert [record["id"] for record in records] == sorted({record["id"] for record in records})
    assert all(record["type"] == "record" and record["level"] != "debug" for record in records)
    answer, body = page.ask("GET", "/v1/devices/qr")
    assert answer.headers["Content-Type"] == "image/svg+xml" and body.startswith(b"<svg")


def test_login_links(setting):
    _, _, agent, _, _ = setting
    page = Page(agent, log_in=False)
    link = agent.run("ui", "--no-open").stdout.decode().strip()[len(page.origin):]
    assert page.ask("HEAD", link)[0].status == 405
    assert page.ask("GET", link)[0].status == 303
    assert page.ask("GET", link)[0].status == 410
    # A session outlives the agent, until all are ended. At a port that no other test's agent takes meanwhile: at another one it ends.
    agent.run("config", "set", "http.listen", f"127.0.0.1:{free_port()}")
    agent.stop()
    agent.start()
    known = Page(agent)
    agent.stop()
    agent.start()
    again = Page(agent, log_in=False)
    again.cookie = known.cookie.replace(known.origin.rsplit(":")[-1], again.origin.rsplit(":")[-1])
    assert again.ask("GET", "/v1/status")[0].status == 200
    agent.run("ui", "--logout")
    assert again.ask("GET", "/v1/status")[0].status == 401


def test_files_do_not_run(setting):
    _, node, agent, root, _ = setting
    for name in ("x.html", "x.svg", "x.pdf", "x.txt", "x\r\nSet-Cookie: a=b.txt"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"<script>1</script>")
    node.scan("docs")
    agent.wait_entry("docs:x.html", lambda entry: entry is not None)
    page = Page(agent)
    for name, shown in (("x.html", False), ("x.svg", False), ("x.pdf", True), ("x.txt", True)):
        answer, body = page.ask("GET", f"/v1/file?path=docs:{name}")
        assert body == b"<script>1</script>"
        assert answer.headers["Content-Disposition"].startswith("inline" if shown else "attachment"), name
        policy = answer.headers["Content-Security-Policy"]
        assert "sandbox" in policy and "allow" not in policy and "frame-ancestors 'self'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        answer, _ = page.ask("HEAD", f"/v1/file?path=docs:{name}&download=true")
        assert answer.headers["Content-Disposition"].startswith("attachment") and answer.headers["Content-Length"] == "18"
    odd = urllib.parse.quote("docs:x\r\nSet-Cookie: a=b.txt")
    wait_until(lambda: page.ask("HEAD", f"/v1/file?path={odd}")[0].status == 200, 20, "the odd name is known")
    answer, _ = page.ask("GET", f"/v1/file?path={odd}")
    assert answer.headers["Set-Cookie"] is None and "a=b" in answer.headers["Content-Disposition"]


def test_slow_and_idle_clients(setting):
    _, _, agent, _, _ = setting
    page = Page(agent)
    host, port = page.netloc.split(":")
    address = (host, int(port))
    # Heads and bodies that trickle are cut off after ten seconds in all, however often something comes.
    begun = time.monotonic()
    head, body = socket.create_connection(address), socket.create_connection(address)
    head.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    body.sendall(f"POST /v1/scan HTTP/1.1\r\nHost: {page.netloc}\r\nCookie: {page.cookie}\r\nOrigin: {page.origin}\r\n"
                 "X-Synctrain: page\r\nContent-Length: 1000\r\n\r\n".encode())
    open_ones = {head: b"X: y\r\n", body: b" "}
    while open_ones and time.monotonic() - begun < 30:
        for connection, piece in list(open_ones.items()):
            connection.settimeout(0.2)
            try:
                connection.sendall(piece)
                if connection.recv(1000) == b"":
                    del open_ones[connection]
            except TimeoutError:
                pass
            except OSError:
                del open_ones[connection]
    assert not open_ones, "slow clients are cut off"
    # 10,000 silent connections: the oldest are closed, and requests are answered meanwhile.
    held, ended = [], 0
    for _ in range(10_000):
        connection = socket.create_connection(address)
        held.append(connection)
        if len(held) > 400:
            oldest = held.pop(0)
            oldest.settimeout(5)
            try:
                ended += oldest.recv(1) == b""
            except TimeoutError:
                pass
            except OSError:
                ended += 1
            oldest.close()
    assert ended > 9000
    assert agent.status()["device"] == agent.id
    assert page.get("/v1/status")["device"] == agent.id
    for connection in held:
        connection.close()
