"""The package, packed once for all tests, and machines to install it on. `Tests/Packaging/run` starts pytest as these need it."""

import os
import shutil
import subprocess

import pytest

from machine import Machine

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PROGRAMS = os.path.dirname(os.path.abspath(os.environ["SYNCTRAIN"]))
# A Debian system to install on; without, a copy of this machine.
BASE = os.environ.get("BASE", "/")
IS_DEBUG = BASE == "/"
# Where what compiles its plugins is installed; `.ci/run` does that.
HAS_DOLPHIN = os.path.exists("/usr/include/KF5/KIOWidgets/KOverlayIconPlugin") and shutil.which("cmake") is not None


def pack(directory, **environment):
    """Packs the programs into the directory; gives the paths of the packages, that of the programs first."""
    command = [os.path.join(REPOSITORY, "packaging/pack"), *(["--debug"] if IS_DEBUG else []), PROGRAMS, str(directory)]
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout.split()


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    return pack(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="session")
def package(packages):
    return packages[0]


@pytest.fixture(scope="session")
def newer(package, tmp_path_factory):
    """The same package with a higher version, as the next release would have."""
    place = tmp_path_factory.mktemp("newer")
    tree, path = place / "tree", place / "synctrain_9.9-1.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    lines = control.read_text().splitlines(keepends=True)
    control.write_text("".join("Version: 9.9-1\n" if line.startswith("Version: ") else line for line in lines))
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, path], check=True, stdout=subprocess.PIPE)
    return str(path)


@pytest.fixture(scope="session")
def unpacked(package, tmp_path_factory):
    return unpack(package, tmp_path_factory)


@pytest.fixture(scope="session")
def extensions(packages, tmp_path_factory):
    """The trees of the extensions, by the names of their packages."""
    return {os.path.basename(path).split("_")[0]: unpack(path, tmp_path_factory) for path in packages[1:]}


def unpack(package, tmp_path_factory):
    tree = tmp_path_factory.mktemp("unpacked") / "tree"
    subprocess.run(["dpkg-deb", "--extract", package, tree], check=True)
    return str(tree)


@pytest.fixture
def machine(tmp_path):
    machine = Machine(BASE, str(tmp_path))
    yield machine
    machine.end()
