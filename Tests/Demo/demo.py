"""The main job on real files against a real Syncthing node, everything on loopback in a temporary folder.

`make demo` runs it. It prints each command as a person would type it, and what it said; it exits 1 if anything is wrong.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Interop"))
import harness  # noqa: E402
from process import wait_until  # noqa: E402


def say(text):
    print(f"\n# {text}", flush=True)


def show(agent, *arguments, limit=12):
    """Runs a command of synctrain and prints it with the first lines of its answer; returns its standard output."""
    print("$ synctrain " + " ".join(arguments), flush=True)
    result = agent.try_run(*arguments)
    text = (result.stdout + result.stderr).decode(errors="replace")
    lines = text.splitlines()
    for line in lines[:limit]:
        print(line)
    if len(lines) > limit:
        print(f"… {len(lines) - limit} more lines")
    if result.returncode != 0:
        sys.exit(f"exit {result.returncode}")
    return result.stdout


with harness.Lab() as lab:
    say("A Syncthing node holds a folder of real files, the documentation of this machine.")
    nas = lab.syncthing("nas")
    library = lab.folder_path(nas, "library")
    os.makedirs(library)
    harness.copy_documentation(library, limit=1500)
    with open(os.path.join(library, "film.bin"), "wb") as film:
        film.write(harness.pattern(40 << 20))
    files = sum(kind == "file" for kind in harness.walk(library).values())
    print(f"{files} files, {subprocess.check_output(['du', '-sh', library]).split()[0].decode()}B, in the folder “library”")

    say("synctrain joins it: an identity, the agent, the other device, the folder.")
    laptop = lab.agent("laptop")
    print("$ synctrain init && synctrain agent start")
    print(laptop.id)
    nas.add_device(laptop.id, name="laptop")
    show(laptop, "device", "add", nas.id, "--name", "nas", "--address", nas.address)
    nas.set_folder("library", library, [laptop.id])
    place = lab.path("laptop-library")
    show(laptop, "folder", "add", "library", place, "--device", nas.id)
    nas.wait_scanned("library", files)
    laptop.wait_global("library", files)

    say("The whole index is here; no file is.")
    show(laptop, "status", limit=20)
    print(f"$ ls {os.path.basename(place)}   # what it takes on this disk")
    print(sorted(name for name in os.listdir(place) if not name.startswith(".st")) or "nothing")
    show(laptop, "ls", "-l", "library:")
    show(laptop, "search", "copyright", limit=5)
    show(laptop, "whereis", "library:film.bin")

    say("Any file comes on demand, every block verified.")
    target = lab.path("film.bin")
    show(laptop, "fetch", "library:film.bin", "-o", target)
    if harness.sha256_of(target) != harness.sha256_of(os.path.join(library, "film.bin")):
        sys.exit("the fetched file differs")
    print("the same SHA-256 as on the nas")
    part = laptop.run("cat", "library:film.bin", "--range", "20000000-20000015").stdout
    with open(target, "rb") as film:
        film.seek(20_000_000)
        if part != film.read(16):
            sys.exit("the range differs")
    print("$ synctrain cat library:film.bin --range 20000000-20000015 | xxd -p\n" + part.hex())

    say("What is selected is kept here, both ways.")
    directory = sorted(
        name for name in os.listdir(library) if not name.startswith(".") and os.path.isdir(os.path.join(library, name)))[0]
    show(laptop, "select", f"library:{directory}", "--dry-run")
    show(laptop, "select", f"library:{directory}")
    show(laptop, "wait", "library", "--timeout", "60")
    print(f"$ ls {os.path.basename(place)}")
    print("\n".join(sorted(name for name in os.listdir(place) if not name.startswith(".st"))))
    here = harness.walk(os.path.join(place, directory))
    if not here or here != harness.walk(os.path.join(library, directory)):
        sys.exit("what is here is not what the nas has")
    with open(os.path.join(place, directory, "from the laptop.txt"), "w") as file:
        file.write("written on the train\n")
    on_nas = os.path.join(library, directory, "from the laptop.txt")
    wait_until(lambda: os.path.exists(on_nas), 20, "the new file on the nas")
    print("a file written here is on the nas")
    show(laptop, "explain", "library:film.bin")

    say("A change on the nas is in the index at once.")
    with open(os.path.join(library, "new on the nas.txt"), "w") as file:
        file.write("hello\n")
    nas.scan("library")
    wait_until(lambda: laptop.try_run("stat", "library:new on the nas.txt").returncode == 0, 20, "the new name")
    show(laptop, "cat", "library:new on the nas.txt")
    print("\nAll of it worked.")
