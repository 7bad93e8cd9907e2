"""An emulated machine for the laboratories that need another kernel than the host's: Debian's kernel in QEMU, which sees
the host's files read-only below a layer in memory.

Kernel, modules and the packages that only the machine needs are kept in $XDG_CACHE_HOME/synctrain-machine and installed
nowhere. $LAB_KERNEL is the name of another linux-image package. The processor is the host's if KVM runs a kernel here,
else an emulated one; $LAB_KVM=no does not try.
"""

import contextlib
import fcntl
import gzip
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "synctrain-machine"
CANNOT_RUN = 77
TIMED_OUT = 124

# Program, and the Debian package that has it.
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "modprobe": "kmod", "dpkg-deb": "dpkg"}
FILES = {"/bin/busybox": "busybox-static"}

# What the machine itself needs.
MODULES = "virtio_pci 9pnet_virtio 9p overlay virtio_console".split()


class CannotRun(Exception):
    """This host cannot run the laboratory; the message says what is missing."""


def say(line):
    print(f"lab: {line}", file=sys.stderr, flush=True)


def exit_with(main):
    """Ends this program with what `main` returns, or with 77 if it cannot run here."""
    try:
        sys.exit(main())
    except CannotRun as problem:
        print(f"lab: cannot run: {problem}", file=sys.stderr)
        sys.exit(CANNOT_RUN)


