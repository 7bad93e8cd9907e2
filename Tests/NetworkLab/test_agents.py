"""Which way synctrain agents connect for each pair of routers, to one another and to a real Syncthing, from nothing but their ids;
and what they do when servers, routers and addresses change."""

import os
import time

import netlab
import pytest

from nodes import is_announced, through, wait_announced
from pairing import PairCommand
from process import PATIENCE, wait_until
from test_nat_pairs import A_KINDS, B_KINDS, expected_way


def settings(lab, relay=None, more=()):
    """Settings that have an agent use the laboratory's servers."""
    return [(r'(?ms)(^\[discovery\]\n.*?^servers = ).*?$', rf'\1["{lab.discovery}"]'),
            (r'(?ms)(^\[relays\]\n.*?^servers = ).*?$', rf'\1["{relay or lab.relay}"]'), *more]


def two_agents(lab, **options):
    """Agents of homes A and B that know each other's id, not started."""
    a, b = (lab.agent(home, name=name, settings=settings(lab, **options), start=False)
            for name, home in (("a", lab.home_a), ("b", lab.home_b)))
    a.add_device(b.id, "b", "dynamic")
    b.add_device(a.id, "a", "dynamic")
    return a, b


def wait_way(agent, peer_id, way, timeout=40):
    """Until the agent says that it is connected that way, `tcp` being `tcp-lan` or `tcp-wan`; its word on the device is returned.
    A better way is to be taken within 30 s."""
    def connected():
        found = agent.device(peer_id)
        return found if found.get("connected") and found.get("transport", "").startswith(way) else None
    try:
        return wait_until(connected, timeout, f"{agent.name} is connected by {way}", child=agent, every=0.1)
    except TimeoutError:
        print(agent.name, agent.run("reach").stdout.decode())
        raise


def connect(lab, first, second, way):
    """Starts both; the second once the first is announced. Until both say that they are connected that way: 20 s from the
    moment both are up."""
    first.start()
    wait_announced(lab, second.place, first.id, "^relay://")
    second.start()
    up = time.monotonic()
    wait_way(second, first.id, way, 20)
    wait_way(first, second.id, way, 20 - (time.monotonic() - up) / PATIENCE)
    print(f"connected by {way} {time.monotonic() - up:.1f} s after both were up")


@pytest.mark.parametrize("nat_b", B_KINDS)
@pytest.mark.parametrize("nat_a", A_KINDS)
def test_two_agents(network, nat_a, nat_b):
    """The first may be the one that cannot be reached: then the relay is used until the other's address is known."""
    lab = network(nat_a=nat_a, nat_b=nat_b)
    # One pair takes the relay from a pool, as the public ones are.
    a, b = two_agents(lab, relay=lab.pool if nat_a == nat_b == "symmetric" else None)
    connect(lab, a, b, expected_way(nat_a, nat_b))


@pytest.mark.parametrize("nat_b", B_KINDS)
@pytest.mark.parametrize("nat_a", A_KINDS)
def test_an_agent_and_a_syncthing(network, nat_a, nat_b):
    lab = network(nat_a=nat_a, nat_b=nat_b)
    agent = lab.agent(lab.home_a, name="a", settings=settings(lab), start=False)
    node = lab.syncthing(lab.home_b, "b", through(lab, "tcp://0.0.0.0:22000", lab.relay), start=False)
    agent.add_device(node.id, "b", "dynamic")
    node.add_device(agent.id)
    way = expected_way(nat_a, nat_b)
    # Where only the Syncthing can dial, it comes second: it looks a device up again after a minute only.
    first, second = (agent, node) if nat_a in ("none", "full") else (node, agent)
    first.start()
    wait_announced(lab, second.place, first.id, "^relay://")
    second.start()
    up = time.monotonic()
    wait_way(agent, node.id, way, 20)
    print(f"connected by {way} {time.monotonic() - up:.1f} s after both were up")
    # The agent may know of it a moment earlier.
    node.wait_connected(agent.id, timeout=5)
    assert node.connection(agent.id)["type"].startswith(way)


