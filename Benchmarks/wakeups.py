"""How often the threads of a process and its children go to sleep, which is how often something wakes them.

Linux counts that for each thread (`voluntary_ctxt_switches` in /proc/PID/task/TID/status) and forgets the count when the
thread ends; no file of /proc has the sum for a process that includes the threads that have ended. The difference of two
readings of all threads is therefore wrong, and may be negative: it lacks the whole count of each thread that ended between
them. So the threads are read every quarter of a second, and what each of them has added since the last reading is summed.
What is missed is what a thread does after the last reading before its end.
"""

import os
import time
from dataclasses import dataclass

from plausible import Implausible

SAMPLE_INTERVAL = 0.25
LONGEST_GAP = 2.0
"""Between two readings, if a thread ended between them: it may have been woken all the time."""
SHORTEST = 5.0
"""Seconds of a measurement: one timer more or less would decide a shorter one."""


@dataclass(frozen=True)
class Thread:
    process: int
    number: int
    started: int
    """In clock ticks since the machine started: a number may be used again."""


def read_threads(pids, proc="/proc"):
    """{Thread: how often it has gone to sleep so far} of these processes."""
    threads = {}
    for pid in pids:
        try:
            numbers = os.listdir(f"{proc}/{pid}/task")
        except OSError as error:
            raise Implausible(f"process {pid} has ended while its wake-ups were counted") from error
        alive = 0
        for number in numbers:
            try:
                with open(f"{proc}/{pid}/task/{number}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                with open(f"{proc}/{pid}/task/{number}/status") as file:
                    counts = [int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches:")]
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended after it was listed
            if fields[0] in "ZX":
                continue  # it has ended, and nobody has taken notice yet
            if len(counts) != 1:
                raise Implausible(f"Linux does not say how often thread {number} of process {pid} has slept")
            threads[Thread(pid, int(number), started=int(fields[19]))] = counts[0]
            alive += 1
        if not alive:
            raise Implausible(f"process {pid} has ended while its wake-ups were counted")
    return threads


class WakeupCount:
    """Sums up readings. `at` is in seconds on any clock that never goes back."""

    def __init__(self, threads, at):
        self.start = self.last = at
        self.total = 0
        self._threads = self._checked(threads)

    def add(self, threads, at):
        threads = self._checked(threads)
        gap = at - self.last
        if gap < 0:
            raise Implausible(f"the clock went back by {-gap:.3f} s")
        gone = {thread.process for thread in self._threads} - {thread.process for thread in threads}
        if gone:
            raise Implausible(f"process {min(gone)} has ended while its wake-ups were counted")
        ended = self._threads.keys() - threads.keys()
        if ended and gap > LONGEST_GAP:
            raise Implausible(f"{len(ended)} threads ended within {gap:.1f} s in which nothing was read; is the machine busy?")
        for thread, count in threads.items():
            before = self._threads.get(thread, 0)
            if count < before:
                raise Implausible(f"the count of thread {thread.number} went back from {before} to {count}")
            self.total += count - before
        self._threads, self.last = threads, at

    @staticmethod
    def _checked(threads):
        if not threads:
            raise Implausible("there is no thread to count the wake-ups of")
        return dict(threads)

    @property
    def per_minute(self):
        seconds = self.last - self.start
        if seconds < SHORTEST:
            raise Implausible(f"wake-ups were counted for {seconds:.1f} s; at least {SHORTEST:.0f} s are needed")
        return self.total * 60 / seconds


def count_wakeups(node, seconds):
    """Wake-ups a minute of a `Child` and its children, counted for so long."""
    count = WakeupCount(read_threads(node.pids()), time.monotonic())
    while count.last - count.start < seconds:
        time.sleep(SAMPLE_INTERVAL)
        count.add(read_threads(node.pids()), time.monotonic())
    return count.per_minute
