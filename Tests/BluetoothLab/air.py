"""What a radio does and btvirt does not, for the two virtual controllers:

- to advertise again and again. btvirt tells others of an advertisement once: when it begins, or when a scan does, and
  then the kernel drops it, as its scan is not yet under way;
- to notice that the other end is gone (supervision timeout, Core Specification Vol 6, Part B, 4.5.2). When an adapter is
  switched off or on while another connects to it, btvirt can leave a connection that only one of them knows of.

Speaks HCI for that (Vol 4, Part E, 7), as no program but the laboratory may.
"""

import fcntl
import socket
import struct
import time

SET_ADVERTISING_ENABLE, DISCONNECT = 0x200A, 0x0406
COMMAND, EVENT, COMMAND_COMPLETE = 1, 4, 0x0E
# ioctl HCIGETCONNLIST and the state BT_CONNECTED of <bluetooth/hci.h>.
GET_CONNECTIONS, CONNECTED = 0x800448D4, 1
REMOTE_USER_TERMINATED = 0x13


def controller(index):
    """A raw socket that hears of completed commands."""
    hci = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    # struct hci_filter, padded.
    hci.setsockopt(socket.SOL_HCI, socket.HCI_FILTER, struct.pack("IIIHxx", 1 << EVENT, 1 << COMMAND_COMPLETE, 0, 0))
    hci.bind((index,))
    hci.settimeout(2)
    return hci


def set_advertising(hci, value):
    """Whether the controller has done it; it refuses what is so already."""
    hci.send(struct.pack("<BHBB", COMMAND, SET_ADVERTISING_ENABLE, 1, value))
    while True:
        event = hci.recv(260)
        if event[:2] == bytes([EVENT, COMMAND_COMPLETE]):
            if struct.unpack_from("<H", event, 4)[0] == SET_ADVERTISING_ENABLE:
                return event[6] == 0


def connections(hci, index):
    """The handles of an adapter's connections."""
    request = bytearray(struct.pack("HH", index, 8) + bytes(8 * 16))
    fcntl.ioctl(hci, GET_CONNECTIONS, request)
    count = struct.unpack_from("HH", request)[1]
    found = [struct.unpack_from("H6sBBHI", request, 4 + 16 * number) for number in range(count)]
    return [handle for handle, _, _, _, state, _ in found if state == CONNECTED]


def main():
    alone = [0, 0]
    while True:
        time.sleep(0.7)
        handles = [[], []]
        for index in (0, 1):
            try:
                with controller(index) as hci:
                    handles[index] = connections(hci, index)
                    if set_advertising(hci, 0):
                        set_advertising(hci, 1)
            except OSError as error:
                print(f"hci{index}: {error}", flush=True)
        for index in (0, 1):
            alone[index] = alone[index] + 1 if handles[index] and not handles[1 - index] else 0
            if alone[index] > 2:
                print(f"hci{index}: nobody is at the other end", flush=True)
                try:
                    with controller(index) as hci:
                        for handle in handles[index]:
                            hci.send(struct.pack("<BHBHB", COMMAND, DISCONNECT, 3, handle, REMOTE_USER_TERMINATED))
                except OSError as error:
                    print(f"hci{index}: {error}", flush=True)


if __name__ == "__main__":
    main()
