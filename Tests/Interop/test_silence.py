"""Connections that send nothing are closed after a deadline and lock nobody out until then."""

import http.client
import socket
import time
import urllib.parse

from link import Identity, Link, split_address
from pairing import PairCommand
from process import wait_until


class Silent:
    """Connections on which the test sends nothing more."""

    def __init__(self, sockets):
        self._open = list(sockets)
        for connection in self._open:
            connection.setblocking(False)

    def remaining(self):
        """How many the other side has not closed."""
        self._open = [connection for connection in self._open if not self._has_ended(connection)]
        return len(self._open)

    @staticmethod
    def _has_ended(connection):
        try:
            while connection.recv(1 << 16):
                pass
        except BlockingIOError:
            return False
        except ConnectionError:
            pass
        connection.close()
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self._open:
            connection.close()


def test_silent_devices(lab):
    """200 unknown devices and a known one send no Hello; 200 more connections do not start TLS."""
    agent, other = lab.agent(), lab.agent("other")
    known, stranger, newcomer = (Identity.create(lab.path(name), "p256") for name in ("known", "stranger", "newcomer"))
    agent.add_device(known.id, "known")
    with Silent([Link.dial(agent.address, known).socket]) as one, \
            Silent([Link.dial(agent.address, stranger).socket for _ in range(200)]) as strangers, \
            Silent([socket.create_connection(split_address(agent.address), 10) for _ in range(200)]) as unsecured:
        wait_until(lambda: strangers.remaining() <= 32, 10, "strangers above the limit are closed at once")
        # Pairing has slots of its own.
        waiting = PairCommand(agent, "--expect-sas", "-")
        waiting.event("waiting")
        calling = PairCommand(other, agent.address, "--expect-sas", "-")
        code = calling.event("code")["code"]
        for command in (waiting, calling):
            command.type(code + "\n")
        assert waiting.wait() == (0, None) and calling.wait() == (0, None)
        # Known or not, each has 20 s for its Hello, and 10 s for TLS.
        for silent in (one, strangers, unsecured):
            wait_until(lambda silent=silent: silent.remaining() == 0, 25, "the silent ones are closed")
    # An unknown device that says Hello becomes a pending device.
    link = Link.dial(agent.address, newcomer)
    link.send_hello(device_name="newcomer", client_name="x", client_version="v1")
    wait_until(lambda: newcomer.id in {record["id"] for record in agent.records("device", "list", "--pending")}, 10,
               "the newcomer is pending")
    link.close()


def test_a_known_device_connects_beside_hundreds_of_silent_connections(lab):
    """More connections without TLS than the agent keeps: they are replaced by whoever comes, and delay nobody."""
    agent = lab.agent()
    known, stranger = (Identity.create(lab.path(name), "p256") for name in ("known", "stranger"))
    agent.add_device(known.id, "known")
    strangers = []
    with Silent([socket.create_connection(split_address(agent.address), 10) for _ in range(700)]) as unsecured:
        # The limit for one address; far from the 10 s that each has for TLS.
        wait_until(lambda: unsecured.remaining() <= 64, 5, "the oldest of the address are replaced")
        for _ in range(40):
            try:
                strangers.append(Link.dial(agent.address, stranger).socket)
            except OSError:
                pass
        with Silent(strangers) as silent:
            wait_until(lambda: silent.remaining() <= 16, 5, "strangers of one address above its limit are closed")
            begun = time.monotonic()
            link = Link.dial(agent.address, known)
            link.send_hello(device_name="known", client_name="x", client_version="v1")
            agent.wait_connected(known.id)
            assert agent.status()["device"] == agent.id
            assert time.monotonic() - begun < 8, "nobody waits for the silent ones' timeouts"
            link.close()


def test_a_known_device_has_few_silent_links(lab):
    agent = lab.agent()
    known = Identity.create(lab.path("known"), "p256")
    agent.add_device(known.id, "known")
    with Silent([Link.dial(agent.address, known).socket for _ in range(60)]) as silent:
        wait_until(lambda: silent.remaining() <= 16, 10, "the oldest are replaced")
        link = Link.dial(agent.address, known)
        link.send_hello(device_name="known", client_name="x", client_version="v1")
        agent.wait_connected(known.id)
        link.close()


def connected(path):
    connection = socket.socket(socket.AF_UNIX)
    # Without a timeout: then it waits while the backlog is full.
    connection.connect(path)
    return connection


def test_silent_connections_to_the_control_socket(lab):
    agent = lab.agent()
    with Silent([connected(agent.socket) for _ in range(70)]):
        assert agent.status()["device"] == agent.id
    with Silent([connected(agent.socket) for _ in range(400)]) as silent:
        assert agent.status()["device"] == agent.id
        wait_until(lambda: silent.remaining() <= 256, 10, "the oldest above the limit are closed")


def test_silent_connections_to_the_http_port(lab):
    agent = lab.agent()
    netloc = urllib.parse.urlsplit(agent.status()["http"]).netloc
    with Silent([socket.create_connection(netloc.split(":"), 10) for _ in range(400)]) as silent:
        connection = http.client.HTTPConnection(netloc, timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        wait_until(lambda: silent.remaining() <= 256, 10, "the oldest above the limit are closed")