@pytest.mark.parametrize("protocols", [("upnp",), ("natpmp",)])
def test_a_router_maps_the_port(network, protocols):
    """Without it, two symmetric routers leave the relay only. PCP is asked first where NAT-PMP is served, and answers."""
    lab = network(nat_a="symmetric", nat_b="symmetric", upnp="a", protocols=protocols)
    a, b = two_agents(lab)
    a.start()
    wait_announced(lab, b.place, a.id, rf"^tcp://{lab.router_a.wan}:")
    b.start()
    wait_way(b, a.id, "tcp")
    device = b.device(a.id)
    assert device["address"].startswith(f"tcp://{lab.router_a.wan}:") and device["transport"] == "tcp-wan"


def reach_test(agent):
    """What came of each address when the agent asked who is connected, by device; and the whole report."""
    report = agent.document("reach", "--test")
    return {d["name"]: {r["address"]: r["outcome"] for r in d["results"]} for d in report["devices"]}, report


def test_a_device_elsewhere_reaches_what_the_router_forwards(network):
    lab = network(nat_a="symmetric", nat_b="none", upnp="a", servers=("discovery", "relay"))
    a, b = two_agents(lab)
    a.start()
    # The server writes the address that it sees before the port that is listened on, which nobody forwards.
    closed = f"tcp://{lab.router_a.wan}:22000"
    announced = wait_announced(lab, b.place, a.id, rf"^tcp://{lab.router_a.wan}:(?!22000$)")
    forwarded = next(one for one in announced["addresses"] if one.startswith(f"tcp://{lab.router_a.wan}:") and one != closed)
    b.start()
    wait_way(a, b.id, "tcp")
    link = a.device(b.id)["address"]
    results, report = reach_test(a)
    assert results["b"] == {forwarded: "reached", closed: "timed-out"}, report
    assert report["devices"][0]["local"] is False
    assert report["advice"].startswith("Devices elsewhere can connect")
    # The link that there was is the one that there is.
    assert a.device(b.id)["connected"] and a.device(b.id)["address"] == link
    # In public, nothing is in the way.
    results, report = reach_test(b)
    assert results["a"][b.address] == "reached", report


def test_a_router_that_does_not_forward_is_found_out(network):
    lab = network(nat_a="restricted", nat_b="none", servers=("discovery", "relay"))
    a, b = two_agents(lab)
    b.start()
    wait_announced(lab, a.place, b.id, "^relay://")
    a.start()
    wait_way(a, b.id, "tcp")
    wait_until(lambda: any(r["state"] == "joined" for r in a.document("reach")["relays"]), 20, "a joins the relay", child=a)
    results, report = reach_test(a)
    # Where b sees it; nobody has told a of that address.
    assert results == {"b": {f"tcp://{lab.router_a.wan}:22000": "timed-out"}}, report
    assert report["relay"]["reachable"] is True
    assert "Forward TCP port 22000" in report["advice"] and "use the relay" in report["advice"]
    assert a.device(b.id)["connected"]


def test_a_router_that_is_killed_is_asked_again(network):
    lab = network(nat_a="symmetric", nat_b="symmetric", upnp="a", servers=("discovery", "relay"))
    a, b = two_agents(lab)
    a.start()
    wait_announced(lab, b.place, a.id, rf"^tcp://{lab.router_a.wan}:")
    lab.kill("upnp_a")
    lab.router_a.run(["nft", "flush", "chain", "inet", "router", "upnp_nat"])
    lab.start("upnp_a")
    b.start()
    # At the latest when half of the lease of two minutes is over.
    wait_way(b, a.id, "tcp", timeout=90)


def test_a_relay_that_starts_again_is_joined_again(network):
    lab = network(nat_a="symmetric", nat_b="symmetric", servers=("discovery", "relay"))
    a, b = two_agents(lab)
    connect(lab, a, b, "relay")
    lab.kill("relay")
    wait_until(lambda: not b.device(a.id).get("connected"), 20, "they are not connected", every=0.1)
    lab.start("relay")
    for agent, other in ((a, b), (b, a)):
        wait_way(agent, other.id, "relay", timeout=90)


def test_a_discovery_server_that_starts_again_is_told_again(network):
    lab = network(nat_a="full", nat_b="restricted", servers=("discovery", "relay"))
    a, b = two_agents(lab)
    lab.kill("discovery")
    a.start()
    lab.start("discovery")
    wait_announced(lab, b.place, a.id, "^relay://", timeout=60)
    b.start()
    wait_way(b, a.id, "tcp")


