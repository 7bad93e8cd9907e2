"""What counts as a copy: devices that are apart do not both free the last ones, and who may not read gets nothing."""

import os

import pytest
from bep import DEADLINE
from harness import read, walk, write
from process import wait_until

FILES = {f"d/{number}": b"content %d" % number * 100 for number in range(20)}


def regular_files(root):
    """name → contents."""
    return {name: read(os.path.join(root, name)) for name, kind in walk(root).items() if kind == "file"}


def freeing(agent, *arguments):
    return agent.document("deselect", *arguments)["folders"][0]["freeing"]


def received(agent, node):
    """Bytes that the agent has received from a node."""
    return next(device["bytesIn"] for device in agent.status()["devices"] if device["id"] == node.id)


def holders(agent):
    """Of each of the files in `d`."""
    return [entry["holders"] for entry in agent.records("ls", "f:d")]


def both_selective(lab):
    """Two synctrain devices that select `d` and both have its 20 files, at rest and connected."""
    one, two = lab.agent("one"), lab.agent("two")
    lab.introduce(one, two)
    lab.share(one, "f", two)
    one.wait_connected(two.id)
    for agent in (one, two):
        agent.run("select", "f:d")
    for name, data in FILES.items():
        write(os.path.join(lab.path("one-f"), name), data)
    one.run("scan", "f")
    wait_until(lambda: regular_files(lab.path("two-f")) == FILES, 20, "both have the files", child=two)
    for agent, other in ((one, two), (two, one)):
        wait_until(lambda: holders(agent) == [[other.id]] * len(FILES), 20, "both know it", child=agent)
    return one, two


def test_two_devices_apart_do_not_both_free(lab):
    one, two = both_selective(lab)
    for agent, other in ((one, two), (two, one)):
        agent.run("device", "rename", other.id, "tablet")
    one.run("pause", "--device", two.id)
    one.wait_disconnected(two.id)
    two.wait_disconnected(one.id)

    for agent in (one, two):
        dry = freeing(agent, "f:d", "--dry-run")
        answer = freeing(agent, "f:d")
        assert answer["freedFiles"] == dry["freedFiles"] == 0
        staying = {s["path"]: s for s in answer["staying"]}
        assert set(FILES) <= set(staying)
        assert {staying[name]["reason"] for name in FILES} == {"uncertain-copies"}
        assert "tablet" in staying["d/0"]["message"], "it names the device that may free them too"
        assert regular_files(lab.path(f"{agent.name}-f")) == FILES
    # A person may, after being told.
    assert freeing(two, "f:d", "--force", "--yes")["givenUpFiles"] == len(FILES)
    assert regular_files(lab.path("two-f")) == {}

    # Selected again, they come from the one that kept them.
    one.run("resume", "--device", two.id)
    one.wait_connected(two.id)
    for agent in (one, two):
        agent.run("select", "f:d")
    wait_until(lambda: regular_files(lab.path("two-f")) == FILES, 30, "they are back", child=two)


def test_a_connected_device_is_a_copy(lab):
    one, two = both_selective(lab)
    assert freeing(one, "f:d")["freedFiles"] == len(FILES)
    assert regular_files(lab.path("one-f")) == {}
    assert regular_files(lab.path("two-f")) == FILES
    # Now there is no other.
    wait_until(lambda: holders(two) == [[]] * len(FILES), 20, "two knows it", child=two)
    answer = freeing(two, "f:d")
    assert answer["freedFiles"] == 0
    assert {"promised"} == {s["reason"] for s in answer["staying"]}
    assert regular_files(lab.path("two-f")) == FILES


def test_a_device_that_keeps_everything_is_a_copy_while_it_is_away(lab):
    one, two = both_selective(lab)
    two.run("folder", "mode", "f", "full", "--yes")
    one.wait_connected(two.id)
    # Heard on this link: the index goes on where it was.
    wait_until(lambda: freeing(one, "f:d/0", "--dry-run")["freedFiles"] == 1, 20, "two counts", child=one)
    one.run("pause", "--device", two.id)
    one.wait_disconnected(two.id)
    two.wait_disconnected(one.id)
    assert freeing(one, "f:d")["freedFiles"] == len(FILES)
    # What keeps everything does not count on one that it cannot see.
    assert freeing(two, "f:d")["freedFiles"] == 0
    assert regular_files(lab.path("two-f")) == FILES


