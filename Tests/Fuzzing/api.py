"""Fuzzes the control API from its own description, over TCP as a browser that is logged in:  api.py SCHEMATHESIS [EXAMPLES]

An agent of its own, on a few files, in a place of its own; nothing but that place can be written. What waits for people or goes
on for ever is left out, and what would end the agent or the login. Exit: as schemathesis."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Interop"))

from agent import find_program  # noqa: E402
from harness import Lab  # noqa: E402
from page import Page  # noqa: E402

LEFT_OUT = {
    ("post", "/v1/stop"), ("post", "/v1/sessions"), ("delete", "/v1/sessions"), ("get", "/login"), ("get", "/v1/events"),
    ("post", "/v1/pair"), ("post", "/v1/drop/send"), ("post", "/v1/drop/receive"), ("post", "/v1/wait"),
}


def caged(command, lab):
    """What the agent is made to do with paths that somebody made up stays in the laboratory."""
    if not shutil.which("bwrap"):
        sys.exit("api.py: install bubblewrap; the agent is not to write anywhere else")
    return ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", lab.root, lab.root,
            "--die-with-parent", *command]


class CagedAgent:
    def __init__(self, lab):
        self.agent = lab.agent(start=False)
        spawn = self.agent.spawn
        self.agent.spawn = lambda command, **options: spawn(caged(command, lab), **options)
        self.agent.start()


def described(page):
    """The description without what is left out, nor the parameters that make a stream go on for ever."""
    with urllib.request.urlopen(urllib.request.Request(page.origin + "/v1/openapi.json",
                                                       headers={"Cookie": page.cookie})) as answer:
        description = json.load(answer)
    for path, operations in description["paths"].items():
        for method in [method for method in operations if (method, path) in LEFT_OUT]:
            del operations[method]
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            operation["parameters"] = [parameter for parameter in parameters if parameter["name"] != "follow"]
    description["paths"] = {path: operations for path, operations in description["paths"].items() if operations}
    return description


def main():
    schemathesis, examples = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "25"
    find_program()
    with Lab() as lab:
        agent = CagedAgent(lab).agent
        root = lab.directory("files")
        for name in ("a.txt", "d/b.bin", "d/ä ö"):
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "wb") as file:
                file.write(b"synctrain" * 100)
        agent.run("folder", "add", "docs", root, "--mode", "full")
        agent.run("scan")
        page = Page(agent)
        description = lab.path("openapi.json")
        with open(description, "w") as file:
            json.dump(described(page), file)
        result = subprocess.run(
            [schemathesis, "run", description, "--url", page.origin, "--max-examples", examples, "--seed", "1",
             "--phases", "examples,coverage,fuzzing", "--request-timeout", "20", "--workers", "1",
             "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
             "-H", f"Cookie: {page.cookie}", "-H", f"Origin: {page.origin}", "-H", "X-Synctrain: page",
             "--generation-database", "none", "--no-color"], cwd=lab.root)
        assert agent.is_running, "the agent has ended"
        agent.status()
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
