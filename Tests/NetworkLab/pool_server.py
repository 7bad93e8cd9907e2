#!/usr/bin/python3
"""pool_server.py ADDRESS PORT DIRECTORY: serves a list of relays. http.server's own main looks up its name, which takes 5 s
where no name server is."""

import functools
import http.server
import sys


class Pool(http.server.ThreadingHTTPServer):
    def server_bind(self):
        http.server.socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

if __name__ == "__main__":
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[3])
    Pool((sys.argv[1], int(sys.argv[2])), handler).serve_forever()
