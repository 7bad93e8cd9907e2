"""Global discovery against real discovery servers, in network namespaces of its own.

`$DISCOVERY_PROBE` names the built DiscoveryProbe (Tests/NetworkLab/DiscoveryProbe), `$DISCOSRV` the servers to test with,
separated by colons; without it, the `stdiscosrv` on the path. Needs root. The package's service must be masked. The
servers drop loopback addresses, so the probe lives in a namespace beside the server's.
"""

import os
import re
import shutil
import subprocess
import time

import pytest

SERVERS = [path for path in os.environ.get("DISCOSRV", shutil.which("stdiscosrv") or "").split(":") if path]
PROBE = os.environ.get("DISCOVERY_PROBE")
SERVER_ADDRESS, HOME_ADDRESS = "11.7.0.1", "11.7.0.10"

pytestmark = [
    pytest.mark.skipif(not PROBE, reason="DISCOVERY_PROBE does not name the built DiscoveryProbe"),
    pytest.mark.skipif(not SERVERS, reason="no stdiscosrv; install syncthing-discosrv"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]


def ip(*words):
    subprocess.run(("ip",) + words, check=True)


@pytest.fixture
def spaces():
    """Two namespaces with a cable between them: the server's and the home's."""
    names = [f"disco-{os.getpid()}-{end}" for end in ("net", "home")]
    for name in names:
        ip("netns", "add", name)
    try:
        ip("link", "add", "eth0", "netns", names[0], "type", "veth", "peer", "name", "eth0", "netns", names[1])
        for name, address in zip(names, (SERVER_ADDRESS, HOME_ADDRESS)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(("ip", "netns", "del", name))


def listens(space, port):
    command = ("ip", "netns", "exec", space, "ss", "-Hltn", f"sport = {port}")
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() != ""


@pytest.fixture(params=SERVERS)
def server(request, spaces, tmp_path):
    """A discovery server's URL without its pin, and its id."""
    (tmp_path / "db").mkdir()
    log = tmp_path / "server.log"
    words = [
        "ip", "netns", "exec", spaces[0], request.param, "--listen", f"{SERVER_ADDRESS}:8443",
        "--cert", str(tmp_path / "c.pem"), "--key", str(tmp_path / "k.pem"), "--db-dir", str(tmp_path / "db"),
    ]
    help_text = subprocess.run((request.param, "--help"), capture_output=True, text=True)
    if "replication-listen" in help_text.stdout + help_text.stderr:
        words += ["--replication-listen", ""]
    with open(log, "w") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 20
        found = None
        while not (found and listens(spaces[0], 8443)):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            found = re.search(r"[A-Z2-7]{7}(?:-[A-Z2-7]{7}){7}", log.read_text())
            time.sleep(0.05)
        yield f"https://{SERVER_ADDRESS}:8443/v2/", found.group()
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    home = tmp_path_factory.mktemp("identity")
    certificate, key = str(home / "cert.pem"), str(home / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "1", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384",
         "-subj", "/CN=syncthing", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def probe(spaces, identity, *words):
    command = ("ip", "netns", "exec", spaces[1], PROBE) + identity + words
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return lines[0].removeprefix("device "), lines[1:]


def test_announces_and_looks_up(spaces, server, identity):
    url, pin = server
    device, lines = probe(
        spaces, identity, "announce", f"{url}?id={pin}", "tcp://:22000", "tcp://198.51.100.7:22001", "tcp://127.0.0.1:1",
        "relay://198.51.100.8:22067/?id=AAA&token=secret", "quic://0.0.0.0:22000", "tcp6://[::]:22002")
    assert len(lines) == 1 and lines[0].startswith("announced "), lines
    assert "secret" not in lines[0] and "quic" not in lines[0]
    # Reannounce-After is 3300 to 3599 s.
    assert 3200 <= int(re.search(r"next in (\d+) s", lines[0]).group(1)) < 3600
    _, lines = probe(spaces, identity, "lookup", f"{url}?id={pin}", device)
    assert sorted(lines) == [
        f"address relay://198.51.100.8:22067/?id=AAA", f"address tcp://{HOME_ADDRESS}:22000",
        "address tcp://198.51.100.7:22001", "done",
    ]


def test_knows_no_stranger(spaces, server, identity):
    url, pin = server
    _, lines = probe(spaces, identity, "lookup", f"{url}?id={pin}", pin)
    assert lines == ["done"]


def test_refuses_a_wrong_pin(spaces, server, identity):
    url, pin = server
    device, _ = probe(spaces, identity, "lookup", f"{url}?id={pin}", pin)
    for kind, words in (("announce", ["tcp://:22000"]), ("lookup", [device])):
        _, lines = probe(spaces, identity, kind, f"{url}?id={device}", *words)
        assert len(lines) == 1 and lines[0].startswith("problem ") and pin in lines[0], lines
    _, lines = probe(spaces, identity, "announce", url, "tcp://:22000")
    assert "certificate" in lines[0]
    # Neither reached the server.
    _, lines = probe(spaces, identity, "lookup", f"{url}?insecure", device)
    assert lines == ["done"]


def test_says_what_a_server_refuses(spaces, server, identity):
    url, pin = server
    # All that is left here is a family that the server does not see this device by.
    _, lines = probe(spaces, identity, "announce", f"{url}?id={pin}", "tcp6://[::]:22000")
    assert lines[0].startswith("problem ") and "forward a port" in lines[0]


def test_says_that_nothing_listens(spaces, identity):
    _, lines = probe(spaces, identity, "announce", f"https://{SERVER_ADDRESS}:9/?insecure", "tcp://:22000")
    assert lines[0].startswith("problem ") and f"{SERVER_ADDRESS}:9" in lines[0]
