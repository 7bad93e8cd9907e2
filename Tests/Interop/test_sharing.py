"""Folders shared one after the other over a link that is open, as people do."""

import os


def test_each_folder_that_is_added_is_known(lab):
    """A Syncthing that is told of a folder before it has it may send its index before it says which index that is."""
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    for number in range(12):
        folder = f"f{number}"
        there = lab.folder_path(node, folder)
        os.makedirs(there)
        with open(os.path.join(there, "a"), "w") as file:
            file.write(folder)
        lab.share(agent, folder, node)
        node.wait_scanned(folder, 1)
        agent.wait_global(folder, 1)
        assert agent.run("cat", f"{folder}:a").stdout == folder.encode()
