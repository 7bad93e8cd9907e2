"""How devices reach each other, as it is set: what `init` and `network` write, who is ignored, and limits of one device."""

import os
import time
import tomllib

import pytest

import agent as cli
from process import wait_until


def configuration(agent):
    with open(agent.file("config.toml"), "rb") as file:
        return tomllib.load(file)


def reach(agent):
    """Local and global discovery, relays, port mapping; and the servers."""
    settings = configuration(agent)
    return ([settings["discovery"]["local"], settings["discovery"]["global"], settings["relays"]["enabled"],
             settings["network"]["port-mapping"]], settings["discovery"]["servers"], settings["relays"]["servers"])


ID = "AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG"
SERVER, RELAY = f"https://192.0.2.9:8443/?id={ID}", f"relay://192.0.2.9:22067/?id={ID}"
PUBLIC = ["default"]


@pytest.mark.parametrize("options, switches, servers, relays", [
    ([], [True] * 4, PUBLIC, PUBLIC),
    (["--no-discovery"], [False] * 4, PUBLIC, PUBLIC),
    (["--no-global"], [True, False, False, False], PUBLIC, PUBLIC),
    (["--no-relays"], [True, True, False, True], PUBLIC, PUBLIC),
    (["--discovery-server", SERVER, "--relay", RELAY], [True] * 4, [SERVER], [RELAY]),
    (["--no-discovery", "--discovery-server", SERVER], [False, True, False, True], [SERVER], PUBLIC),
    (["--no-global", "--relay", RELAY, "--relay", "dynamic+https://192.0.2.9/endpoint"], [True, False, True, True],
     PUBLIC, [RELAY, "dynamic+https://192.0.2.9/endpoint"]),
])
def test_init_says_what_is_used(lab, options, switches, servers, relays):
    """The agent is not started: nothing is told to anybody."""
    agent = lab.agent(start=False, init=False)
    result = agent.run("init", "--name", "x", *options)
    assert reach(agent) == (switches, servers, relays)
    is_public = switches[1] and servers == PUBLIC or switches[2] and relays == PUBLIC
    assert (b"Syncthing's public servers" in result.stderr) == is_public
    remedy = f"synctrain --home {agent.home} network --global-discovery off --relays off"
    assert (remedy in result.stderr.decode()) == is_public
    shown = agent.document("network")
    assert [shown["localDiscovery"], shown["globalDiscovery"], shown["relays"], shown["portMapping"]] == switches
    assert (shown["discoveryServers"], shown["relayServers"]) == (servers, relays)


def test_the_laboratory_asks_nobody(lab):
    """What all other tests start with."""
    assert reach(lab.agent(start=False))[0] == [False] * 4


@pytest.mark.parametrize("option, value, words", [
    ("--discovery-server", "http://192.0.2.9/", b"not encrypted"), ("--relay", "https://x/y", b"dynamic+https://x/y"),
    ("--relay", "relay://x:1/?id=nonsense", b"not a device id")])
def test_init_refuses_what_is_no_server(lab, option, value, words):
    agent = lab.agent(start=False, init=False)
    result = agent.try_run("init", option, value)
    assert result.returncode == cli.FAILED and words in result.stderr
    agent.run("init", "--no-discovery")


@pytest.mark.parametrize("is_running", [True, False], ids=["agent", "offline"])
def test_the_network_is_switched_and_comments_stay(lab, is_running):
    agent = lab.agent(start=is_running)
    with open(agent.file("config.toml"), "a") as file:
        file.write("# mine\n")
    agent.run("network", "--port-mapping", "on")
    result = agent.run("network", "--local-discovery", "off", "--global-discovery", "off", "--relays", "off")
    assert b"port mapping            on" in result.stdout and b"relays                  off" in result.stdout
    assert reach(agent)[0] == [False, False, False, True]
    with open(agent.file("config.toml")) as file:
        assert file.read().endswith("# mine\n")


