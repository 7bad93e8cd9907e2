"""Trees of a folder as users see them: what they hold, to the byte, and edits of which one knows what they replaced."""

import ctypes
import errno
import hashlib
import os
import shutil
import stat

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)
OWN_NAMES = (".stfolder", ".stversions", ".stignore")


def _rename(old, new, flags):
    at_cwd = -100
    if _libc.renameat2(at_cwd, os.fsencode(old), at_cwd, os.fsencode(new), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), old)


def is_temporary(name):
    return name.startswith((".syncthing.", "~syncthing~"))


def is_conflict_copy(path):
    return ".sync-conflict-" in os.path.basename(path)


def entries(root, is_wanted=lambda path: True):
    """relative path → ("file", SHA-256, executable) | ("symlink", target) | ("directory",). Temporary files count as
    what they are: a tree at rest has none."""
    found = {}
    for directory, directories, names in os.walk(root):
        if directory == root:
            directories[:] = [d for d in directories if d not in OWN_NAMES]
            names = [n for n in names if n not in OWN_NAMES]
        for name in directories + names:
            path = os.path.join(directory, name)
            relative = os.path.relpath(path, root)
            if not is_wanted(relative):
                continue
            try:
                found[relative] = entry(path)
            except FileNotFoundError:
                pass
    return found


def entry(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "symlink", os.readlink(path)
    if stat.S_ISDIR(status.st_mode):
        return ("directory",)
    with open(path, "rb") as file:
        return "file", hashlib.sha256(file.read()).hexdigest(), bool(status.st_mode & stat.S_IXUSR)


def difference(first, second, limit=12):
    """What two trees differ in, as lines; empty if they are the same."""
    lines = [f"{path}: {first.get(path)} / {second.get(path)}"
             for path in sorted(first.keys() | second.keys()) if first.get(path) != second.get(path)]
    return lines[:limit] + ([f"… {len(lines) - limit} more"] if len(lines) > limit else [])


class User:
    """Somebody who edits one node's copy of a folder. Everything is moved into place and out of it in one step, so that
    `superseded` holds exactly the contents that this user's edits took the place of."""

    def __init__(self, root, desk):
        """`desk` is a directory on the same disk, outside of every folder."""
        self.root, self.desk = root, desk
        os.makedirs(desk, exist_ok=True)
        self.written, self.superseded = {}, set()
        """`written`: hash → what it was written as."""
        self._number = 0

    def path(self, relative):
        return os.path.join(self.root, relative)

    def _scrap(self):
        self._number += 1
        return os.path.join(self.desk, str(self._number))

    def exists(self, relative):
        return os.path.lexists(self.path(relative))

    def read(self, relative):
        try:
            with open(self.path(relative), "rb") as file:
                return file.read()
        except (FileNotFoundError, IsADirectoryError):
            return None

    def write(self, relative, data, executable=None):
        """Replaces what is there as editors do: a new file takes its place. False if its directory has gone."""
        scrap = self._scrap()
        with open(scrap, "wb") as file:
            file.write(data)
        old = self.path(relative)
        try:
            mode = os.lstat(old).st_mode & 0o777
        except FileNotFoundError:
            mode = 0o644
        if executable is not None:
            mode = 0o755 if executable else 0o644
        os.chmod(scrap, mode)
        if not self._swap_in(scrap, old):
            return False
        self.written[hashlib.sha256(data).hexdigest()] = relative
        return True

    def _swap_in(self, scrap, place):
        for _ in range(100):
            try:
                _rename(scrap, place, RENAME_NOREPLACE)
                return True
            except FileExistsError:
                pass
            except (FileNotFoundError, NotADirectoryError):
                os.unlink(scrap)
                return False
            try:
                _rename(scrap, place, RENAME_EXCHANGE)
            except FileNotFoundError:
                continue
            self._throw_away(scrap)
            return True
        raise RuntimeError(f"{place} comes and goes")

    def _throw_away(self, scrap):
        """Notes what has been replaced or deleted."""
        if os.path.isdir(scrap) and not os.path.islink(scrap):
            for kind in entries(scrap).values():
                if kind[0] == "file":
                    self.superseded.add(kind[1])
            shutil.rmtree(scrap)
        else:
            kind = entry(scrap)
            if kind[0] == "file":
                self.superseded.add(kind[1])
            os.unlink(scrap)

    def append(self, relative, data):
        old = self.read(relative)
        return old is not None and self.write(relative, old + data)

    def delete(self, relative):
        """A file, a link, or a directory with all in it."""
        scrap = self._scrap()
        try:
            os.rename(self.path(relative), scrap)
        except FileNotFoundError:
            return False
        self._throw_away(scrap)
        return True

    def rename(self, old, new):
        """To a name that is free; False if it is not, or the old one has gone."""
        try:
            _rename(self.path(old), self.path(new), RENAME_NOREPLACE)
            return True
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.ENOTEMPTY, errno.EINVAL):
                return False
            raise

    def make_directory(self, relative):
        try:
            os.mkdir(self.path(relative))
            return True
        except (FileExistsError, FileNotFoundError, NotADirectoryError):
            return False

    def link(self, relative, target):
        scrap = self._scrap()
        os.symlink(target, scrap)
        return self._swap_in(scrap, self.path(relative))

    def make_executable(self, relative, executable):
        try:
            os.chmod(self.path(relative), 0o755 if executable else 0o644)
            return True
        except FileNotFoundError:
            return False
