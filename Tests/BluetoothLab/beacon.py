"""Has the virtual controllers advertise as radios do, again and again: btvirt tells others of an advertisement once, when
it begins or when a scan does, and in the latter case the kernel drops it, as its scan is not yet under way.

Speaks HCI for that (Core Specification Vol 4, Part E, 7.8.9), as no program but the laboratory may.
"""

import socket
import struct
import time

SET_ADVERTISING_ENABLE = 0x200A
COMMAND, EVENT, COMPLETE = 1, 4, 0x0E


def controller(index):
    """A raw socket that hears of completed commands."""
    hci = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    hci.setsockopt(socket.SOL_HCI, socket.HCI_FILTER, struct.pack("IIIH", 1 << EVENT, 1 << COMPLETE, 0, 0))
    hci.bind((index,))
    hci.settimeout(2)
    return hci


def set_advertising(hci, value):
    """Whether the controller has done it; it refuses what is so already."""
    hci.send(struct.pack("<BHBB", COMMAND, SET_ADVERTISING_ENABLE, 1, value))
    while True:
        event = hci.recv(260)
        if event[:2] == bytes([EVENT, COMPLETE]) and struct.unpack_from("<H", event, 4)[0] == SET_ADVERTISING_ENABLE:
            return event[6] == 0


def main():
    while True:
        time.sleep(1)
        for index in (0, 1):
            try:
                with controller(index) as hci:
                    if set_advertising(hci, 0):
                        set_advertising(hci, 1)
            except OSError:
                # Off, or busy: the next time.
                continue


if __name__ == "__main__":
    main()
