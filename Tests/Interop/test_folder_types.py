"""Folders that go one way only, with a real Syncthing on the other side, and what puts them right again."""

import os

import agent as cli
import harness
import pytest
from harness import Pair, read, write
from process import wait_until


@pytest.fixture(scope="module")
def sending(nodes):
    lab, node, agent = nodes
    pair = Pair(lab, "sending", node=node, agent=agent, type="sendonly")
    for name in ("one", "two", "three", "tree/four"):
        write(os.path.join(pair.here, name), name.encode())
    pair.wait_same()
    return pair


@pytest.fixture(scope="module")
def receiving(nodes):
    lab, node, agent = nodes
    pair = Pair(lab, "receiving", node=node, agent=agent, type="receiveonly")
    for name in ("one", "two", "three", "tree/four"):
        write(os.path.join(pair.there, name), name.encode())
    pair.scan_there()
    pair.wait_same()
    return pair


def refused_without_yes(agent, *arguments):
    return agent.try_run(*arguments).returncode == cli.NEEDS_YES


def reasons(pair):
    return {wait["reason"]: wait["message"] for wait in pair.status["waits"]}


def test_sendonly_sends_and_takes_nothing(sending):
    pair = sending
    assert pair.status["type"] == "sendonly"
    write(os.path.join(pair.there, "one"), b"changed there")
    write(os.path.join(pair.there, "strange"), b"new there")
    os.remove(os.path.join(pair.there, "two"))
    os.remove(os.path.join(pair.there, "tree/four"))
    os.rmdir(os.path.join(pair.there, "tree"))
    pair.scan_there()
    # What is sent still goes its way meanwhile.
    write(os.path.join(pair.here, "three"), b"changed here")
    wait_until(lambda: read(os.path.join(pair.there, "three")) == b"changed here", what="the change arrives")
    pair.agent.wait_entry("sending:strange", lambda entry: entry is not None)
    pair.agent.run("scan", "sending:")
    assert harness.regular_files(pair.here).keys() == {"one", "two", "three", "tree/four"}
    assert read(os.path.join(pair.here, "one")) == b"one" and read(os.path.join(pair.here, "two")) == b"two"


def test_override(sending):
    pair = sending

    def override():
        return pair.agent.document("folder", "override", "sending", "--dry-run")
    # A Syncthing announces what is deleted after what is changed.
    wait_until(lambda: len(override()["paths"]) == 5, what="all changes are known", child=pair.agent)
    dry = override()
    assert dry["dryRun"] and dry["action"] == "override"
    assert (dry["files"], dry["deletions"]) == (3, 1), dry
    assert sorted(dry["paths"]) == ["one", "strange", "tree", "tree/four", "two"]
    # None of it is needed, and that is said.
    wait_until(lambda: reasons(pair) == {"not-taken": "5 changes by others are not taken, because the folder is send-only"},
               what="the changes are counted", child=pair.agent)
    assert not any(pair.status["need"].values()), pair.status["need"]
    pair.agent.run("wait", "sending", "--timeout", 20)
    pair.agent.run("wait", "sending:", "sending:tree", "sending:one", "sending:three", "--timeout", 20)
    assert pair.agent.document("ready", "sending")["folders"][0]["ready"]
    assert b"`synctrain folder override sending` undoes them there" in pair.agent.run("status").stdout
    assert refused_without_yes(pair.agent, "folder", "override", "sending")
    assert read(os.path.join(pair.there, "one")) == b"changed there"
    pair.agent.run("folder", "override", "sending", "--yes")
    pair.wait_same()
    assert read(os.path.join(pair.there, "one")) == b"one" and read(os.path.join(pair.there, "two")) == b"two"
    assert not os.path.exists(os.path.join(pair.there, "strange"))
    pair.wait_at_rest()


def test_receiveonly_takes_and_sends_nothing(receiving):
    pair = receiving
    assert pair.status["type"] == "receiveonly"
    write(os.path.join(pair.here, "one"), b"changed here")
    write(os.path.join(pair.here, "strange"), b"new here")
    os.makedirs(os.path.join(pair.here, "strange directory"))
    os.remove(os.path.join(pair.here, "two"))
    pair.agent.run("scan", "receiving:")
    write(os.path.join(pair.there, "three"), b"changed there")
    pair.scan_there()
    wait_until(lambda: read(os.path.join(pair.here, "three")) == b"changed there", what="the change arrives")
    # The node has taken in what the agent announced by then: each announcement goes in order.
    pair.scan_there()
    assert harness.regular_files(pair.there).keys() == {"one", "two", "three", "tree/four"}
    assert read(os.path.join(pair.there, "one")) == b"one"
    assert read(os.path.join(pair.here, "one")) == b"changed here", "what was changed here stays until it is reverted"
    assert not os.path.exists(os.path.join(pair.here, "two"))