@pytest.mark.parametrize("nat_a, nat_b", [("none", "restricted"), ("symmetric", "symmetric")])
def test_a_new_address_of_the_own_machine(network, nat_a, nat_b):
    """The hand-over of a train, as far as this machine sees it: connected again within 5 s."""
    lab = network(nat_a=nat_a, nat_b=nat_b, servers=("discovery", "relay"))
    way = expected_way(nat_a, nat_b)
    a, b = two_agents(lab)
    connect(lab, a, b, way)
    begin = time.monotonic()
    lab.change_home_address(lab.home_b)
    wait_until(lambda: "link ended" in b.log_tail(100_000), 5, "the old link is given up", every=0.05)
    wait_way(b, a.id, way, timeout=max(0, 5 - (time.monotonic() - begin) / PATIENCE))
    print(f"connected by {way} {time.monotonic() - begin:.1f} s after the change")


@pytest.mark.parametrize("nat_a, nat_b", [("none", "restricted"), ("symmetric", "symmetric")])
def test_a_path_that_swallows_everything(network, nat_a, nat_b):
    """The router's side changes and nobody is told. What is being fetched goes on over a new link."""
    lab = network(nat_a=nat_a, nat_b=nat_b, servers=("discovery", "relay"))
    a, b = two_agents(lab)
    connect(lab, a, b, expected_way(nat_a, nat_b))
    where = os.path.join(lab.root, "files")
    os.makedirs(where)
    with open(os.path.join(where, "film"), "wb") as file:
        file.write(os.urandom(1 << 20))
    a.add_folder("films", where, b.id, mode="full")
    b.add_folder("films", os.path.join(lab.root, "copy"), a.id, mode="selective")
    wait_until(lambda: b.try_run("stat", "films:film").returncode == 0, 20, "the film is known", every=0.1)
    lab.change_address(lab.router_b)
    begin = time.monotonic()
    fetch = lab.home_b.popen(b.command("fetch", "films:film", "--output", os.path.join(lab.root, "fetched")), env=b.environment)
    wait_until(lambda: fetch.poll() is not None, 5, "the file is fetched", every=0.05)
    print(f"fetched {time.monotonic() - begin:.1f} s after the change")
    assert fetch.returncode == 0
    with open(os.path.join(lab.root, "fetched"), "rb") as fetched, open(os.path.join(where, "film"), "rb") as film:
        assert fetched.read() == film.read()


def cut(lab):
    """Nothing gets from router B to home A or back, but by the relay."""
    lab.router_b.nft(f"""table inet cut {{
  chain forward {{ type filter hook forward priority -10; ip daddr {lab.home_a.address} drop; ip saddr {lab.home_a.address} drop; }}
}}
""")


def mend(lab):
    lab.router_b.run(["nft", "delete", "table", "inet", "cut"])


@pytest.mark.slow
def test_a_fetch_goes_on_over_the_relay_and_back(network):
    """The direct path goes while a file is fetched, and comes back: no block comes twice."""
    lab = network(nat_a="none", nat_b="restricted")
    a, b = two_agents(lab)
    connect(lab, a, b, "tcp")
    # At 1 MiB/s longer than all that is waited for below.
    size, part = 48 << 20, 3 << 20
    content = os.urandom(size)
    where = os.path.join(lab.root, "files")
    os.makedirs(where)
    with open(os.path.join(where, "film"), "wb") as file:
        file.write(content)
    a.add_folder("films", where, b.id, mode="full")
    b.add_folder("films", os.path.join(lab.root, "copy"), a.id, mode="selective")
    wait_until(lambda: b.try_run("stat", "films:film").returncode == 0, 20, "the film is known", every=0.1)
    b.run("device", "set", a.id, "--down", "1MiB/s")
    before = b.device(a.id)["bytesIn"]
    fetched = os.path.join(lab.root, "fetched")
    fetch = lab.home_b.popen(b.command("fetch", "films:film", "--output", fetched), env=b.environment)
    try:
        wait_until(lambda: b.device(a.id)["bytesIn"] - before > part, 20, "some of it has come", every=0.1)
        cut(lab)
        begin = time.monotonic()
        # Where a link that answers nothing is only given up, it takes 17 s.
        wait_way(b, a.id, "relay", timeout=10)
        print(f"over the relay after {time.monotonic() - begin:.1f} s")
        come = b.device(a.id)["bytesIn"]
        wait_until(lambda: b.device(a.id)["bytesIn"] - come > part, 20, "more comes over the relay", every=0.1)
        mend(lab)
        begin = time.monotonic()
        wait_way(b, a.id, "tcp", timeout=30)
        print(f"direct after {time.monotonic() - begin:.1f} s")
        assert fetch.poll() is None, "it goes up while the file is fetched"
        assert fetch.wait(60) == 0
    finally:
        fetch.kill()
    with open(fetched, "rb") as file:
        assert file.read() == content
    assert b.device(a.id)["bytesIn"] - before < size * 1.02


