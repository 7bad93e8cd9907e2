"""A laboratory of networks: homes behind routers, and an internet with the real servers. See README.md."""

import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Interop"))

from link import Identity  # noqa: E402
from place import Place  # noqa: E402
import routers  # noqa: E402

SERVER = "11.7.0.1"
"""Looks public on purpose: miniupnpd refuses private ranges and those of documentation."""
PORTS = {"discovery": 8443, "relay": 22067, "pool": 8080, "socks": 1080, "http_proxy": 3128}
STATUS_PORT = 22070
DEFAULT_SERVERS = ("discovery", "relay", "pool")
QUIET = [("ipv6/conf/all/disable_ipv6", 1), ("ipv6/conf/default/disable_ipv6", 1), ("ipv6/conf/lo/disable_ipv6", 1)]
# Link-local addresses can be used at once, without looking for duplicates.
LINK_LOCAL = [("ipv6/conf/all/accept_dad", 0), ("ipv6/conf/default/accept_dad", 0),
              ("ipv6/conf/default/accept_ra", 0)]


def missing_programs(*names):
    """Which of the programs that a laboratory needs are not installed, by their Debian packages."""
    packages = {"ip": "iproute2", "nft": "nftables", "stdiscosrv": "syncthing-discosrv",
                "strelaysrv": "syncthing-relaysrv", "miniupnpd": "miniupnpd-nftables"}
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [packages[name] for name in names or packages if not shutil.which(name, path=path)]


PREFIX = "synctrain-net-"


def remove_stale_directories():
    """Removes what tests that were killed have left in the temporary directory; kept logs stay."""
    for name in os.listdir(tempfile.gettempdir()):
        found = re.fullmatch(PREFIX + r"(\d+)-(?!.*-logs$).*", name)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)


