"""Pairing by a code: the command as a process that a test talks to, and a peer of our own that speaks the protocol,
written from docs/decisions/pairing.md alone."""

import codecs
import hashlib
import json
import os
import pty
import queue
import subprocess
import threading

from link import Identity, Link, LinkClosed

ALPN = "synctrain-pair/1"
COMMIT, NONCE, REVEAL, CONFIRM, INTRODUCE, DONE, REFUSE = range(1, 8)
USER, TIME, BUSY, MISTAKE, STORAGE = range(1, 6)


def message(kind, body=b""):
    return bytes([kind]) + len(body).to_bytes(2, "big") + body


def introduction(name=b"probe", addresses=()):
    return message(INTRODUCE, bytes([len(name)]) + name + bytes([len(addresses)])
                   + b"".join(len(a).to_bytes(2, "big") + a for a in addresses))


class PairingPeer:
    """The dialling side of an attempt."""

    def __init__(self, directory, address, nonce=b"\x11" * 32, identity=None):
        self.identity = identity or Identity.create(directory, "p256")
        self.link = Link.dial(address, self.identity, alpn=ALPN)
        self.nonce = nonce
        self.theirs = None

    @property
    def commitment(self):
        return hashlib.sha256(b"synctrain-pair/1 commitment\n" + self.identity.raw_id + self.link.peer_raw_id
                              + self.nonce).digest()

    @property
    def code(self):
        digest = hashlib.sha256(b"synctrain-pair/1 code\n" + self.identity.raw_id + self.link.peer_raw_id
                                + self.nonce + self.theirs).digest()
        return f"{int.from_bytes(digest[:4], 'big') % 1_000_000:06}"

    def send(self, kind, body=b""):
        self.link.send_raw(message(kind, body))

    def receive(self):
        """(kind, body); LinkClosed at the end."""
        head = self.link._take(3)
        return head[0], self.link._take(int.from_bytes(head[1:], "big"))

    def open(self, knows=False):
        """Until both have the code."""
        self.send(COMMIT, bytes([knows]) + self.commitment)
        kind, body = self.receive()
        assert kind == NONCE and len(body) == 33, (kind, body)
        self.theirs = body[1:]
        self.send(REVEAL, self.nonce)
        return self.code

    def rest(self):
        """All that still comes, until the link ends."""
        messages = []
        try:
            while True:
                messages.append(self.receive())
        except LinkClosed:
            return messages

    def close(self):
        self.link.close()


class PairCommand:
    """`synctrain pair` on an agent's machine, with events as they come. With `terminal` it has one, and no `--json`."""

    WORDS = ("pair",)

    def __init__(self, agent, *arguments, terminal=False):
        self.agent, self.terminal = agent, terminal
        self._events = queue.Queue()
        self.seen, self.text = [], ""
        if terminal:
            self._master, slave = pty.openpty()
            self.process = subprocess.Popen(agent.command(*self.WORDS, *arguments), stdin=slave, stdout=slave, stderr=slave,
                                            env={**agent.environment, "TERM": "xterm"}, cwd="/", start_new_session=True)
            os.close(slave)
            reader = self._read_terminal
        else:
            self.process = subprocess.Popen(agent.command(*self.WORDS, "--json", *arguments), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=agent.environment,
                                            cwd="/", start_new_session=True)
            reader = self._read_events
        self._reader = threading.Thread(target=reader, daemon=True)
        self._reader.start()

    def _read_events(self):
        for line in self.process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)

    def _read_terminal(self):
        # A part may end within a character.
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        try:
            while data := os.read(self._master, 4096):
                self.text += decoder.decode(data)
        except OSError:
            pass

    def event(self, type, timeout=20):
        """The next event of this type; those before it are passed over."""
        while True:
            event = self._events.get(timeout=timeout)
            assert event is not None, f"no {type} before the end; {self.seen}; {self.process.stderr.read()!r}"
            self.seen.append(event)
            if event["type"] == type:
                return event

    def type(self, text):
        if self.terminal:
            os.write(self._master, text.encode())
        else:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()

    def wait(self, timeout=20):
        """Its exit code and, without a terminal, the error that it ended with (None for none)."""
        try:
            code = self.process.wait(timeout)
        finally:
            self.kill()
        self._reader.join(5)
        if self.terminal:
            return code, self.text
        errors = self.process.stderr.read().decode().strip()
        return code, json.loads(errors.split("\n")[-1]) if errors else None

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