def test_other_content_under_the_same_version_is_no_copy(lab):
    """A device that may only read announces its own bytes under the version of a file that a writer made."""
    agent, writer, reader = lab.agent(), lab.peer("writer"), lab.peer("reader")
    lab.introduce(agent, writer, reader)
    lab.share(agent, "f", writer, reader, mode="full")
    agent.run("folder", "role", "f", reader.id, "read")
    true = writer.folders["f"].add("a", b"true")
    forged = dict(reader.folders["f"].add("a", b"fals"), version=true["version"])
    reader.folders["f"].put(forged, b"fals")
    sessions = [peer.dial(agent.address) for peer in (writer, reader)]
    root = lab.path("agent-f")
    wait_until(lambda: regular_files(root) == {"a": b"true"}, 20, "the writer's content", child=agent)
    agent.run("wait", "f")
    assert agent.records("ls", "--json", "f:")[0]["holders"] == [writer.id]
    # The writer frees its own.
    writer.folders["f"].put(dict(true, invalid=True, blocks=[], size=0))
    sessions[0].send_index("f")
    wait_until(lambda: agent.records("ls", "--json", "f:")[0]["holders"] == [], 20, "nobody else has it", child=agent)
    answer = freeing(agent, "f:a")
    assert answer["freedFiles"] == 0 and [s["reason"] for s in answer["staying"]] == ["no-other-copy"]
    assert read(os.path.join(root, "a")) == b"true"


def test_who_keeps_a_folder_encrypted_never_gets_it_in_the_clear(lab):
    agent, vault = lab.agent(), lab.peer("vault")
    lab.introduce(agent, vault)
    root = lab.share(agent, "f", vault, mode="full")
    write(os.path.join(root, "secret"), b"secret")
    agent.run("scan", "f")
    clear = vault.cluster_config

    def sealed(device):
        config = clear(device)
        config["folders"][0]["devices"][0]["encryption_password_token"] = b"token"
        return config

    vault.cluster_config = sealed
    session = vault.dial(agent.address)
    session.wait(lambda: session.is_ready, DEADLINE, "the agent's cluster config")
    waits = wait_until(lambda: [w for w in agent.folder("f")["waits"] if w["reason"] == "encrypted-there"], 20,
                       "status says it", child=agent)
    assert waits[0]["devices"] == [vault.id]
    wait_until(lambda: f'untrusted = ["{vault.id}"]' in read(agent.file("config.toml")).decode(), 20,
               "the configuration says it", child=agent)
    info = {"name": "secret", "blocks": [{"offset": 0, "size": 6}]}
    assert session.request("f", info)[1] != 0, "no block"
    assert session.index_messages == [], "no index"
    session.close()

    # It claims to be trusted from now on, and the agent was started again meanwhile.
    agent.stop()
    agent.start()
    vault.cluster_config = clear
    session = vault.dial(agent.address)
    session.wait(lambda: session.is_ready, DEADLINE, "the agent's cluster config")
    assert session.request("f", info)[1] != 0, "no block"
    assert session.index_messages == [], "no index"
    assert session.cluster_configs[0].get("folders", []) == [], "not even its name"
    assert agent.try_run("folder", "remove", "f", "--yes").returncode == 0


def test_who_kept_a_folder_encrypted_is_not_trusted_after_it_was_shared_anew(lab):
    agent, vault = lab.agent(), lab.peer("vault")
    lab.introduce(agent, vault)
    root = lab.share(agent, "f", vault, mode="full")
    write(os.path.join(root, "secret name"), b"secret")
    agent.run("scan", "f")
    clear = vault.cluster_config

    def to_receive_encrypted(device):
        config = clear(device)
        config["folders"][0]["type"] = 3
        return config

    # A folder for encrypted data, before the first password.
    vault.cluster_config = to_receive_encrypted
    session = vault.dial(agent.address)
    session.wait(lambda: session.is_ready, DEADLINE, "the agent's cluster config")
    wait_until(lambda: f'untrusted = ["{vault.id}"]' in read(agent.file("config.toml")).decode(), 20,
               "the configuration says it", child=agent)
    info = {"name": "secret name", "blocks": [{"offset": 0, "size": 6}]}
    assert session.request("f", info)[1] != 0, "no block"
    assert session.index_messages == [], "no index"
    session.close()

    agent.run("folder", "unshare", "f", vault.id, "--yes")
    refused = agent.try_run("folder", "share", "f", vault.id)
    assert refused.returncode == 6 and b"--unencrypted" in refused.stderr
    agent.run("device", "remove", vault.id, "--yes")
    agent.run("device", "add", vault.id, "--share", "f")
    vault.cluster_config = clear
    session = vault.dial(agent.address)
    session.wait(lambda: session.is_ready, DEADLINE, "the agent's cluster config")
    assert session.request("f", info)[1] != 0, "no block"
    assert session.index_messages == [], "no index"
    session.close()

    agent.run("folder", "share", "f", vault.id, "--unencrypted")
    session = vault.dial(agent.address)
    session.wait(lambda: session.index_messages, DEADLINE, "the index")
    assert session.request("f", info)[1] == 0


