#!/usr/bin/python3
"""proxy_server.py {socks|http} ADDRESS PORT [USER PASSWORD]: a SOCKS5 or HTTP CONNECT proxy for tests. It prints a line for
each connection that was asked for: `CONNECT HOST PORT`."""

import asyncio
import base64
import ipaddress
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def connect(host, port):
    print("CONNECT", host, port, flush=True)
    return await asyncio.wait_for(asyncio.open_connection(host, port), 10)


async def socks(reader, writer, login):
    version, count = await reader.readexactly(2)
    methods = await reader.readexactly(count)
    wanted = 2 if login else 0
    if version != 5 or wanted not in methods:
        writer.write(b"\5\xff")
        return None
    writer.write(bytes([5, wanted]))
    if login:
        user = await reader.readexactly((await reader.readexactly(2))[1])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(bytes([1, (user.decode(), password.decode()) != login]))
        if (user.decode(), password.decode()) != login:
            return None
    kind = (await reader.readexactly(4))[3]
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
    port = int.from_bytes(await reader.readexactly(2), "big")
    try:
        streams = await connect(host, port)
    except (OSError, asyncio.TimeoutError) as error:
        refused = isinstance(error, ConnectionRefusedError)
        writer.write(bytes([5, 5 if refused else 4, 0, 1, 0, 0, 0, 0, 0, 0]))
        return None
    writer.write(bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
    return streams


async def http(reader, writer, login):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    if login:
        token = base64.b64encode(":".join(login).encode()).decode()
        if f"Proxy-Authorization: Basic {token}" not in head:
            writer.write(b"HTTP/1.1 407 Log in\r\nProxy-Authenticate: Basic realm=lab\r\n\r\n")
            return None
    if method != "CONNECT":
        writer.write(b"HTTP/1.1 405 CONNECT only\r\n\r\n")
        return None
    host, port = target.rsplit(":", 1)
    try:
        streams = await connect(host.strip("[]"), int(port))
    except (OSError, asyncio.TimeoutError):
        writer.write(b"HTTP/1.1 502 Not reachable\r\n\r\n")
        return None
    writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
    return streams


async def main(kind, address, port, login):
    handshake = {"socks": socks, "http": http}[kind]

    async def serve(reader, writer):
        try:
            if streams := await asyncio.wait_for(handshake(reader, writer, login), 20):
                await asyncio.gather(pump(reader, streams[1]), pump(streams[0], writer))
        except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
    server = await asyncio.start_server(serve, address, port)
    async with server:
        await server.serve_forever()

if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), tuple(sys.argv[4:6]) or None))
