"""Archives that only a real node has, looked into from here, and a directory of it as a web site."""

import hashlib
import http.client
import io
import json
import os
import re
import signal
import subprocess
import urllib.parse
import zipfile

import agent as cli
import pytest

MIB = 1 << 20
BLOCK = 128 << 10
TEXT = b"what the member says\n" * 500


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("synctrain", timeout=60)
        self.path = path

    def connect(self):
        import socket
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def member_answer(agent, archive, member, method="GET", **headers):
    """Status, headers and body of a member, over the control socket."""
    query = urllib.parse.urlencode({"path": archive, "member": member}, quote_via=urllib.parse.quote)
    connection = UnixConnection(agent.socket)
    connection.request(method, "/v1/archive/member?" + query, headers=headers)
    answer = connection.getresponse()
    try:
        body = answer.read()
    except http.client.IncompleteRead as error:
        body = error.partial
    connection.close()
    return answer, body


def bytes_in(agent, device):
    return next(d["bytesIn"] for d in agent.status()["devices"] if d["id"] == device)


def members(agent, archive):
    output = agent.run("zip", "ls", archive, "--json").stdout.decode()
    return {m["path"]: m for m in map(json.loads, output.splitlines())}


@pytest.fixture(scope="module")
def setting(nodes):
    """A zip of 200 MiB, an image of 50, and a small site; nothing of it is here."""
    lab, node, agent = nodes
    root = lab.folder_path(node, "a")
    os.makedirs(root)
    noise = os.urandom(10 * MIB)
    with zipfile.ZipFile(os.path.join(root, "big.zip"), "w") as archive:
        for number in range(20):
            archive.writestr(f"films/{number}.mp4", noise[number:] + noise[:number])
            if number == 10:
                archive.writestr(zipfile.ZipInfo("notes/ä side.txt"), TEXT, zipfile.ZIP_DEFLATED)
    damaged = io.BytesIO()
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("good", TEXT)
        archive.writestr("bad", noise[:3 * MIB])
        archive.writestr("../../escape", b"no")
    data = bytearray(damaged.getvalue())
    data[data.index(noise[:100]) + MIB] ^= 1
    with open(os.path.join(root, "damaged.zip"), "wb") as file:
        file.write(data)
    with open(os.path.join(root, "none.zip"), "wb") as file:
        file.write(noise[:MIB])
    tree = lab.directory("tree")
    os.makedirs(os.path.join(tree, "deep/er"))
    for name, content in (("film.bin", noise * 5), ("deep/er/ä side.txt", TEXT)):
        with open(os.path.join(tree, name), "wb") as file:
            file.write(content)
    subprocess.run(["genisoimage", "-quiet", "-R", "-J", "-input-charset", "utf-8", "-o", os.path.join(root, "disc.iso"),
                    tree], check=True, capture_output=True)
    secret = os.path.join(tree, "deep/er/ä side.txt")
    subprocess.run(["zip", "-q", "-j", "-P", "x", os.path.join(root, "secret.zip"), secret], check=True)
    site = os.path.join(root, "www")
    os.makedirs(os.path.join(site, "list"))
    for name, content in (
            ("index.html", b"<script src=app.js></script>"), ("app.js", b"document.title = 'runs'"),
            ("data.json", b"{}"), ("list/<b>&.txt", b"odd"), ("list/film.mp4", noise[:MIB]), ("gone.txt", b"gone")):
        with open(os.path.join(site, name), "wb") as file:
            file.write(content)
    lab.share(agent, "a", node)
    node.wait_scanned("a", 11)
    agent.wait_global("a", 11)
    return lab, node, agent, root, noise


def test_a_zip_is_not_fetched_to_be_looked_into(setting):
    _, node, agent, _, noise = setting
    before = bytes_in(agent, node.id)
    found = members(agent, "a:big.zip")
    assert len(found) == 21
    assert found["notes/ä side.txt"] == {**found["notes/ä side.txt"], "kind": "file", "size": len(TEXT)}
    listed = bytes_in(agent, node.id)
    assert listed - before < 2 * BLOCK, "a listing costs the block that has the directory"

    assert agent.run("zip", "cat", "a:big.zip", "notes/ä side.txt").stdout == TEXT
    read = bytes_in(agent, node.id)
    assert read - listed < 3 * BLOCK, "a small member costs its own blocks"

    # A range of what is stored: as of a file.
    answer, body = member_answer(agent, "a:big.zip", "films/3.mp4", Range="bytes=5000000-5000999")
    expected = (noise[3:] + noise[:3])[5000000:5001000]
    assert answer.status == 206 and body == expected
    assert answer.headers["Content-Range"] == f"bytes 5000000-5000999/{10 * MIB}"
    assert answer.headers["Content-Type"] == "video/mp4"
    assert bytes_in(agent, node.id) - read < 4 * BLOCK

    before = bytes_in(agent, node.id)
    whole = agent.run("zip", "cat", "a:big.zip", "films/7.mp4").stdout
    assert hashlib.sha256(whole).digest() == hashlib.sha256(noise[7:] + noise[:7]).digest()
    assert bytes_in(agent, node.id) - before < 12 * MIB

    answer, body = member_answer(agent, "a:big.zip", "notes/ä side.txt", Range="bytes=0-5")
    assert answer.status == 200 and body == TEXT and answer.headers["Accept-Ranges"] == "none"
    answer, body = member_answer(agent, "a:big.zip", "notes/ä side.txt", "HEAD")
    assert answer.headers["Content-Length"] == str(len(TEXT)) and body == b""


