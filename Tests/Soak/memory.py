#!/usr/bin/python3
"""Memory under load: two agents, one of which has its files edited all the time.

    SYNCTRAIN=PROGRAM Tests/Soak/memory.py [MINUTES]      60 by default

Prints the anonymous memory of both (`RssAnon`: what they alone use) each minute. Exits with 1 if at the end either has
more than 10 MiB over its tenth minute (a third of the time for shorter runs), or if the two folders differ."""

import contextlib
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))

import harness  # noqa: E402
from process import wait_until  # noqa: E402

FILES, EDITS_AT_ONCE, GROWTH = 4000, 200, 10 * 1024


def memory(agent):
    """KiB."""
    with open(f"/proc/{agent.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


def contents(directory):
    found = {}
    for path, _, names in os.walk(directory):
        for name in names:
            if not name.startswith("."):
                # What is replaced meanwhile is there in the next look.
                with contextlib.suppress(FileNotFoundError), open(os.path.join(path, name), "rb") as file:
                    found[os.path.relpath(os.path.join(path, name), directory)] = file.read()
    return found


def main(minutes):
    random_source = random.Random(1)
    with harness.Lab() as lab:
        one, two = lab.agent("one"), lab.agent("two")
        lab.introduce(one, two)
        here = lab.share(one, "f", two, mode="full")
        there = lab.path("two-f")
        live, number, edits = [], 0, 0
        start = time.monotonic()
        samples = []
        while (elapsed := time.monotonic() - start) < minutes * 60:
            for _ in range(EDITS_AT_ONCE):
                if len(live) < FILES or random_source.random() < 0.02:
                    number += 1
                    name = f"{number % 50}/{number}"
                    os.makedirs(os.path.join(here, str(number % 50)), exist_ok=True)
                    live.append(name)
                else:
                    name = random_source.choice(live)
                with open(os.path.join(here, name), "wb") as file:
                    file.write(random_source.randbytes(random_source.randrange(1, 20_000)))
                if len(live) > FILES:
                    gone = live.pop(random_source.randrange(len(live)))
                    os.remove(os.path.join(here, gone))
                edits += 1
            time.sleep(0.2)
            if elapsed >= 60 * (len(samples) + 1):
                samples.append((memory(one), memory(two)))
                print(f"minute {len(samples)}: {edits} edits; one {samples[-1][0]} KiB, two {samples[-1][1]} KiB", flush=True)
        for agent in (one, two):
            wait_until(lambda: agent.folder("f")["state"] == "idle", 300, f"{agent.name} is idle", child=agent)
        wait_until(lambda: contents(here) == contents(there), 300, "both have the same")
        reference = samples[min(10, max(1, len(samples) // 3)) - 1]
        last = (memory(one), memory(two))
        for name, before, after in zip(("one", "two"), reference, last):
            print(f"{name}: {before} KiB then, {after} KiB at the end, {after - before:+} KiB")
        return all(after - before <= GROWTH for before, after in zip(reference, last))


if __name__ == "__main__":
    sys.exit(0 if main(float(sys.argv[1]) if len(sys.argv) > 1 else 60) else 1)