def test_a_folder_that_goes_over_no_relay(network):
    """Over a relay not even its name is said; once there is a direct path, it comes by that."""
    lab = network(nat_a="none", nat_b="restricted", servers=("discovery", "relay"))
    cut(lab)
    a, b = two_agents(lab)
    for folder in ("open", "kept"):
        a.add_folder(folder, os.path.join(lab.root, folder), b.id, mode="full")
        with open(os.path.join(lab.root, folder, "letter"), "wb") as file:
            file.write(folder.encode())
    a.run("folder", "relays", "kept", "off")
    connect(lab, a, b, "relay")

    def offered():
        return {pending["id"] for pending in b.records("folder", "list", "--pending")}
    assert wait_until(offered, 20, "a folder is offered", child=b, every=0.1) == {"open"}
    b.add_folder("open", os.path.join(lab.root, "open-copy"), a.id, mode="full")
    b.add_folder("kept", os.path.join(lab.root, "kept-copy"), a.id, mode="full")
    wait_until(lambda: os.path.exists(os.path.join(lab.root, "open-copy", "letter")), 20, "it comes over the relay", child=b)
    assert b.device(a.id)["transport"] == "relay" and b.folder("kept")["global"]["files"] == 0
    mend(lab)
    wait_way(b, a.id, "tcp", timeout=30)
    wait_until(lambda: os.path.exists(os.path.join(lab.root, "kept-copy", "letter")), 20, "it comes directly", child=b)


@pytest.mark.parametrize("nat_a, nat_b", [("none", "restricted"), ("symmetric", "symmetric")])
def test_two_pair_by_id(network, nat_a, nat_b):
    """Six digits, wherever the two are: from the id of one to devices that have stored each other and are connected."""
    lab = network(nat_a=nat_a, nat_b=nat_b)
    a, b = (lab.agent(home, name=name, settings=settings(lab)) for name, home in (("a", lab.home_a), ("b", lab.home_b)))
    wait_announced(lab, b.place, a.id, "^relay://")
    # The one that searches begins first: the other is asked again until it pairs, too.
    commands = [PairCommand(b, a.id, "--expect-sas", "-")]
    try:
        commands[0].event("attempt-failed")
        commands.append(PairCommand(a, "--expect-sas", "-"))
        codes = [command.event("code")["code"] for command in commands]
        assert codes[0] == codes[1]
        for command in commands:
            command.type(codes[0] + "\n")
        paired = [command.event("paired") for command in commands]
    finally:
        for command in commands:
            command.kill()
    assert [event["device"] for event in paired] == [a.id, b.id]
    assert paired[0]["addresses"][0] == "dynamic"
    wait_way(b, a.id, expected_way(nat_a, nat_b))


@pytest.mark.parametrize("login", [None, ("joan", "hunter2")], ids=["open", "login"])
@pytest.mark.parametrize("name", ["socks", "http_proxy"])
def test_an_agent_behind_a_proxy(network, name, login):
    lab = network(nat_a="none", nat_b="restricted", servers=("discovery", "relay", name), login=login)
    a, b = two_agents(lab)
    b.variables = {"ALL_PROXY": lab.proxy(name)}
    a.start()
    wait_announced(lab, b.place, a.id, "^relay://")
    b.start()
    wait_way(b, a.id, "tcp")
    asked = lab.servers[name].log().splitlines()
    assert f"CONNECT {netlab.SERVER} {netlab.PORTS['discovery']}" in asked, "the discovery server"
    assert f"CONNECT {lab.home_a.address} 22000" in asked, "the other device"


