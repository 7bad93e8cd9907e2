"""Other people's test programs on a mount, and LibreOffice: what they write reads back as it was written, and a real node gets the same.

`make mount-suites` installs and runs them; CI does not."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys

import harness
import pytest
from process import wait_until
from test_mount_writing import Mounted, pytestmark as mountable

SUITES = {
    "fio": ["fio", "--name=v", "--directory=.", "--rw=randwrite", "--bs=4k", "--size=32m", "--verify=crc32c", "--do_verify=1",
            "--ioengine=psync"],
    "fio-mmap": ["fio", "--name=m", "--directory=.", "--rw=randwrite", "--bs=4k", "--size=16m", "--verify=crc32c", "--do_verify=1",
                 "--ioengine=mmap"],
    "stress-ng": ["stress-ng", "--temp-path", ".", "--hdd", "1", "--hdd-bytes", "16m", "--dentry", "1", "--dentries", "200",
                  "--rename", "1", "--mmap", "1", "--mmap-file", "--mmap-bytes", "8m", "-t", "5", "--verify"],
    "dbench": ["dbench", "-t", "5", "-c", "/usr/share/dbench/client.txt", "1"],
    "fs_mark": ["fs_mark", "-d", "marks", "-n", "200", "-s", "4096", "-t", "1", "-k"],
}
pytestmark = [mountable, pytest.mark.long]
ABSENT = 24 << 20


@pytest.fixture(scope="module")
def work(nodes):
    # So many that what a suite removes is never more than half of the folder, which the agent would hold back.
    kept = {f"here/{number}": b"kept %d" % number for number in range(1000)}
    mounted = Mounted(*nodes, "suites", {**kept, "old/absent.0.0": harness.pattern(ABSENT, 18)})
    yield mounted
    mounted.end()


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite(work, suite):
    words = SUITES[suite]
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed; see config/mount-suite-packages.txt")
    place = work.path(suite)
    os.mkdir(place)
    result = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    print(result.stdout[-2000:])
    assert result.returncode == 0, result.stdout[-2000:]
    work.agent.run("scan", work.folder)
    work.wait_same(suite)
    assert work.conflicts() == []
    shutil.rmtree(place)
    wait_until(lambda: not os.path.exists(work.there(suite)), 60, "what it left goes", child=work.agent)


def test_random_reads_of_a_file_that_is_not_here(work):
    if not shutil.which("fio"):
        pytest.skip("fio is not installed; see config/mount-suite-packages.txt")
    path = work.path("old/absent.0.0")
    result = subprocess.run(
        ["fio", "--name=r", f"--filename={path}", "--readonly", "--rw=randread", "--bs=4k", "--size=24m", "--io_size=8m",
         "--ioengine=psync"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert result.returncode == 0, result.stdout[-2000:]
    assert harness.read(path) == harness.pattern(ABSENT, 18)
    assert os.getxattr(path, "user.synctrain.state") == b"absent"


# Opens a document, adds a line at its end and saves it in its place, as a person does.
OFFICE_EDITOR = """
import sys, time, uno
from com.sun.star.connection import NoConnectException
pipe, url, text = sys.argv[1:]
local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
while True:
    try:
        context = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
        break
    except NoConnectException:
        time.sleep(0.1)
desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
document = desktop.loadComponentFromURL(url, "_blank", 0, ())
cursor = document.Text.createTextCursor()
cursor.gotoEnd(False)
document.Text.insertString(cursor, text, False)
document.store()
document.close(True)
desktop.terminate()
"""


def text_of(office, path, out):
    """What LibreOffice reads in a document."""
    os.makedirs(out)
    subprocess.run([*office, "--convert-to", "txt:Text (encoded):UTF8", "--outdir", out, path], check=True, capture_output=True,
                   timeout=300)
    [name] = os.listdir(out)
    return harness.read(os.path.join(out, name)).decode("utf-8-sig").split()


@pytest.mark.skipif(not shutil.which("soffice") or not importlib.util.find_spec("uno"),
                    reason="needs LibreOffice and python3-uno; see config/mount-suite-packages.txt")
def test_libreoffice_saves_what_was_elsewhere(nodes):
    """Converts one document over another, and saves one that was opened, with its lock beside it. (It converts none onto itself, on no
    disk.)"""
    lab, node, agent = nodes
    office = ["soffice", f"-env:UserInstallation=file://{lab.path('office')}", "--headless", "--norestore", "--nologo"]
    made = lab.directory("documents")
    for name in ("source", "target", "saved"):
        harness.write(os.path.join(made, f"{name}.txt"), b"words of %s\n" % name.encode())

    def convert(kind, out, *paths):
        subprocess.run([*office, "--convert-to", kind, "--outdir", out, *paths], check=True, capture_output=True, timeout=300)
    convert("odt", made, *(os.path.join(made, f"{name}.txt") for name in ("source", "target", "saved")))
    names = {"source.odt": "source.odt", "source.docx": "target.odt", "saved.odt": "saved.odt"}
    files = {f"papers/{name}": harness.read(os.path.join(made, source)) for name, source in names.items()}
    mounted = Mounted(lab, node, agent, "office", {"here/kept": b"kept", **files})
    try:
        begun = max([event["id"] for event in node.get("/rest/events?events=ItemStarted&timeout=1")], default=0)
        modes = {name: os.stat(mounted.path("papers", name)).st_mode for name in names}
        convert("docx", mounted.path("papers"), mounted.path("papers/source.odt"))
        pipe = os.path.basename(lab.root)
        with subprocess.Popen([*office, f"--accept=pipe,name={pipe};urp;"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as program:
            try:
                subprocess.run([sys.executable, "-c", OFFICE_EDITOR, pipe, "file://" + mounted.path("papers/saved.odt"), " and more"],
                               check=True, capture_output=True, timeout=300)
                program.wait(60)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    program.kill()
        written = {"papers/source.docx": "words of source", "papers/saved.odt": "words of saved and more"}
        for name, text in written.items():
            mounted.wait_there(name, harness.read(mounted.path(name)))
            assert text_of(office, mounted.there(name), lab.path("text", name)) == text.split()
        assert {name: os.stat(mounted.path("papers", name)).st_mode for name in names} == modes
        assert sorted(os.listdir(mounted.path("papers"))) == sorted(names)
        told = {event["data"]["item"] for event in node.get(f"/rest/events?events=ItemStarted&since={begun}&timeout=1")
                if event["data"]["folder"] == "office"}
        assert told == set(written), "what it has beside them is told to nobody"
        assert mounted.conflicts() == []
    finally:
        mounted.end()
