"""The image for a NAS, run as its user would: `make container-test`. Needs root, podman and what is in `$BASE`."""

import json
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Interop"))

from harness import Lab, read, write  # noqa: E402
from process import free_port, wait_until  # noqa: E402

pytestmark = pytest.mark.skipif("CONTAINER_IMAGE" not in os.environ, reason="by `make container-test` only")
OWNER = 1234


def podman(*arguments, check=True, **options):
    """With the means of this machine: it may be a container itself, which raises no limits."""
    command = ["podman", "--log-level", "error", "--cgroup-manager", "cgroupfs", "--runtime",
               os.environ.get("CONTAINER_RUNTIME", "runc"), *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=120, **options)


class Nas:
    def __init__(self, lab):
        self.name = f"synctrain-test-{os.getpid()}"
        self.state, self.data = lab.directory("state"), lab.directory("data")
        self.port = free_port()
        for directory in (self.state, self.data):
            os.chown(directory, OWNER, OWNER)

    def run(self, *arguments, user=OWNER):
        limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"]
        return podman("run", "--detach", "--name", self.name, "--network", "host", *limits, "--user", f"{user}:{user}",
                      "--env", "SYNCTRAIN_NAME=nas", "--volume", f"{self.state}:/var/lib/synctrain",
                      "--volume", f"{self.data}:/data", os.environ["CONTAINER_IMAGE"], *arguments)

    def do(self, *arguments):
        return podman("exec", self.name, "synctrain", *arguments).stdout

    def document(self, *arguments):
        return json.loads(self.do(*arguments, "--json"))

    def answers(self):
        result = podman("healthcheck", "run", self.name, check=False)
        return result.returncode == 0

    def remove(self):
        podman("rm", "--force", "--ignore", self.name, check=False)


@pytest.fixture
def lab():
    with Lab() as lab:
        yield lab


@pytest.fixture
def nas(lab):
    nas = Nas(lab)
    yield nas
    nas.remove()


def test_files_arrive_as_their_owners_and_the_identity_stays(lab, nas):
    laptop = lab.agent("laptop")
    nas.run()
    wait_until(nas.answers, 60, "the agent in the container answers")
    own = nas.document("status")["device"]
    assert os.stat(os.path.join(nas.state, "key.pem")).st_uid == OWNER
    nas.do("network", "--global-discovery", "off", "--relays", "off")
    nas.do("config", "set", "listen", f"tcp://127.0.0.1:{nas.port}")
    nas.do("device", "add", laptop.id, "--name", "laptop", "--address", laptop.address)
    # Another container of the same volume: what was set is set, and it is the same device.
    podman("stop", nas.name)
    nas.remove()
    nas.run()
    wait_until(nas.answers, 60, "it answers again")
    assert nas.document("status")["device"] == own
    laptop.add_device(own, "nas", f"tcp://127.0.0.1:{nas.port}")
    nas.do("folder", "add", "photos", "/data/photos", "--device", laptop.id, "--mode", "full", "--new")
    path = lab.path("laptop-photos")
    laptop.add_folder("photos", path, own, mode="full")
    write(os.path.join(path, "new.txt"), b"for the NAS")
    there = os.path.join(nas.data, "photos", "new.txt")
    wait_until(lambda: os.path.exists(there) and read(there) == b"for the NAS", 60, "the file is on the NAS")
    assert os.stat(there).st_uid == OWNER


def test_a_volume_that_cannot_be_written_is_named(nas):
    os.chmod(nas.state, 0o755)
    nas.run(user=4321)
    wait_until(lambda: podman("inspect", "--format", "{{.State.Status}}", nas.name).stdout.strip() == "exited", 30, "it ends")
    result = podman("logs", nas.name)
    assert "/var/lib/synctrain cannot be written by user 4321" in result.stdout + result.stderr


def test_stopping_is_clean(nas):
    nas.run()
    wait_until(nas.answers, 60, "the agent in the container answers")
    podman("stop", nas.name)
    assert podman("inspect", "--format", "{{.State.ExitCode}}", nas.name).stdout.strip() == "0"
