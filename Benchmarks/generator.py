"""A peer that announces a very large folder which exists nowhere. Its frames are built beforehand, then only sent."""

import os
import random
import struct
import threading
import time

import bep

FILES_PER_DIRECTORY = 100
FILES_PER_MESSAGE = 1000
WORDS = ("annual archive backup budget camera chapter contract draft export family figure holiday index invoice "
         "journal kitchen letter library manual meeting morning notes office original painting partner photo picture "
         "project record report research review scan screenshot sketch summary summer travel vacation version winter").split()


class Generator:
    """`files` names, so many in each directory, each file with one block of its own, names of 50 to 80 bytes."""

    def __init__(self, files, short_id, folder="million", seed=1, per_directory=FILES_PER_DIRECTORY):
        self.folder, self.files, self.per_directory = folder, files, per_directory
        self.directories = [self._directory_name(n, seed) for n in range(-(-files // per_directory))]
        self.entries = files + len(self.directories)
        self.index_id = random.Random(seed).getrandbits(64) | 1
        self.frames = list(self._frames(short_id, seed))
        self.bytes = sum(map(len, self.frames))

    @staticmethod
    def _directory_name(number, seed):
        rnd = random.Random(seed * 1_000_003 + number)
        return f"{rnd.choice(WORDS)} {number:05}"

    def file_names(self, directory):
        """The paths in the directory with this number."""
        rnd = random.Random(directory)
        base = self.directories[directory]
        names = []
        for number in range(min(self.per_directory, self.files - directory * self.per_directory)):
            name = f"{base}/{directory * self.per_directory + number:07}"
            wanted = rnd.randrange(51, 81)  # one may be stripped off
            while len(name) + 4 < wanted:
                name += " " + WORDS[int(rnd.random() * len(WORDS))]
            names.append(name[:wanted - 4].rstrip() + ".jpg")
        return names

    def _frames(self, short_id, seed):
        rnd = random.Random(seed)
        varint = bep.varint
        counter = bep.field_varint(1, short_id) + bep.field_varint(2, 1_700_000_000)
        common = (bep.field_varint(4, 0o644) + bep.field_varint(5, 1_700_000_000)
                  + bep.field_bytes(9, bep.field_bytes(1, counter))
                  + bep.field_varint(11, 123_456_789) + bep.field_varint(12, short_id))
        directory_type = bep.field_varint(2, bep.DIRECTORY)
        block_size = bep.field_varint(13, bep.MIN_BLOCK)
        sequence, parts, count, type = 0, [], 0, bep.INDEX
        head = bep.field_bytes(1, self.folder.encode())
        for number, directory in enumerate(self.directories):
            sequence += 1
            name = directory.encode()
            info = b"\x0a" + varint(len(name)) + name + directory_type + common + b"\x50" + varint(sequence)
            parts.append(b"\x12" + varint(len(info)) + info)
            count += 1
            hashes = rnd.randbytes(64 * self.per_directory)
            for position, name in enumerate(self.file_names(number)):
                sequence += 1
                name = name.encode()
                size = varint(1000 + (sequence * 7919) % 120_000)
                # BlockInfo: size, hash, weak hash of 5 bytes; then the hash over all blocks, as 1.x sends it.
                block_hash = hashes[64 * position:64 * position + 32]
                block = b"\x10" + size + b"\x1a\x20" + block_hash + b"\x20\xf1\xe2\xc3\xa4\x05"
                info = b"".join((
                    b"\x0a", varint(len(name)), name, b"\x18", size, common, b"\x50", varint(sequence), block_size,
                    b"\x82\x01", varint(len(block)), block, b"\x92\x01\x20",
                    hashes[64 * position + 32:64 * position + 64]))
                parts += (b"\x12", varint(len(info)), info)
                count += 1
            if count >= FILES_PER_MESSAGE or number + 1 == len(self.directories):
                yield bep.frame_bytes(type, head + b"".join(parts) + bep.field_varint(3, sequence))
                parts, count, type = [], 0, bep.INDEX_UPDATE
        self.max_sequence = sequence


class GeneratorSession:
    """One link on which the generator announces everything; what comes back is counted and dropped."""

    def __init__(self, generator, identity, address):
        self.generator, self.identity = generator, identity
        self.link = dial(address, identity)
        self.link.send_hello(device_name="generator", client_name="synctrain-bench", client_version="v1.0.0")
        self.link.receive_hello()
        self.asked = None
        """(index id, max sequence) that the other side says it holds of us."""
        self.frames_in, self.ended = {}, None
        self._configured = threading.Event()
        self.link.socket.settimeout(None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send_config()
        if not self._configured.wait(30):
            raise TimeoutError("no cluster config came")

    def _send_config(self):
        self.link.send(bep.CLUSTER_CONFIG, {"folders": [{
            "id": self.generator.folder, "label": self.generator.folder, "devices": [
                {"id": self.identity.raw_id, "index_id": self.generator.index_id,
                 "max_sequence": self.generator.max_sequence},
                {"id": self.link.peer_raw_id}]}]})

    def announce(self):
        """Sends all frames; returns the seconds that took."""
        start = time.monotonic()
        for frame in self.generator.frames:
            self.link.send_raw(frame)
        return time.monotonic() - start

    def _read(self):
        """Splits what comes into frames by their lengths; only a cluster config is looked into."""
        buffer = bytearray()
        try:
            while True:
                buffer += self.link.receive_some()
                while len(buffer) >= 6:
                    header = struct.unpack_from(">H", buffer)[0]
                    if len(buffer) < 6 + header:
                        break
                    end = 6 + header + struct.unpack_from(">I", buffer, 2 + header)[0]
                    if len(buffer) < end:
                        break
                    self._take(bytes(buffer[2:2 + header]), buffer, end)
                    del buffer[:end]
        except (bep.LinkClosed, bep.ProtocolError, OSError) as error:
            self.ended = str(error)

    def _take(self, header, buffer, end):
        type = bep.decode("Header", header).get("type", 0)
        count, size = self.frames_in.get(bep.TYPE_NAMES[type], (0, 0))
        self.frames_in[bep.TYPE_NAMES[type]] = (count + 1, size + end)
        if type == bep.CLUSTER_CONFIG:
            config = bep.Frame(bytes(buffer[:end])).message
            for folder in config.get("folders", []):
                for device in folder.get("devices", []):
                    if folder["id"] == self.generator.folder and device["id"] == self.identity.raw_id:
                        self.asked = (device.get("index_id", 0), device.get("max_sequence", 0))
            self._configured.set()
        elif type == bep.CLOSE:
            self.ended = bep.Frame(bytes(buffer[:end])).message.get("reason")

    def close(self):
        self.link.close()
        self._reader.join(5)


def dial(address, identity, timeout=20):
    end = time.monotonic() + timeout
    while True:
        try:
            return bep.Link.dial(address, identity)
        except (OSError, bep.LinkClosed):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def write_random_file(path, mib):
    with open(path, "wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))


def write_small_files(root, count, size=4096, seed=1):
    """`count` files of random bytes, 100 to a directory."""
    rnd = random.Random(seed)
    for number in range(count):
        directory = os.path.join(root, f"d{number // FILES_PER_DIRECTORY:04}")
        if number % FILES_PER_DIRECTORY == 0:
            os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, f"f{number:06}.bin"), "wb") as file:
            file.write(rnd.randbytes(size))
