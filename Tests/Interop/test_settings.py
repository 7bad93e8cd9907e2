"""Settings that are changed by command: in the file with its comments, and in effect without a restart."""

import shlex
import tomllib

import pytest

import agent as cli


def text(agent):
    with open(agent.file("config.toml")) as file:
        return file.read()


def folder(agent):
    agent.run("folder", "add", "photos", agent.home + "-photos")
    return tomllib.loads(text(agent))["folder"][0]


@pytest.mark.parametrize("is_running", [True, False], ids=["agent", "offline"])
def test_settings_are_changed_and_comments_stay(lab, is_running):
    agent = lab.agent(start=is_running)
    folder(agent)
    with open(agent.file("config.toml"), "a") as file:
        file.write("# mine\n")
    assert b"limits.up: 2 MiB/s (was 0)." in agent.run("config", "set", "limits.up", "2MiB/s").stdout
    result = agent.run("folder", "set", "photos", "type=receiveonly", "rescan-interval=600", "priority=*.{md,txt}")
    assert result.stdout.decode().splitlines() == [
        "photos type: receiveonly (was sendreceive).", "photos rescan-interval: 600 (was 3600).",
        'photos priority: ["*.{md,txt}"] (was []).']
    assert agent.run("folder", "get", "photos", "type").stdout == b"receiveonly\n"
    settings = tomllib.loads(text(agent))
    assert settings["limits"]["up"] == "2 MiB/s"
    assert settings["folder"][0]["rescan-interval"] == 600 and settings["folder"][0]["priority"] == ["*.{md,txt}"]
    assert text(agent).endswith("# mine\n") and "# Upload and download limits" in text(agent)
    if is_running:
        assert agent.status()["folders"][0]["type"] == "receiveonly"
    agent.run("config", "unset", "limits.up")
    agent.run("folder", "set", "photos", "rescan-interval=")
    settings = tomllib.loads(text(agent))
    assert "up" not in settings["limits"] and "rescan-interval" not in settings["folder"][0]
    assert agent.document("config", "get", "limits.up")["isDefault"]
    assert agent.run("config", "path").stdout.decode().strip() == agent.file("config.toml")
    assert agent.document("config", "path") == {"schema": 1, "path": agent.file("config.toml")}


def test_a_device_is_renamed_in_a_running_agent(lab):
    agent, peer = lab.agent(), lab.peer("other")
    agent.add_device(peer.id, "old")
    agent.run("device", "set", "old", "name=new", "up=1MiB/s", "--introducer")
    assert [device["name"] for device in agent.status()["devices"]] == ["new"]
    device = tomllib.loads(text(agent))["device"][0]
    assert device["up"] == "1 MiB/s" and device["introducer"] is True
    assert agent.run("device", "get", "new", "name").stdout == b"new\n"


def test_it_says_what_needs_a_restart(lab):
    agent = lab.agent()
    assert b"Restart the agent to apply: `synctrain" in agent.run("config", "set", "cache.limit", "2GiB").stdout
    assert b"Restart" not in agent.run("config", "unset", "cache.limit").stdout


@pytest.mark.parametrize("is_running", [True, False], ids=["agent", "offline"])
def test_bad_values_change_nothing(lab, is_running):
    agent = lab.agent(start=is_running)
    folder(agent)
    before = text(agent)
    for arguments, words in [
            (["config", "set", "limits.upp", "1MiB/s"], b"Did you mean `limits.up`?"),
            (["config", "set", "limits.up", "fast"], b"`limits.up` cannot be"),
            (["config", "set", "limits.up", "1"], b"at least 1 KiB/s"),
            (["config", "get", "nothing-like-it"], b"config list"),
            (["folder", "set", "photos", "label=x", "type=sideways"], b"receiveonly"),
            (["folder", "set", "photos", "id=x"], b"folder add"), (["folder", "set", "photos", "label"], b"KEY=VALUE")]:
        result = agent.try_run(*arguments)
        assert result.returncode == cli.USAGE and words in result.stderr, result
    assert agent.try_run("folder", "set", "nope", "label=x").returncode == cli.NO_SUCH
    for command in ("get", "set"):
        result = agent.try_run("folder", command, "photo", *(["label=x"] if command == "set" else []))
        assert result.returncode == cli.NO_SUCH and b"no such folder; did you mean `photos`?" in result.stderr, result
    assert text(agent) == before


def test_a_removed_device_is_brought_back_as_it_was(lab):
    """By the command that `device remove` prints, and by the answer to the request, which the page's Undo sends back."""
    agent, other = lab.agent(), lab.agent("other", start=False)
    agent.add_device(other.id, "it's the nas", "tcp://192.0.2.7:22000")
    agent.run("device", "set", other.id, "--introducer", "--allowed-networks", "192.0.2.0/24,!192.0.2.9", "--up", "2MiB/s", "--connections", "2")
    agent.run("pause", "--device", other.id)
    for folder in ("one", "two", "other"):
        agent.add_folder(folder, lab.directory(folder), *([other.id] if folder != "other" else []))
    agent.run("folder", "role", "two", other.id, "read")

    def facts():
        status = agent.status()
        settings = agent.document("device", "get", other.id)["settings"]
        return settings, {folder["id"]: (folder["devices"], folder["roles"]) for folder in status["folders"]}

    before = facts()
    for offline in (False, True):
        if offline:
            agent.stop()
        command = agent.document("device", "remove", other.id, "--yes")["command"]
        assert command.startswith("synctrain ") and " device add " in command
        if not offline:
            assert other.id not in {device["id"] for device in agent.status()["devices"]}
        words = shlex.split(command)
        agent.run(*words[words.index("device"):])
        if offline:
            agent.start()
        assert facts() == before
    assert b"To add it again: synctrain " in agent.run("device", "remove", other.id, "--yes").stdout
