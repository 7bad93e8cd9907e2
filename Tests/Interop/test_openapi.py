"""Real answers held against what /v1/openapi.json says of them."""

import json
import os
import zipfile

import jsonschema
import pytest
from page import Page

HERE = {"text": "docs:a.txt", "workingDirectory": "/"}

# Each GET that has no parameters that must be given, and these; some are asked in both forms.
QUERIES = {
    "/v1/explain": ["path=docs:a.txt"], "/v1/conflicts/details": ["path=docs:a.txt"], "/v1/notes": ["path=docs:a.txt"],
    "/v1/stat": ["path=docs:a.txt", "path=docs:"], "/v1/whereis": ["path=docs:a.txt"],
    "/v1/entries": ["path=docs:", "path=docs:&recursive=true", "path=docs:&limit=2&sort=size"],
    "/v1/search": ["text=a", "text=a&offset=0"], "/v1/changes": ["", "offset=0&limit=5"],
    "/v1/selection": ["", "limit=5"], "/v1/extraneous": ["", "limit=5"], "/v1/need": ["", "limit=5"],
    "/v1/versions": ["", "limit=5"], "/v1/conflicts": ["", "limit=5"], "/v1/refused": ["", "limit=5"],
    "/v1/deleted": ["path=docs:", "path=docs:&limit=5"], "/v1/uploads": ["", "folder=docs"],
    "/v1/directories": ["", "path=/&hidden=true"],
    "/v1/records": ["limit=20"], "/v1/jobs": [""], "/v1/patterns": ["folder=docs"], "/v1/archive": ["path=docs:z.zip", "path=docs:z.zip&limit=1&offset=1"],
}
# They wait, or answer what is no JSON.
NOT_ASKED = {
    "/v1/events", "/v1/file", "/v1/devices/qr", "/v1/thumbnail", "/v1/archive/member", "/v1/versions/bytes", "/file", "/login", "/", "/page/{name}",
    "/v1/jobs/{id}",
}
BODIES = {
    "/v1/scan": {"paths": []}, "/v1/scrub": {"paths": [], "repair": False}, "/v1/selection": {"paths": [HERE], "select": True, "dryRun": True},
    "/v1/extraneous": {"paths": [HERE], "action": "delete", "dryRun": True},
    "/v1/remove": {"paths": [HERE], "dryRun": True}, "/v1/free": {"until": 1, "dryRun": True},
    "/v1/folders/mode": {"folder": "docs", "mode": "full", "dryRun": True},
    "/v1/folders/action": {"folder": "docs", "action": "override", "dryRun": True},
    "/v1/conflicts/resolve": {"paths": [HERE], "keep": "mine"}, "/v1/links": {"path": HERE, "seconds": 60},
    "/v1/notes": {"path": HERE, "set": {"k": "v"}, "remove": []}, "/v1/sync": {}, "/v1/reload": None,
    "/v1/wait": {"paths": [HERE], "seconds": 0}, "/v1/refused": {"paths": [HERE], "action": "accept", "dryRun": True},
    "/v1/fetch": {"paths": [HERE], "force": False}, "/v1/devices": {"id": "nonsense"}, "/v1/pair/answer": {"action": "refuse"},
    "/v1/uploads": {"path": {"text": "docs:new.txt", "workingDirectory": "/"}, "size": 3, "existing": "refuse"},
    "/v1/uploads/end": {"upload": "0" * 64, "digest": "0" * 64},
    "/v1/patterns": {"folder": "docs", "text": "*.tmp\n", "dryRun": True},
}


@pytest.fixture(scope="module")
def setting(nodes):
    lab, node, agent = nodes
    root = lab.folder_path(node, "docs")
    for name in ("a.txt", "d/b", "d/c a"):
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"a" * 100)
    with zipfile.ZipFile(os.path.join(root, "z.zip"), "w") as archive:
        archive.writestr("in/a.txt", "a")
        archive.writestr("b", "b")
    lab.share(agent, "docs", node)
    node.wait_scanned("docs", 4)
    agent.wait_global("docs", 4)
    page = Page(agent)
    return page, page.get("/v1/openapi.json")


def check(description, operation, answer, body):
    """Fails if the answer is none of those that the operation has."""
    responses = operation["responses"]
    response = responses.get(str(answer.status), responses["default"])
    if "$ref" in response:
        response = description["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    kind = answer.headers["Content-Type"]
    assert kind in response["content"], (answer.status, kind, body[:300])
    schema = {**response["content"][kind]["schema"], "components": description["components"]}
    documents = [line for line in body.split(b"\n") if line] if kind == "application/x-ndjson" else [body]
    for document in documents:
        jsonschema.validate(json.loads(document), schema, cls=jsonschema.Draft202012Validator)
    return len(documents)


def test_answers_are_as_described(setting):
    page, description = setting
    asked, lines = set(), 0
    for path, operations in description["paths"].items():
        if "get" not in operations or path in NOT_ASKED:
            continue
        for query in QUERIES.get(path, [""]):
            answer, body = page.ask("GET", f"{path}?{query}" if query else path)
            assert answer.status == (404 if path == "/v1/conflicts/details" else 200), (path, query, body)
            lines += check(description, operations["get"], answer, body)
            asked.add(path)
    assert asked >= set(QUERIES) and lines > 30
    for path, body in BODIES.items():
        answer, data = page.ask("POST", path, body)
        check(description, description["paths"][path]["post"], answer, data)
        assert answer.status < 500 or json.loads(data)["code"] in ("timeout", "no-holder", "some-failed"), (path, data)
    answer, data = page.ask("POST", "/v1/fetch", BODIES["/v1/fetch"], Prefer="respond-async")
    assert answer.status == 202
    check(description, description["paths"]["/v1/fetch"]["post"], answer, data)
    answer, data = page.ask("GET", answer.headers["Location"])
    check(description, description["paths"]["/v1/jobs/{id}"]["get"], answer, data)


def test_what_is_wrong_is_an_error_of_ours(setting):
    page, description = setting
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            # A pairing waits for others; login links are made on the socket alone.
            if "requestBody" not in operation or path in ("/v1/pair", "/v1/sessions", "/v1/password"):
                continue
            for body in (b"", b"[]", b"null", b"{", b'"x"', b"\xff", b'{"paths":7}'):
                answer, data = page.ask(method.upper(), path, body)
                if answer.status == 200:
                    # Where nothing has to be given, some of these say nothing.
                    assert path in ("/v1/sync", "/v1/index/reset", "/v1/reload"), (path, body)
                    continue
                assert 400 <= answer.status < 500, (path, body, data)
                check(description, operation, answer, data)
                # Login links are made on the socket alone, whatever is asked.
                expected = "no-permission" if path == "/v1/sessions" else "invalid-request"
                assert json.loads(data)["code"] == expected, (path, body, data)