class Server:
    """A program of the internet or of a router, which can be stopped and started."""

    def __init__(self, name, place, command, log_path, is_ready, directory):
        self.name, self.place, self.command, self.log_path = name, place, command, log_path
        self._is_ready, self.directory = is_ready, directory
        self.process = None

    def start(self):
        """Does not wait until it serves."""
        with open(self.log_path, "ab") as log:
            self.process = self.place.popen(self.command, stdout=log, stderr=log, cwd=self.directory)

    def wait(self, timeout=10):
        end = time.monotonic() + timeout
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not serve (exit {self.process.poll()})\n{self.log()[-3000:]}")
            time.sleep(0.01)

    def end(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(10)

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()


class NetworkLab:
    """Homes `home_a`, `home_b` and, if `nat_c` is given, `home_c`, behind routers `router_a` …; `net` is the internet.

    `nat_X`: one of `routers.KINDS`. `upnp`: which routers map ports, such as "a" or "ab"; `protocols`: how.
    `same_lan`: all homes are behind router_a. `same_numbers`: all homes have the same private network.
    `drops_udp`: the routers let no UDP through. `servers`: what runs in the internet.
    `token`: what the relay wants; `login`: (user, password) that the proxies want."""

    def __init__(self, nat_a="restricted", nat_b="restricted", nat_c=None, upnp="", protocols=("upnp", "natpmp"),
                 same_lan=False, same_numbers=False, drops_udp=False, servers=DEFAULT_SERVERS, token=None, login=None,
                 relay_options=(), parent=None):
        remove_stale_directories()
        self.root = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)
        self.nodes, self.servers, self._places = [], {}, []
        self.token, self.login, self.relay_options = token, login, list(relay_options)
        self.kinds = {"a": nat_a, "b": nat_b} | ({"c": nat_c} if nat_c else {})
        self.homes, self.routers = {}, {}
        self.discovery_id = self.relay_id = None
        try:
            self._make_internet()
            for number, letter in enumerate(self.kinds, 1):
                if same_lan and letter != "a":
                    self._add_home(letter, self.routers["a"], number + 1)
                else:
                    self._make_router(letter, number, same_numbers, drops_udp, protocols if letter in upnp else ())
                    self._add_home(letter, self.routers[letter], 2)
            for name in servers:
                self._make_server(name)
            for server in self.servers.values():
                server.start()
            for server in self.servers.values():
                server.wait()
        except BaseException:
            self.close()
            raise

    # MARK: the networks

    def _place(self, name, *settings):
        place = Place(name, settings)
        self._places.append(place)
        return place

    def _make_internet(self):
        self.net = self._place("net", *QUIET, ("ipv4/ip_forward", 1), ("ipv4/conf/all/send_redirects", 0),
                               ("ipv4/conf/default/send_redirects", 0))
        # There is nothing beyond; a lookup of a name fails at once.
        self.net.ip("link set lo up", "link add br0 type bridge forward_delay 0", f"addr add {SERVER}/24 dev br0",
                    "link set br0 up", "route add unreachable default")

    def _make_router(self, letter, number, same_numbers, drops_udp, protocols):
        kind = self.kinds[letter]
        wan = f"11.7.0.{number * 10}"
        first = f"11.8.{number}" if kind == "none" else f"192.168.{1 if same_numbers else number}"
        router = self._place(f"router_{letter}", *QUIET, ("ipv4/ip_forward", 1))
        router.letter, router.prefix, router.wan = letter, first, wan
        self.routers[letter] = self.__dict__[f"router_{letter}"] = router
        self.net.ip(f"link add to_{letter} type veth peer name wan netns {router.path}", f"link set to_{letter} master br0 up",
                    *([f"route add {first}.0/24 via {wan}"] if kind == "none" else []))
        router.ip("link set lo up", "link add lan type bridge forward_delay 0", f"addr add {first}.1/24 dev lan",
                  "link set lan up", f"addr add {wan}/24 dev wan", "link set wan up",
                  f"route add default via {SERVER}", "route add 239.0.0.0/8 dev lan")
        router.nft(routers.rules(kind, f"{first}.0/24", drops_udp))
        if protocols:
            path = os.path.join(self.root, f"upnp_{letter}.conf")
            with open(path, "w") as file:
                file.write(routers.upnp_configuration(f"{first}.0/24", number, protocols))
            self._add_server(f"upnp_{letter}", router, ["miniupnpd", "-d", "-f", path, "-P", path + ".pid"],
                             lambda: self._listens(router, "udp", 5351 if "natpmp" in protocols else 1900))

    def _add_home(self, letter, router, host):
        home = self._place(f"home_{letter}", *LINK_LOCAL)
        home.letter, home.router, home.address = letter, router, f"{router.prefix}.{host}"
        self.homes[letter] = self.__dict__[f"home_{letter}"] = home
        router.ip(f"link add to_{letter} type veth peer name eth0 netns {home.path}", f"link set to_{letter} master lan up")
        home.ip("link set lo up", f"addr add {home.address}/24 brd + dev eth0", "link set eth0 up",
                f"route add default via {router.prefix}.1")

    def change_address(self, router):
        """The router's side to the internet gets another address, as when a train changes its cell: everything
        translated before is gone, and neither end is notified. Returns the new address."""
        old = router.wan
        router.wan = str(ipaddress.ip_address(old) + 1)
        letter = router.letter
        if self.kinds[letter] == "none":
            self.net.ip(f"route replace {router.prefix}.0/24 via {router.wan}")
        # What masquerade has translated goes with its address.
        router.ip(f"addr del {old}/24 dev wan", f"addr add {router.wan}/24 dev wan",
                  f"route replace default via {SERVER}")
        return router.wan

    def change_home_address(self, home):
        """The home's own address changes, as by a new lease of DHCP. Returns the new one."""
        old = home.address
        home.address = str(ipaddress.ip_address(old) + 50)
        home.ip(f"addr del {old}/24 dev eth0", f"addr add {home.address}/24 brd + dev eth0",
                f"route replace default via {home.router.prefix}.1")
        return home.address

    def unplug(self, place):
        """Pulls the cable of a home (to its router) or of a router (to the internet)."""
        self._other_end(place).ip(f"link set to_{place.letter} down")

    def plug(self, place):
        self._other_end(place).ip(f"link set to_{place.letter} up")

    def _other_end(self, place):
        return getattr(place, "router", self.net)

    def _listens(self, place, protocol, port):
        """Whether a socket is bound to the port."""
        wanted = f":{port:04X}"

        def look():
            with open(f"/proc/thread-self/net/{protocol}") as file:
                return any(line.split()[1].endswith(wanted) for line in list(file)[1:]
                           if protocol == "udp" or line.split()[3] == "0A")
        return place.call(look)

    # MARK: servers

    def _add_server(self, name, place, command, is_ready):
        self.servers[name] = Server(name, place, command, os.path.join(self.root, f"{name}.log"), is_ready, self.root)

    def _make_server(self, name):
        port = PORTS[name]
        directory = os.path.join(self.root, name)
        os.makedirs(directory)
        here = os.path.dirname(os.path.abspath(__file__))
        if name in ("discovery", "relay"):
            identity = Identity.create(directory, "p256", name)
        if name == "discovery":
            self.discovery_id = identity.id
            database = os.path.join(directory, "db")
            os.makedirs(database)
            command = [os.environ.get("DISCOSRV", "stdiscosrv"), "-listen", f"{SERVER}:{port}", "-cert",
                       identity.certificate, "-key", identity.key, "-db-dir", database]
            help_text = subprocess.run([command[0], "-help"], capture_output=True, text=True)
            if "replication-listen" in help_text.stdout + help_text.stderr:
                command += ["-replication-listen", ""]
        elif name == "relay":
            self.relay_id = identity.id
            command = [os.environ.get("RELAYSRV", "strelaysrv"), "-listen", f"{SERVER}:{port}", "-keys", directory,
                       "-pools", "", "-status-srv", f"{SERVER}:{STATUS_PORT}", *self.relay_options,
                       *(["-token", self.token] if self.token else [])]
        elif name == "pool":
            with open(os.path.join(directory, "endpoint"), "w") as file:
                relays = [{"url": self.relay, "location": {"latitude": 0, "longitude": 0}}] if self.relay else []
                json.dump({"relays": relays}, file)
            command = ["/usr/bin/python3", os.path.join(here, "pool_server.py"), SERVER, str(port), directory]
        else:
            command = ["/usr/bin/python3", os.path.join(here, "proxy_server.py"),
                       {"socks": "socks", "http_proxy": "http"}[name], SERVER, str(port), *(self.login or ())]
        self._add_server(name, self.net, command, lambda: self._listens(self.net, "tcp", port))

    @property
    def discovery(self):
        return f"https://{SERVER}:{PORTS['discovery']}/?id={self.discovery_id}"

    @property
    def relay(self):
        """The relay's address with its token; None without relay."""
        if not self.relay_id:
            return None
        token = f"&token={self.token}" if self.token else ""
        return f"relay://{SERVER}:{PORTS['relay']}/?id={self.relay_id}{token}"

    @property
    def pool(self):
        return f"dynamic+http://{SERVER}:{PORTS['pool']}/endpoint"

    def proxy(self, name="socks"):
        """The address of a proxy, for ALL_PROXY."""
        login = ":".join(self.login) + "@" if self.login else ""
        return f"{'socks5' if name == 'socks' else 'http'}://{login}{SERVER}:{PORTS[name]}"

    def relay_status(self):
        import urllib.request
        return self.net.call(lambda: json.load(urllib.request.urlopen(f"http://{SERVER}:{STATUS_PORT}/status", timeout=5)))

    def stop(self, name):
        self.servers[name].end(signal.SIGTERM)

    def kill(self, name):
        self.servers[name].end(signal.SIGKILL)

    def start(self, name):
        self.servers[name].start()
        self.servers[name].wait()

    def restart(self, name):
        self.stop(name)
        self.start(name)

    # MARK: nodes

    def syncthing(self, home, name, options=None, start=True):
        """A real Syncthing in a home."""
        from nodes import LabSyncthing
        directory = os.path.join(self.root, name)
        os.makedirs(directory)
        node = LabSyncthing(home, name, directory, options or {})
        self.nodes.append(node)
        return node.start() if start else node

    def agent(self, home, name="agent", settings=(), start=True):
        """A synctrain agent in a home."""
        from nodes import LabAgent
        directory = os.path.join(self.root, name)
        node = LabAgent(home, name, directory, settings)
        self.nodes.append(node)
        return node.start() if start else node

    # MARK: the end

    def close(self, keep=False):
        for place in reversed(self._places):
            place.close()
        if keep:
            self._keep_logs()
        shutil.rmtree(self.root, ignore_errors=True)

    def _keep_logs(self):
        """Copies logs and settings to `$SYNCTRAIN_INTEROP_LOGS` or beside the laboratory; prints the ends."""
        target = os.path.join(os.environ.get("SYNCTRAIN_INTEROP_LOGS", tempfile.gettempdir()),
                              os.path.basename(self.root) + "-logs")
        for directory, _, names in os.walk(self.root):
            for name in names:
                if name.endswith((".log", ".out", "log.txt", "config.xml", "config.toml", ".conf")):
                    path = os.path.join(directory, name)
                    copy = os.path.join(target, os.path.relpath(path, self.root))
                    os.makedirs(os.path.dirname(copy), exist_ok=True)
                    shutil.copyfile(path, copy)
        for thing in [*self.nodes, *self.servers.values()]:
            with open(thing.log_path, errors="replace") as file:
                print(f"--- end of {thing.name}'s log (all in {target})\n{file.read()[-2500:]}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(keep=kind is not None)
