"""A Debian system that can be changed and thrown away: an overlay over a directory, entered with chroot."""

import filecmp
import os
import stat
import subprocess

# Of what dpkg, apt and adduser write whenever something is installed.
LEDGERS = (
    "etc/group", "etc/gshadow", "etc/passwd", "etc/shadow", "etc/subgid", "etc/subuid", "etc/.pwd.lock",
    "etc/ld.so.cache", "etc/mailcap", "var/backups", "var/cache/apt", "var/cache/debconf", "var/cache/ldconfig",
    "var/cache/man", "var/lib/apt", "var/lib/dpkg", "var/log", "root/.cache", "usr/share/applications/mimeinfo.cache",
    "usr/share/icons/hicolor/icon-theme.cache",
)
# What the system's own directories become by being mounted and used.
MOUNTED = ("dev", "proc", "run", "sys", "tmp")


class CommandFailed(Exception):
    pass


class Machine:
    """Everything in it ends with the namespaces of `Tests/Packaging/run`."""

    def __init__(self, base, place):
        self.base, self.root = base, os.path.join(place, "root")
        changes = os.path.join(place, "changes")
        for directory in (changes, self.root):
            os.mkdir(directory)
        # In memory: an overlay is not laid over another, and nothing is written to the disk.
        self._mount("-t", "tmpfs", "tmpfs", changes)
        self.upper = os.path.join(changes, "upper")
        for directory in (self.upper, os.path.join(changes, "work")):
            os.mkdir(directory)
        self._mount("-t", "overlay", "overlay", "-o",
                    f"lowerdir={base},upperdir={self.upper},workdir={changes}/work", self.root)
        self._mount("-t", "proc", "proc", f"{self.root}/proc")
        self._mount("--rbind", "/dev", f"{self.root}/dev")
        for name in ("run", "tmp"):
            self._mount("-t", "tmpfs", "tmpfs", f"{self.root}/{name}")
        # Nothing is started by an installation, as in a container.
        with open(f"{self.root}/usr/sbin/policy-rc.d", "w") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(f"{self.root}/usr/sbin/policy-rc.d", 0o755)
        # All its pages anew after each installation: of no interest here, and slow.
        if os.path.exists(f"{self.root}/var/lib/man-db/auto-update"):
            os.remove(f"{self.root}/var/lib/man-db/auto-update")
        self.beginning = self._changes()

    def end(self):
        subprocess.run(["umount", "--recursive", "--lazy", self.root], check=True)
        subprocess.run(["umount", "--lazy", os.path.dirname(self.upper)], check=True)

    def run(self, *command, user="root", check=True):
        """Runs a command as a user, as sudo would: with that user's HOME and nothing of ours. Gives the result."""
        home = {"root": "/root", "synctrain": "/var/lib/synctrain"}.get(user, f"/home/{user}")
        result = subprocess.run(
            ["chroot", self.root, "/usr/bin/env", "-i", f"HOME={home}", f"USER={user}", "LC_ALL=C.UTF-8",
             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
             *(["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user != "root" else []), *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if check and result.returncode != 0:
            raise CommandFailed(f"{command}: {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
        return result

    def boot(self, script, devices=()):
        """Starts the machine with systemd, which runs the script and stops the machine; gives what the script printed. The script
        ends at its first command that fails, and must print `done` at its end. The devices are those of this machine."""
        for name in ("proc", "dev", "run", "tmp"):
            subprocess.run(["umount", "--recursive", "--lazy", f"{self.root}/{name}"], check=True)
        os.remove(f"{self.root}/usr/sbin/policy-rc.d")
        with open(f"{self.root}/root/test", "w") as file:
            file.write(script)
        with open(f"{self.root}/etc/systemd/system/package-test.service", "w") as file:
            file.write("""[Unit]
Wants=dbus.service
After=dbus.service basic.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/bash -eux /root/test
StandardOutput=file:/root/output
StandardError=inherit
TimeoutStartSec=120
Environment=HOME=/root
""")
        console = subprocess.run(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--machine=package-test", "--directory", self.root,
             "--console=pipe", *(f"--bind={device}" for device in devices), "--boot", "--", "--unit=package-test.service"],
            # As on a real machine: /proc/sys is for whoever may write there.
            env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        try:
            with open(f"{self.root}/root/output") as file:
                output = file.read()
        except FileNotFoundError:
            raise CommandFailed(console.stdout[-3000:]) from None
        if not output.endswith("\ndone\n"):
            raise CommandFailed(output[-5000:])
        return output

    def copy(self, path):
        """Puts a file of ours into /tmp; gives its path there."""
        subprocess.run(["cp", path, f"{self.root}/tmp/"], check=True)
        return "/tmp/" + os.path.basename(path)

    def install(self, package):
        return self.run("dpkg", "--install", self.copy(package))

    def path(self, path):
        return self.root + path

    @property
    def differences(self):
        """The paths that differ from what the machine was, except in the ledgers of those who install."""
        return sorted(self._changes() - self.beginning)

    def _changes(self):
        found = set()
        for directory, directories, files in os.walk(self.upper):
            relative = os.path.relpath(directory, self.upper)
            for name in directories + files:
                path = os.path.normpath(os.path.join(relative, name))
                if self._is_of(path, LEDGERS + MOUNTED) or not self._differs(path):
                    continue
                found.add(path)
        return found

    @staticmethod
    def _is_of(path, names):
        # `passwd-` is the copy of passwd that its tools leave.
        return any(path == name or path == name + "-" or path.startswith(name + "/") for name in names)

    def _differs(self, path):
        new, old = os.path.join(self.upper, path), os.path.join(self.base, path)
        status = os.lstat(new)
        is_gone = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
        if is_gone or not os.path.lexists(old):
            return is_gone == os.path.lexists(old)
        before = os.lstat(old)
        if (status.st_mode, status.st_uid, status.st_gid) != (before.st_mode, before.st_uid, before.st_gid):
            return True
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(new) != os.readlink(old)
        return stat.S_ISREG(status.st_mode) and not filecmp.cmp(new, old, shallow=False)

    @staticmethod
    def _mount(*arguments):
        subprocess.run(["mount", *arguments], check=True)
