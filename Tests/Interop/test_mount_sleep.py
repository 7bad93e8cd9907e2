"""The machine goes to sleep while a program waits in a mount for another device. logind is a mock on a bus of this test's own.

With $SYNCTRAIN_TEST_FREEZER the kernel's freezer stops all processes as before sleep (Tests/SleepLab/run)."""

import contextlib
import errno
import os
import subprocess
import tempfile
import threading

import harness
import pytest
from machine import Machine
from process import wait_until
from test_mount import pytestmark  # noqa: F401 (skips where nothing can be mounted)

MIB = 1 << 20
HAS_FREEZER = "SYNCTRAIN_TEST_FREEZER" in os.environ


@pytest.fixture
def machine():
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory)
        try:
            machine.sleep_manager()
            yield machine
        finally:
            machine.close()


@contextlib.contextmanager
def waiting_program(lab, variables):
    """Our agent, its device that is there but answers nothing, an open file of a mount, and a thread that reads it, with its outcome."""
    home, ours = lab.agent("home"), lab.agent("ours", start=False)
    ours.variables = variables
    ours.start()
    lab.introduce(ours, home)
    harness.write(os.path.join(lab.directory("home-films"), "film.bin"), harness.pattern(4 * MIB, 7))
    home.add_folder("films", lab.directory("home-films"), ours.id, mode="full")
    ours.add_folder("films", lab.path("ours-films"), home.id)
    ours.wait_connected(home.id)
    ours.wait_global("films", 1)
    directory = lab.path("mount")
    ours.run("mount", directory, "--folder", "films")
    try:
        with open(os.path.join(directory, "film.bin"), "rb", buffering=0) as film:
            home.suspend()
            outcome = []
            program = threading.Thread(target=lambda: outcome.append(read(film)))
            program.start()
            wait_until(lambda: "folio" in wchan(program.native_id), 10, "the program waits")
            yield home, ours, film, program, outcome
            program.join(30)
    finally:
        home.resume()
        subprocess.run(["fusermount3", "-u", "-z", directory], check=False)


def test_a_machine_that_goes_to_sleep_is_not_kept_awake(lab, machine):
    with waiting_program(lab, machine.variables) as (home, ours, film, program, outcome):
        wait_until(machine.is_held_awake, 20, "sleep is held up", child=ours)
        machine.sleep(True)
        program.join(10)
        assert outcome == [errno.ENETDOWN]
        wait_until(lambda: not machine.is_held_awake(), 10, "sleep is held up no more", child=ours)
        assert read(film) == errno.ENETDOWN, "nobody begins to wait, either"
        if HAS_FREEZER:
            freeze()
        machine.sleep(False)
        home.resume()
        wait_until(machine.is_held_awake, 20, "the next sleep is held up", child=ours)
        wait_until(lambda: read(film) == harness.pattern(4 * MIB, 7)[:10], 30, "the film goes on", child=ours)


@pytest.mark.skipif(not HAS_FREEZER, reason="the machine would sleep")
def test_the_freezer_is_held_up_by_who_waits(lab):
    """Without a logind that says that the machine is about to sleep: so the other test can fail."""
    with waiting_program(lab, {}) as (home, _, _, _, outcome):
        with pytest.raises(OSError, match="busy"):
            freeze()
        home.resume()
    assert outcome == [harness.pattern(4 * MIB, 7)[:10]]


def freeze():
    """Has the kernel stop all processes and go on after five seconds. OSError (EBUSY) if one does not let itself be stopped."""
    for name, value in (("pm_freeze_timeout", "5000"), ("pm_test", "freezer"), ("state", "freeze")):
        with open(f"/sys/power/{name}", "w", encoding="ascii") as file:
            file.write(value)


def read(file):
    """The first bytes, or an errno."""
    try:
        return os.pread(file.fileno(), 10, 0)
    except OSError as error:
        return error.errno


def wchan(thread):
    with open(f"/proc/{thread}/wchan", encoding="ascii") as file:
        return file.read()
