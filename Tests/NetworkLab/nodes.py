"""Real Syncthings and synctrain agents in a home of the laboratory."""

import os
import re
import xml.etree.ElementTree as ElementTree

import agent
import syncthing
from process import wait_until


def without_proxies(environment):
    """This machine's own proxies are not in the laboratory."""
    return {key: value for key, value in environment.items() if "PROXY" not in key.upper()}


class LabSyncthing(syncthing.Syncthing):
    """A Syncthing in a home, closed off but for what `options` allow. A list gives an option several values."""

    def __init__(self, place, name, home, options):
        self.place = place
        # Environment variables, such as {"ALL_PROXY": lab.proxy()}.
        self.variables = {}
        super().__init__(name, home)
        # Every node has a network of its own, so that all may have the ports that users know.
        self.api_port, self.port = 8384, 22000
        self.address = f"tcp://{place.address}:22000"
        path = os.path.join(home, "config.xml")
        tree = ElementTree.parse(path)
        tree.find("gui/address").text = "127.0.0.1:8384"
        found = tree.find("options")
        for key, value in {"listenAddress": "tcp://0.0.0.0:22000", **options}.items():
            for element in found.findall(key):
                found.remove(element)
            for text in value if isinstance(value, list) else [value]:
                ElementTree.SubElement(found, key).text = text
        tree.write(path)

    def spawn(self, command, stdout=None, env=None, **options):
        environment = without_proxies(env) | self.variables
        self.place.call(super().spawn, command, stdout, env=environment, **options)

    def call(self, *arguments, **options):
        return self.place.call(super().call, *arguments, **options)

    def add_device(self, device_id, address="dynamic", name="peer"):
        """Before its start it goes into the file: a Syncthing that runs may take 20 s to dial a device that is added."""
        if self.is_running:
            return super().add_device(device_id, address, name)
        path = os.path.join(self.home, "config.xml")
        tree = ElementTree.parse(path)
        device = ElementTree.Element("device", id=device_id, name=name)
        ElementTree.SubElement(device, "address").text = address
        tree.getroot().insert(0, device)
        tree.write(path)

    def connection(self, device_id):
        """Address, kind and so on of the connection to the device; None without one."""
        found = self.connections()["connections"].get(device_id) or {}
        return found if found.get("connected") else None

    def discovered(self, device_id):
        """The addresses that its discovery has for the device."""
        return (self.get("/rest/system/discovery") or {}).get(device_id, {}).get("addresses") or []


class LabAgent(agent.Agent):
    """A synctrain agent in a home; its configuration is what `init` makes, Bluetooth off, and `settings`: pairs of a regular
    expression and the text that replaces its only match."""

    def __init__(self, place, name, home, settings=()):
        self.place = place
        super().__init__(agent.find_program(), name, home)
        self.port = 22000
        self.address = f"tcp://{place.address}:22000"
        os.makedirs(os.path.dirname(home), exist_ok=True)
        self.run("init", "--name", name)
        self.change((r"(?m)(^\[bluetooth\]\n(?:#.*\n)*)enabled = true", r"\1enabled = false"), *settings)

    @property
    def environment(self):
        return without_proxies(super().environment) | self.variables

    def change(self, *settings):
        """Changes its configuration by (pattern, replacement); the agent reads it when it starts."""
        path = self.file("config.toml")
        with open(path) as file:
            text = file.read()
        for pattern, replacement in settings:
            text, count = re.subn(pattern, replacement, text)
            if count != 1:
                raise ValueError(f"{pattern!r} matches {count} times in\n{text}")
        with open(path, "w") as file:
            file.write(text)

    def spawn(self, command, stdout=None, **options):
        self.place.call(super().spawn, command, stdout, **options)

    def try_run(self, *arguments, **options):
        return self.place.call(super().try_run, *arguments, **options)

    def device(self, device_id):
        """The device's part of `status`."""
        return next((d for d in self.status()["devices"] if d["id"] == device_id), {})


LOCAL_ONLY = {"localAnnounceEnabled": "true", "localAnnouncePort": "21027"}


def through(lab, *listen):
    """Options of a Syncthing that uses the laboratory's discovery server and listens at `listen`."""
    return {"globalAnnounceEnabled": "true", "globalAnnounceServer": lab.discovery, "relaysEnabled": "true",
            "listenAddress": list(listen), "natTimeoutSeconds": "2"}


def is_announced(lab, place, device_id):
    """Whether the discovery server knows the device; its answer is returned."""
    import json
    import ssl
    import urllib.error
    import urllib.request
    context = ssl._create_unverified_context()

    def ask():
        try:
            with urllib.request.urlopen(f"{lab.discovery}&device={device_id}", timeout=5, context=context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:
            return None
    return place.call(ask)


def wait_announced(lab, place, device_id, pattern="", timeout=40):
    """Until an address of the device is announced that the pattern matches."""
    def known():
        answer = is_announced(lab, place, device_id)
        return answer if answer and any(re.search(pattern, a) for a in answer["addresses"]) else None
    return wait_until(known, timeout, f"{device_id[:7]} announces {pattern or 'itself'}", every=0.1)
