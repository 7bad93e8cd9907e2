"""Files of a real node read through links, by programs that speak HTTP and know nothing of synctrain."""

import hashlib
import http.client
import os
import re
import stat
import urllib.error
import urllib.parse
import urllib.request

import agent as cli
import pytest
from process import wait_until

MIB = 1 << 20
BLOCK = 128 << 10


@pytest.fixture(scope="module")
def setting(nodes):
    """A film of 64 MiB that only the real node has."""
    lab, node, agent = nodes
    root = lab.folder_path(node, "films")
    os.makedirs(root)
    film = os.urandom(64 * MIB)
    for name, data in (("film & träiler.mp4", film), ("empty", b""), ("page.html", b"<script>alert(1)</script>")):
        with open(os.path.join(root, name), "wb") as file:
            file.write(data)
    local = lab.share(agent, "films", node)
    node.wait_scanned("films", 3)
    agent.wait_global("films", 3)
    return lab, node, agent, root, local, film


def ask(url, method="GET", **headers):
    """The answer with its body, whatever its status."""
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer, answer.read()
    except urllib.error.HTTPError as answer:
        return answer, answer.read()


def link(agent, path, *arguments):
    return agent.run("url", path, *arguments).stdout.decode().strip()


def bytes_in(agent, device):
    return next(d["bytesIn"] for d in agent.status()["devices"] if d["id"] == device)


def test_a_film_that_only_the_node_has(setting):
    _, node, agent, _, local, film = setting
    url = link(agent, "films:film & träiler.mp4")
    assert url.startswith(agent.status()["http"] + "/file?")

    # The tail, as players look for what is at the end: the one block that has it, and not the film.
    before = bytes_in(agent, node.id)
    answer, tail = ask(url, Range="bytes=-1000")
    assert answer.status == 206 and tail == film[-1000:]
    assert answer.headers["Content-Range"] == f"bytes {len(film) - 1000}-{len(film) - 1}/{len(film)}"
    assert answer.headers["Content-Type"] == "video/mp4" and "ETag" not in answer.headers
    assert bytes_in(agent, node.id) - before < 2 * BLOCK

    # Begun from the start and left after the first bytes: what was asked for ahead is little.
    before = bytes_in(agent, node.id)
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers["Content-Length"] == str(len(film))
    assert answer.read(1000) == film[:1000]
    connection.close()
    assert bytes_in(agent, node.id) - before < 32 * MIB

    answer, head = ask(url, "HEAD")
    assert answer.status == 200 and answer.headers["Content-Length"] == str(len(film)) and head == b""
    answer, whole = ask(url)
    assert hashlib.sha256(whole).digest() == hashlib.sha256(film).digest()
    assert os.listdir(local) == [".stfolder"] or ".stfolder" in os.listdir(local), "nothing is selected by reading"
    assert not any("film" in name for name in os.listdir(local))


def test_odd_files_and_bad_links(setting):
    _, _, agent, _, _, _ = setting
    answer, body = ask(link(agent, "films:empty"))
    assert answer.status == 200 and answer.headers["Content-Length"] == "0" and body == b""
    answer, _ = ask(link(agent, "films:page.html"))
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    url = link(agent, "films:page.html")
    assert ask(url.replace("page", "Page"))[0].status == 403
    assert ask(url, Host="evil.example")[0].status == 403
    assert ask(url, Origin="http://evil.example")[0].status == 403
    assert ask(agent.status()["http"] + "/v1/status")[0].status == 401
    assert agent.try_run("url", "films:no such file").returncode == cli.NO_SUCH
    assert agent.try_run("url", "films:page.html", "--for", "2y").returncode == cli.USAGE
    assert stat.S_IMODE(os.stat(agent.file("http.key")).st_mode) == 0o600


