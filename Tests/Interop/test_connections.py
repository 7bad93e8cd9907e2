"""Several connections with one device: the agent makes as many as both want, asks over all of them, and loses none of what goes on when
the first one ends. Judged by what passes through a pipe that every connection takes."""

import contextlib
import os
import socket
import threading

import pytest
from harness import pattern, read, write
from process import wait_until
from syncthing import describe, parse_version

FOLDER, WANTED, SIZE = "f", 3, 24 << 20


class Pipe:
    """A port that forwards to another, and counts what each connection brings back."""

    class Connection:
        def __init__(self, ends):
            self.ends, self.brought, self.is_open = ends, 0, True

        def cut(self):
            self.is_open = False
            for end in self.ends:
                # Wakes who waits in it.
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def __init__(self, to):
        self.to, self.connections = to, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def open(self):
        return [connection for connection in self.connections if connection.is_open]

    def close(self):
        for connection in self.connections:
            connection.cut()
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                connection = self.Connection((near, socket.create_connection(("127.0.0.1", self.to))))
                self.connections.append(connection)
                for is_back in (False, True):
                    threading.Thread(target=self._forward, args=(connection, is_back), daemon=True).start()

    def _forward(self, connection, is_back):
        near, far = connection.ends
        source, sink = (far, near) if is_back else (near, far)
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
                connection.brought += len(data) if is_back else 0
        connection.cut()


@pytest.fixture
def pipe():
    made = []

    def make(to):
        made.append(Pipe(to))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", ["agent", "syncthing"])
def test_requests_go_over_all_and_the_next_takes_over_from_the_first(lab, pipe, kind):
    if kind == "syncthing" and (version := parse_version(describe())) < (1, 25):
        pytest.skip(f"Syncthing {version} has one connection with each device")
    agent = lab.agent()
    other = lab.syncthing("holder") if kind == "syncthing" else lab.agent("holder")
    way = pipe(other.port)
    agent.add_device(other.id, "holder", way.address)
    other.add_device(agent.id, name="agent", **({"numConnections": WANTED} if kind == "syncthing" else {}))
    root = lab.folder_path(other, FOLDER)
    if kind == "syncthing":
        other.set_folder(FOLDER, root, [agent.id])
    else:
        other.add_folder(FOLDER, root, agent.id, mode="full")
    agent.add_folder(FOLDER, lab.path("agent-copy"), other.id)
    write(os.path.join(root, "film"), pattern(SIZE, 1))
    other.scan(FOLDER) if kind == "syncthing" else other.run("scan", FOLDER)

    def are_up():
        device = next(d for d in agent.status()["devices"] if d["id"] == other.id)
        links = sum(w["links"] for w in device["ways"] if w["outcome"] == "connected")
        return len(way.open) == links == WANTED
    # A Syncthing takes one more each five seconds.
    wait_until(are_up, 40, f"{WANTED} connections", child=agent, every=0.1)
    if kind == "syncthing":
        assert len(other.connections()["connections"][agent.id]["secondary"]) == WANTED - 1
    agent.wait_global(FOLDER, 1)

    before = [connection.brought for connection in way.open]
    agent.run("fetch", f"{FOLDER}:film", "--output", lab.path("fetched"))
    assert read(lab.path("fetched")) == pattern(SIZE, 1)
    brought = [connection.brought - then for connection, then in zip(way.open, before)]
    # A Syncthing answers where it was asked, and ours leaves the first one to metadata where there are others.
    assert sorted(brought)[1] > SIZE / 8 and sum(brought) < SIZE * 1.02, brought

    first = way.open[0]
    first.cut()
    assert agent.is_connected(other.id), "one connection is not the device"
    write(os.path.join(root, "letter"), b"behind the first connection")
    other.scan(FOLDER) if kind == "syncthing" else other.run("scan", FOLDER)
    agent.wait_global(FOLDER, 2, timeout=20)
    agent.run("fetch", f"{FOLDER}:letter", "--output", lab.path("letter"))
    assert read(lab.path("letter")) == b"behind the first connection"
    wait_until(are_up, 40, f"{WANTED} connections again", child=agent, every=0.1)
