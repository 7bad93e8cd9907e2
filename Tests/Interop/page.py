"""What a browser that is logged in asks, without a browser."""

import contextlib
import http.client
import json
import urllib.parse


class Page:
    """Logs in to an agent by a new link. Every request has a connection of its own, as the agent has it."""

    def __init__(self, agent, log_in=True):
        self.agent = agent
        self.origin = agent.status()["http"]
        self.netloc = urllib.parse.urlsplit(self.origin).netloc
        self.cookie = None
        if log_in:
            link = json.loads(agent.run("ui", "--no-open", "--json").stdout)["url"]
            answer, _ = self.ask("GET", link[len(self.origin):])
            assert answer.status == 303 and answer.headers["Location"] == "/"
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]

    def open(self, method, target, body=None, **headers):
        """The connection and the answer's head; the caller closes."""
        connection = http.client.HTTPConnection(self.netloc, timeout=60)
        fields = {"Cookie": self.cookie} if self.cookie else {}
        if method not in ("GET", "HEAD"):
            fields |= {"Origin": self.origin, "X-Synctrain": "page"}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, target, data, {k: v for k, v in fields.items() if v is not None})
        return connection, connection.getresponse()

    def ask(self, method, target, body=None, **headers):
        """The answer and its body."""
        connection, answer = self.open(method, target, body, **headers)
        with contextlib.closing(connection):
            return answer, answer.read()

    def get(self, path, /, **query):
        """The document at a path; fails for any status but 2xx."""
        return self._document("GET", f"{path}?{urllib.parse.urlencode(query, quote_via=urllib.parse.quote)}")

    def send(self, method, path, body=None, **headers):
        return self._document(method, path, body, **headers)

    def _document(self, method, target, body=None, **headers):
        answer, data = self.ask(method, target, body, **headers)
        assert 200 <= answer.status < 300, (method, target, answer.status, data)
        return json.loads(data)


class EventStream:
    """Server-sent events of a page, one by one."""

    def __init__(self, page, last=None):
        headers = {"Accept": "text/event-stream"}
        self.connection, self.answer = page.open("GET", "/v1/events", **headers, **({"Last_Event_ID": last} if last else {}))
        assert self.answer.status == 200 and self.answer.headers["Content-Type"] == "text/event-stream"
        self.last = None

    def next(self):
        """The next event's name and document; `None` for one that only has an id."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream has ended"
            line = line.rstrip("\n")
            if not line:
                self.last = fields.get("id", self.last)
                return fields.get("event"), json.loads(fields["data"]) if "data" in fields else None
            name, _, value = line.partition(": ")
            fields[name] = value

    def until(self, name, test=lambda document: True):
        while True:
            found, document = self.next()
            if found == name and test(document):
                return document

    def close(self):
        self.connection.close()