def test_reload_says_what_changed_and_what_needs_a_restart(lab):
    agent = lab.agent()
    path = agent.file("config.toml")
    with open(path) as file:
        text = file.read()
    assert agent.document("reload") == {"schema": 1, "changed": [], "restart": []}
    with open(path, "w") as file:
        file.write(text.replace("connections = 3", "connections = 2", 1).replace('level = "info"', 'level = "debug"')
                   .replace("name = ", "name = \"new\" # ", 1))
    answer = agent.document("reload")
    assert answer["changed"] == ["name", "network", "log"] and set(answer["restart"]) >= {"log"}
    with open(path, "w") as file:
        file.write(text.replace("connections = 3", "connections = 99"))
    result = agent.try_run("reload")
    assert result.returncode == cli.FAILED and b"from 1 to 8" in result.stderr


def pending(agent, kind):
    return {record["id"] for record in agent.records(kind, "list", "--pending")}


def test_an_ignored_device_is_pending_no_more(lab):
    agent = lab.agent()
    peer, other = lab.peer("stranger"), lab.peer("other")
    peer.dial(agent.address).wait_end()
    wait_until(lambda: peer.id in pending(agent, "device"), what="pending")
    agent.run("device", "ignore", peer.id)
    assert agent.run("device", "ignored").stdout.decode().split() == [peer.id]
    assert pending(agent, "device") == set() and agent.status()["pending"] == 0
    session = peer.dial(agent.address)
    session.wait_end()
    assert session.hello is None, "an ignored device gets no Hello"
    # Somebody else comes later, and is seen.
    other.dial(agent.address).wait_end()
    wait_until(lambda: other.id in pending(agent, "device"), what="the other is pending")
    assert peer.id not in pending(agent, "device")
    agent.run("device", "ignore", peer.id, "--undo")
    assert peer.id in pending(agent, "device")
    agent.run("device", "ignore", peer.id)
    agent.add_device(peer.id, "friend")
    assert agent.document("device", "ignored")["devices"] == [], "who is added is ignored no longer"
    result = agent.try_run("device", "ignore", peer.id)
    assert result.returncode == cli.USAGE and b"device remove" in result.stderr


def test_an_ignored_folder_is_pending_no_more(lab):
    agent, other = lab.agent(), lab.agent("other")
    lab.introduce(agent, other)
    agent.wait_connected(other.id)
    for folder in ("spam", "music"):
        other.add_folder(folder, lab.path(folder), agent.id)
    wait_until(lambda: pending(agent, "folder") == {"spam", "music"}, what="pending")
    agent.run("folder", "ignore", "spam", "--from", "other")
    agent.run("folder", "ignore", "music")
    assert pending(agent, "folder") == set() and agent.status()["pending"] == 0
    assert agent.run("folder", "ignored").stdout.decode() == f"spam from {other.id}\nmusic\n"
    agent.stop()
    agent.start()
    agent.wait_connected(other.id)
    assert pending(agent, "folder") == set()
    agent.run("folder", "ignore", "music", "--undo")
    wait_until(lambda: pending(agent, "folder") == {"music"}, what="music is offered again")
    agent.add_folder("spam", lab.path("here"), other.id)
    assert agent.document("folder", "ignored")["folders"] == [], "what is added is ignored no longer"


def test_networks_that_are_not_allowed_are_neither_taken_nor_dialled(lab):
    agent, other = lab.agent(), lab.agent("other")
    lab.introduce(agent, other)
    agent.wait_connected(other.id)
    agent.run("device", "set", "other", "--allowed-networks", "10.0.0.0/8, !127.0.0.0/8")
    agent.wait_disconnected(other.id)

    def refusal():
        device = next(d for d in agent.status()["devices"] if d["id"] == other.id)
        return "allowed networks" in device.get("lastError", "")
    wait_until(refusal, what="the reason is shown")
    # The other dials as well, at once when it is asked, and is not let in.
    other.run("device", "add", agent.id, "--address", agent.address)
    wait_until(lambda: any(d.get("lastError") for d in other.status()["devices"]), what="the other was refused")
    assert not agent.is_connected(other.id)
    agent.run("device", "set", "other", "--allowed-networks", "127.0.0.0/8")
    agent.wait_connected(other.id)


