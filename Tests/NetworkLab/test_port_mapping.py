"""Ports mapped by a real miniupnpd: a home, its router and a machine on the internet in network namespaces.

Needs root, nftables, iproute2, miniupnpd-nftables (its service masked) and the program PortMapProbe
(`swift build --product PortMapProbe`, or $PORT_MAP_PROBE). The addresses of the internet are public-looking on purpose:
miniupnpd maps nothing behind a private or a documentation address.
"""
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
WAN, SERVER, GATEWAY, HOME = "11.7.0.10", "11.7.0.1", "192.168.1.1", "192.168.1.2"
METHODS = ["PCP", "NAT-PMP", "UPnP"]


def find_probe():
    named = os.environ.get("PORT_MAP_PROBE")
    if named:
        return named
    shown = subprocess.run(["swift", "build", "--show-bin-path"], capture_output=True, text=True)
    path = os.path.join(shown.stdout.strip(), "PortMapProbe")
    return path if os.path.exists(path) else None


def missing():
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    for program in ("ip", "nft", "miniupnpd"):
        if not shutil.which(program, path=PATH):
            return f"needs {program}"
    return None if find_probe() else "needs PortMapProbe"


pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True, env={**os.environ, "PATH": PATH}).stdout


NFT = """
table inet lab {
  chain upnp_fwd { }
  chain upnp_nat { }
  chain upnp_post { }
  chain forward { type filter hook forward priority 0; policy drop;
    ct state established,related accept; ct status dnat accept; iif lan accept; jump upnp_fwd; }
  chain input { type filter hook input priority 0; policy accept; iif wan ct state new drop; }
  chain prerouting { type nat hook prerouting priority -100; policy accept; jump upnp_nat; }
  chain postrouting { type nat hook postrouting priority 100; policy accept; jump upnp_post;
    oif wan ip saddr 192.168.1.0/24 masquerade; }
}
"""