def check_tools(tools, files):
    """`tools`: program → package. `files`: path of a program → package. Beside what the machine itself needs."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = {package for tool, package in (TOOLS | tools).items() if not shutil.which(tool)}
    missing |= {package for path, package in (FILES | files).items() if not os.access(path, os.X_OK)}
    if missing:
        raise CannotRun("packages are missing: apt-get install " + " ".join(sorted(missing)))


def program(variable, product):
    """The path of one of the project's programs: what `$variable` names, else it is built as `make debug` does."""
    path = os.environ.get(variable)
    if not path:
        subprocess.run(["swift", "build", "--jobs", "2", "--product", product], cwd=REPOSITORY, check=True)
        bin_path = subprocess.run(
            ["swift", "build", "--show-bin-path"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
        path = os.path.join(bin_path.strip(), product)
    if not os.access(path, os.X_OK):
        raise CannotRun(f"there is no program at {path}")
    return os.path.realpath(path)


def synctrain():
    """The path of synctrain, with the programs that it runs beside it."""
    path = program("SYNCTRAIN", "synctrain")
    if not os.access(os.path.join(os.path.dirname(path), "synctrain-watch"), os.X_OK):
        raise CannotRun(f"there is no synctrain-watch beside {path}: make debug")
    return path


@contextlib.contextmanager
def held_cache():
    """Holds the cache for one laboratory at a time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# MARK: packages

def update_lists():
    """Has apt learn which packages there are, where this user may."""
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    try:
        subprocess.run([*as_root, "apt-get", "-q", "update"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        pass


def download(names, work):
    """Fetches these packages into the directory `work`, each by its whole name: a pattern would fetch all that match.
    Their paths; None and apt's words if one is missing."""
    result = subprocess.run(["apt-get", "-q", "download", *names], cwd=work, capture_output=True, text=True)
    packages = sorted(work.glob("*.deb"))
    if result.returncode or len(packages) != len(names):
        return None, result.stderr.strip() or "apt knows none"
    return packages, None


def download_or_update(names, work, what):
    """The same with newer lists if need be: lists that are missing or of some days ago name no package that still is
    there. `names` is called for each attempt."""
    for attempt in range(2):
        wanted = names()
        packages, problem = download(wanted, work) if wanted else ([], None) if wanted is not None else (None, "apt knows none")
        if packages is not None:
            return packages
        if attempt == 0:
            update_lists()
    raise CannotRun(f"{what} cannot be fetched: {problem}; run apt-get update")


def missing_packages(names):
    """Those of the packages, and of those that they depend on, that the host does not have. None if apt does not know."""
    listing = subprocess.run(
        ["apt-get", "-q", "--print-uris", "--no-install-recommends", "-y", "install", *names], capture_output=True, text=True)
    if listing.returncode:
        return None
    return sorted(re.findall(r"(?m)^'[^']*' ([^_ ]+)_\S+\.deb ", listing.stdout))


def fetch_packages(lab, names):
    """The root of a tree with what the host lacks of these packages."""
    with held_cache():
        return _fetch_packages(lab, names)


def _fetch_packages(lab, names):
    done, wanted = CACHE / f"packages-{lab}", " ".join(names)
    if not (done / "names").exists() or (done / "names").read_text() != wanted:
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            work = pathlib.Path(work)
            kept = work / "kept"
            tree = kept / "tree"
            tree.mkdir(parents=True)
            # Debian merges these into /usr: packages that still name them are unpacked there.
            merged = ("bin", "sbin", "lib", "lib64")
            for name in merged:
                (tree / "usr" / name).mkdir(parents=True)
                (tree / name).symlink_to(f"usr/{name}")
            for package in download_or_update(lambda: missing_packages(names), work, wanted):
                unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
                subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", tree], input=unpacked, check=True)
            for name in merged:
                (tree / name).unlink()
            (kept / "names").write_text(wanted)
            shutil.rmtree(done, ignore_errors=True)
            kept.rename(done)
    return done / "tree"


# MARK: kernel

def kernel_package(newest):
    """The name of the kernel's package, in a list: $LAB_KERNEL, else what the package `newest` depends on."""
    name = os.environ.get("LAB_KERNEL")
    if name:
        return [name]
    listing = subprocess.run(["apt-cache", "depends", newest], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if "Depends: linux-image-" in line:
            return [line.split()[-1]]
    return None


def fetch_kernel(lab, modules, newest="linux-image-amd64"):
    """A directory with the cached kernel, the modules that `lab` loads, and their names in the order of loading.
    `newest` is the package that depends on the newest kernel of its series."""
    with held_cache():
        return _fetch_kernel(lab, modules, newest)


def _fetch_kernel(lab, modules, newest):
    modules = MODULES + modules
    done = CACHE / f"kernel-{lab}"
    wanted = " ".join([os.environ.get("LAB_KERNEL") or newest, *modules])
    if (done / "order").exists() and (done / "wanted").read_text() == wanted:
        return done
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        work = pathlib.Path(work)
        [package] = download_or_update(lambda: kernel_package(newest), work, "the kernel")
        tree = work / "tree"
        subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
        version = next((tree / "lib/modules").iterdir()).name
        if not (tree / "lib/modules" / version / "modules.dep.bin").exists():
            subprocess.run(["depmod", "-b", tree, version], check=True)
        kept = work / "kernel"
        kept.mkdir()
        shutil.copy(next((tree / "boot").glob("vmlinuz-*")), kept / "vmlinuz")
        order = []
        for module in modules:
            listing = subprocess.run(
                ["modprobe", "-d", tree, "-S", version, "--show-depends", module], capture_output=True, text=True)
            if listing.returncode:
                raise CannotRun(f"{package.name} has no module {module}")
            for line in listing.stdout.splitlines():
                if line.startswith("insmod "):
                    path = pathlib.Path(line.split()[1])
                    # Newer kernels compress them, which busybox does not undo.
                    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
                    name = path.name.removesuffix(".xz")
                    if name not in order:
                        order.append(name)
                        (kept / name).write_bytes(data)
        (kept / "version").write_text(f"{package.name}\n")
        (kept / "wanted").write_text(wanted)
        (kept / "order").write_text("\n".join(order) + "\n")
        shutil.rmtree(done, ignore_errors=True)
        kept.rename(done)
    return done


def archive(entries):
    """A cpio archive in the format that the kernel reads (Documentation/driver-api/early-userspace/buffer-format)."""
    def record(name, mode, data=b""):
        name = name.encode() + b"\0"
        fields = [record.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        record.inode += 1
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        pad = lambda part: part + b"\0" * (-len(part) % 4)
        return pad(header) + pad(data)
    record.inode = 1
    parts = []
    for name, content in entries:
        if content is None:
            parts.append(record(name, stat.S_IFDIR | 0o755))
        else:
            parts.append(record(name, stat.S_IFREG | 0o755, content))
    return b"".join(parts) + record("TRAILER!!!", 0)


def make_initramfs(kernel, target, has_packages):
    entries = [(name, None) for name in "bin lower packages layer new proc sys dev modules".split()]
    entries.append(("bin/busybox", pathlib.Path("/bin/busybox").read_bytes()))
    entries.append(("init", (HERE / "guest-init").read_bytes()))
    if has_packages:
        entries.append(("has-packages", b""))
    for path in kernel.iterdir():
        if path.name != "vmlinuz":
            entries.append((f"modules/{path.name}", path.read_bytes()))
    target.write_bytes(gzip.compress(archive(entries), 1))


# MARK: the machine

def has_kvm():
    """Whether KVM may be used, and is one that runs on the processor's own support for it."""
    if os.environ.get("LAB_KVM") == "no" or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    flags = re.search(r"(?m)^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text())
    return bool(flags) and not {"vmx", "svm"}.isdisjoint(flags[1].split())


class Machine:
    """One run of the virtual machine."""

    # In seconds from its start; an emulated processor on a busy host takes 15.
    BOOT_LIMIT = 90

    def __init__(self, kernel, shared, is_emulated, packages=None, memory=1024, processors=2, disk=None):
        initramfs = shared / "initramfs.gz"
        make_initramfs(kernel, initramfs, packages is not None)
        self.shared = shared
        virtio = lambda tag, path, options: [
            "-fsdev", f"local,id={tag},path={path},security_model=none{options}",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        processor = "-accel tcg,thread=multi -cpu max" if is_emulated else "-accel kvm -cpu host"
        self.arguments = [
            "qemu-system-x86_64", "-M", "pc", *processor.split(), "-smp", str(processors), "-m", str(memory),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", kernel / "vmlinuz", "-initrd", initramfs,
            "-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr audit=0 random.trust_cpu=on",
            "-serial", f"file:{shared / 'console.log'}",
            *virtio("root", "/", ",readonly=on,multidevs=remap"), *virtio("shared", shared, ""),
            *(virtio("packages", packages, ",readonly=on,multidevs=remap") if packages else []),
            *(["-drive", f"file={disk},format=raw,if=none,id=disk", "-device", "virtio-blk-pci,drive=disk,serial=disk"]
              if disk else []),
            "-device", "virtio-serial-pci", "-chardev", "file,id=output,path=/dev/stdout",
            "-device", "virtserialport,chardev=output,name=lab.output",
        ]

    @property
    def has_booted(self):
        return (self.shared / "timeline").exists()

    def run(self, limit):
        """Runs until it powers off; its command's output goes to ours. The command's status; None without."""
        # QEMU opens /dev/stdout anew, which would overwrite a file: it gets a pipe.
        process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        copier = subprocess.Popen(["cat"], stdin=process.stdout)
        alarm = threading.Timer(self.BOOT_LIMIT, lambda: self.has_booted or process.kill())
        alarm.start()
        try:
            process.wait(timeout=limit + self.BOOT_LIMIT + 30)
        except subprocess.TimeoutExpired:
            return TIMED_OUT
        finally:
            alarm.cancel()
            # Nothing of it outlives this program, whatever ends it.
            process.kill()
            process.wait()
            process.stdout.close()
            copier.wait(timeout=10)
        status = self.shared / "status"
        return int(status.read_text()) if status.exists() else None


def run_command(name, command, kernel, files, limit, logs=None, texts={}, disk_size=0, **options):
    """Runs a shell command in a machine of its own; its status. Its /run/lab has copies of `files`, one of which is
    `guest-main`, and the files `texts`: name → text. `logs`: a directory where that folder is kept.

    - `disk_size`: bytes of an empty virtio disk with the serial number `disk`; 0 for none.
    - `options`: of `Machine`.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="synctrain-machine-") as shared:
        shared = pathlib.Path(shared)
        disk = shared / "disk" if disk_size else None
        is_emulated = not has_kvm()
        while True:
            for file in [HERE / "guest-common", *files]:
                shutil.copy(file, shared / file.name)
            for file, text in texts.items():
                (shared / file).write_text(text)
            (shared / "limit").write_text(f"{limit}\n")
            (shared / "command").write_text(command + "\n")
            if disk:
                disk.touch()
                os.truncate(disk, disk_size)
            say(f"{name} on {'an emulated processor' if is_emulated else 'KVM'}")
            machine = Machine(kernel, shared, is_emulated, disk=disk, **options)
            status = machine.run(limit)
            if machine.has_booted or is_emulated:
                break
            say("KVM does not run a kernel here")
            is_emulated = True
        (shared / "initramfs.gz").unlink(missing_ok=True)
        if disk:
            disk.unlink()
        if logs:
            shutil.copytree(shared, logs / name, dirs_exist_ok=True)
        if status is None:
            console = (shared / "console.log").read_text(errors="replace").splitlines()[-20:]
            if machine.has_booted:
                say("the machine died. Its last words:\n" + "\n".join(console))
                return 1
            raise CannotRun("the machine does not boot. Its last words:\n" + "\n".join(console))
    say(f"{name}: status {status} after {time.monotonic() - started:.0f} s")
    return status
