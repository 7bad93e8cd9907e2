"""The program beside a file manager that loads no Python: `lines` on standard input and output. Ends with its input."""

import json
import os

from gi.repository import GLib

from .lines import Lines
from .session import Session

# Of a line of its input.
LIMIT = 4 << 20


class Helper(Session):
    def __init__(self, say):
        super().__init__()
        self.lines = Lines(self.view, say, self.perform, self._note) if self.view else None

    def _changed(self, path):
        self.lines.look(path)


def main():
    loop, rest = GLib.MainLoop(), b""

    def say(document):
        try:
            # Waits for a reader that is busy. One that is gone has ended the input, too.
            os.write(1, json.dumps(document).encode() + b"\n")
        except OSError:
            loop.quit()

    helper = Helper(say)

    def came(descriptor, _):
        nonlocal rest
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:
            data = b""
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if helper.lines is not None:
                helper.lines.take(line)
        if data and len(rest) <= LIMIT:
            return GLib.SOURCE_CONTINUE
        loop.quit()
        return GLib.SOURCE_REMOVE

    GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, came)
    loop.run()


if __name__ == "__main__":
    main()
