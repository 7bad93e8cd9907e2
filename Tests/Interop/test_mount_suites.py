"""Other people's test programs on a mount: what they write reads back as it was written, and a real node gets the same.

`make mount-suites` installs and runs them; CI does not."""

import os
import shutil
import subprocess

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
