"""The agent's control API without its command line: HTTP on the Unix socket, one connection kept open."""

import http.client
import json
import socket
import time
import urllib.parse


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Control:
    def __init__(self, agent):
        self._connection = UnixConnection(agent.socket)

    def get(self, route, headers=None, **query):
        """The body of a 2xx answer."""
        response = self._open(route, headers, query)
        body = response.read()
        if response.status >= 300:
            raise OSError(f"{route}: {response.status} {body[:500]!r}")
        return body

    def _open(self, route, headers, query):
        target = route + ("?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else "")
        self._connection.request("GET", target, headers=headers or {})
        return self._connection.getresponse()

    def status(self):
        return json.loads(self.get("/v1/status"))

    def folder(self, folder_id):
        return next((f for f in self.status()["folders"] if f["id"] == folder_id), {})

    def global_files(self, folder_id):
        return self.folder(folder_id).get("global", {}).get("files", 0)

    def timed(self, route, **query):
        """(seconds until the last byte, lines of the answer)"""
        start = time.perf_counter()
        body = self.get(route, **query)
        return time.perf_counter() - start, body.count(b"\n")

    def first_byte(self, path, first, last):
        """(seconds until the first byte of that range of a file, seconds until the last, the bytes)"""
        start = time.perf_counter()
        response = self._open("/v1/file", {"Range": f"bytes={first}-{last}"}, {"path": path, "cwd": "/"})
        if response.status not in (200, 206):
            raise OSError(f"{path}: {response.status} {response.read()[:500]!r}")
        head = response.read(1)
        early = time.perf_counter() - start
        data = head + response.read()
        return early, time.perf_counter() - start, data