class Network:
    """Namespaces NAME-net, NAME-router and NAME-home."""

    def __init__(self, wan=WAN):
        self.name = f"portmap-{os.getpid()}"
        self.directory = tempfile.mkdtemp(prefix="portmap.")
        self.wan = wan
        self.daemon = None
        self.probes = []
        for part in ("net", "router", "home"):
            run("ip", "netns", "add", f"{self.name}-{part}")
            self.ip(part, "link", "set", "lo", "up")
        self.join("router", "wan", f"{wan}/24", "net", f"{wan.rsplit('.', 1)[0]}.1/24")
        self.join("router", "lan", f"{GATEWAY}/24", "home", f"{HOME}/24")
        self.ip("home", "route", "add", "default", "via", GATEWAY)
        self.ip("router", "route", "add", "239.0.0.0/8", "dev", "lan")
        self.inside("router", "sysctl", "-qw", "net.ipv4.ip_forward=1")
        rules = os.path.join(self.directory, "nft")
        with open(rules, "w") as file:
            file.write(NFT)
        self.inside("router", "nft", "-f", rules)

    def ip(self, part, *words):
        run("ip", "-n", f"{self.name}-{part}", *words)

    def inside(self, part, *words, check=True):
        return run("ip", "netns", "exec", f"{self.name}-{part}", *words, check=check)

    def join(self, left, left_name, left_address, right, right_address):
        run("ip", "link", "add", left_name, "netns", f"{self.name}-{left}", "type", "veth",
            "peer", "name", "eth0", "netns", f"{self.name}-{right}")
        for part, interface, address in ((left, left_name, left_address), (right, "eth0", right_address)):
            self.ip(part, "addr", "add", address, "dev", interface)
            self.ip(part, "link", "set", interface, "up")

    def start_daemon(self, upnp=True, natpmp=True, allowed="1024-65535", extra=""):
        """With natpmp it speaks PCP as well."""
        configuration = os.path.join(self.directory, "conf")
        yes = {True: "yes", False: "no"}
        with open(configuration, "w") as file:
            file.write(f"ext_ifname=wan\nlistening_ip=lan\nenable_upnp={yes[upnp]}\nenable_natpmp={yes[natpmp]}\n"
                       f"secure_mode=yes\nmin_lifetime=120\nmax_lifetime=86400\nsystem_uptime=no\nnotify_interval=60\n"
                       f"uuid=00000000-0000-4000-8000-000000000001\nupnp_table_name=lab\nupnp_nat_table_name=lab\n"
                       f"upnp_forward_chain=upnp_fwd\nupnp_nat_chain=upnp_nat\nupnp_nat_postrouting_chain=upnp_post\n"
                       f"allow {allowed} 192.168.1.0/24 1024-65535\ndeny 0-65535 0.0.0.0/0 0-65535\n{extra}")
        log = open(os.path.join(self.directory, "log"), "ab")
        self.daemon = subprocess.Popen(
            ["ip", "netns", "exec", f"{self.name}-router", "miniupnpd", "-d", "-f", configuration,
             "-P", os.path.join(self.directory, "pid")], stdout=log, stderr=log, env={**os.environ, "PATH": PATH})
        return self.daemon

    def age(self):
        """For how many seconds the daemon says that it runs, asked by NAT-PMP."""
        code = ("import socket; asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asking.settimeout(5); "
                f"asking.sendto(bytes(2), ('{GATEWAY}', 5351)); print(int.from_bytes(asking.recv(16)[4:8], 'big'))")
        return int(self.inside("home", "/usr/bin/python3", "-c", code))

    def kill_daemon(self):
        """As a power cut: what it had mapped is forgotten too."""
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        for chain in ("upnp_nat", "upnp_fwd", "upnp_post"):
            self.inside("router", "nft", "flush", "chain", "inet", "lab", chain)

    def mapped(self):
        """The lines of nftables that map to port 22000 of the home."""
        lines = self.inside("router", "nft", "list", "chain", "inet", "lab", "upnp_nat").splitlines()
        return [line.strip() for line in lines if f"dnat ip to {HOME}:22000" in line]

    def probe(self, *options):
        probe = Probe(f"{self.name}-home", *options)
        self.probes.append(probe)
        return probe

    def fetch_from_outside(self, address, port):
        code = f"import socket; print(socket.create_connection(('{address}', {port}), 5).recv(10).decode().strip())"
        return self.inside("net", "/usr/bin/python3", "-c", code).strip()

    def close(self):
        for probe in self.probes:
            probe.kill()
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()
        for part in ("net", "router", "home"):
            run("ip", "netns", "del", f"{self.name}-{part}", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


class Probe:
    def __init__(self, namespace, *options):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, find_probe(), "22000", "--listen", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.said = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def wait_line(self, start, seconds=20):
        """The next line that begins with `start`."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no line {start!r} in {seconds} s; there were {self.said}")
            self.said.append(line)
            if line.startswith(start):
                return line

    def wait_mapped(self):
        host, port = self.wait_line("announce tcp://").split("//")[1].rsplit(":", 1)
        return host, int(port)

    def wait_said(self, start):
        """The first line that begins with `start`, said before or to be said."""
        return next((line for line in self.said if line.startswith(start)), None) or self.wait_line(start)

    def changed(self):
        self.process.stdin.write("changed\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.wait_line("ended")
        assert self.process.wait(10) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()


def wait_until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.fixture
def network():
    network = Network()
    yield network
    network.close()


@pytest.mark.parametrize("method", METHODS)
def test_each_method_alone(network, method):
    network.start_daemon(upnp=method == "UPnP", natpmp=method != "UPnP")
    probe = network.probe("--methods", method)
    # The daemon may have started after the first questions.
    host, port = probe.wait_mapped()
    assert host == WAN and 1024 <= port < 65535
    assert f"({method}, for 60 min unless renewed)" in probe.wait_said("state The router at 192.168.1.1 maps")
    rules = network.mapped()
    assert len(rules) == 1 and f"dport {port}" in rules[0]
    assert network.fetch_from_outside(host, port) == "mapped"
    probe.end()
    assert network.mapped() == []


def test_router_with_upnp_only_is_found_without_being_told(network):
    network.start_daemon(natpmp=False)
    probe = network.probe()
    assert network.fetch_from_outside(*probe.wait_mapped()) == "mapped"
    assert "(UPnP" in probe.wait_said("state The router at 192.168.1.1 maps")


@pytest.mark.parametrize("method", ["PCP", "NAT-PMP"])
def test_restart_is_announced_and_mapped_again(network, method):
    network.start_daemon(upnp=False)
    probe = network.probe("--methods", method)
    host, port = probe.wait_mapped()
    # What its clock says is cut to seconds, and may be two off: who starts again sooner looks like one who did not (RFC 6887, 8.5).
    began = network.age()
    wait_until(lambda: network.age() >= began + 5, "it has run for a while")
    network.kill_daemon()
    assert network.mapped() == []
    network.start_daemon(upnp=False)
    # Ten minutes before the next renewal: only the daemon's announcement can be the reason.
    wait_until(network.mapped, "not mapped again after a restart")
    assert network.fetch_from_outside(host, port) == "mapped"


def test_restart_is_announced_by_ipv6_and_the_firewall_opened_again(network):
    network.ip("router", "addr", "add", "2a00:7::1/64", "dev", "lan", "nodad")
    network.ip("home", "addr", "add", "2a00:7::2/64", "dev", "eth0", "nodad")
    wait_until(lambda: "tentative" not in network.inside("router", "ip", "-6", "addr", "show", "dev", "lan", "scope", "link"),
               "the router's address is its own")
    shown = network.inside("router", "ip", "-6", "-o", "addr", "show", "dev", "lan", "scope", "link")
    network.ip("home", "route", "add", "default", "via", shown.split()[3].split("/")[0], "dev", "eth0")
    network.daemon = router = subprocess.Popen(
        ["ip", "netns", "exec", f"{network.name}-router", "/usr/bin/python3",
         os.path.join(os.path.dirname(__file__), "pcp_router.py"), "lan"], stdout=subprocess.PIPE, text=True)
    assert router.stdout.readline() == "ready\n"
    probe = network.probe("--methods", "PCP")
    assert probe.wait_mapped() == ("[2a00:7::2]", 22000)
    assert router.stdout.readline() == "MAP 22000 3600\n"
    asked = queue.Queue()
    threading.Thread(target=lambda: [asked.put(line) for line in router.stdout], daemon=True).start()
    router.send_signal(signal.SIGHUP)
    # Ten minutes before the next renewal: only the announcement can be the reason.
    assert asked.get(timeout=20) == "MAP 22000 3600\n"
    probe.end()
    assert asked.get(timeout=10) == "MAP 22000 0\n", "closed at the end"


def test_restart_with_upnp_is_noticed_at_a_renewal(network):
    # After the restart the daemon describes itself at another port.
    network.start_daemon(natpmp=False, extra="port=5001\n")
    probe = network.probe("--methods", "UPnP", "--renewal", "5")
    host, port = probe.wait_mapped()
    network.kill_daemon()
    network.start_daemon(natpmp=False, extra="port=5002\n")
    wait_until(network.mapped, "not mapped again after a restart", seconds=60)
    assert network.fetch_from_outside(host, port) == "mapped"


def test_network_change_asks_again_at_once(network):
    network.start_daemon(natpmp=False)
    probe = network.probe()
    probe.wait_mapped()
    network.kill_daemon()
    network.start_daemon(natpmp=False)
    time.sleep(1)
    probe.changed()
    wait_until(network.mapped, "not mapped again after a change of networks")


def test_lost_route_withdraws(network):
    network.start_daemon()
    probe = network.probe()
    probe.wait_mapped()
    network.ip("home", "route", "del", "default")
    probe.changed()
    assert probe.wait_line("announce") == "announce"
    probe.wait_line("state No router to ask")
    network.ip("home", "route", "add", "default", "via", GATEWAY)
    probe.changed()
    probe.wait_mapped()


def test_refusing_router_is_explained(network):
    network.start_daemon(natpmp=False, allowed="80-81")
    probe = network.probe("--methods", "UPnP")
    said = probe.wait_line("state The router at 192.168.1.1 does not map TCP 22000")
    assert "(UPnP)" in said and "forward port 22000 (TCP) to 192.168.1.2 by hand" in said
    assert network.mapped() == []


# By PCP miniupnpd gives the result NO_RESOURCES, by NAT-PMP the true one.
@pytest.mark.parametrize("method,remedy", [("PCP", "forward port 22000"), ("NAT-PMP", "Check its internet connection")])
def test_router_without_a_public_address_is_explained(method, remedy):
    # miniupnpd maps nothing while its own address is private.
    network = Network(wan="10.9.0.10")
    try:
        network.start_daemon(upnp=False)
        probe = network.probe("--methods", method)
        said = probe.wait_line("state The router at 192.168.1.1 does not map TCP 22000")
        assert f"({method})" in said and remedy in said
        assert network.mapped() == []
    finally:
        network.close()


def test_silent_router_is_explained(network):
    probe = network.probe()
    said = probe.wait_line("state The router at 192.168.1.1 does not answer PCP, NAT-PMP or UPnP")
    assert "Switch UPnP or NAT-PMP on" in said