def test_a_devices_own_limit_holds_beside_others(lab):
    """8 MiB come at 2 MiB/s from the one that is limited, and at once after the limit is gone."""
    agent, other = lab.agent(), lab.agent("other")
    lab.introduce(agent, other)
    path = agent.file("config.toml")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("down = 0\n# Apply the limits to local networks (those this machine has an address in), "
                                "too.\nlocal-network = false", "down = 0\nlocal-network = true", 1))
    agent.run("reload")
    assert configuration(agent)["limits"]["local-network"] is True
    agent.add_folder("f", lab.path("agent-f"), other.id)
    other.add_folder("f", lab.path("other-f"), agent.id, mode="full")
    content = os.urandom(8 << 20)
    for name in ("slow", "fast"):
        with open(lab.path("other-f", name), "wb") as file:
            file.write(content)
    agent.wait_global("f", 2)
    agent.run("device", "set", "other", "--down", "2MiB/s")
    start = time.monotonic()
    assert agent.run("cat", "f:slow").stdout == content
    # A second's worth comes at once.
    assert time.monotonic() - start > 2.5
    agent.run("device", "set", "other", "--down", "0")
    assert agent.run("cat", "f:fast").stdout == content
    assert "down" not in configuration(agent)["device"][0]


def test_status_says_what_was_tried(lab):
    """A port that nothing listens on, and a relay while relays are off: each with its answer, and where to see more."""
    agent, other = lab.agent(), lab.agent("other", start=False)
    addresses = other.address, "tcp://127.0.0.1:1", RELAY
    agent.run("device", "add", other.id, "--name", "nas", *(word for a in addresses for word in ("--address", a)))

    def ways():
        found = {way["address"]: way for way in agent.status()["devices"][0]["ways"]}
        return found if set(found) >= set(addresses) else None
    found = wait_until(ways, what="each address is there")
    assert [found[a]["outcome"] for a in addresses] == ["failed", "failed", "not-tried"], found
    assert "nothing listens" in found[addresses[0]]["message"] and found[addresses[0]]["source"] == "configured"
    assert "relays are switched off" in found[RELAY]["message"]
    text = agent.run("status").stdout.decode()
    line = next(line for line in text.splitlines() if line.startswith("nas: "))
    assert "nothing listens" in line and line.endswith("(2 addresses tried, 1 not tried; `synctrain reach` shows each)"), line
    lines = [line, *(line for line in agent.run("reach").stdout.decode().splitlines() if "nothing listens" in line)]
    assert len(lines) == 3 and all(line.count("127.0.0.1:") == 1 for line in lines), lines
    other.start()
    other.add_device(agent.id, "agent")
    agent.wait_connected(other.id)
    device = agent.status()["devices"][0]
    assert device["transport"] == "tcp-lan"
    used = [way for way in device["ways"] if way["outcome"] == "connected"]
    assert used[0]["transport"] == "tcp-lan" and used[0]["links"] >= 1
    assert other.address not in [way["address"] for way in device["ways"] if way["outcome"] == "failed"]


def proxied(lab, variables):
    agent = lab.agent(start=False)
    agent.variables = {"ALL_PROXY": "", "HTTPS_PROXY": "", "all_proxy": "", "https_proxy": "", **variables}
    return agent


def test_proxy_only_without_a_proxy_is_refused(lab):
    """Nothing is dialled: everything would be direct."""
    agent = proxied(lab, {"HTTPS_PROXY": "http://127.0.0.1:1"})
    path = agent.file("config.toml")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("proxy-only = false", "proxy-only = true"))
    result = agent.try_run("agent", "run")
    assert result.returncode != 0
    assert b"`proxy-only` needs a proxy" in result.stderr and b"set `proxy` in config.toml" in result.stderr
    agent.variables["ALL_PROXY"] = "socks5://127.0.0.1:1"
    agent.start()


def test_no_fallback_lets_nobody_in(lab):
    agent = proxied(lab, {"ALL_PROXY": "socks5://127.0.0.1:1", "ALL_PROXY_NO_FALLBACK": "1"})
    agent.start()
    assert "listening on tcp" not in agent.log_tail()
    agent.stop()
    del agent.variables["ALL_PROXY_NO_FALLBACK"]
    agent.start()
    assert "listening on tcp" in agent.log_tail()
