"""The relay client against real relays, in a network namespace of its own.

`$RELAY_PROBE` names the built RelayProbe (Tests/NetworkLab/RelayProbe), `$RELAYSRV` the relays to test with, separated
by colons; without it, the `strelaysrv` on the path. Needs root. The package's service must be masked: it would start a
public relay.
"""

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
MARKER = b"plaintext marker of the relay probe"


def run_proxy(log_path):
    """Passes connections to 127.0.0.1:22067 on to the relay at 127.0.0.2:22067 and writes down every byte."""
    log = open(log_path, "ab", buffering=0)
    server = socket.create_server(("127.0.0.1", 22067))

    def pump(source, target):
        try:
            while data := source.recv(65536):
                log.write(data)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    while True:
        client, _ = server.accept()
        try:
            relay = socket.create_connection(("127.0.0.2", 22067))
        except OSError:
            client.close()
            continue
        for pair in ((client, relay), (relay, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


if __name__ == "__main__":
    run_proxy(sys.argv[1])


def probe_program():
    return os.environ.get("RELAY_PROBE")


def relay_programs():
    names = os.environ.get("RELAYSRV")
    return names.split(":") if names else [name for name in [shutil.which("strelaysrv")] if name]


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(not probe_program(), reason="$RELAY_PROBE is not set"),
    pytest.mark.skipif(not relay_programs(), reason="no strelaysrv"),
]


class Process:
    """A child in the namespace whose lines are kept."""

    def __init__(self, command, **options):
        self.lines, self.command = [], command
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, **options)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait_for(self, pattern, timeout=20, after=0):
        """The first line from number `after` on that matches, and its number."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                for number, line in enumerate(self.lines[after:], after):
                    if match := re.search(pattern, line):
                        return match, number
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{pattern!r} not within {timeout} s; last lines: {self.lines[-20:]}")
                self.changed.wait(left)

    def finish(self, timeout=60):
        code = self.process.wait(timeout)
        self.reader.join(5)
        return code, "\n".join(self.lines)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Space:
    """A network namespace with loopback only, a relay, and what runs beside it."""

    def __init__(self, directory, relay):
        self.directory, self.relay_program = str(directory), relay
        self.name = f"relay-client-{os.getpid()}"
        self.children = []
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        subprocess.run(["ip", "-n", self.name, "link", "set", "lo", "up"], check=True)
        os.makedirs(self.path("relay"))
        self.relay = None

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *command, **options):
        child = Process(["ip", "netns", "exec", self.name, *command], **options)
        self.children.append(child)
        return child

    def start_relay(self, *options, listen="127.0.0.1:22067"):
        # Without -pools "" it would offer itself to the public.
        self.relay = self.start(
            self.relay_program, "-listen", listen, "-keys", self.path("relay"), "-pools", "", "-status-srv", "",
            *options)
        match, _ = self.relay.wait_for(r"relay://\S+?id=([A-Z0-9-]{63})")
        self.id = match[1]
        return f"relay://127.0.0.1:22067/?id={self.id}"

    def device(self, name):
        """A directory with a new identity, and its device id."""
        directory = self.path(name)
        os.makedirs(directory)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "7300",
             "-subj", "/CN=syncthing", "-keyout", f"{directory}/key.pem", "-out", f"{directory}/cert.pem"],
            check=True, stderr=subprocess.DEVNULL)
        return directory, device_id(f"{directory}/cert.pem")

    def probe(self, *arguments, **environment):
        return self.start(probe_program(), *arguments, env=dict(os.environ, **environment))

    def send(self, *arguments):
        """What a transfer says, at the third try at the latest.

        strelaysrv drops one end of a session that both ends join at once (agents dial again, the probe does not).
        """
        for _ in range(3):
            code, output = self.probe("send", *arguments).finish()
            if code == 0 or "TLS handshake timed out" not in output:
                break
        assert code == 0, output
        return output

    def close(self):
        for child in self.children:
            child.stop()
        subprocess.run(["ip", "netns", "del", self.name], check=True)


def device_id(certificate):
    import base64
    import hashlib
    import ssl

    with open(certificate) as file:
        raw = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read())).digest()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    text = base64.b32encode(raw).decode().rstrip("=")
    checked = ""
    for start in range(0, 52, 13):
        part, factor, total = text[start:start + 13], 1, 0
        for character in part:
            value = factor * alphabet.index(character)
            factor = 3 - factor
            total += value // 32 + value % 32
        checked += part + alphabet[-total % 32]
    return "-".join(checked[start:start + 7] for start in range(0, 56, 7))


@pytest.fixture(params=relay_programs(), ids=os.path.basename)
def space(request, tmp_path):
    space = Space(tmp_path, request.param)
    yield space
    space.close()


def knows_tokens(space):
    text = subprocess.run([space.relay_program, "-help"], capture_output=True, text=True)
    return "-token" in text.stdout + text.stderr


def test_two_devices_exchange_10_mib(space):
    relay = space.start_relay()
    (first, _), (second, id) = space.device("first"), space.device("second")
    listener = space.probe("listen", relay, second)
    listener.wait_for("status joined")
    output = space.send(relay, first, id, "10")
    assert "sent 10 MiB" in output
    listener.wait_for("served transfer")
    # The round trip to the relay was measured.
    listener.wait_for(r"status joined .* \d+(\.\d+)?(e-\d+)? ms")


def test_a_relay_on_all_addresses(space):
    """1.19 names no address in its invitations then."""
    relay = space.start_relay(listen=":22067")
    (first, _), (second, id) = space.device("first"), space.device("second")
    space.probe("listen", relay, second).wait_for("status joined")
    space.send(relay, first, id, "1")


def test_a_device_that_is_not_joined(space):
    relay = space.start_relay()
    (first, _), (_, id) = space.device("first"), space.device("second")
    code, output = space.probe("hello", relay, first, id).finish()
    assert code == 1
    assert "not connected to this relay" in output


def test_the_wrong_relay(space):
    relay = space.start_relay()
    (first, id), (second, _) = space.device("first"), space.device("second")
    listener = space.probe("listen", relay.split("?")[0] + "?id=" + id, second)
    listener.wait_for("status waiting .* wrongRelay")


def test_tokens(space):
    if not knows_tokens(space):
        pytest.skip("this relay knows no tokens")
    relay = space.start_relay("-token", "s3cret &")
    (first, _), (second, id) = space.device("first"), space.device("second")
    space.probe("listen", relay, second).wait_for("status stopped .* wrongToken")
    space.probe("listen", relay + "&token=no", second).wait_for("status stopped .* wrongToken")
    listener = space.probe("listen", relay + "&token=s3cret%20%26", second)
    listener.wait_for("status joined")
    space.send(relay, first, id, "1")


def test_a_second_copy_of_a_device_waits(space):
    relay = space.start_relay()
    second, _ = space.device("second")
    listener = space.probe("listen", relay, second)
    listener.wait_for("status joined")
    copy = space.probe("listen", relay, second)
    copy.wait_for("status waiting .* alreadyConnected")
    listener.stop()
    copy.wait_for("status joined", timeout=90)


def test_a_restarted_relay_is_joined_again(space):
    relay = space.start_relay()
    (first, _), (second, id) = space.device("first"), space.device("second")
    listener = space.probe("listen", relay, second)
    listener.wait_for("status joined")
    space.relay.stop()
    _, number = listener.wait_for("status waiting")
    start = time.monotonic()
    space.start_relay()
    listener.wait_for("status joined", timeout=90, after=number)
    print(f"joined again {time.monotonic() - start:.1f} s after the relay's return")
    space.send(relay, first, id, "1")


def test_the_next_relay_of_a_pool(space):
    relay = space.start_relay()
    second, _ = space.device("second")
    pool = space.path("pool.json")
    with open(pool, "w") as file:
        file.write('{"relays":[{"url":"relay://127.0.0.1:1/?id=%s"},{"url":"%s&providedBy=x"}]}' % (space.id, relay))
    listener = space.probe("listen", "dynamic+http://127.0.0.1/endpoint", second, POOL=pool)
    listener.wait_for("status joined relay://127.0.0.1:22067")


def test_a_third_party_sees_tls_only(space):
    log = space.path("bytes")
    space.start_relay(listen="127.0.0.2:22067")
    proxy = space.start(sys.executable, os.path.abspath(__file__), log)
    relay = f"relay://127.0.0.1:22067/?id={space.id}"
    (first, _), (second, id) = space.device("first"), space.device("second")
    assert proxy.process.poll() is None
    listener = space.probe("listen", relay, second)
    listener.wait_for("status joined", timeout=30)
    space.send(relay, first, id, "2")
    with open(log, "rb") as file:
        passed = file.read()
    # Both directions of both ends: what was sent passed twice.
    assert len(passed) > 4 << 20
    assert MARKER not in passed
    assert MARKER[:16] not in passed
    assert b"syncthing" not in passed
    # Session mode's own messages are the only plain ones: their magic number and type begin each.
    assert struct.pack(">Ii", 0x9E79BC40, 3) in passed


@pytest.mark.skipif(not os.environ.get("PEER_PROBE"), reason="$PEER_PROBE is not set")
class TestWithAnIndependentClient:
    """`$PEER_PROBE` is a relay client in Python that is not ours, with the commands `hello` and `serve`."""

    def test_it_dials_us(self, space):
        relay = space.start_relay()
        (first, _), (second, id) = space.device("first"), space.device("second")
        listener = space.probe("listen", relay, second)
        listener.wait_for("status joined")
        code, output = space.start(sys.executable, os.environ["PEER_PROBE"], "hello", relay, first, id).finish()
        assert code == 0, output
        assert "peer identity ok" in output and "hello <-" in output
        listener.wait_for("served hello")

    def test_we_dial_it(self, space):
        relay = space.start_relay()
        (first, _), (second, id) = space.device("first"), space.device("second")
        peer = space.start(sys.executable, "-u", os.environ["PEER_PROBE"], "serve", relay, second)
        peer.wait_for("Response")
        code, output = space.probe("hello", relay, first, id).finish()
        assert code == 0, output
        peer.wait_for("hello <- 2ea7d90b")
