"""What `Benchmarks/run` takes for a measurement: a value that cannot be is an error, and never a target that was met."""

import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys

import pytest
from agent import REPOSITORY
from process import Child, wait_until

BENCHMARKS = os.path.join(REPOSITORY, "Benchmarks")
sys.path.append(BENCHMARKS)

import measures  # noqa: E402
import wakeups  # noqa: E402
from measures import Row, row  # noqa: E402
from plausible import Implausible, check_judged, merged  # noqa: E402
from wakeups import Thread, WakeupCount, read_threads  # noqa: E402

A, B, AGAIN = Thread(10, 11, 500), Thread(10, 12, 501), Thread(10, 11, 900)
OTHER = Thread(20, 20, 600)


def run_module():
    """`Benchmarks/run`, which has no suffix."""
    loader = importlib.machinery.SourceFileLoader("benchmark_run", os.path.join(BENCHMARKS, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


# MARK: wake-ups

@pytest.mark.parametrize("readings, total", [
    ([{A: 5, B: 100}, {A: 9, B: 101}], 5),
    ([{A: 5}, {A: 5}], 0),
    # A thread that ends takes its count along: the difference of the sums would be 7 - 1005.
    ([{A: 5, B: 1000}, {A: 6, B: 1003}, {A: 7}], 5),
    # One that begins has slept that often since the last reading.
    ([{A: 5}, {A: 6, B: 40}, {A: 7, B: 42}], 44),
    # The number of one that ended is given to another.
    ([{A: 900, B: 1}, {AGAIN: 4, B: 1}], 4),
    ([{A: 5}, {A: 6, OTHER: 3}], 4),
])
def test_wakeups_are_summed(readings, total):
    count = WakeupCount(readings[0], 100)
    for number, reading in enumerate(readings[1:], 1):
        count.add(reading, 100 + number)
    assert count.total == total


@pytest.mark.parametrize("readings, what", [
    ([({}, 0)], "no thread"),
    ([({A: 5}, 0), ({}, 1)], "no thread"),
    ([({A: 5}, 0), ({A: 4}, 1)], "went back"),
    ([({A: 5}, 1), ({A: 6}, 0)], "clock"),
    ([({A: 5, OTHER: 1}, 0), ({A: 6}, 1)], "process 20 has ended"),
    ([({A: 5, B: 5}, 0), ({A: 5}, 10)], "threads ended"),
])
def test_readings_that_cannot_be(readings, what):
    with pytest.raises(Implausible, match=what):
        count = WakeupCount(*readings[0])
        for reading in readings[1:]:
            count.add(*reading)


def test_wakeups_a_minute():
    count = WakeupCount({A: 5}, 0)
    count.add({A: 6}, 1)
    with pytest.raises(Implausible, match="for 1.0 s"):
        count.per_minute
    count.add({A: 16}, 30)
    assert count.per_minute == 22


SLEEPER = """
import threading, time
def work():
    for _ in range(100):
        time.sleep(0.005)
def start():
    for _ in range(4):
        threading.Thread(target=work).start()
        time.sleep(0.2)
start()
print("begun", flush=True)
start()
time.sleep(60)
"""


@pytest.fixture
def child(tmp_path):
    child = Child("child", str(tmp_path / "log"))
    yield child
    child.kill()


def test_threads_that_end_are_counted(child, tmp_path):
    """Of a real process. The difference of two readings, as it was counted before, is negative here."""
    child.spawn([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE)
    child.process.stdout.readline()
    first = read_threads(child.pids())
    rate = wakeups.count_wakeups(child, wakeups.SHORTEST)
    last = read_threads(child.pids())
    assert sum(last.values()) < sum(first.values())
    # Four threads of a hundred sleeps each, and what was left of those before; a thread's last quarter second is lost.
    assert 150 < rate * wakeups.SHORTEST / 60 < 1000


@pytest.mark.parametrize("reap", [True, False])
def test_a_process_that_has_ended_is_not_quiet(child, reap):
    child.spawn(["sleep", "60"])
    pids = child.pids()
    read_threads(pids)
    os.kill(child.process.pid, signal.SIGKILL)
    if reap:
        child.process.wait()
    else:
        os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(Implausible, match="has ended"):
        read_threads(pids)
    with pytest.raises(RuntimeError, match="child has ended"):
        child.rss()
    if reap:
        with pytest.raises(RuntimeError, match="child has ended"):
            child.cpu_seconds()


def test_children_of_threads_are_found(child):
    """And the processor time of one that has ended is kept."""
    script = """
import subprocess, sys, threading, time
def start(program):
    subprocess.run([sys.executable, "-c", program])
threading.Thread(target=start, args=("import time; time.sleep(60)",)).start()
start("import time\\nend = time.process_time() + 0.3\\nwhile time.process_time() < end: pass")
print("done", flush=True)
time.sleep(60)
"""
    child.spawn([sys.executable, "-c", script], stdout=subprocess.PIPE)
    child.process.stdout.readline()
    wait_until(lambda: len(child.pids()) == 2, what="the other child is there", child=child)
    # Each process's user and system time are cut to hundredths; without the one that has ended there is hardly a tenth.
    assert child.cpu_seconds() >= 0.25


# MARK: rows

@pytest.mark.parametrize("value", [-584.0, float("nan"), float("inf"), True, "12"])
@pytest.mark.parametrize("side", ["syncthing", "synctrain"])
def test_a_value_that_cannot_be_is_an_error(value, side):
    sides = {"syncthing": 5.0, "synctrain": 4.0, side: value}
    with pytest.raises(Implausible, match="idle"):
        row("idle", "per minute", sides, target="few", met=lambda a, b: b < a, may_be_zero=True)


def test_zero_is_an_error_unless_it_is_said_to_be_possible():
    assert row("CPU", "s", {"syncthing": 0.0, "synctrain": 0.0}, may_be_zero=True).synctrain == 0
    # A baseline of zero would meet any target that more is better for.
    with pytest.raises(Implausible, match="zero"):
        row("rate", "MB/s", {"syncthing": 0.0, "synctrain": 9.0}, more=True, target="≥ 1.3 ×", met=lambda a, b: b >= 1.3 * a)
    # So would a process that has ended a limit.
    with pytest.raises(Implausible, match="zero"):
        row("RSS", "MiB", {"syncthing": 40.0, "synctrain": 0.0}, target="≤ 30", met=lambda b: b <= 30, is_relative=False)


def test_targets_are_judged_against_something():
    with pytest.raises(Implausible, match="nothing to compare"):
        row("index", "s", {"synctrain": 4.0}, target="less", met=lambda a, b: True)
    with pytest.raises(Implausible, match="not measured"):
        Row("index", "s", 4.0, None, False, "less", True)
    row("index", "s", {"synctrain": 4.0}, target="≤ 5", met=lambda b: b <= 5, is_relative=False)
    alone = row("index", "s", {"syncthing": 4.0}, target="less", met=lambda a, b: b < a)
    assert alone.met is None
    check_judged("index", [alone], with_synctrain=False)
    with pytest.raises(Implausible, match="cannot be judged"):
        check_judged("index", [alone], with_synctrain=True)
    with pytest.raises(Implausible, match="nothing was measured"):
        check_judged("radio", [], with_synctrain=True)


def test_runs_are_merged_if_they_measured_the_same():
    median_row = run_module().median_row

    def one(ours, met=True, measure="a"):
        return Row(measure, "s", 5.0, ours, False, "less", met)
    result, = merged([[one(1.0)], [one(9.0, False)], [one(2.0)]], median_row)
    assert (result.syncthing, result.synctrain, result.met, result.target) == (5.0, 2.0, True, "less")
    for other in ([one(None, None)], [one(1.0, measure="b")], [one(1.0), one(2.0)]):
        with pytest.raises(Implausible):
            merged([[one(1.0)], other], median_row)


# MARK: the program

class NoLab:
    def __init__(self, parent):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize("value, status, text", [(3.0, 0, "| yes"), (9.0, 1, "| NO"), (-584.0, 1, "idle: it cannot be -584.0"),
                                                 (None, 1, "cannot be judged")])
def test_a_run_fails_by_what_it_cannot_have_measured(monkeypatch, capsys, value, status, text):
    """By its exit code and its words, beside a measure that is right."""
    module = run_module()
    for name in ("SYNCTRAIN", "STHASHING"):
        monkeypatch.setenv(name, "")  # It sets them for its programs; here they are set back.
    monkeypatch.setattr(module, "ALL", {
        "idle": lambda bench: [row("idle", "per minute", {"syncthing": 5.0, "synctrain": value}, target="few",
                                   met=lambda a, b: b < a, may_be_zero=True)],
        "other": lambda bench: [row("other", "s", {"syncthing": 2.0, "synctrain": 1.0})]})
    monkeypatch.setattr(module, "KeptLab", NoLab)
    monkeypatch.setattr(module, "describe", lambda options: {})
    monkeypatch.setattr(module.agent, "find_program", lambda configuration: "/bin/true")
    assert module.main(["--runs", "1"]) == status
    output = capsys.readouterr().out
    assert text in output
    assert "| other " in output
    if status and value != 9.0:
        assert "| idle " not in output and "Not measured" in output


def test_a_row_is_checked_when_it_is_made_by_hand():
    with pytest.raises(Implausible):
        measures.Row("x", "s", None, -1.0)
