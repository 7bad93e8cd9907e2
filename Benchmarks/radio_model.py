"""Streams over the model of a Bluetooth LE link, in virtual time: the same figures on every machine, and no Syncthing."""

import json
import os
import subprocess

from measures import Row

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

# Issue 4: shares of the bytes on the link without loss, and of the rate without loss with 5 % of the packets dropped.
SHARES = {"l2cap": 0.96, "gatt": 0.93}
WITH_LOSS = 0.8


def radio(bench):
    if not bench.with_synctrain:
        return []
    byte_count = 200_000 if bench.options.quick else 1_000_000
    output = subprocess.check_output(
        ["swift", "run", "-c", "release", "RadioBenchmark", "--json", str(byte_count)], cwd=REPOSITORY, text=True,
        stderr=subprocess.DEVNULL)
    rows = []
    for result in map(json.loads, output.splitlines()):
        name = f"{result['mode'].upper() if result['mode'] in SHARES else 'GhostDrop v1 over L2CAP'} on {result['radio']}"
        if result["loss"]:
            name += f", {result['loss']:.0%} lost on the air"
        if result["dropped"]:
            name += f", {result['dropped']:.0%} dropped by hosts"
        rows.append(Row(name, "KB/s", None, result["bytesPerSecond"] / 1000, True, None, None))
        if result["mode"] not in SHARES:
            if not result["loss"]:
                rows.append(Row(f"{name}: share of the frames' bytes", "", None, result["ofFrames"], True))
        elif not result["loss"] and not result["dropped"]:
            least = SHARES[result["mode"]]
            rows.append(Row(f"{name}: share of the frames' bytes", "", None, result["ofFrames"], True, f"≥ {least}",
                            result["ofFrames"] >= least))
        elif result["dropped"] == 0.05:
            rows.append(Row(f"{name}: of the rate without loss", "", None, result["ofNoLoss"], True, f"≥ {WITH_LOSS}",
                            result["ofNoLoss"] >= WITH_LOSS))
    return rows


ALL = {"radio": radio}
