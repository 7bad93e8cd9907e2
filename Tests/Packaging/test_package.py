"""What is in the package."""

import io
import os
import re
import subprocess
import tarfile
import time

from conftest import HAS_DOLPHIN, IS_DEBUG, PROGRAMS, REPOSITORY, pack

# Debug programs look for the toolchain's libraries where they were built; `.modified` makes the names of packages long.
ACCEPTED = ["custom-library-search-path", "package-has-long-file-name"] if IS_DEBUG else []


def test_the_same_programs_give_the_same_bytes(packages, tmp_path):
    """Whatever the umask, time zone, language and directory."""
    mask = os.umask(0o077)
    try:
        again = pack(tmp_path, TZ="Asia/Tokyo", LC_ALL="C", TMPDIR=str(tmp_path))
    finally:
        os.umask(mask)
    assert [os.path.basename(path) for path in again] == [os.path.basename(path) for path in packages]
    for first, second in zip(packages, again, strict=True):
        with open(first, "rb") as one, open(second, "rb") as other:
            assert one.read() == other.read(), first


def test_every_time_is_the_commits(tmp_path):
    """Also of a file that is older, as all are here."""
    epoch = int(time.time()) + 86400
    for package in pack(tmp_path, SOURCE_DATE_EPOCH=str(epoch)):
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as contents:
            assert {member.mtime for member in contents} == {epoch}, package


def test_lintian_finds_no_errors_and_no_warnings(packages):
    options = ["--suppress-tags", ",".join(ACCEPTED)] if ACCEPTED else []
    result = subprocess.run(["lintian", "--tag-display-limit", "0", "--allow-root", *options, *packages],
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and not re.search("^[EW]: ", result.stdout, re.MULTILINE), result.stdout + result.stderr


def test_everything_in_the_list_is_installed(unpacked, extensions):
    wanted = {"zsh": "share/zsh/vendor-completions", "units": "lib/systemd/user"}
    with open(os.path.join(REPOSITORY, "packaging/files")) as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    assert len(lines) > 10
    for kind, _, path in lines:
        # Its own package has what a file manager loads.
        extension = re.match("share/([a-z]+)-python/", path)
        tree = extensions[f"synctrain-{extension[1]}"] if extension else unpacked
        path = os.path.join(tree, "usr", re.sub("@(.*?)@", lambda match: wanted[match[1]], path))
        if "/man/" in path:
            path += ".gz"
        assert os.path.getsize(path) > 0, path
        assert os.stat(path).st_mode & 0o777 == (0o755 if kind == "program" else 0o644), path


def test_everything_names_the_installed_programs(unpacked):
    """Of what starts a program, all names are below /usr/bin, and there."""
    found = 0
    for directory, _, files in os.walk(unpacked):
        for name in files:
            if not name.endswith((".service", ".desktop")):
                continue
            with open(os.path.join(directory, name)) as file:
                programs = re.findall("(?:/[a-z]+)*/bin/synctrain[a-z-]*", file.read())
            assert programs, name
            for program in programs:
                assert program.startswith("/usr/bin/"), (name, program)
                assert os.access(unpacked + program, os.X_OK), (name, program)
                found += 1
    assert found >= 5


def test_it_depends_on_the_libraries_it_is_linked_with(package):
    def field(name):
        return subprocess.run(
            ["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout

    depends = field("Depends")
    for name in ("adduser", "libbluetooth3", "libc6", "libfuse3-3", "libinotifytools0", "liblz4-1", "libqrencode4",
                 "libsqlite3-0", "libssl3", "libsystemd0", "zlib1g"):
        assert re.search(rf"\b{re.escape(name)}\b", depends), (name, depends)
    for name in ("bubblewrap", "ffmpeg", "fuse3", "libvips-tools"):
        assert name in field("Recommends")


def test_what_is_installed_can_be_read(unpacked):
    subprocess.run(["bash", "-n", f"{unpacked}/usr/share/bash-completion/completions/synctrain"], check=True)
    with open(f"{unpacked}/usr/share/zsh/vendor-completions/_synctrain") as file:
        assert file.readline() == "#compdef synctrain\n"
    subprocess.run(
        ["desktop-file-validate", f"{unpacked}/usr/share/applications/synctrain.desktop"], check=True)
    for unit in ("lib/systemd/system/synctrain.service", "usr/lib/systemd/user/synctrain.service",
                 "usr/lib/systemd/user/synctrain-mount@.service"):
        # Not `systemd-analyze verify`, which asks for a systemd that runs.
        with open(f"{unpacked}/{unit}") as file:
            text = file.read()
        sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
        assert sections == ["Unit", "Service", "Install"], unit
    page = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", f"{unpacked}/usr/share/man/man1/synctrain.1.gz"],
        env={**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80"}, capture_output=True, text=True)
    assert page.returncode == 0 and not page.stderr, page.stderr


def test_make_install_and_uninstall_use_the_same_list(tmp_path):
    prefix = "/opt/synctrain"
    script = os.path.join(REPOSITORY, "packaging/install")
    subprocess.run([script, prefix, PROGRAMS, tmp_path], check=True)
    with open(f"{tmp_path}{prefix}/share/systemd/user/synctrain.service") as file:
        assert f"ExecStart={prefix}/bin/synctrain agent run" in file.read()
    subprocess.run([script, "--remove", prefix, tmp_path], check=True)
    left = [name for _, _, names in os.walk(tmp_path) for name in names]
    assert not left
    refused = subprocess.run([script, "/opt/a b", PROGRAMS, tmp_path], capture_output=True, text=True)
    assert refused.returncode == 64 and "/opt/a b" in refused.stderr


def test_extensions_need_the_programs_and_their_file_managers_python(packages, extensions):
    needs = {"caja": "python3-caja", "nautilus": "python3-nautilus", "nemo": "nemo-python"}
    if HAS_DOLPHIN:
        needs["dolphin"] = "libkf5kiowidgets5"
        plugins = [os.path.relpath(os.path.join(directory, name), extensions["synctrain-dolphin"])
                   for directory, _, names in os.walk(extensions["synctrain-dolphin"]) for name in names if name.endswith(".so")]
        assert sorted(re.sub("lib/[^/]+/", "lib/*/", plugin) for plugin in plugins) == [
            "usr/lib/*/qt5/plugins/kf5/kfileitemaction/synctrain-menu.so", "usr/lib/*/qt5/plugins/kf5/overlayicon/synctrain-overlay.so"]
    assert set(extensions) == {f"synctrain-{name}" for name in needs}
    for path in packages[1:]:
        binding = needs[os.path.basename(path).split("_")[0].removeprefix("synctrain-")]
        depends = subprocess.run(["dpkg-deb", "--field", path, "Depends"], capture_output=True, text=True, check=True).stdout
        assert binding in depends and "synctrain (>= " in depends, depends
