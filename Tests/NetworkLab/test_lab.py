"""The laboratory itself: networks do what their kind says, and nothing stays behind. Needs no synctrain."""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

import netlab
from netlab import PORTS, SERVER
from nodes import through, wait_announced
from process import PATIENCE, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))


def udp(place, address="0.0.0.0", port=0):
    def make():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((address, port))
        made.settimeout(PATIENCE)
        return made
    return place.call(make)


def hears(receiver, sender, destination):
    """Sends a datagram; who it came from, as the receiver sees it, or None when it did not come."""
    word = os.urandom(8)
    sender.sendto(word, destination)
    try:
        while True:
            data, source = receiver.recvfrom(100)
            if data == word:
                return source
    except TimeoutError:
        return None


@pytest.mark.parametrize("kind", netlab.routers.KINDS)
def test_a_router_is_of_its_kind(network, kind):
    """By two servers and a stranger in the internet, all by UDP."""
    lab = network(nat_a=kind, nat_b="none", servers=())
    home = udp(lab.home_a, port=22000)
    servers = [udp(lab.net, SERVER), udp(lab.net, SERVER)]
    stranger = udp(lab.home_b)
    seen = [hears(server, home, server.getsockname()) for server in servers]
    outside = lab.home_a.address if kind == "none" else lab.router_a.wan
    assert all(address == outside for address, _ in seen)
    ports = [port for _, port in seen]
    # Who was written to gets through, whatever the kind.
    assert hears(home, servers[0], seen[0]) is not None
    # One port for all, or one for each.
    assert (ports[0] != ports[1]) == (kind == "symmetric")
    assert (ports == [22000, 22000]) == (kind != "symmetric")
    # Whether a stranger gets through.
    assert (hears(home, stranger, seen[0]) is not None) == (kind in ("none", "full"))


def test_unsolicited_connections_are_dropped(network):
    lab = network(nat_a="restricted", nat_b="none", servers=("pool",))
    listener = lab.home_b.call(socket.create_server, (lab.home_b.address, 22000))
    inside = lab.home_a.call(socket.create_server, (lab.home_a.address, 22000))
    assert lab.home_a.connects(lab.home_b.address, 22000)
    assert not lab.home_b.connects(lab.router_a.wan, 22000, timeout=0.3)
    assert lab.home_a.connects(SERVER, PORTS["pool"])
    listener.close()
    inside.close()


def test_homes_of_one_network_see_each_other(network):
    lab = network(same_lan=True, servers=())
    assert lab.home_b.address == "192.168.1.3"
    listener = lab.home_b.call(socket.create_server, (lab.home_b.address, 22000))
    assert lab.home_a.connects(lab.home_b.address, 22000)
    listener.close()


def test_cables_and_addresses(network):
    lab = network(servers=("pool",))
    kept = lab.home_a.call(socket.create_connection, (SERVER, PORTS["pool"]))
    assert lab.change_address(lab.router_a) == "11.7.0.11"
    assert lab.home_a.connects(SERVER, PORTS["pool"])
    # A connection of the old address hears nothing any more.
    kept.settimeout(0.5)
    kept.sendall(b"GET /endpoint HTTP/1.0\r\n\r\n")
    with pytest.raises(OSError):
        assert kept.recv(1) == b"", "the old connection goes on"
        raise ConnectionResetError
    for place in (lab.home_a, lab.router_a):
        lab.unplug(place)
        assert not lab.home_a.connects(SERVER, PORTS["pool"], timeout=0.3)
        lab.plug(place)
        wait_until(lambda: lab.home_a.connects(SERVER, PORTS["pool"], timeout=0.5), 5, "it is plugged in again")
    lab.change_home_address(lab.home_a)
    assert lab.home_a.connects(SERVER, PORTS["pool"])


@pytest.mark.parametrize("name", ["discovery", "relay", "pool", "socks", "http_proxy", "upnp_a"])
def test_every_server_can_be_killed_and_started(network, name):
    lab = network(upnp="a", servers=tuple(PORTS))
    lab.kill(name)
    if name in PORTS:
        assert not lab.home_b.connects(SERVER, PORTS[name], timeout=1.0)
    lab.start(name)
    lab.restart(name)
    if name in PORTS:
        assert lab.home_b.connects(SERVER, PORTS[name])


