"""What the package does to a machine: installed, installed again, updated, removed and purged, and used in between."""

import json
import os
import re
import stat

STATE = "var/lib/synctrain"


def owner(machine, path):
    status = os.lstat(machine.path("/" + path))
    return machine.run("stat", "-c", "%U:%G %a", "/" + path).stdout.strip(), stat.S_ISDIR(status.st_mode)


def status_of(machine, package="synctrain"):
    return machine.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", package, check=False).stdout.strip()


def test_purging_what_nobody_has_used_leaves_nothing(machine, package):
    machine.install(package)
    assert status_of(machine).startswith("ii ")
    # A second run of the scripts changes nothing.
    installed = machine.differences
    machine.install(package)
    machine.run("dpkg-reconfigure", "synctrain")
    assert machine.differences == installed
    for name in ("usr/bin/synctrain", "usr/share/man/man1/synctrain.1.gz", "lib/systemd/system/synctrain.service", STATE):
        assert os.path.lexists(machine.path("/" + name)), name
    assert owner(machine, STATE) == ("synctrain:synctrain 750", True)
    account = machine.run("getent", "passwd", "synctrain").stdout.strip().split(":")
    assert account[5:] == ["/" + STATE, "/usr/sbin/nologin"] and int(account[2]) < 1000
    # Nothing is enabled: for whoever sets it up.
    enabled = [name for name in installed if ".wants/" in name]
    assert not enabled

    machine.run("dpkg", "--remove", "synctrain")
    assert not os.path.lexists(machine.path("/usr/bin/synctrain"))
    machine.run("dpkg", "--purge", "synctrain")
    assert machine.differences == []
    assert not status_of(machine).startswith(("ii", "rc"))
    # A second purge, and a purge of what was never removed.
    machine.install(package)
    machine.run("dpkg", "--purge", "synctrain")
    assert machine.differences == []


def test_first_steps_with_nothing_but_the_package(machine, package):
    machine.install(package)
    machine.run("useradd", "--create-home", "me")

    def synctrain(*arguments, user="me", **options):
        return machine.run("synctrain", *arguments, user=user, **options)

    about = synctrain("--version").stdout
    version = status_of(machine).split()[1]
    assert version.startswith(re.match("synctrain ([0-9.]+)\n", about)[1])
    commit = re.search("^commit: (.*)$", about, re.MULTILINE)[1]
    assert commit.startswith("unknown") or commit.split("-")[0] in version
    assert "BEP v1" in about
    assert synctrain("status", check=False).returncode == 3

    device = synctrain("init", "--name", "laptop", "--listen", "tcp://127.0.0.1:0", "--no-discovery").stdout.strip()
    assert re.fullmatch("([A-Z2-7]{7}-){7}[A-Z2-7]{7}", device)
    try:
        synctrain("ui", "--start", "--no-open")
        synctrain("folder", "add", "papers", "/home/me/Papers", "--new", "--mode", "full")
        machine.run("sh", "-c", "echo hello > ~/Papers/a.txt", user="me")
        synctrain("scan", "papers:")
        synctrain("wait", "papers", "--timeout", "60")
        folder = json.loads(synctrain("status", "--json").stdout)["folders"][0]
        assert (folder["id"], folder["global"]["files"], folder["local"]["files"]) == ("papers", 1, 1)
        assert synctrain("cat", "papers:a.txt").stdout == "hello\n"
        # Its helper is found, too.
        assert "synctrain-watch" in machine.run("sh", "-c", "cat /proc/[0-9]*/comm").stdout.split("\n")
    finally:
        synctrain("agent", "stop")


def test_an_update_and_a_purge_keep_what_users_have(machine, package, newer):
    machine.install(package)
    machine.run("useradd", "--create-home", "me")
    devices = {}
    for user in ("me", "synctrain"):
        devices[user] = machine.run("synctrain", "init", "--name", user, "--no-discovery", user=user).stdout.strip()
    machine.install(newer)
    assert status_of(machine) == "ii  9.9-1"
    for user, device in devices.items():
        assert machine.run("synctrain", "id", user=user).stdout.strip() == device
    # Down again, as with a release that is bad.
    machine.install(package)
    for user, device in devices.items():
        assert machine.run("synctrain", "id", user=user).stdout.strip() == device

    purged = machine.run("dpkg", "--purge", "synctrain")
    assert f"kept /{STATE}" in purged.stderr
    kept = machine.differences
    assert all(name.startswith(("home/me", STATE, "var/mail", "var/spool/mail")) for name in kept), kept
    assert [name for name in kept if name.endswith("key.pem")] == [
        "home/me/.local/state/synctrain/key.pem", f"{STATE}/.local/state/synctrain/key.pem"]
    # The account is still there, and whoever installs again is the same device.
    machine.install(package)
    for user, device in devices.items():
        assert machine.run("synctrain", "id", user=user).stdout.strip() == device
    assert owner(machine, STATE)[0].startswith("synctrain:synctrain ")
