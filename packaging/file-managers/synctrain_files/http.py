"""As much of HTTP/1.1 as the control API speaks. Pure: bytes in, bytes out."""

import json

# Of an answer's head, and of all of an answer.
HEAD_LIMIT, LIMIT = 1 << 16, 16 << 20


class Malformed(Exception):
    pass


def request(method, target, document=None):
    """The bytes of a request; the connection ends with its answer."""
    body = b"" if document is None else json.dumps(document).encode()
    head = f"{method} {target} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\nAccept: application/json, application/x-ndjson\r\n"
    if document is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


class Answer:
    """Takes an answer's bytes as they come. `status` is 0 until its head is there."""

    def __init__(self, limit=LIMIT):
        self.status, self.is_whole, self.limit = 0, False, limit
        self._rest, self._length, self._is_chunked, self._chunk = b"", None, False, None

    def feed(self, data):
        """Gives what of the body is new. Raises Malformed."""
        self._rest += data
        if self.status == 0:
            head, end, rest = self._rest.partition(b"\r\n\r\n")
            if len(head) > HEAD_LIMIT:
                raise Malformed("head")
            if not end:
                return b""
            self._read_head(head)
            self._rest = rest
        if self.is_whole:
            return b""
        return self._read_chunks() if self._is_chunked else self._read_plain()

    def end(self):
        """The connection has ended. Raises Malformed if something is missing."""
        if self.status == 0 or (self._is_chunked or self._length) and not self.is_whole:
            raise Malformed("incomplete")
        self.is_whole = True

    def _read_head(self, head):
        lines = head.split(b"\r\n")
        words = lines[0].split(b" ")
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit() or len(words[1]) != 3:
            raise Malformed("status")
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
        self._is_chunked = fields.get(b"transfer-encoding", b"").lower() == b"chunked"
        length = fields.get(b"content-length")
        if length is not None and not self._is_chunked:
            self._length = self._number(length, 10)
            self.is_whole = self._length == 0
        self.status = int(words[1])

    def _number(self, text, base):
        digits = b"0123456789abcdef"[:base]
        if not 0 < len(text) < 16 or any(byte not in digits for byte in text.lower()):
            raise Malformed("number")
        number = int(text, base)
        if number > self.limit:
            raise Malformed("too large")
        return number

    def _read_plain(self):
        body, self._rest = self._rest, b""
        if self._length is not None:
            body = body[:self._length]
            self._length -= len(body)
            self.is_whole = self._length == 0
        return body

    def _read_chunks(self):
        found = []
        while not self.is_whole:
            if self._chunk is None:
                line, end, rest = self._rest.partition(b"\r\n")
                if len(line) > 1000:
                    raise Malformed("chunk")
                if not end:
                    break
                self._chunk = self._number(line.partition(b";")[0].strip(), 16)
                self._rest = rest
            if self._chunk == 0:
                # What may follow are trailers, which nobody sends.
                self.is_whole = True
            elif len(self._rest) < self._chunk + 2:
                break
            else:
                found.append(self._rest[:self._chunk])
                self._rest = self._rest[self._chunk + 2:]
                self._chunk = None
        return b"".join(found)


class Lines:
    """Cuts bytes of NDJSON into objects; what is not an object is skipped."""

    def __init__(self, limit=1 << 20):
        self._rest, self._limit = b"", limit

    def feed(self, data):
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > self._limit:
            raise Malformed("line")
        found = []
        for line in lines:
            document = parsed(line)
            if isinstance(document, dict):
                found.append(document)
        return found


def parsed(body):
    """A document; None for what is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
