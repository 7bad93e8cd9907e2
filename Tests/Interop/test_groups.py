"""Files that belong together come into their places together: a real Syncthing writes a small file and a large one, the large
one comes slowly, and the agent is killed meanwhile."""

import os

from harness import Pair, pattern, read, write
from process import MIB, wait_until

RATE_KBPS = 1000
LARGE = 6 * MIB


def test_the_small_file_waits_for_the_large_one(lab):
    node = lab.syncthing(options={"limitBandwidthInLan": "true", "maxSendKbps": str(RATE_KBPS)})
    agent = lab.agent()
    lab.introduce(agent, node)
    pair = Pair(lab, node=node, agent=agent)
    agent.stop()
    path = agent.file("config.toml")
    with open(path) as file:
        head, _, tail = file.read().partition(f'id = "{pair.id}"\n')
    write(path, f'{head}id = "{pair.id}"\ngroups = ["**/*.{{raw,txt}}"]\n{tail}'.encode())
    agent.start()
    pair.connect()
    old = {"a/x.raw": b"old picture", "a/x.txt": b"old words", "a/alone": b"old"}
    for name, data in old.items():
        write(os.path.join(pair.there, name), data)
    pair.scan_there()
    pair.wait_same()

    new = {"a/x.raw": pattern(LARGE), "a/x.txt": b"new words", "a/alone": b"new"}
    for name, data in new.items():
        write(os.path.join(pair.there, name), data)
    pair.scan_there()
    here = {name: os.path.join(pair.here, name) for name in new}
    # What belongs to nothing does not wait.
    wait_until(lambda: read(here["a/alone"]) == b"new", 20, "the file without a group", child=agent)
    staged = os.path.join(pair.here, "a", ".syncthing.x.raw.tmp")
    wait_until(lambda: os.path.exists(staged), 10, "the large file has begun", child=agent)
    assert read(here["a/x.txt"]) == b"old words"
    agent.kill()
    # It was slow to be seen half done.
    node.call("PATCH", "/rest/config/options", {"maxSendKbps": 0})
    assert (read(here["a/x.raw"]), read(here["a/x.txt"])) == (b"old picture", b"old words")
    agent.start()

    seen = set()

    def is_complete():
        # The order in which they are read: the words are never newer than the picture.
        words, picture = read(here["a/x.txt"]), read(here["a/x.raw"])
        seen.add((words == new["a/x.txt"], picture == new["a/x.raw"]))
        return (words, picture) == (new["a/x.txt"], new["a/x.raw"])
    wait_until(is_complete, 60, "the group is complete", every=0.01, child=agent)
    assert (True, False) not in seen
    pair.wait_same()
    # What the old files were put aside under goes when the index has the new ones.
    wait_until(lambda: not [name for name in os.listdir(os.path.join(pair.here, "a")) if name.startswith(".syncthing")], 10,
               "nothing is left of the old files", child=agent)
