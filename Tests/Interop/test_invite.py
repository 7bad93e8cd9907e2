"""An invitation, from the code to the folder: good for one device, for its time, and for nobody without it."""

import os

import pytest

import agent as cli
from harness import read, write
from process import wait_until


def test_invite_and_join(lab):
    host, guest, other = lab.agent("host"), lab.agent("guest"), lab.agent("other")
    path = lab.share(host, "docs", mode="full")
    write(os.path.join(path, "a.txt"), b"hello")
    code = host.run("invite", "docs", "--as", "read", "-q").stdout.decode().strip()
    place = lab.path("guest-docs")

    # What is no code of this device's leaves nothing behind.
    assert guest.try_run("join", code[:-3] + "AAA", place).returncode == cli.USAGE
    stranger = host.run("invite", "docs", "-q").stdout.decode().strip()
    host.run("invite", "--revoke", "2")
    assert guest.try_run("join", stranger, place).returncode == cli.FAILED
    assert guest.status()["folders"] == [] and guest.status()["devices"] == [] and not os.path.exists(place)
    assert host.status()["devices"] == []

    answer = guest.document("join", code, place, "--mode", "full")
    assert (answer["folder"], answer["role"], answer["device"]) == ("docs", "read", host.id)
    host.wait_connected(guest.id)
    wait_until(lambda: os.path.exists(os.path.join(place, "a.txt")), what="the file arrives")
    assert read(os.path.join(place, "a.txt")) == b"hello"
    assert host.folder("docs")["roles"] == {guest.id: "read"}
    listed = host.document("invite", "--list")["invitations"]
    assert [(one["state"], one["device"]) for one in listed] == [("redeemed", guest.id)]

    # Good once: not for another device, and nothing is stored of it.
    refused = other.try_run("join", code, lab.path("other-docs"))
    assert refused.returncode == cli.FAILED and b"another device" in refused.stderr
    assert other.status()["folders"] == [] and [d["id"] for d in host.status()["devices"]] == [guest.id]
    # The guest may say it again.
    assert guest.document("join", code, place, "--mode", "full")["folder"] == "docs"
    # What is noted on one is known on the other.
    host.run("note", "docs:a.txt", "rating=5", "title=A letter")
    wait_until(lambda: {note["key"]: note["value"] for note in guest.document("note", "docs:a.txt")["notes"]}
               == {"rating": "5", "title": "A letter"}, what="the notes arrive")
    # What it changes is refused.
    write(os.path.join(place, "a.txt"), b"changed by the guest")
    guest.run("scan")
    wait_until(lambda: [r["path"] for r in host.records("refused", "list")] == ["a.txt"], what="the change is refused")
    assert read(os.path.join(path, "a.txt")) == b"hello"


def test_why_a_code_does_not_work(lab):
    host, guest = lab.agent("host"), lab.agent("guest")
    lab.share(host, "docs", mode="full")
    code = host.run("invite", "docs", "-q").stdout.decode().strip()
    host.run("invite", "--revoke", "1")
    place = lab.path("guest-docs")

    def why(*options):
        refused = guest.try_run("join", code, place, *options)
        assert refused.returncode == cli.FAILED and guest.status()["devices"] == [] and not os.path.exists(place)
        return refused.stderr.decode()

    # At no other address would it be otherwise, and none is asked for.
    for message in (why(), why("--address", host.address)):
        assert "no open invitation; ask for a new code" in message and "--address" not in message
    host.stop()
    for message in (why(), why("--address", host.address)):
        assert "the inviting device was not reached: " in message and message.rstrip().endswith("Give its address with --address HOST.")


def remove(host, guest):
    host.run("device", "remove", guest.id, "--yes")


def ignore(host, guest):
    remove(host, guest)
    host.run("device", "ignore", guest.id)


def unshare(host, guest):
    host.run("folder", "unshare", "docs", guest.id)


def demote(host, guest):
    host.run("folder", "role", "docs", guest.id, "read")


@pytest.mark.parametrize("take_back", [remove, ignore, unshare, demote])
def test_a_used_code_undoes_nothing(lab, take_back):
    host, guest = lab.agent("host"), lab.agent("guest")
    lab.share(host, "docs", mode="full")
    code = host.run("invite", "docs", "--as", "write", "-q").stdout.decode().strip()
    guest.run("join", code, lab.path("guest-docs"))
    # Another one is open, so that the host goes on answering.
    host.run("invite", "docs")
    host.wait_connected(guest.id)
    # Said again while all is as it was, it works and changes nothing.
    assert guest.try_run("join", code, lab.path("guest-docs")).returncode == 0
    take_back(host, guest)

    def facts():
        folder = host.folder("docs")
        return [d["id"] for d in host.status()["devices"]], folder["devices"], folder["roles"]
    before = facts()
    refused = guest.try_run("join", code, lab.path("guest-docs"))
    assert refused.returncode == cli.FAILED and b"revoked" in refused.stderr
    assert facts() == before
    assert [one["state"] for one in host.document("invite", "--list")["invitations"]] == ["open"]


def test_an_ignored_device_cannot_use_a_code(lab):
    host, guest = lab.agent("host"), lab.agent("guest")
    lab.share(host, "docs", mode="full")
    host.run("device", "ignore", guest.id)
    code = host.run("invite", "docs", "-q").stdout.decode().strip()
    assert guest.try_run("join", code, lab.path("guest-docs")).returncode == cli.FAILED
    assert host.status()["devices"] == [] and host.folder("docs")["devices"] == []
    assert [one["state"] for one in host.document("invite", "--list")["invitations"]] == ["open"]


def test_a_folder_that_is_here_is_shared_only_if_a_person_says_so(lab):
    """The id in an invitation is the other device's word, and may be guessed."""
    host, guest = lab.agent("host"), lab.agent("guest")
    lab.share(host, "docs", mode="full")
    own = lab.share(guest, "docs", mode="full")
    write(os.path.join(own, "private.txt"), b"of the guest alone")
    code = host.run("invite", "docs", "-q").stdout.decode().strip()
    elsewhere = lab.path("holiday")
    for directory in ([], [elsewhere]):
        asked = guest.try_run("join", code, *directory)
        assert asked.returncode == 6 and own.encode() in asked.stderr and b"Share it?" in asked.stderr
        assert guest.status()["devices"] == [] and guest.folder("docs")["devices"] == []
        assert host.status()["devices"] == [] and not os.path.exists(elsewhere)
    # The code is still good, for one who names the folder's own directory or says so.
    assert guest.document("join", code, own + "/")["path"] == own
    assert guest.folder("docs")["devices"] == [host.id]
    guest.run("folder", "unshare", "docs", host.id)
    assert guest.try_run("join", code).returncode == 6
    guest.run("join", code, "--yes")
    assert guest.folder("docs")["devices"] == [host.id]
