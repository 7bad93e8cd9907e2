"""A real Syncthing node on loopback, closed off from everything else: 1.19 to 2.1, whichever `$SYNCTHING` names."""

import functools
import json
import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

from process import Child, free_port, wait_until

PROGRAM = os.environ.get("SYNCTHING", "syncthing")
API_KEY = "synctrain-interop"
CLOSED_OFF = {
    "globalAnnounceEnabled": "false", "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false",
    "startBrowser": "false", "urAccepted": "-1", "urSeen": "9999", "crashReportingEnabled": "false",
    "autoUpgradeIntervalH": "0", "reconnectionIntervalS": "5", "setLowPriority": "false", "stunKeepaliveStartS": "0",
    "stunServer": "", "announceLANAddresses": "false",
}


def parse_version(text):
    """(major, minor) of what `syncthing --version` prints, also of a distribution's or a developer's build."""
    found = re.match(r"syncthing v(\d+)\.(\d+)", text)
    if not found:
        raise ValueError(f"{PROGRAM} --version prints no version of Syncthing: {text[:200]!r}")
    return int(found[1]), int(found[2])


@functools.cache
def describe():
    """What `syncthing --version` prints. FileNotFoundError if there is no such program."""
    result = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True, timeout=60)
    return result.stdout.strip()


def folder_options(version):
    """What keeps Syncthing from making a folder of its own. Since 2.0 it makes none, and refuses the option."""
    return ["--no-default-folder"] if version < (2, 0) else []


def _set(parent, tag, text):
    element = parent.find(tag)
    if element is None:
        element = ElementTree.SubElement(parent, tag)
    element.text = text