LEAKS = """table inet leaks {
  set ipv4 { type ipv4_addr . inet_proto . inet_service; flags dynamic; }
  set ipv6 { type ipv6_addr . inet_proto . inet_service; flags dynamic; }
  chain out {
    type filter hook output priority 0
    oifname "lo" accept
    ip daddr %s tcp dport %d accept
    meta l4proto { tcp, udp } add @ipv4 { ip daddr . meta l4proto . th dport }
    meta l4proto { tcp, udp } add @ipv6 { ip6 daddr . meta l4proto . th dport }
  }
}
"""
"""Sets of what packets that do not go to the proxy are for."""


@pytest.mark.parametrize("way", ["tcp", "relay"])
def test_an_agent_that_uses_the_proxy_only(network, way):
    """As with Tor: not a packet goes elsewhere, to discovery servers, relays, devices, routers or the local network. Two such
    agents meet at a relay."""
    lab = network(nat_a="none", nat_b="restricted", upnp="b", servers=("discovery", "relay", "socks"))
    only = [(r'(?m)^# proxy = ".*"$', f'proxy = "{lab.proxy()}"'), (r"(?m)^proxy-only = false", "proxy-only = true")]
    a = lab.agent(lab.home_a, name="a", settings=settings(lab, more=only if way == "relay" else ()), start=False)
    b = lab.agent(lab.home_b, name="b", settings=settings(lab, more=only), start=False)
    a.add_device(b.id, "b", "dynamic")
    b.add_device(a.id, "a", "dynamic")
    lab.home_b.nft(LEAKS % (netlab.SERVER, netlab.PORTS["socks"]))
    a.start()
    wait_announced(lab, lab.net, a.id, "^relay://")
    b.start()
    wait_way(b, a.id, way)
    announced = wait_announced(lab, lab.net, b.id, "^relay://")["addresses"]
    assert [address.split(":")[0] for address in announced] == ["relay"], announced
    asked = lab.servers["socks"].log().splitlines()
    for port in (netlab.PORTS["discovery"], netlab.PORTS["relay"]):
        assert f"CONNECT {netlab.SERVER} {port}" in asked, asked
    leaks = [lab.home_b.run(["nft", "list", "set", "inet", "leaks", family]).stdout for family in ("ipv4", "ipv6")]
    assert not any("elements" in found for found in leaks), "".join(leaks)
    assert not lab.router_b.connects(lab.home_b.address, 22000), "nothing listens"


def test_a_proxy_that_refuses_the_password_is_named(network):
    lab = network(nat_a="none", nat_b="restricted", servers=("discovery", "relay", "socks"), login=("joan", "hunter2"))
    _, b = two_agents(lab)
    b.variables = {"ALL_PROXY": lab.proxy("socks").replace("hunter2", "swordfish"), "ALL_PROXY_NO_FALLBACK": "1"}
    b.start()

    def refused():
        text = b.run("reach").stdout.decode()
        assert "swordfish" not in text
        return "password" in text
    wait_until(refused, 20, "the refusal is shown", every=0.2)
    print(b.run("reach").stdout.decode())
    assert "CONNECT" not in lab.servers["socks"].log()


def test_nothing_is_announced_by_who_does_not_want_it(network):
    lab = network(nat_a="none", nat_b="none", servers=("discovery", "relay"))
    off = [(r"(?m)^global = true", "global = false"), (r"(?ms)(^\[relays\]\n.*?^enabled = )true", r"\1false")]
    quiet = lab.agent(lab.home_a, name="a", settings=settings(lab, more=off))
    loud = lab.agent(lab.home_b, name="b", settings=settings(lab))
    wait_announced(lab, lab.home_b, loud.id, "^relay://")
    assert not is_announced(lab, lab.home_b, quiet.id)
    assert quiet.id[:7] not in lab.servers["discovery"].log() + lab.servers["relay"].log()


def test_two_that_start_at_the_same_moment(network):
    """Each asks for the other before either is announced: the answer that there is no such device does not count for long."""
    lab = network(nat_a="symmetric", nat_b="restricted", servers=("discovery", "relay"))
    a, b = two_agents(lab)
    a.start()
    b.start()
    wait_way(a, b.id, "relay", timeout=20)