def test_routers_map_ports(network):
    """NAT-PMP: map TCP 22000; then a stranger reaches the home."""
    lab = network(nat_b="none", upnp="a", servers=())
    asker = udp(lab.home_a)

    def ask(request):
        asker.sendto(bytes.fromhex(request), (f"{lab.router_a.prefix}.1", 5351))
        return asker.recv(100).hex()
    assert ask("0000")[16:] == "0b07000a"
    assert re.match(r"00820000.{8}55f055f0", ask("0002000055f055f000000e10"))
    listener = lab.home_a.call(socket.create_server, (lab.home_a.address, 22000))
    assert lab.home_b.connects(lab.router_a.wan, 22000)
    listener.close()


@pytest.mark.parametrize("name", ["socks", "http_proxy"])
@pytest.mark.parametrize("login", [None, ("joan", "hunter2")])
def test_proxies_connect(network, name, login):
    lab = network(servers=("pool", name), login=login)
    scheme = "socks5h" if name == "socks" else "http"
    address = lab.proxy(name).split("://")[1]
    ask = ["curl", "-s", "--proxytunnel", "-m", "5", f"http://{SERVER}:{PORTS['pool']}/endpoint", "-x"]
    if name == "socks":
        ask.remove("--proxytunnel")
    assert "relays" not in lab.home_a.run([*ask, f"{scheme}://x:y@{address.split('@')[-1]}"],
                                          check=False).stdout or login is None
    lab.servers["pool"].log()
    # The pool's file names the relay, which this laboratory has not.
    assert lab.home_a.run([*ask, f"{scheme}://{address}"]).stdout.startswith("{")
    assert f"CONNECT {SERVER} {PORTS['pool']}" in lab.servers[name].log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_nothing_stays_behind(number):
    """The tests are killed while two laboratories stand side by side."""
    # Who runs the tests in the background may have them ignore SIGINT, and children inherit that.
    script = ("import netlab, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler);"
              "labs = [netlab.NetworkLab(upnp='a') for _ in range(2)];"
              "print(*[s.process.pid for l in labs for s in l.servers.values()], flush=True); time.sleep(60)")
    tests = subprocess.Popen([sys.executable, "-c", script], cwd=HERE, stdout=subprocess.PIPE, text=True)
    pids = tests.stdout.readline().split()
    assert len(pids) == 8
    tests.send_signal(number)
    tests.wait(10)
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 5, "the servers end")


def test_a_laboratory_is_quick():
    start = time.monotonic()
    netlab.NetworkLab(upnp="ab", servers=tuple(PORTS)).close()
    assert time.monotonic() - start < 3 * PATIENCE, "1.5 s on a machine of one's own"


@pytest.mark.parametrize("listen", ["relay", "pool"])
def test_real_syncthings_meet_through_discovery_and_relay(network, listen):
    lab = network(nat_a="symmetric", nat_b="symmetric")
    options = through(lab, getattr(lab, listen))
    a = lab.syncthing(lab.home_a, "a", options, start=False)
    b = lab.syncthing(lab.home_b, "b", options, start=False)
    a.add_device(b.id)
    b.add_device(a.id)
    a.start()
    # A lookup that comes before is answered "ask again in a minute".
    wait_announced(lab, lab.home_b, a.id, "^relay://")
    b.start()
    a.wait_connected(b.id, timeout=40)
    assert a.connection(b.id)["type"].startswith("relay")
    assert lab.relay_status()["numActiveSessions"] == 1


@pytest.mark.parametrize("name", ["socks"])
def test_a_real_syncthing_announces_itself_through_a_proxy(network, name):
    """What it announces has the proxy's address, which is of no use to others; the relay's is right."""
    lab = network(servers=("discovery", "relay", name), login=("joan", "hunter2"))
    node = lab.syncthing(lab.home_a, "node", through(lab, "tcp://0.0.0.0:22000", lab.relay), start=False)
    node.variables = {"ALL_PROXY": lab.proxy(name), "ALL_PROXY_NO_FALLBACK": "1"}
    node.start()
    addresses = wait_announced(lab, lab.home_b, node.id, "^relay://")["addresses"]
    assert f"tcp://{SERVER}:22000" in addresses
    assert not any(lab.router_a.wan in address for address in addresses)
    log = lab.servers[name].log()
    assert f"CONNECT {SERVER} {PORTS['discovery']}" in log and f"CONNECT {SERVER} {PORTS['relay']}" in log