class Syncthing(Child):
    """`home` is made with an identity and a config.xml; `start` runs it. The same object may be stopped and started."""

    order = "alphabetic"
    """In which order its folders pull, unless told otherwise. Since 2.0 deletions follow it, too: in Syncthing's own
    order, random, a directory may be deleted before what is in it, which fails, and is tried again after a minute."""

    def __init__(self, name, home, options=None):
        os.makedirs(home, mode=0o700, exist_ok=True)
        super().__init__(name, os.path.join(home, "log.txt"))
        self.home = home
        self.version = parse_version(describe())
        subprocess.run([PROGRAM, "generate", f"--home={home}", *folder_options(self.version)], check=True,
                       capture_output=True)
        self.api_port, self.port = free_port(), free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        path = os.path.join(home, "config.xml")
        tree = ElementTree.parse(path)
        root = tree.getroot()
        root.find("device").set("name", name)
        self.id = root.find("device").get("id")
        gui = root.find("gui")
        gui.set("tls", "false")
        _set(gui, "address", f"127.0.0.1:{self.api_port}")
        _set(gui, "apikey", API_KEY)
        for key, value in {"listenAddress": self.address, **CLOSED_OFF, **(options or {})}.items():
            _set(root.find("options"), key, value)
        tree.write(path)

    @property
    def certificate(self):
        return os.path.join(self.home, "cert.pem")

    @property
    def database(self):
        """The path of its index: one directory, whose name is the version of its format."""
        names = [name for name in os.listdir(self.home) if name.startswith("index-v")]
        if len(names) != 1:
            raise FileNotFoundError(f"{self.name} has {names or 'no'} index in {self.home}")
        return os.path.join(self.home, names[0])

    def start(self, timeout=30):
        environment = dict(os.environ, STNOUPGRADE="1", HOME=self.home,
                           STMONITORED="yes")  # the node itself, without the parent that restarts it
        environment.setdefault("STHASHING", "minio")  # or each start compares two implementations for a second
        if os.environ.get("ST_STTRACE"):
            environment["STTRACE"] = os.environ["ST_STTRACE"]
        self.spawn([PROGRAM, "serve", f"--home={self.home}", "--no-browser", "--no-upgrade", "--no-restart",
                    *folder_options(self.version)], env=environment)

        def answers():
            try:
                return self.get("/rest/system/ping")
            except (OSError, urllib.error.URLError):
                return None

        wait_until(answers, timeout, f"{self.name}'s REST API", child=self)
        return self

    def stop(self, timeout=20):
        if self.is_running:
            try:
                self.call("POST", "/rest/system/shutdown")
                self.process.wait(timeout)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self.kill()

    # REST

    def call(self, method, path, body=None, timeout=60, **query):
        """Parsed JSON, or text."""
        url = f"http://127.0.0.1:{self.api_port}{path}"
        if query:
            url += "?" + urllib.parse.urlencode(query)
        request = urllib.request.Request(
            url, None if body is None else json.dumps(body).encode(), method=method,
            headers={"X-API-Key": API_KEY, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as response:
            raw = response.read()
        try:
            return json.loads(raw)
        except ValueError:
            return raw.decode(errors="replace")

    def get(self, path, **query):
        return self.call("GET", path, **query)

    def add_device(self, device_id, address="dynamic", name="peer", **settings):
        self.call("POST", "/rest/config/devices",
                  {"deviceID": device_id, "name": name, "addresses": [address], **settings})

    def remove_device(self, device_id):
        self.call("DELETE", f"/rest/config/devices/{device_id}")

    def change_device(self, device_id, **settings):
        self.call("PATCH", f"/rest/config/devices/{device_id}", settings)

    def set_folder(self, folder_id, path, devices=(), **settings):
        """Creates or replaces a folder, without watcher and periodic scans unless `settings` say so."""
        os.makedirs(path, exist_ok=True)
        body = {"id": folder_id, "label": folder_id, "path": path, "type": "sendreceive",
                "devices": [{"deviceID": self.id}] + [{"deviceID": device} for device in devices],
                "rescanIntervalS": 0, "fsWatcherEnabled": False, "order": self.order, **settings}
        self.call("POST", "/rest/config/folders", body)

    def set_ignores(self, folder_id, lines):
        return self.call("POST", "/rest/db/ignores", {"ignore": list(lines)}, folder=folder_id)

    def scan(self, folder_id, sub=None):
        """Returns when the scan is done."""
        query = {"folder": folder_id} | ({"sub": sub} if sub else {})
        self.call("POST", "/rest/db/scan", timeout=600, **query)

    def status(self, folder_id):
        return self.get("/rest/db/status", folder=folder_id)

    def connections(self):
        return self.get("/rest/system/connections")

    def is_connected(self, device_id):
        return bool((self.connections()["connections"].get(device_id) or {}).get("connected"))

    def completion(self, folder_id, device_id):
        return self.get("/rest/db/completion", folder=folder_id, device=device_id)

    # waiting

    def _when(self, condition, timeout, what):
        def quiet():
            try:
                return condition()
            except urllib.error.HTTPError:
                return None
        return wait_until(quiet, timeout, f"{self.name}: {what}", child=self)

    def wait_connected(self, device_id, timeout=30):
        self._when(lambda: self.is_connected(device_id), timeout, f"connected to {device_id[:7]}")

    def wait_disconnected(self, device_id, timeout=30):
        self._when(lambda: not self.is_connected(device_id), timeout, f"disconnected from {device_id[:7]}")

    def wait_scanned(self, folder_id, files=0, timeout=120):
        """Idle, with at least so many files of its own."""
        def scanned():
            status = self.status(folder_id)
            return status if status["state"] == "idle" and status["localFiles"] >= files else None
        return self._when(scanned, timeout, f"scan of {folder_id}")

    def wait_global(self, folder_id, files, timeout=120):
        def known():
            status = self.status(folder_id)
            return status if status["globalFiles"] >= files else None
        return self._when(known, timeout, f"{files} global files in {folder_id}")

    def wait_synced(self, folder_id, files=0, timeout=600):
        """Idle, needs nothing, and has at least so many files."""
        def synced():
            status = self.status(folder_id)
            done = status["state"] == "idle" and status["needTotalItems"] == 0 and status["globalFiles"] > 0
            return status if done and status["localFiles"] >= files else None
        return self._when(synced, timeout, f"{folder_id} in sync")

    def wait_completion(self, folder_id, device_id, timeout=30):
        """Until it says that the device has all of the folder."""
        def complete():
            answer = self.completion(folder_id, device_id)
            return answer if answer["completion"] == 100 and answer.get("needItems", 0) == 0 else None
        return self._when(complete, timeout, f"{device_id[:7]} has all of {folder_id}")
