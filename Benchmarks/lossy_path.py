#!/usr/bin/python3
"""lossy_path.py NAMESPACE NAMESPACE DELAY LOSS: a path between two network namespaces (paths of them) that delays every packet by
DELAY seconds each way and loses a share LOSS of them. For kernels without netem. Prints `ready` when the path is there: the
device `path` in both namespaces, without addresses."""

import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 1, 0x1000
# More wait nowhere: a path whose queue never ends would measure the queue.
LONGEST_QUEUE = 4096
# A delay is kept to this, in seconds.
TICK = 0.0005


def device_in(namespace):
    """A descriptor of the device `path` in the namespace; this thread is in the namespace afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(namespace, os.O_RDONLY)
    if libc.setns(handle, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(handle)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"path", IFF_TUN | IFF_NO_PI))
    return device


def main(namespaces, delay, loss):
    devices = [device_in(namespace) for namespace in namespaces]
    other = dict(zip(devices, devices[::-1]))
    queues = {device: collections.deque() for device in devices}
    chance = random.Random(1)
    print("ready", flush=True)
    while True:
        due = min((queue[0][0] for queue in queues.values() if queue), default=None)
        wait = None if due is None else max(0, due - time.monotonic())
        readable, _, _ = select.select(devices, [], [], wait)
        now = time.monotonic()
        for device in readable:
            queue = queues[other[device]]
            for _ in range(64):
                try:
                    packet = os.read(device, 65536)
                except BlockingIOError:
                    break
                if chance.random() >= loss and len(queue) < LONGEST_QUEUE:
                    queue.append((now + delay, packet))
        for device, queue in queues.items():
            while queue and queue[0][0] <= now + TICK:
                try:
                    os.write(device, queue.popleft()[1])
                except OSError:
                    pass  # the device is down, or its queue is full: lost


if __name__ == "__main__":
    main(sys.argv[1:3], float(sys.argv[3]), float(sys.argv[4]))
