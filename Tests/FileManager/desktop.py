"""A screen that nobody sees, a session bus of its own, and a file manager in it that has a driver of ours loaded beside the extension."""

import json
import os
import shutil
import subprocess
import time

from agent import find_program
from process import Child, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
# Where the bindings of each look for extensions below a directory of XDG_DATA_DIRS.
EXTENSIONS = {"nautilus": "nautilus-python", "nemo": "nemo-python", "caja": "caja-python"}
COMMANDS = {"nautilus": ["nautilus", "--new-window"], "nemo": ["nemo", "--no-desktop"], "caja": ["caja", "--no-desktop"]}
# It loads no Python: its driver is a program of its own on the same bus.
DOLPHIN = ["sh", "-c", 'python3 "$DRIVER" & exec dolphin --new-window "$0"']


class Desktop:
    """Xvfb and a directory for the user's things; `socket` is the control socket of the agent."""

    def __init__(self, place, socket):
        self.place = place
        self.home = os.path.join(place, "home")
        runtime = os.path.join(place, "run")
        os.makedirs(os.path.join(runtime, "synctrain"), mode=0o700)
        prefix = os.path.join(self.home, ".local")
        # As `make install` does: of what is elsewhere, Nemo looks for extensions below /usr only.
        subprocess.run([os.path.join(HERE, "../../packaging/install"), prefix, os.path.dirname(find_program())], check=True)
        os.chmod(runtime, 0o700)
        os.symlink(socket, os.path.join(runtime, "synctrain/agent.sock"))
        self.opened = os.path.join(place, "opened")
        self.screen = Child("Xvfb", os.path.join(place, "Xvfb.log"))
        reading, writing = os.pipe()
        # It chooses a number that is free, and says which. It does not begin again when the last window goes: it would take none meanwhile.
        self.screen.spawn(["Xvfb", "-displayfd", str(writing), "-screen", "0", "1000x640x24", "-nolisten", "tcp", "-noreset"],
                          pass_fds=[writing])
        os.close(writing)
        with open(reading) as pipe:
            display = pipe.readline().strip()
        assert display, self.screen.log_tail()
        self.environment = {
            "PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": self.home, "XDG_RUNTIME_DIR": runtime, "DISPLAY": f":{display}",
            "LC_ALL": "C.UTF-8", "USER": "nobody", "GDK_BACKEND": "x11",
            "GSETTINGS_BACKEND": "memory", "GTK_A11Y": "none", "NO_AT_BRIDGE": "1", "LIBGL_ALWAYS_SOFTWARE": "1",
            "GSK_RENDERER": "cairo", "PYTHONDONTWRITEBYTECODE": "1",
            # What would open a browser notes what it is to open.
            "SYNCTRAIN_OPEN": f"cp -t {self.opened}",
        }
        os.mkdir(self.opened)
        self.manager = None

    def close(self):
        for child in (self.manager, self.screen):
            if child is not None and child.is_running:
                child.kill()

    def show(self, kind, directory):
        """Starts a file manager, which shows the directory."""
        self.manager = FileManager(self, kind, directory)
        return self.manager

    def picture(self, path):
        """A picture of the whole screen as a PNG."""
        subprocess.run(["import", "-silent", "-window", "root", "-depth", "8", "-colors", "200", path],
                       env=self.environment, check=True)

    def point(self, *words):
        """Moves windows and the pointer as xdotool(1) reads it."""
        subprocess.run(["xdotool", *words], env=self.environment, check=True)


class FileManager(Child):
    def __init__(self, desktop, kind, directory):
        super().__init__(kind, os.path.join(desktop.place, f"{kind}.log"))
        self.desktop, self.kind = desktop, kind
        self.answers = os.path.join(desktop.place, f"{kind}-answers")
        self.orders = os.path.join(desktop.place, f"{kind}-orders")
        open(self.answers, "w").close()
        environment = {**desktop.environment, "SYNCTRAIN_FILE_MANAGER_LOG": self.answers, "DRIVER_ORDERS": self.orders}
        if kind == "dolphin":
            environment |= {"DRIVER": os.path.join(HERE, "dolphin_driver.py"), "QT_PLUGIN_PATH": os.environ["PLUGINS"],
                            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "QT_QPA_PLATFORM": "xcb"}
            del environment["NO_AT_BRIDGE"], environment["GTK_A11Y"]
        else:
            # Beside the extension of the package, in the user's own directory.
            extensions = os.path.join(desktop.home, ".local/share", EXTENSIONS[kind], "extensions")
            os.makedirs(extensions, exist_ok=True)
            shutil.copyfile(os.path.join(HERE, "driver.py"), os.path.join(extensions, "driver.py"))
        command = COMMANDS.get(kind, DOLPHIN)
        self.spawn(["dbus-run-session", "--", *command, directory], env=environment, cwd=desktop.home)

    def notes(self):
        with open(self.answers) as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]

    def emblems(self):
        """The last emblem of each path that was given one, or none, at once: late ones are not shown."""
        return {note["path"]: note["emblem"] for note in self.notes() if "path" in note}

    def wait_emblems(self, wanted, timeout=30):
        """Waits until all of these paths have these emblems."""
        def met():
            shown = self.emblems()
            return not {path: shown.get(path, "nothing") for path, emblem in wanted.items()
                        if shown.get(path, "nothing") != emblem}

        try:
            return wait_until(met, timeout, "the emblems", child=self)
        except TimeoutError:
            shown = self.emblems()
            wrong = [(path, shown.get(path, "nothing")) for path in wanted if shown.get(path, "nothing") != wanted[path]]
            raise TimeoutError(f"{len(wrong)} of {len(wanted)} differ: {wrong[:5]}") from None

    def order(self, **words):
        """Has the driver do something in the file manager's process; gives what it answered."""
        answer = self.orders + ".answer"
        if os.path.exists(answer):
            os.remove(answer)
        with open(self.orders + ".new", "w") as file:
            json.dump(words, file)
        os.rename(self.orders + ".new", self.orders)
        wait_until(lambda: os.path.exists(answer), 20, "the driver answers", child=self)
        with open(answer) as file:
            return json.load(file)

    def menu(self, *paths):
        """The labels that the extension offers for these files."""
        return self.order(files=paths)["labels"]

    def choose(self, label, *paths):
        assert self.order(files=paths, activate=label)["labels"]

    def wait_note(self, condition, timeout=30):
        return wait_until(lambda: next((note for note in reversed(self.notes()) if condition(note)), None), timeout,
                          "a note of the extension", child=self)

    def settle(self, seconds=1.0):
        """Until the file manager has looked at nothing more for a while: thumbnails and lists come after windows."""
        size, since = -1, time.monotonic()
        while time.monotonic() - since < seconds:
            if os.path.getsize(self.answers) != size:
                size, since = os.path.getsize(self.answers), time.monotonic()
            time.sleep(0.05)
