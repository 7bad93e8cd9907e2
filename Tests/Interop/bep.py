"""An independent BEP v1 peer: what the interop tests and the benchmarks put at the other end of the wire.

Shares no code with synctrain or Syncthing: its own protobuf, LZ4 and framing (wire.py), TLS from Python's ssl module
and certificates from the openssl program (link.py). It deliberately lets a test send wrong things.

    me = Peer("probe", Identity.create(directory))
    folder = me.share("f", [real_device_id])
    folder.add("a.txt", b"content")
    session = me.dial("tcp://127.0.0.1:22000")          # Hello, ClusterConfig and Index go by themselves
    session.wait_index("f", count=10)                    # entries of the other side, by name
    data, code = session.request("f", session.index["f"]["x.bin"], 0)
    session.close()

    address = me.listen(trust=[certificate_of_the_dialler])   # or let the other side dial
"""

import hashlib
import random
import socket
import threading
import time
import unicodedata
import zlib

from link import DEADLINE, Identity, Link, LinkClosed, split_address, tls_context  # noqa: F401
from wire import *  # noqa: F403
from wire import (
    CLOSE, CLUSTER_CONFIG, DIRECTORY, DOWNLOAD_PROGRESS, FILE, INDEX, INDEX_UPDATE, NO_COMPRESSION, REQUEST,
    RESPONSE, SYMLINK, TYPE_NAMES, ProtocolError, device_id_text,
)

MIN_BLOCK, MAX_BLOCK = 128 << 10, 16 << 20


# MARK: index entries

def block_size_for(size):
    block = MIN_BLOCK
    while block < MAX_BLOCK and size >= 2000 * block:
        block *= 2
    return block


def blocks_of(data, block_size=None):
    """BlockInfo dicts of some content; an empty file has one empty block."""
    block_size = block_size or block_size_for(len(data))
    blocks = []
    for offset in range(0, max(1, len(data)), block_size):
        part = data[offset:offset + block_size]
        blocks.append({"offset": offset, "size": len(part), "hash": hashlib.sha256(part).digest(),
                       "weak_hash": zlib.adler32(part)})
    return blocks


def file_info(name, data, short_id, sequence, **other):
    """The FileInfo of a live file with this content."""
    info = {
        "name": name, "size": len(data), "permissions": 0o644, "modified_s": int(time.time()), "modified_ns": 1,
        "version": {"counters": [{"id": short_id, "value": int(time.time())}]}, "modified_by": short_id,
        "sequence": sequence, "block_size": other.pop("block_size", None) or block_size_for(len(data)),
    }
    info["blocks"] = blocks_of(data, info["block_size"])
    info.update(other)
    return info


def nfc(name):
    return unicodedata.normalize("NFC", name)


class Folder:
    """A folder we share: its entries in order of sequence and the content we serve."""

    def __init__(self, id, short_id, devices, label=None):
        self.id, self.label, self.short_id = id, label or id, short_id
        self.devices = list(devices)
        self.index_id = random.getrandbits(64) | 1
        self.sequence = 0
        self.entries, self.contents = {}, {}

    def add(self, name, data=b"", **other):
        """Adds or changes a file. `data` is its content; a function `content`, (offset, size) → bytes, may serve it."""
        content = other.pop("content", None)
        if name in self.entries and "version" not in other:
            other["version"] = self._next_version(name)
        return self.put(file_info(name, data, self.short_id, 0, **other), content or data)

    def _next_version(self, name):
        counters = {c["id"]: c["value"] for c in self.entries[name]["version"]["counters"]}
        counters[self.short_id] = max(counters.get(self.short_id, 0) + 1, int(time.time()))
        return {"counters": [{"id": id, "value": value} for id, value in sorted(counters.items())]}

    def put(self, info, content=None):
        """Adds an entry as it is; only its sequence is ours."""
        self.sequence += 1
        info = dict(info, sequence=self.sequence)
        self.entries.pop(info["name"], None)
        self.entries[info["name"]] = info
        if content is not None:
            self.contents[info["name"]] = content
        return info

    def add_directory(self, name):
        return self.put({"name": name, "type": DIRECTORY, "permissions": 0o755, "modified_s": int(time.time()),
                         "version": {"counters": [{"id": self.short_id, "value": 1}]}, "modified_by": self.short_id})

    def add_symlink(self, name, target):
        return self.put({"name": name, "type": SYMLINK, "symlink_target": target, "no_permissions": True,
                         "permissions": 0o666, "modified_s": int(time.time()),
                         "version": {"counters": [{"id": self.short_id, "value": 1}]}, "modified_by": self.short_id})

    def delete(self, name):
        old = self.entries[name]
        version = self._next_version(name)
        self.contents.pop(name, None)
        return self.put({"name": name, "type": old.get("type", 0), "deleted": True, "modified_s": int(time.time()),
                         "version": version, "modified_by": self.short_id})

    def since(self, sequence):
        return sorted((e for e in list(self.entries.values()) if e["sequence"] > sequence), key=lambda e: e["sequence"])

    def read(self, name, offset, size):
        """Bytes to answer a request with, or None."""
        content = self.contents.get(name)
        if content is None:
            return None
        if callable(content):
            return content(offset, size)
        return content[offset:offset + size]