def test_revert(receiving):
    pair = receiving
    dry = pair.agent.document("folder", "revert", "receiving", "--dry-run")
    assert dry["dryRun"] and sorted(dry["paths"]) == ["one", "strange", "strange directory", "two"]
    # Every command has the same answer to what is missing: nothing but what was changed here.
    pair.agent.run("wait", "receiving", "--timeout", 20)
    pair.agent.run("wait", "receiving:", "receiving:one", "receiving:three", "--timeout", 20)
    assert reasons(pair) == {"not-sent": "4 changes here are not sent, because the folder is receive-only"}
    assert pair.agent.document("ready", "receiving")["folders"][0]["ready"]
    states = {path: entry["state"] for path, entry in pair.agent.tree("receiving").items()}
    assert (states["one"], states["two"], states["three"]) == ("modified", "absent", "present")
    assert refused_without_yes(pair.agent, "folder", "revert", "receiving")
    assert read(os.path.join(pair.here, "one")) == b"changed here"
    pair.agent.run("folder", "revert", "receiving", "--yes")
    pair.wait_same()
    assert read(os.path.join(pair.here, "one")) == b"one" and read(os.path.join(pair.here, "two")) == b"two"
    assert not os.path.exists(os.path.join(pair.here, "strange"))
    assert not os.path.exists(os.path.join(pair.here, "strange directory"))
    pair.wait_at_rest()


def test_a_change_on_both_sides_of_a_receiveonly_folder_loses_nothing(receiving):
    pair = receiving
    write(os.path.join(pair.here, "tree/four"), b"mine")
    pair.agent.run("scan", "receiving:")
    write(os.path.join(pair.there, "tree/four"), b"theirs")
    pair.scan_there()
    wait_until(lambda: read(os.path.join(pair.here, "tree/four")) == b"theirs", what="the change arrives")
    pair.agent.run("scan", "receiving:")
    kept = [read(os.path.join(pair.here, "tree", name)) for name in os.listdir(os.path.join(pair.here, "tree"))]
    assert sorted(kept) == [b"mine", b"theirs"]
    assert os.listdir(os.path.join(pair.there, "tree")) == ["four"], "a copy in this folder is not sent either"


def names(root):
    """Of the files; None while the tree changes."""
    try:
        return harness.regular_files(root).keys()
    except FileNotFoundError:
        return None


@pytest.mark.parametrize("running", [True, False])
def test_changes_in_a_receiveonly_folder_are_sent_once_it_sends(lab, running):
    one, two = lab.agent("one"), lab.agent("two")
    lab.introduce(one, two)
    here, there = lab.share(one, "f", two, mode="full", type="receiveonly"), lab.path("two-f")
    for name in ("edited", "deleted", "same"):
        write(os.path.join(there, name), name.encode())
    two.run("scan", "f")
    wait_until(lambda: names(here) == {"edited", "deleted", "same"}, what="all is here")
    one.run("wait", "f", "--timeout", "20")
    write(os.path.join(here, "edited"), b"mine")
    write(os.path.join(here, "new"), b"new")
    os.remove(os.path.join(here, "deleted"))
    one.run("scan", "f")
    assert read(os.path.join(there, "edited")) == b"edited"
    if running:
        one.run("folder", "set", "f", "type=sendreceive")
    else:
        one.stop()
        config = one.file("config.toml")
        write(config, read(config).replace(b'"receiveonly"', b'"sendreceive"'))
        one.start()
    wait_until(lambda: names(there) == {"edited", "new", "same"} and read(os.path.join(there, "edited")) == b"mine",
               what="the changes arrive, without a conflict")
    wait_until(lambda: names(here) == {"edited", "new", "same"}, what="nothing else is left here")


def test_override_and_revert_belong_to_their_types(sending, receiving):
    agent = sending.agent
    for action, folder in (("revert", "sending"), ("override", "receiving")):
        result = agent.try_run("folder", action, folder, "--yes", "--json")
        assert result.returncode == cli.USAGE
        assert cli.records(result.stderr)[-1]["code"] == "invalid-request"
    assert agent.try_run("folder", "override", "nowhere", "--yes").returncode == cli.NO_SUCH
