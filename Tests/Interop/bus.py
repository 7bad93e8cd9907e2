"""A message bus of our own, for services that tests put on it, and a browser for what a desktop opens."""

import html
import json
import os
import sys

import dbus
import dbus.bus
from process import Child, wait_until

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>{kind}</type><listen>unix:path={path}</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
"""


class Bus:
    """`kind` is "system" or "session". `directory` is to be short: a socket's path has at most 107 bytes."""

    def __init__(self, directory, kind):
        path = os.path.join(directory, "bus")
        self.address = f"unix:path={path}"
        self.variables = {f"DBUS_{kind.upper()}_BUS_ADDRESS": self.address}
        configuration = os.path.join(directory, "bus.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(kind=kind, path=path))
        self.daemon = Child(f"{kind}-bus", os.path.join(directory, "bus.log"))
        self.daemon.spawn(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile"])
        self.connection = wait_until(self._connect, 20, "the bus listens", child=self.daemon)

    def _connect(self):
        try:
            return dbus.bus.BusConnection(self.address)
        except dbus.exceptions.DBusException:
            # The socket has its name before anybody listens on it.
            return None

    def wait_owner(self, name, child):
        """Until a service has the name; `child` is its process."""
        wait_until(lambda: self.connection.name_has_owner(name), 20, f"{name} is there", child=child)

    def close(self):
        self.connection.close()
        self.daemon.kill()


class Browser:
    """A program that is told what to open: `opened` has the arguments of each start, and what the file said."""

    def __init__(self, directory):
        self.program, self.log = os.path.join(directory, "browser"), os.path.join(directory, "opened")
        with open(self.program, "w") as file:
            file.write(f"#!{sys.executable}\nimport json, sys\n"
                       f"print(json.dumps([sys.argv[1:], open(sys.argv[1]).read()]), file=open({self.log!r}, 'a'))\n")
        os.chmod(self.program, 0o755)

    @property
    def opened(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [tuple(json.loads(line)) for line in file if line.endswith("\n")]

    def views(self, agent):
        """The views of the agent's page that were opened, each logged in."""
        views = []
        for arguments, page in self.opened:
            # Every user sees arguments: there is the file, which is this user's, and no token.
            [file] = arguments
            assert "token" not in file and file.endswith(".html")
            url = html.unescape(page.split("url=", 1)[1].split('"', 1)[0])
            assert url.startswith(agent.status()["http"]) and "/login?token=" in url
            views.append(url.split("#", 1)[1])
        return views