# MARK: the peer

def check_entry(info):
    """ProtocolError for an entry of an index that ends a link with Syncthing."""
    kind, blocks, size = info.get("type", 0), info.get("blocks", []), info.get("size", 0)
    is_live = not info.get("deleted") and not info.get("invalid")
    if blocks and (kind != FILE or info.get("deleted")):
        raise ProtocolError(f"blocks of something that has none: {info}")
    # Syncthing gave directories a size once.
    if kind != FILE and size not in (0, 128):
        raise ProtocolError(f"the size of something that has none: {info}")
    if kind == FILE and is_live and not blocks:
        raise ProtocolError(f"a file without blocks: {info}")


class Peer:
    """A device of ours: an identity, folders it shares, sessions with others.

    `serve(session, request)` answers requests: bytes, an error code, or None for no answer at all. Replace it to be a
    bad, slow or silent holder. It runs on the session's reading thread unless `serving_threads` is more than 0.
    """

    def __init__(self, name, identity):
        self.name, self.identity = name, identity
        self.client = "syncthing"
        """What it says that it is: synctrain counts on what a Syncthing holds."""
        self.folders = {}
        self.serve = self.serve_from_folder
        self.sessions = []
        self.known = {}
        """What we already hold of others' indexes: (folder, raw device id) → (index id, max sequence)."""
        self._listener = None
        self._arrived = threading.Condition()

    @property
    def id(self):
        return self.identity.id

    def share(self, folder_id, devices, label=None):
        folder = self.folders[folder_id] = Folder(folder_id, self.identity.short_id, devices, label)
        return folder

    @staticmethod
    def serve_from_folder(session, request):
        folder = session.peer.folders.get(request["folder"])
        if folder is None:
            return 1
        data = folder.read(request["name"], request.get("offset", 0), request.get("size", 0))
        return 2 if data is None else data

    def hello(self):
        return {"device_name": self.name, "client_name": self.client, "client_version": "v1.0.0"}

    def cluster_config(self, device):
        """What we tell the device (its raw id): all folders shared with it."""
        folders = []
        for folder in self.folders.values():
            if device_id_text(device) not in folder.devices:
                continue
            index_id, sequence = self.known.get((folder.id, device), (0, 0))
            folders.append({
                "id": folder.id, "label": folder.label, "devices": [
                    {"id": self.identity.raw_id, "name": self.name, "addresses": ["dynamic"],
                     "max_sequence": folder.sequence, "index_id": folder.index_id},
                    {"id": device, "name": "other", "addresses": ["dynamic"],
                     "max_sequence": sequence, "index_id": index_id},
                ]})
        return {"folders": folders}

    def dial(self, address, start=True, timeout=DEADLINE):
        """A session with the device at `address`; with `start` false only the TLS link is there."""
        link = Link.dial(address, self.identity, timeout)
        return self._begin(link, start)

    def dial_until(self, address, timeout=DEADLINE):
        """Like `dial`, but tries again while the other side refuses or drops us (it may still hold an old link)."""
        end = time.monotonic() + timeout
        while True:
            try:
                session = self.dial(address)
                if session.wait_ready(max(0.1, end - time.monotonic())):
                    return session
            except (OSError, LinkClosed):
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"{address} does not take our link")
            time.sleep(0.1)

    def _begin(self, link, start):
        session = Session(self, link)
        with self._arrived:
            self.sessions.append(session)
            self._arrived.notify_all()
        if start:
            session.start()
        return session

    def listen(self, trust, start=True, port=0, timeout=DEADLINE):
        """Takes links from devices whose certificate files are in `trust`; returns the address."""
        self._listener = socket.create_server(("127.0.0.1", port))
        context = tls_context(self.identity, True, trust)

        def accept(listener):
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=take, args=(sock,), daemon=True).start()

        def take(sock):
            try:
                self._begin(Link(sock, context, True, timeout), start)
            except (LinkClosed, OSError, ProtocolError):
                sock.close()

        threading.Thread(target=accept, args=(self._listener,), daemon=True).start()
        return "tcp://127.0.0.1:%d" % self._listener.getsockname()[1]

    def wait_session(self, timeout=DEADLINE, after=0):
        """The newest session beyond the first `after` ones that has exchanged cluster configs and lives."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with self._arrived:
                if not self._arrived.wait_for(lambda: len(self.sessions) > after, end - time.monotonic()):
                    break
                candidates = self.sessions[after:]
            for session in reversed(candidates):
                if session.wait_ready(0.05):
                    return session
        raise TimeoutError(f"{self.name}: no session came")

    def live(self):
        return [s for s in self.sessions if s.is_ready and not s.ended]

    def close(self):
        if self._listener:
            self._listener.close()
        for session in list(self.sessions):
            session.close()


class Session:
    """A link with the protocol running on it: a thread reads, answers requests and keeps what came."""

    def __init__(self, peer, link):
        self.peer, self.link = peer, link
        self.device = link.peer_raw_id
        self.hello = None
        self.cluster_configs = []
        self.index = {}
        """Folder id → name → the other side's entry."""
        self.index_messages = []
        """(message name, folder, number of entries, first sequence, last sequence) in order of arrival."""
        self.requests = []
        """Requests of the other side, in order."""
        self.progress = []
        self.asked = {}
        """Folder id → (index id, max sequence) that the other side says it holds of us."""
        self.close_reason = None
        self.ended = None
        """Why the link is no more: text, or None while it lives."""
        self._responses = {}
        self._next_request = 0
        self._changed = threading.Condition()
        # One index at a time: two of one folder between each other would be the index of nobody.
        self._sending_index = threading.RLock()
        self._sent_sequence = {}
        self._thread = None

    def start(self):
        self.link.send_hello(**self.peer.hello())
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        # `close` joins it, from another thread: only a thread that runs can be joined.
        self._thread = thread

    def _run(self):
        self.link.socket.settimeout(None)
        try:
            _, hello = self.link.receive_hello()
            with self._changed:
                self.hello = hello
                self._changed.notify_all()
            self.send_cluster_config()
            while True:
                self._take(self.link.receive())
        except (LinkClosed, ProtocolError, OSError, ValueError) as error:
            with self._changed:
                self.ended = f"{type(error).__name__}: {error}"
                self._changed.notify_all()
            self.link.close()

    def _take(self, frame):
        message = frame.message
        if frame.type == REQUEST:
            with self._changed:
                self.requests.append(message)
                self._changed.notify_all()
            # As Syncthing does since 2.1.2. Only a synctrain is asked for parts of blocks, which have none.
            if len(message.get("hash", b"")) != 32 and self.peer.client == "syncthing":
                raise ProtocolError(f"a request without a hash: {message}")
            self._answer(message)
            return
        with self._changed:
            if frame.type == CLUSTER_CONFIG:
                self.cluster_configs.append(message)
                self._read_cluster_config(message)
            elif frame.type in (INDEX, INDEX_UPDATE):
                self._read_index(frame.type, message)
            elif frame.type == RESPONSE:
                self._responses[message.get("id", 0)] = (message.get("data", b""), message.get("code", 0))
            elif frame.type == DOWNLOAD_PROGRESS:
                self.progress.append(message)
            elif frame.type == CLOSE:
                self.close_reason = message.get("reason", "")
            self._changed.notify_all()
        if frame.type == CLUSTER_CONFIG:
            for folder_id in self.asked:
                self.send_index(folder_id)

    def _read_cluster_config(self, message):
        self.asked = {}
        for folder in message.get("folders", []):
            if folder["id"] not in self.peer.folders:
                continue
            mine = [d for d in folder.get("devices", []) if d.get("id") == self.peer.identity.raw_id]
            if mine:
                self.asked[folder["id"]] = (mine[0].get("index_id", 0), mine[0].get("max_sequence", 0))

    def _read_index(self, type, message):
        folder, files = message.get("folder", ""), message.get("files", [])
        if type == INDEX:
            self.index[folder] = {}
        entries = self.index.setdefault(folder, {})
        for info in files:
            check_entry(info)
            entries[info["name"]] = info
        sequences = [info.get("sequence", 0) for info in files] or [0]
        self.index_messages.append((TYPE_NAMES[type], folder, len(files), sequences[0], sequences[-1]))

    def _answer(self, request):
        answer = self.peer.serve(self, request)
        if answer is not None:
            self.respond(request, answer)

    def respond(self, request, answer):
        """Answers with bytes, or with an error code."""
        body = {"id": request.get("id", 0)}
        body["code" if isinstance(answer, int) else "data"] = answer
        self.link.send(RESPONSE, body)

    # what we send

    def send(self, type, message=None, compression=NO_COMPRESSION):
        self.link.send(type, message, compression)

    def send_raw(self, data):
        self.link.send_raw(data)

    def send_cluster_config(self):
        self.send(CLUSTER_CONFIG, self.peer.cluster_config(self.device))

    def send_index(self, folder_id, batch=1000, compression=NO_COMPRESSION):
        """Brings the other side up to date: all of it, or what is newer than it says it has."""
        with self._sending_index:
            folder = self.peer.folders[folder_id]
            index_id, sequence = self.asked.get(folder_id, (0, 0))
            sent = self._sent_sequence.get(folder_id)
            if sent is None:
                sent = sequence if index_id == folder.index_id and 0 < sequence <= folder.sequence else 0
            type = INDEX_UPDATE if sent else INDEX
            entries = folder.since(sent)
            for start in range(0, len(entries), batch):
                part = entries[start:start + batch]
                self.send(type, {"folder": folder_id, "files": part, "last_sequence": part[-1]["sequence"]}, compression)
                type = INDEX_UPDATE
            # Not the folder's: a test may have added an entry meanwhile.
            self._sent_sequence[folder_id] = entries[-1]["sequence"] if entries else sent

    def request_later(self, folder, name, block, block_no=0, **other):
        """Sends a request for a block (a BlockInfo dict) and returns its id."""
        with self._changed:
            id = self._next_request
            self._next_request += 1
        message = {"id": id, "folder": folder, "name": name, "offset": block.get("offset", 0),
                   "size": block.get("size", 0), "hash": block.get("hash"), "block_no": block_no}
        message.update(other)
        self.send(REQUEST, message)
        return id

    def response(self, id, timeout=DEADLINE):
        """(data, code) of a request sent before."""
        self.wait(lambda: id in self._responses, timeout, f"response {id}")
        return self._responses.pop(id)

    def request(self, folder, info, block_no=0, timeout=DEADLINE, **other):
        """(data, code) for one block of an entry."""
        block = info["blocks"][block_no]
        return self.response(self.request_later(folder, info["name"], block, block_no, **other), timeout)

    # waiting

    @property
    def is_ready(self):
        return bool(self.cluster_configs)

    def wait(self, condition, timeout=DEADLINE, what="condition"):
        """Until the condition holds; LinkClosed if the link ends first, TimeoutError if time does."""
        with self._changed:
            self._changed.wait_for(lambda: condition() or self.ended, timeout)
            if condition():
                return
            if self.ended:
                raise LinkClosed(f"waiting for {what}: {self.ended} (close: {self.close_reason})")
            raise TimeoutError(f"waiting for {what}")

    def wait_ready(self, timeout=DEADLINE):
        with self._changed:
            self._changed.wait_for(lambda: self.is_ready or self.ended, timeout)
            return self.is_ready and not self.ended

    def wait_index(self, folder, count=None, names=None, timeout=DEADLINE):
        """Until that many names (or these) of the other side's index are here; returns name → entry."""
        def complete():
            entries = self.index.get(folder, {})
            return (count is None or len(entries) >= count) and all(n in entries for n in names or [])
        self.wait(complete, timeout, f"index of {folder}")
        return self.index.get(folder, {})

    def wait_end(self, timeout=DEADLINE):
        """Until the other side has ended the link; returns the Close message's reason, or None if there was none."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.ended, timeout):
                raise TimeoutError("the link still lives")
        return self.close_reason

    def close(self):
        """Ends the link without a Close and waits for the reading thread."""
        try:
            self.link.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join(5)
        self.link.socket.close()
