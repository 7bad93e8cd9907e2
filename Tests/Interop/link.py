"""A TLS link that speaks frames, and the identity it is made with."""

import hashlib
import os
import socket
import ssl
import struct
import subprocess
import threading

from wire import (
    HELLO_MAGIC, MAX_MESSAGE, NO_COMPRESSION, TYPE_NAMES, Frame, ProtocolError, decode, device_id_text, encode,
    frame_bytes, hello_bytes,
)

DEADLINE = 20.0
"""Seconds that any single wait may take unless the caller says otherwise."""


class LinkClosed(Exception):
    """The other side ended the link (or TLS did)."""


class Identity:
    """A self-signed certificate with its key in files, as the ssl module wants them."""

    KEYS = {
        "p256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "p384": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
        "ed25519": ["-newkey", "ed25519"],
        "rsa": ["-newkey", "rsa:3072"],
    }

    def __init__(self, certificate, key):
        self.certificate, self.key = certificate, key
        with open(certificate) as file:
            der = ssl.PEM_cert_to_DER_cert(file.read())
        self.raw_id = hashlib.sha256(der).digest()
        self.id = device_id_text(self.raw_id)
        self.short_id = int.from_bytes(self.raw_id[:8], "big")

    @classmethod
    def create(cls, directory, kind="p384", name="syncthing"):
        """Makes (or reuses) `directory`/cert.pem and key.pem."""
        os.makedirs(directory, mode=0o700, exist_ok=True)
        certificate, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
        if not os.path.exists(certificate):
            subprocess.run(
                ["openssl", "req", "-x509", *cls.KEYS[kind], "-nodes", "-subj", f"/CN={name}", "-days", "7300",
                 "-keyout", key, "-out", certificate],
                check=True, capture_output=True)
            os.chmod(key, 0o600)
        return cls(certificate, key)


def tls_context(identity, server_side, trust=(), alpn="bep/1.0"):
    """TLS 1.3 with one certificate each way. A server must be told the certificates (PEM files) it will meet, since the
    ssl module cannot accept a client certificate that it cannot verify."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([alpn])
    context.load_cert_chain(identity.certificate, identity.key)
    if server_side:
        context.num_tickets = 0
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        for certificate in trust:
            context.load_verify_locations(certificate)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def split_address(address):
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return host, int(port)


class Link:
    """TLS over a socket; one thread may read while others write.

    The ssl module's own sockets cannot do that in Python 3.11 (two threads inside one OpenSSL object), so the records
    go through memory and a lock keeps OpenSSL to one thread at a time.
    """

    def __init__(self, sock, context, server_side=False, timeout=DEADLINE):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(timeout)
        self.socket = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        self._tls_lock, self._send_lock = threading.Lock(), threading.Lock()
        self._buffer = bytearray()
        self.bytes_in = self.bytes_out = 0
        self._handshake()
        certificate = self._tls.getpeercert(binary_form=True)
        self.peer_raw_id = hashlib.sha256(certificate).digest() if certificate else None

    @classmethod
    def dial(cls, address, identity, timeout=DEADLINE, alpn="bep/1.0"):
        sock = socket.create_connection(split_address(address), timeout)
        try:
            return cls(sock, tls_context(identity, False, alpn=alpn), timeout=timeout)
        except BaseException:
            sock.close()
            raise

    @property
    def peer_id(self):
        return device_id_text(self.peer_raw_id) if self.peer_raw_id else None

    @property
    def alpn(self):
        return self._tls.selected_alpn_protocol()

    def _handshake(self):
        while True:
            try:
                self._tls.do_handshake()
                self._flush()
                return
            except ssl.SSLWantReadError:
                self._flush()
                self._receive_records()
            except ssl.SSLError as error:
                self._flush()
                raise LinkClosed(f"TLS: {error}") from error

    def _flush(self):
        with self._send_lock:
            with self._tls_lock:
                data = self._outgoing.read()
            if data:
                self._send_all(data)

    def _send_all(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise LinkClosed(f"send: {error}") from error
        self.bytes_out += len(data)

    def _receive_records(self):
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise
        except OSError as error:
            raise LinkClosed(f"receive: {error}") from error
        if not data:
            raise LinkClosed("end of stream")
        self.bytes_in += len(data)
        with self._tls_lock:
            self._incoming.write(data)

    def send_raw(self, data):
        """Sends bytes as they are (inside TLS)."""
        view = memoryview(data)
        with self._send_lock:
            for start in range(0, len(view), 1 << 20):
                with self._tls_lock:
                    try:
                        self._tls.write(view[start:start + (1 << 20)])
                    except ssl.SSLError as error:
                        raise LinkClosed(f"TLS: {error}") from error
                    records = self._outgoing.read()
                self._send_all(records)

    def receive_some(self):
        """At least one byte; LinkClosed at the end, TimeoutError if the socket's timeout passes first."""
        while True:
            with self._tls_lock:
                try:
                    data = self._tls.read(1 << 16)
                except ssl.SSLWantReadError:
                    data = None
                except ssl.SSLError as error:
                    raise LinkClosed(f"TLS: {error}") from error
                answer = self._outgoing.pending
            if answer:
                self._flush()
            if data:
                return data
            if data is not None:
                raise LinkClosed("end of stream")
            self._receive_records()

    def _take(self, count):
        while len(self._buffer) < count:
            self._buffer += self.receive_some()
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def send_hello(self, **hello):
        self.send_raw(hello_bytes(hello))

    def receive_hello(self):
        """(raw bytes, decoded message)"""
        head = self._take(6)
        magic, length = struct.unpack(">IH", head)
        if magic != HELLO_MAGIC:
            raise ProtocolError(f"magic {magic:08x}")
        body = self._take(length)
        return head + body, decode("Hello", body)

    def send(self, type, message=None, compression=NO_COMPRESSION):
        self.send_raw(frame_bytes(type, encode(TYPE_NAMES[type], message or {}), compression))

    def receive(self):
        """The next frame."""
        head = self._take(2)
        length = struct.unpack(">H", head)[0]
        head += self._take(length + 4)
        size = struct.unpack(">I", head[-4:])[0]
        if size > MAX_MESSAGE:
            raise ProtocolError(f"message of {size} bytes")
        return Frame(head + self._take(size))

    def close(self):
        """Ends the link without a word."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
