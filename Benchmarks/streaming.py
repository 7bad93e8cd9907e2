"""Links to a file that is here, next to nginx serving the same file: what `Syncthing` is called in the table is nginx."""

import http.client
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from measures import MIB, Row, settle
from process import Child, free_port, wait_until

READERS = 16
RANGE = 64 << 10
RANGES = 1000

CONFIGURATION = """
daemon off; worker_processes auto; pid {root}/pid; error_log {root}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; tcp_nodelay on; types {{ video/mp4 mp4; }}
    client_body_temp_path {root}/1; proxy_temp_path {root}/2; fastcgi_temp_path {root}/3; uwsgi_temp_path {root}/4;
    scgi_temp_path {root}/5;
    server {{ listen 127.0.0.1:{port}; root {files}; }}
}}
"""


class Nginx(Child):
    def __init__(self, lab, files):
        # Not among the packages of the project: installing it starts a server on port 80.
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if not program:
            sys.exit("There is no nginx to measure beside: install Debian's nginx-light, or leave `stream` out.")
        root = lab.directory("nginx")
        super().__init__("nginx", os.path.join(root, "log"))
        self.port, configuration = free_port(), os.path.join(root, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(root=root, port=self.port, files=files))
        # Its workers would be nobody, who cannot go into the laboratory.
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        self.spawn([program, "-e", os.path.join(root, "error.log"), "-c", configuration, *user])

        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        wait_until(answers, 20, "nginx", child=self)

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"


def get(url, range=None):
    """Reads into nothing, by curl: Python would measure itself."""
    return subprocess.Popen(["curl", "-sSf", "-o", "/dev/null", *(["-r", range] if range else []), url])


def finish(readers):
    for reader in readers:
        assert reader.wait(600) == 0, "a reader got no whole answer"


def whole(url, size, node):
    start, before = time.perf_counter(), node.cpu_seconds()
    finish([get(url)])
    seconds = time.perf_counter() - start
    return size / seconds / 1e6, (node.cpu_seconds() - before) / (size / (1 << 30))


def many(url, size):
    part = size // READERS
    start = time.perf_counter()
    finish([get(url, f"{number * part}-{(number + 1) * part - 1}") for number in range(READERS)])
    return part * READERS / (time.perf_counter() - start) / 1e6


def small(url, size):
    """Ranges a second, by two clients, each range over a connection of its own: the agent has one request to a connection."""
    parts = urllib.parse.urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    failures = []

    def client(first):
        for number in range(first, RANGES, 2):
            place = number * 7_919_993 % (size - RANGE)
            connection = http.client.HTTPConnection(parts.netloc, timeout=60)
            connection.request("GET", target, headers={"Range": f"bytes={place}-{place + RANGE - 1}"})
            answer = connection.getresponse()
            if answer.status != 206 or len(answer.read()) != RANGE:
                failures.append(number)
            connection.close()
    start = time.perf_counter()
    clients = [threading.Thread(target=client, args=(first,)) for first in (0, 1)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert not failures, f"{len(failures)} ranges were not answered"
    return RANGES / (time.perf_counter() - start)


def stream(bench):
    if not bench.with_synctrain:
        return []
    mib = bench.options.big_mib
    root = bench.data.big_file(mib)
    size = mib * MIB
    agent = bench.lab.agent("agent")
    agent.add_folder("big", root, mode="full")
    wait_until(lambda: agent.folder("big").get("local", {}).get("files") == 1, 600, "the file is scanned", every=0.1)
    nginx = Nginx(bench.lab, root)
    ends = {"nginx": (nginx, nginx.url("big.bin")),
            "synctrain": (agent, agent.run("url", "big:big.bin").stdout.decode().strip())}
    settle()
    found = {}
    for name, (node, url) in ends.items():
        finish([get(url)])  # What the disk has is in memory for both.
        found[name] = (*whole(url, size, node), many(url, size), small(url, size))
    agent.stop()
    nginx.kill()
    label = f"a file of {mib} MiB that is here, by a link (beside nginx)"
    names = [(f"{label}: one reader", "MB/s", True), (f"{label}: CPU", "s/GiB", False),
             (f"{label}: {READERS} readers, all together", "MB/s", True),
             (f"{label}: ranges of 64 KiB, a connection each", "per second", True)]
    # nginx has so little to do for it that it may be less than a tick.
    return [Row(name, unit, found["nginx"][index], found["synctrain"][index], more, may_be_zero=unit == "s/GiB")
            for index, (name, unit, more) in enumerate(names)]


ALL = {"stream": stream}