def test_an_image_is_not_fetched_either(setting):
    _, node, agent, _, noise = setting
    before = bytes_in(agent, node.id)
    found = members(agent, "a:disc.iso")
    assert {path: m["kind"] for path, m in found.items()} == {
        "film.bin": "file", "deep": "directory", "deep/er": "directory", "deep/er/ä side.txt": "file"}
    assert agent.run("zip", "cat", "a:disc.iso", "deep/er/ä side.txt").stdout == TEXT
    answer, body = member_answer(agent, "a:disc.iso", "film.bin", Range="bytes=-1000")
    assert answer.status == 206 and body == noise[-1000:]
    assert bytes_in(agent, node.id) - before < 6 * BLOCK


def test_what_is_wrong_is_said(setting, tmp_path):
    _, _, agent, _, noise = setting
    assert agent.run("zip", "cat", "a:damaged.zip", "good").stdout == TEXT
    out = tmp_path / "bad"
    result = agent.try_run("zip", "cat", "a:damaged.zip", "bad", "-o", str(out))
    assert result.returncode == cli.FAILED and not list(tmp_path.iterdir())
    answer, body = member_answer(agent, "a:damaged.zip", "bad")
    assert answer.status == 200 and len(body) < 3 * MIB == int(answer.headers["Content-Length"])
    assert "../../escape" in members(agent, "a:damaged.zip")
    assert agent.run("zip", "cat", "a:damaged.zip", "../../escape").stdout == b"no"

    assert members(agent, "a:secret.zip")["ä side.txt"]["encrypted"] is True
    result = agent.try_run("zip", "cat", "a:secret.zip", "ä side.txt")
    assert result.returncode == cli.USAGE and b"encrypted" in result.stderr
    assert agent.try_run("zip", "ls", "a:none.zip").returncode == cli.USAGE
    assert agent.try_run("zip", "ls", "a:www").returncode == cli.USAGE
    assert agent.try_run("zip", "ls", "a:no.zip").returncode == cli.NO_SUCH
    assert agent.try_run("zip", "cat", "a:big.zip", "films/99.mp4").returncode == cli.NO_SUCH
    assert agent.try_run("zip", "cat", "a:big.zip", "notes").returncode == cli.NO_SUCH
    assert agent.try_run("zip", "cat", "a:disc.iso", "deep").returncode == cli.USAGE


class Site:
    """`synctrain serve` as its user runs it."""

    def __init__(self, agent, directory):
        self.process = subprocess.Popen(
            [agent.program, "--home", agent.home, "serve", directory], env=agent.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.url = self.process.stdout.readline().decode().strip()
        self.host = urllib.parse.urlsplit(self.url).netloc
        self.port = int(self.host.rpartition(":")[2])

    def ask(self, target, method="GET", host=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, target, skip_host=True)
        for name, value in {"Host": host or self.host, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


def test_a_directory_as_a_web_site(setting):
    _, node, agent, root, noise = setting
    site = Site(agent, "a:www")
    try:
        assert re.fullmatch(r"http://site-[0-9a-z]+\.localhost:\d+/", site.url)
        answer, body = site.ask("/")
        assert answer.status == 200 and body == b"<script src=app.js></script>"
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "sandbox" not in answer.headers["Content-Security-Policy"]
        assert site.ask("/app.js")[0].headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert site.ask("/data.json?v=1")[0].headers["Content-Type"] == "application/json"

        answer, _ = site.ask("/list")
        assert answer.status == 308 and answer.headers["Location"] == "/list/"
        answer, body = site.ask("/list/")
        assert b"&lt;b&gt;&amp;.txt</a>" in body and b"film.mp4" in body
        assert site.ask("/list/%3Cb%3E%26.txt")[1] == b"odd"
        answer, body = site.ask("/list/film.mp4", Range="bytes=-100")
        assert answer.status == 206 and body == noise[MIB - 100:MIB]
        answer, body = site.ask("/list/film.mp4", "HEAD")
        assert answer.headers["Content-Length"] == str(MIB) and body == b""

        for target in ("/none", "/../big.zip", "/%2e%2e/big.zip", "/list/%2e%2e%2f%2e%2e%2fbig.zip", "/app.js/", "//x/"):
            assert site.ask(target)[0].status == 404, target
        for host in (f"127.0.0.1:{site.port}", f"localhost:{site.port}", "evil.example", site.host.split(":")[0]):
            answer, body = site.ask("/", host=host)
            assert answer.status == 403 and site.host.split(".")[0].encode() not in body, host
        assert site.ask("/app.js", "POST")[0].status == 405
        os.remove(os.path.join(root, "www/gone.txt"))
        node.scan("a")
        agent.wait_entry("a:www/gone.txt", lambda entry: entry is None)
        assert site.ask("/gone.txt")[0].status == 410
        # The agent itself is not asked under that name.
        agent_port = int(agent.status()["http"].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", agent_port, timeout=60)
        connection.request("GET", "/", headers={"Host": site.host})
        assert connection.getresponse().status == 403
        connection.close()
    finally:
        assert site.end() == 130
    assert agent.try_run("serve", "a:big.zip").returncode == cli.USAGE
    assert agent.try_run("serve", "a:nowhere").returncode == cli.NO_SUCH
