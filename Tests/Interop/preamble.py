"""The first bytes of a link over a radio, written from docs/bluetooth-wire.md alone, and a stranger on the virtual air."""

import hashlib
import hmac
import os
import socket

KNOWN, PAIRING = b"\x01", b"\x02"


def derive(dialler, responder, dialler_nonce, responder_nonce):
    """(proof, key of what the dialler sends, key of what the other sends); ids are 32 bytes each."""
    seed = hmac.new(dialler_nonce + responder_nonce, dialler + responder, hashlib.sha256).digest()
    output, block = b"", b""
    for number in range(1, 4):
        block = hmac.new(seed, block + b"synctrain link preamble 1\n" + bytes([number]), hashlib.sha256).digest()
        output += block
    return output[:16], output[16:48], output[48:80]


class Stranger:
    """Somebody on the air who connects to a device by its name."""

    def __init__(self, radio, target, mode="l2cap", timeout=15):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(radio.path)
        self.socket.sendall(f"dial {target} - {mode}\n".encode())
        line = b""
        while not line.endswith(b"\n"):
            byte = self.socket.recv(1)
            if not byte:
                raise ConnectionError(f"no link to {target}: {line!r}")
            line += byte
        if not line.startswith(b"linked"):
            raise ConnectionError(line.decode())

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                break
            data += part
        return data

    def rest(self):
        """All that still comes, until the other side closes."""
        data = b""
        try:
            while part := self.socket.recv(65536):
                data += part
        except ConnectionResetError:
            pass
        return data

    def close(self):
        self.socket.close()


def nonce():
    return os.urandom(16)