def test_a_connected_syncthing_is_asked_for_blocks(lab):
    agent, real = lab.agent(), lab.syncthing()
    lab.introduce(agent, real)
    root, there = lab.share(agent, "f", real), lab.path("real-f")
    agent.run("select", "f:d")
    files = {"d/small": b"small", "d/big": os.urandom(3 << 20), "d/stays": b"stays"}
    for name, data in files.items():
        write(os.path.join(there, name), data)
    real.scan("f")
    wait_until(lambda: regular_files(root) == files, 30, "the agent has the files", child=agent)
    # On the disk, they are not in the index yet.
    agent.run("wait", "f")
    sent = received(agent, real)
    assert sorted(freeing(agent, "f:d/small", "f:d/big")["freed"]) == ["d/big", "d/small"]
    assert regular_files(root) == {"d/stays": b"stays"}
    # Some of the blocks of 128 KiB, not all: 1 + 6 at most.
    assert 256 << 10 < received(agent, real) - sent < 2 << 20
    agent.wait_connected(real.id)

    # Away, it is a copy by its word.
    real.stop()
    agent.wait_disconnected(real.id)
    assert freeing(agent, "f:d/stays")["freed"] == ["d/stays"]


@pytest.mark.parametrize("answer", [b"other", None], ids=["other bytes", "no such file"])
def test_who_does_not_give_the_blocks_it_announces_is_no_copy(lab, answer):
    """A real Syncthing that is asked for such a file scans it again, and is no holder of it any more."""
    agent, nas = lab.agent(), lab.peer("nas")
    lab.introduce(agent, nas)
    root = lab.share(agent, "f", nas)
    agent.run("select", "f:d")
    nas.folders["f"].add_directory("d")
    nas.folders["f"].add("d/a", b"bytes")
    session = nas.dial(agent.address)
    wait_until(lambda: regular_files(root) == {"d/a": b"bytes"}, 20, "the agent has the file", child=agent)
    agent.run("wait", "f")
    nas.folders["f"].contents["d/a"] = answer
    freed = freeing(agent, "f:d/a")
    assert freed["freedFiles"] == 0 and [s["reason"] for s in freed["staying"]] == ["failed-copies"]
    assert "nas did not send the blocks" in freed["staying"][0]["message"]
    assert regular_files(root) == {"d/a": b"bytes"}
    # As it should be again, it is asked again.
    nas.folders["f"].contents["d/a"] = b"bytes"
    assert freeing(agent, "f:d/a")["freed"] == ["d/a"]
    session.close()


def test_devices_that_keep_space_free_do_not_both_free(lab):
    one, two = both_selective(lab)

    def contents():
        return regular_files(lab.path("one-f")), regular_files(lab.path("two-f"))

    def part():
        one.run("pause", "--device", two.id)
        one.wait_disconnected(two.id)
        two.wait_disconnected(one.id)

    part()
    for agent in (one, two):
        agent.run("select", "--while-space", "f:d")
        path = agent.file("config.toml")
        text = read(path).decode()
        write(path, text.replace('id = "f"', 'id = "f"\nkeep-free = "100%"', 1).encode())
        agent.run("reload")
        agent.run("scan", "f")
        agent.run("wait", "f")
    assert contents() == (FILES, FILES), "apart, nothing goes"

    one.run("resume", "--device", two.id)
    one.wait_connected(two.id)

    def freed():
        for agent in (one, two):
            agent.run("scan", "f")
        return {} in contents()
    wait_until(freed, 30, "one has freed its files", every=0.5, child=one)
    assert FILES in contents(), "and the other keeps them"

    part()
    for agent in (one, two):
        agent.run("scan", "f")
        agent.run("wait", "f")
    assert FILES in contents()
