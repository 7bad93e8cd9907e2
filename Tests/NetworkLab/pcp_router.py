"""A router that speaks PCP over IPv6, as far as opening its firewall goes (RFC 6887); miniupnpd speaks it over IPv4 only.

    pcp_router.py INTERFACE

Prints `ready`, and `MAP PORT LIFETIME` for each request. SIGHUP is a power cut: its epoch begins again, which it announces to all
hosts of the link."""
import ipaddress
import signal
import socket
import struct
import subprocess
import sys
import time


def link_local(interface):
    shown = subprocess.run(["ip", "-6", "-o", "addr", "show", "dev", interface, "scope", "link"], check=True,
                           capture_output=True, text=True).stdout
    return str(ipaddress.ip_interface(shown.split()[3]).ip)


def say(line):
    print(line, flush=True)


def main(interface):
    begin = time.monotonic() - 5000
    scope = socket.if_nametoindex(interface)
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    # Answers come from the address that was asked.
    sock.bind((link_local(interface), 5351, 0, scope))
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, scope)

    def head(operation, lifetime=0):
        return struct.pack("!BBBBII12x", 2, 0x80 | operation, 0, 0, lifetime, int(time.monotonic() - begin))

    def restart(*_):
        nonlocal begin
        begin = time.monotonic()
        sock.sendto(head(0), ("ff02::1", 5350, 0, scope))
    signal.signal(signal.SIGHUP, restart)
    say("ready")
    while True:
        data, sender = sock.recvfrom(1100)
        if len(data) < 24 or data[0] != 2:
            continue
        lifetime = struct.unpack("!I", data[4:8])[0]
        if data[1] == 0:
            sock.sendto(head(0), sender)
        elif data[1] == 1 and len(data) >= 60:
            port = struct.unpack("!H", data[40:42])[0]
            say(f"MAP {port} {lifetime}")
            # A firewall opens the port and the address of the client themselves.
            sock.sendto(head(1, lifetime) + data[24:42] + data[40:42] + data[8:24], sender)


main(sys.argv[1])