def test_open(setting):
    lab, _, agent, _, _, _ = setting
    seen = lab.path("seen")
    program = lab.path("player")
    with open(program, "w") as file:
        file.write(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}\n[ "$1" != fail ]\n')
    os.chmod(program, 0o755)
    try:
        agent.variables["SYNCTRAIN_OPEN"] = f"{program} --fs"
        agent.run("open", "films:page.html")
        with open(seen) as file:
            option, url = file.read().splitlines()
        assert option == "--fs" and ask(url)[1] == b"<script>alert(1)</script>"
        agent.variables["SYNCTRAIN_OPEN"] = f"{program} fail"
        assert agent.try_run("open", "films:page.html").returncode == cli.FAILED
        agent.variables.update({"SYNCTRAIN_OPEN": "", "PATH": "/nonexistent"})
        assert ask(agent.run("open", "films:page.html").stdout.decode().strip())[0].status == 200
    finally:
        agent.variables.clear()


def test_the_login_link_is_in_no_programs_arguments(setting):
    lab, _, agent, _, _, _ = setting
    seen = lab.directory("seen by a browser")
    program = lab.path("browser")
    with open(program, "w") as file:
        file.write(f"""#!/bin/sh
for process in /proc/[0-9]*; do tr '\\0' ' ' < $process/cmdline; echo; done > '{seen}/arguments' 2> /dev/null
printf '%s' "$1" > '{seen}/path'; stat -c %a "$1" > '{seen}/mode'; cp "$1" '{seen}/page'
[ "$FAILS" = "" ]
""")
    os.chmod(program, 0o755)

    def of(name):
        with open(os.path.join(seen, name)) as file:
            return file.read()

    agent.variables["SYNCTRAIN_OPEN"] = program
    try:
        assert agent.run("ui").stdout == b""
        link = re.search(r'url=(http[^"]*/login\?token=([0-9a-f]{64}))">', of("page"))
        assert link and of("mode") == "600\n" and os.path.dirname(of("path")) == os.path.dirname(agent.socket)
        assert program in of("arguments") and link[2] not in of("arguments") and "login?token" not in of("arguments")
        assert os.path.exists(of("path")), "until it is used"
        assert login(link[1]) == 303
        wait_until(lambda: not os.path.exists(of("path")), 5, "the file goes with its use")
        assert login(link[1]) == 410
        # Where the program fails, the link is printed.
        agent.variables["FAILS"] = "yes"
        failed = agent.try_run("ui")
        assert failed.returncode == cli.FAILED and failed.stdout.decode().strip() in of("page")
        assert os.path.exists(of("path"))
        agent.stop()
        assert not os.path.exists(of("path")), "it goes with the agent"
        with open(os.path.join(os.path.dirname(of("path")), "login-left.html"), "w"):
            pass
    finally:
        agent.variables.clear()
    agent.start()
    assert not os.path.exists(os.path.join(os.path.dirname(of("path")), "login-left.html"))


def login(url):
    """The status of the answer to a login link, which leads elsewhere."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    connection.request("GET", f"{parts.path}?{parts.query}")
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_film_that_changes_while_it_is_read(setting):
    """What is read is the beginning of the version that it began with, never of two."""
    _, node, agent, root, _, _ = setting
    path = os.path.join(root, "changes.mp4")
    old = os.urandom(64 * MIB)
    with open(path, "wb") as file:
        file.write(old)
    node.scan("films")
    agent.wait_entry("films:changes.mp4", lambda entry: entry is not None)
    parts = urllib.parse.urlsplit(link(agent, "films:changes.mp4"))
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    got = answer.read(1000)
    with open(path, "r+b") as file:
        file.write(os.urandom(64 * MIB))
    node.scan("films")
    try:
        got += answer.read()
    except http.client.IncompleteRead as error:
        got += error.partial
    connection.close()
    assert len(got) < len(old) and old.startswith(got)


def test_deleted_and_no_holder(setting):
    """Runs last in this module: it stops the node."""
    _, node, agent, root, _, _ = setting
    with open(os.path.join(root, "never read"), "wb") as file:
        file.write(os.urandom(2 * BLOCK))
    node.scan("films")
    agent.wait_entry("films:never read", lambda entry: entry is not None)
    url, other = link(agent, "films:page.html"), link(agent, "films:never read")
    os.remove(os.path.join(root, "page.html"))
    node.scan("films")
    agent.wait_entry("films:page.html", lambda entry: entry is None)
    for method in ("GET", "HEAD"):
        assert ask(url, method)[0].status == 410
    node.kill()
    agent.wait_disconnected(node.id)
    answer, body = ask(other)
    assert answer.status == 503 and b"holder" in body
