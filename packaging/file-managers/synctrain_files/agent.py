"""Asks the agent on its control socket, by GLib's main loop: no call here waits for anything."""

from gi.repository import Gio, GLib

from . import http

READ = 1 << 16


class Agent:
    """A connection for each question, as the control API has it."""

    def __init__(self, socket):
        self._socket = socket

    def ask(self, method, target, document, seconds, done):
        """Calls `done(status, document)` once: status 0 where no answer came in time, a document only where it is JSON."""
        answer, parts = http.Answer(), []
        taken = 0

        def take(data):
            nonlocal taken
            body = answer.feed(data)
            taken += len(body)
            if taken > http.LIMIT:
                raise http.Malformed("too large")
            parts.append(body)
            return answer.is_whole

        def end(is_broken):
            if is_broken or not answer.is_whole:
                return done(0, None)
            return done(answer.status, http.parsed(b"".join(parts)))

        Exchange(self._socket, http.request(method, target, document), take, answer.end, end, seconds)

    def follow(self, target, line, ended):
        """Calls `line` with each object of a stream, and `ended` once when it is over."""
        answer, lines = http.Answer(limit=1 << 20), http.Lines()

        def take(data):
            body = answer.feed(data)
            if answer.status not in (0, 200):
                raise http.Malformed("status")
            for document in lines.feed(body):
                line(document)
            return answer.is_whole

        return Exchange(self._socket, http.request("GET", target), take, answer.end, lambda _: ended(), None)


class Exchange:
    """One request and its answer. `take` gets the bytes and says whether that was all, `end` what came of it."""

    def __init__(self, socket, request, take, close, end, seconds):
        self._take, self._close, self._end = take, close, end
        self._cancellable, self._connection = Gio.Cancellable(), None
        self._request = request
        self._timer = GLib.timeout_add(int(seconds * 1000), self._give_up) if seconds else 0
        client = Gio.SocketClient()
        client.connect_async(Gio.UnixSocketAddress.new(socket), self._cancellable, self._connected)

    def _give_up(self):
        self._timer = 0
        self._finish(True)
        return GLib.SOURCE_REMOVE

    def _connected(self, client, result):
        try:
            self._connection = client.connect_finish(result)
        except GLib.Error:
            return self._finish(True)
        return self._write()

    def _write(self):
        self._connection.get_output_stream().write_bytes_async(
            GLib.Bytes.new(self._request), GLib.PRIORITY_DEFAULT, self._cancellable, self._written)

    def _written(self, stream, result):
        try:
            count = stream.write_bytes_finish(result)
        except GLib.Error:
            return self._finish(True)
        self._request = self._request[count:]
        return self._write() if self._request else self._read()

    def _read(self):
        self._connection.get_input_stream().read_bytes_async(READ, GLib.PRIORITY_DEFAULT, self._cancellable, self._came)

    def _came(self, stream, result):
        try:
            data = stream.read_bytes_finish(result).get_data()
            if self._end is None:
                return None
            if not data:
                self._close()
                return self._finish(False)
            is_whole = self._take(data)
        except (GLib.Error, http.Malformed):
            return self._finish(True)
        return self._finish(False) if is_whole else self._read()

    def _finish(self, is_broken):
        end, self._end = self._end, None
        if end is None:
            return
        if self._timer:
            GLib.source_remove(self._timer)
            self._timer = 0
        self._cancellable.cancel()
        if self._connection is not None:
            self._connection.close_async(GLib.PRIORITY_DEFAULT, None, None)
        end(is_broken)
